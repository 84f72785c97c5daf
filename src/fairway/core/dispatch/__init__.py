"""Which cluster gets a workload: a pure function of the workload here, its copies there, the links between, and the time.

`model` has the facts that go in and the actions that come out, `decide` the rules, `nominate` which clusters are asked and in what order,
`ledger` what was promised to clusters and is not yet to be seen there.
"""

from __future__ import annotations
