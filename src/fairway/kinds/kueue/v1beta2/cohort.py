"""Cohort: a node of the quota tree, whose members lend to and borrow from each other."""

from __future__ import annotations

from fairway.kinds.kueue.v1beta2.shared import FairSharing, FairSharingStatus, Name, ResourceGroups
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type


class CohortSpec(Type):
    """Place in the tree, and quota that belongs to the members together."""

    parent_name: Opt[
        Annotated[Name, F("Cohort above this one; absent: a root. A cycle stops admission in the whole tree")]
    ] = UNSET
    resource_groups: Opt[ResourceGroups] = UNSET
    fair_sharing: Opt[Annotated[FairSharing, F("weight among siblings under the same parent")]] = UNSET


class CohortStatus(Type):
    """Standing of the cohort, as last observed."""

    fair_sharing: Opt[Annotated[FairSharingStatus, F("standing in fair sharing, when that is on")]] = UNSET


class Cohort(Object):
    """Queues and cohorts that share quota. One that is only named by its members exists too, without quota of its own."""

    spec: Opt[Annotated[CohortSpec, F("place in the tree and quota shared by the members")]] = UNSET
    status: Opt[Annotated[CohortStatus, F("standing in fair sharing")]] = UNSET
