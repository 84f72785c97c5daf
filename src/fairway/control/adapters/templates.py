"""Pod templates of jobs: what an admission adds to them, how they are restored, what topology they ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fairway.control.adapters import names
from fairway.control.adapters.adapter import AdapterError, Json, PodSetInfo

SLICE_LAYERS_MAX = 3


def merged(template: Json, info: PodSetInfo) -> Json:
    """The template with the info added. What it says already stays; where both say something different, it is refused."""
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    _set(metadata, "annotations", _joined(metadata.get("annotations"), info.annotations, "annotations"))
    _set(metadata, "labels", _joined(metadata.get("labels"), info.labels, "labels"))
    _set(spec, "nodeSelector", _joined(spec.get("nodeSelector"), info.node_selector, "nodeSelector"))
    _set(spec, "tolerations", _appended(spec.get("tolerations"), info.tolerations))
    _set(spec, "schedulingGates", _appended(spec.get("schedulingGates"), info.scheduling_gates))
    return {**template, "metadata": metadata, "spec": spec}


def restored(template: Json, info: PodSetInfo, keep_labels: Sequence[str] = ()) -> Json:
    """The template as the info has it; labels to keep are those that the kind's own controller manages."""
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key in keep_labels}
    _set(metadata, "annotations", dict(info.annotations))
    _set(metadata, "labels", {**info.labels, **kept})
    _set(spec, "nodeSelector", dict(info.node_selector))
    _set(spec, "tolerations", list(info.tolerations))
    _set(spec, "schedulingGates", list(info.scheduling_gates))
    return {**template, "metadata": metadata, "spec": spec}


def original(name: str, count: int, template: Json) -> PodSetInfo:
    """What a workload's pod set remembers of the job before it was admitted."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return PodSetInfo(
        name=name,
        count=count,
        labels=dict(metadata.get("labels") or {}),
        annotations=dict(metadata.get("annotations") or {}),
        node_selector=dict(spec.get("nodeSelector") or {}),
        tolerations=list(spec.get("tolerations") or ()),
        scheduling_gates=list(spec.get("schedulingGates") or ()),
    )


def topology_request(
    obj: Json, pod_index_label: str, sub_group_index_label: str = "", sub_group_count: int | None = None
) -> Json | None:
    """The topologyRequest of a workload's pod set, from the annotations of a template or pod. Raises AdapterError for unreadable ones."""
    said = names.notes(obj)
    request: Json = {}
    fixed = names.PODSET_REQUIRED_TOPOLOGY in said or names.PODSET_PREFERRED_TOPOLOGY in said
    if names.PODSET_REQUIRED_TOPOLOGY in said:
        request["required"] = said[names.PODSET_REQUIRED_TOPOLOGY]
    elif names.PODSET_PREFERRED_TOPOLOGY in said:
        request["preferred"] = said[names.PODSET_PREFERRED_TOPOLOGY]
    elif names.PODSET_UNCONSTRAINED_TOPOLOGY in said:
        request["unconstrained"] = _truth(said[names.PODSET_UNCONSTRAINED_TOPOLOGY])
    request.update(_slices(said))
    request["podIndexLabel"] = pod_index_label
    if sub_group_index_label:
        request["subGroupIndexLabel"], request["subGroupCount"] = sub_group_index_label, sub_group_count
    if fixed and names.PODSET_GROUP_NAME in said:
        request["podSetGroupName"] = said[names.PODSET_GROUP_NAME]
    return request


def _slices(said: Mapping[str, str]) -> Json:
    constraints = said.get(names.PODSET_SLICE_CONSTRAINTS)
    if constraints is not None:
        return {"podsetSliceRequiredTopologyConstraints": _constraints(constraints)}
    topology, size = said.get(names.PODSET_SLICE_REQUIRED_TOPOLOGY), said.get(names.PODSET_SLICE_SIZE)
    if topology is None or size is None:
        return {}
    if not (size.isascii() and size.isdecimal()):
        raise AdapterError(f"annotation {names.PODSET_SLICE_SIZE}: {size!r} is no number of pods")
    return {"podSetSliceRequiredTopology": topology, "podSetSliceSize": int(size)}


def _constraints(text: str) -> list[Json]:
    try:
        layers = json.loads(text)
    except ValueError as error:
        raise AdapterError(f"annotation {names.PODSET_SLICE_CONSTRAINTS} is not JSON: {error}") from None
    if not isinstance(layers, list) or not 1 <= len(layers) <= SLICE_LAYERS_MAX:
        raise AdapterError(
            f"annotation {names.PODSET_SLICE_CONSTRAINTS} must be a list of 1 to {SLICE_LAYERS_MAX} layers"
        )
    return layers


def _truth(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise AdapterError(f"annotation {names.PODSET_UNCONSTRAINED_TOPOLOGY}: {text!r} is neither true nor false")


def _joined(old: Mapping[str, str] | None, new: Mapping[str, str], what: str) -> dict[str, str]:
    result = dict(old or {})
    for key, value in new.items():
        if result.setdefault(key, value) != value:
            raise AdapterError(
                f"invalid admission check PodSetUpdate: conflict for {what}: conflict for {key}: "
                f"value1={result[key]}, value2={value}"
            )
    return result


def _appended(old: Sequence[Json] | None, new: Sequence[Json]) -> list[Json]:
    result = list(old or ())
    for entry in new:
        if entry not in result:
            result.append(entry)
    return result


def _set(part: Json, name: str, value: object) -> None:
    """Empty is absent."""
    if value:
        part[name] = value
    else:
        part.pop(name, None)
