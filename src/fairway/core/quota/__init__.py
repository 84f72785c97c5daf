"""The quota tree: who may use how much, who lends, who borrows.

`node` is one node with its arithmetic, `tree` the forest of them by name, `share` the dominant share used where sharing
is fair. Adding or removing usage touches only the path from a queue to its root. May import fairway.core.model only.
"""
