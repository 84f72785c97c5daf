"""Kubernetes' own kinds, so that manifests, clients and controllers made for it work here unchanged.

One module or folder per API group: its types (with protobuf numbers and merge keys), defaults, validation and columns. Kinds that only
have to be accepted and kept say so in their docstring. Imports the rest of fairway.kinds and nothing else of fairway.
"""

from fairway.kinds.k8s import (
    admission,
    apiextensions,
    apiregistration,
    apps,
    autoscaling,
    batch,
    coordination,
    core,
    events,
    flowcontrol,
    networking,
    node,
    policy,
    rbac,
    scheduling,
    storage,
)
from fairway.kinds.k8s.reviews import BODIES, REVIEWS

KINDS = (
    *core.KINDS,
    *batch.KINDS,
    *apps.KINDS,
    *scheduling.KINDS,
    *coordination.KINDS,
    *events.KINDS,
    *rbac.KINDS,
    *policy.KINDS,
    *networking.KINDS,
    *autoscaling.KINDS,
    *admission.KINDS,
    *apiregistration.KINDS,
    *storage.KINDS,
    *node.KINDS,
    *flowcontrol.KINDS,
    *apiextensions.KINDS,
)
"""Stored kinds, the core ones first."""

__all__ = ["BODIES", "KINDS", "REVIEWS"]
