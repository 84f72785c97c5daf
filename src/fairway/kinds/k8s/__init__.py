"""Kubernetes' own kinds, so that manifests, clients and controllers made for it work here unchanged.

One module or folder per API group: its types (with protobuf numbers and merge keys), defaults, validation and columns. Kinds that only
have to be accepted and kept say so in their docstring. Imports the rest of fairway.kinds and nothing else of fairway.
"""

from fairway.kinds.k8s import batch, core

KINDS = (*core.KINDS, *batch.KINDS)

__all__ = ["KINDS"]
