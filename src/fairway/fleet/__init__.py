"""Act, between clusters: `link` connects a hub to its clusters, `dispatch` hands workloads to them, `clusters` keeps their objects true."""

from __future__ import annotations
