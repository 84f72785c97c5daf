"""Checks of the volumes of a pod."""

from __future__ import annotations

import msgspec

from fairway.core.quantity import parse
from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, required
from fairway.kinds.k8s.core.volumes import Volume, VolumeSource
from fairway.kinds.k8s.opt import text
from fairway.kinds.k8s.rules import required_name
from fairway.kinds.types import UNSET

MODE_MAX = 0o777
_SOURCES = {field.name: field.encode_name for field in msgspec.structs.fields(VolumeSource)}


def volumes(path: str, given: list[Volume]) -> tuple[dict[str, Volume], list[FieldError]]:
    """The volumes that containers may mount, by name, and what is wrong with the rest."""
    good: dict[str, Volume] = {}
    errors: list[FieldError] = []
    for index, volume in enumerate(given):
        at = f"{path}[{index}]"
        wrong = _source(at, volume) + required_name(f"{at}.name", volume.name, names.dns_label)
        if volume.name in good:
            wrong.append(duplicate(f"{at}.name", volume.name))
        if not wrong:
            good[volume.name] = volume
        errors += wrong
    return good, errors


def _source(path: str, volume: Volume) -> list[FieldError]:
    given = [json_name for name, json_name in _SOURCES.items() if getattr(volume, name) is not UNSET]
    if not given:
        return [required(path, "must specify a volume type")]
    errors = [forbidden(f"{path}.{name}", "may not specify more than 1 volume type") for name in given[1:]]
    errors += _needed(path, volume)
    modes = (
        ("secret", volume.secret),
        ("configMap", volume.config_map),
        ("downwardAPI", volume.downward_api),
        ("projected", volume.projected),
    )
    for name, source in modes:
        if source is not UNSET and source.default_mode is not UNSET and not 0 <= source.default_mode <= MODE_MAX:
            why = "must be a number between 0 and 0777 (octal), both inclusive"
            errors.append(invalid(f"{path}.{name}.defaultMode", source.default_mode, why))
    if volume.empty_dir is not UNSET and volume.empty_dir.size_limit is not UNSET:
        size = volume.empty_dir.size_limit
        if parse(size).nanos < 0:
            errors.append(forbidden(f"{path}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    return errors


def _needed(path: str, volume: Volume) -> list[FieldError]:
    """Fields that a source is nothing without."""
    needed: list[tuple[str, str]] = []
    if volume.host_path is not UNSET:
        needed.append(("hostPath.path", volume.host_path.path))
    if volume.secret is not UNSET:
        needed.append(("secret.secretName", text(volume.secret.secret_name)))
    if volume.config_map is not UNSET:
        needed.append(("configMap.name", text(volume.config_map.name)))
    if volume.persistent_volume_claim is not UNSET:
        needed.append(("persistentVolumeClaim.claimName", volume.persistent_volume_claim.claim_name))
    if volume.nfs is not UNSET:
        needed += [("nfs.server", volume.nfs.server), ("nfs.path", volume.nfs.path)]
    if volume.csi is not UNSET:
        needed.append(("csi.driver", volume.csi.driver))
    errors = [required(f"{path}.{name}") for name, value in needed if not value]
    if volume.host_path is not UNSET and ".." in volume.host_path.path.split("/"):
        errors.append(invalid(f"{path}.hostPath.path", volume.host_path.path, "must not contain '..'"))
    if volume.ephemeral is not UNSET and volume.ephemeral.volume_claim_template is UNSET:
        errors.append(required(f"{path}.ephemeral.volumeClaimTemplate"))
    return errors
