"""storage.k8s.io/v1: StorageClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.kinds.columns import AGE, at
from fairway.kinds.columns import field as column
from fairway.kinds.errors import FieldError, forbidden, required
from fairway.kinds.k8s.core.affinity import TopologySelectorTerm
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt


class StorageClass(Object):
    """A class of storage to ask for. Kept as written."""

    provisioner: Annotated[str, F(proto=2)] = ""
    parameters: Opt[Annotated[dict[str, str], F(proto=3)]] = UNSET
    reclaim_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    mount_options: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = UNSET
    allow_volume_expansion: Opt[Annotated[bool, F(proto=6, zero=True)]] = UNSET
    volume_binding_mode: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET
    allowed_topologies: Opt[Annotated[list[TopologySelectorTerm], F(proto=8, list_type="atomic")]] = UNSET


DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _default(new: StorageClass, _old: StorageClass | None) -> None:
    if new.reclaim_policy is UNSET:
        new.reclaim_policy = "Delete"
    if new.volume_binding_mode is UNSET:
        new.volume_binding_mode = "Immediate"


def _validate(new: StorageClass, old: StorageClass | None) -> list[FieldError]:
    errors = [] if new.provisioner else [required("provisioner")]
    if old is not None:
        for name, before, after in (
            ("parameters", old.parameters, new.parameters),
            ("provisioner", old.provisioner, new.provisioner),
            ("reclaimPolicy", old.reclaim_policy, new.reclaim_policy),
            ("volumeBindingMode", old.volume_binding_mode, new.volume_binding_mode),
        ):
            if before != after:
                errors.append(forbidden(name, f"updates to {name} are forbidden."))
    return errors


def _name(obj: Mapping[str, Any], _moment: Moment) -> str:
    default = (at(obj, "metadata.annotations") or {}).get(DEFAULT_CLASS) == "true"
    return f"{at(obj, 'metadata.name')}{' (default)' if default else ''}"


STORAGE_CLASS = Kind(
    group="storage.k8s.io",
    name="StorageClass",
    plural="storageclasses",
    singular="storageclass",
    versions=(
        Version(
            "v1",
            StorageClass,
            (
                Column("Name", _name, format="name"),
                column("Provisioner", "provisioner"),
                column("ReclaimPolicy", "reclaimPolicy"),
                column("VolumeBindingMode", "volumeBindingMode"),
                Column("AllowVolumeExpansion", lambda obj, _moment: bool(at(obj, "allowVolumeExpansion"))),
                AGE,
            ),
        ),
    ),
    namespaced=False,
    short_names=("sc",),
    native=True,
    spec_fields=(),
    default=_default,
    validate=_validate,
)

KINDS: tuple[Kind, ...] = (STORAGE_CLASS,)
