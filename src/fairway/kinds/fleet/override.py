"""Overrides: what is different about an object on some clusters."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.fleet.policy import ClusterSelector, ResourceSelectorTerm
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Json, Opt, Type


class PlacementRef(Type):
    """The one placement that an override belongs to."""

    name: Annotated[str, F("name of the placement")]
    scope: Opt[
        Annotated[
            Literal["Cluster", "Namespaced"],
            F("a ClusterResourcePlacement, or a ResourcePlacement of the same namespace", default="Cluster"),
        ]
    ] = UNSET


class JSONPatchOverride(Type):
    """One change of an object."""

    op: Annotated[Literal["add", "remove", "replace"], F("what to do at the path")]
    path: Annotated[str, F("JSON pointer to the field; not type, status, or metadata but labels and annotations")]
    value: Opt[Annotated[Json, F("new value; may name ${MEMBER-CLUSTER-NAME}; not for remove")]] = UNSET


class OverrideRule(Type):
    """What to change, and on which clusters."""

    cluster_selector: Opt[
        Annotated[ClusterSelector, F("clusters, by labels alone; no cluster if absent, every cluster if empty")]
    ] = UNSET
    override_type: Opt[
        Annotated[Literal["JSONPatch", "Delete"], F("patch the object, or do not place it", default="JSONPatch")]
    ] = UNSET
    json_patch_overrides: Opt[
        Annotated[list[JSONPatchOverride], F("the changes, in order", min_length=1, max_length=20)]
    ] = UNSET


class OverridePolicy(Type):
    """Rules, applied in order."""

    override_rules: Annotated[list[OverrideRule], F("rules, applied in order", min_length=1, max_length=20)]


class ClusterResourceOverrideSpec(Type):
    """Which cluster-scoped objects to change, and how."""

    placement: Opt[Annotated[PlacementRef, F("placement whose rollouts it takes part in; cannot change")]] = UNSET
    cluster_resource_selectors: Annotated[
        list[ResourceSelectorTerm], F("objects to change, by name", min_length=1, max_length=20)
    ]
    policy: Annotated[OverridePolicy, F("how to change them")]


class ClusterResourceOverride(Object):
    """Changes cluster-scoped objects, or what is in a namespace, on some clusters."""

    spec: Annotated[ClusterResourceOverrideSpec, F("which objects to change, and how")]


class ClusterResourceOverrideSnapshotSpec(Type):
    """An override as it was at one moment."""

    override_spec: Annotated[ClusterResourceOverrideSpec, F("the override")]
    override_hash: Annotated[Base64, F("hash by which a change is noticed")]


class ClusterResourceOverrideSnapshot(Object):
    """A ClusterResourceOverride at one moment."""

    spec: Annotated[ClusterResourceOverrideSnapshotSpec, F("the override")]


class ResourceSelector(Type):
    """One object of the namespace."""

    group: Annotated[str, F("API group of the object; empty for the core group")]
    version: Annotated[str, F("API version of the object")]
    kind: Annotated[str, F("kind of the object")]
    name: Annotated[str, F("name of the object")]


class ResourceOverrideSpec(Type):
    """Which objects of the namespace to change, and how."""

    placement: Opt[Annotated[PlacementRef, F("placement whose rollouts it takes part in; cannot change")]] = UNSET
    resource_selectors: Annotated[list[ResourceSelector], F("objects to change, by name", min_length=1, max_length=20)]
    policy: Annotated[OverridePolicy, F("how to change them")]


class ResourceOverride(Object):
    """Changes objects of its namespace on some clusters."""

    spec: Annotated[ResourceOverrideSpec, F("which objects to change, and how")]


class ResourceOverrideSnapshotSpec(Type):
    """An override as it was at one moment."""

    override_spec: Annotated[ResourceOverrideSpec, F("the override")]
    override_hash: Annotated[Base64, F("hash by which a change is noticed")]


class ResourceOverrideSnapshot(Object):
    """A ResourceOverride at one moment."""

    spec: Annotated[ResourceOverrideSnapshotSpec, F("the override")]
