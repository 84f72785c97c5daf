"""Pool: an isolation boundary. The clusters of a pool share one data plane, and work never leaves its pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from fairway.kinds import columns
from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.kueue.v1beta2.shared import Conditions
from fairway.kinds.meta import Object
from fairway.kinds.own.token import GROUP
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type

NAME_MAX = 63
DEFAULT_POOL = "default"
_LOCATOR_MAX = 2048


class ObjectStore(Type):
    """Where code bundles, inputs and results are kept."""

    uri: Opt[
        Annotated[
            str,
            F(
                "where the store is, like s3://bucket/prefix or file:///shared/fairway; empty: a folder of the hub's data folder",
                max_length=_LOCATOR_MAX,
            ),
        ]
    ] = UNSET
    endpoint: Opt[
        Annotated[str, F("address of the service, where the URI alone does not say it", max_length=_LOCATOR_MAX)]
    ] = UNSET


class SecretStore(Type):
    """Where secrets of work are kept."""

    type: Opt[
        Annotated[str, F("what kind of store it is, for example kubernetes or vault", max_length=_LOCATOR_MAX)]
    ] = UNSET
    locator: Opt[Annotated[str, F("where it is", max_length=_LOCATOR_MAX)]] = UNSET


class Registry(Type):
    """Where images of work are kept."""

    locator: Opt[Annotated[str, F("where it is, for example registry.example.org/team", max_length=_LOCATOR_MAX)]] = (
        UNSET
    )


class DataPlane(Type):
    """What work finds on every cluster of a pool."""

    object_store: Opt[Annotated[ObjectStore, F("where code bundles, inputs and results are kept")]] = UNSET
    secret_store: Opt[Annotated[SecretStore, F("where secrets of work are kept")]] = UNSET
    registry: Opt[Annotated[Registry, F("where images of work are kept")]] = UNSET


class PoolStatus(Type):
    """Which clusters are in the pool."""

    clusters: Opt[Annotated[list[str], F("names of its clusters, sorted", list_type="atomic")]] = UNSET
    conditions: Opt[Conditions] = UNSET


class Pool(Object):
    """An isolation boundary: clusters that share a data plane. A queue's work runs only on clusters of its own pool."""

    spec: Annotated[DataPlane, F("the data plane that every cluster of the pool must have")] = field(
        default_factory=DataPlane
    )
    status: Opt[Annotated[PoolStatus, F("which clusters are in it")]] = UNSET


def validate(new: Pool, _old: Pool | None) -> list[FieldError]:
    name = new.metadata.name or ""
    if len(name) > NAME_MAX:
        return [invalid("metadata.name", name, f"must have at most {NAME_MAX} characters, to be usable as a label")]
    return []


def _clusters(obj: Mapping[str, Any], _moment: Moment) -> str:
    return ",".join(columns.at(obj, "status.clusters") or ())


def _object_store(obj: Mapping[str, Any], _moment: Moment) -> str:
    return columns.at(obj, "spec.objectStore.uri") or "(folder of the hub)"


_COLUMNS = (
    columns.NAME,
    Column("Clusters", _clusters, path=".status.clusters"),
    Column("Object Store", _object_store, path=".spec.objectStore.uri"),
    columns.field("Registry", "spec.registry.locator", wide=True),
    columns.field("Secret Store", "spec.secretStore.locator", wide=True),
    columns.AGE,
)

POOL = Kind(
    group=GROUP,
    name="Pool",
    plural="pools",
    singular="pool",
    versions=(Version("v1", Pool, _COLUMNS),),
    namespaced=False,
    categories=("fairway",),
    subresources=("status",),
    builtin_crd=True,
    validate=validate,
)

KINDS = (POOL,)
