"""Evictions and the budgets that limit them, and envelopes that carry objects without creating them on the hub."""

from __future__ import annotations

from fairway.kinds.fleet.common import Condition
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, IntOrString, Json, Opt, Type


class PlacementEvictionSpec(Type):
    """What to remove from where."""

    placement_name: Annotated[str, F("ClusterResourcePlacement to evict; cannot change", max_length=255)]
    cluster_name: Annotated[str, F("cluster to evict it from; cannot change", max_length=255)]


class PlacementEvictionStatus(Type):
    """What came of it."""

    conditions: Opt[Annotated[list[Condition], F("Valid and Executed")]] = UNSET


class ClusterResourcePlacementEviction(Object):
    """Removes a ClusterResourcePlacement from one cluster, once."""

    spec: Annotated[PlacementEvictionSpec, F("what to remove from where")]
    status: Opt[Annotated[PlacementEvictionStatus, F("what came of it")]] = UNSET


class PlacementDisruptionBudgetSpec(Type):
    """How many clusters may be without the objects."""

    max_unavailable: Opt[
        Annotated[IntOrString, F("clusters that may be disrupted, as number or %; not with minAvailable")]
    ] = UNSET
    min_available: Opt[
        Annotated[IntOrString, F("clusters that must stay available, as number or %; not with maxUnavailable")]
    ] = UNSET


class ClusterResourcePlacementDisruptionBudget(Object):
    """Limits evictions of the ClusterResourcePlacement with the same name."""

    spec: Annotated[PlacementDisruptionBudgetSpec, F("how many clusters may be without the objects")]


class ClusterResourceEnvelope(Object):
    """Carries cluster-scoped objects that shall exist on members but not on the hub."""

    data: Annotated[dict[str, dict[str, Json]], F("objects by a name of your choice", min_length=1, max_length=50)]


class ResourceEnvelope(Object):
    """Carries objects of its namespace that shall exist on members but not on the hub."""

    data: Annotated[dict[str, dict[str, Json]], F("objects by a name of your choice", min_length=1, max_length=50)]
