"""KubeFleet's kinds: clusters of the fleet, placements on them, and everything a placement creates on its way.

Types by topic (`cluster`, `policy`, `placement`, `binding`, `work`, `override`, `staged`, `disruption`), what they may say in
`validate_*`, rules that need other objects in `references`, and the list of kinds in `tables`. Stored as v1beta1.
"""

from fairway.kinds.fleet.tables import KINDS

__all__ = ["KINDS"]
