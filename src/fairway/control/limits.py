"""Requests against limits and a namespace's LimitRanges: what is filled in, and what no cluster would accept."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from fairway.control.pods import Json, pod_requests
from fairway.core.quantity import parse

_OVER_LIMIT = "requests must not exceed its limits"
_OVER_MAX = "requests must not be above the limitRange max"
_UNDER_MIN = "requests must not be below the limitRange min"


def with_defaults(obj: Json, ranges: Iterable[Json]) -> dict[str, Any]:
    """A copy of a Workload whose containers have the defaults of the LimitRanges; requests follow limits."""
    filled: dict[str, Any] = copy.deepcopy(dict(obj))
    summary = _summarize(ranges).get("Container") or {}
    for pod_set in (filled.get("spec") or {}).get("podSets") or ():
        spec = (pod_set.get("template") or {}).get("spec") or {}
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            resources = container.setdefault("resources", {})
            limits = {**(summary.get("default") or {}), **(resources.get("limits") or {})}
            requests = {**(summary.get("defaultRequest") or {}), **(resources.get("requests") or {})}
            if limits:
                resources["limits"] = limits
            if limits or requests:
                resources["requests"] = {**limits, **requests}
    return filled


def problem(obj: Json, ranges: Iterable[Json] = ()) -> str | None:
    """Why the pods could never be created, if so."""
    pod_sets = (obj.get("spec") or {}).get("podSets") or ()
    errors = [error for index, pod_set in enumerate(pod_sets) for error in _over_limits(_spec(pod_set), index)]
    if errors:
        return f"resources validation failed: {_joined(errors)}"
    summary = _summarize(ranges)
    errors = [
        error for index, pod_set in enumerate(pod_sets) for error in _out_of_range(_spec(pod_set), index, summary)
    ]
    if errors:
        return f"resources didn't satisfy LimitRange constraints: {_joined(errors)}"
    return None


def _spec(pod_set: Json) -> Json:
    spec: Json = (pod_set.get("template") or {}).get("spec") or {}
    return spec


def _over_limits(spec: Json, index: int) -> list[str]:
    errors: list[str] = []
    for path, container in _containers(spec, index):
        resources = container.get("resources") or {}
        limits = _nanos(resources.get("limits"))
        over = [r for r, v in _nanos(resources.get("requests")).items() if r in limits and v > limits[r]]
        errors += _invalid(path, over, _OVER_LIMIT)
    return errors


def _out_of_range(spec: Json, index: int, summary: Mapping[str, Json]) -> list[str]:
    errors: list[str] = []
    per_container, per_pod = summary.get("Container"), summary.get("Pod")
    if per_container:
        for path, container in _containers(spec, index):
            resources = container.get("resources") or {}
            requests, limits = _nanos(resources.get("requests")), _nanos(resources.get("limits"))
            names = requests.keys() | limits.keys()
            most = {n: max(requests.get(n, limits.get(n, 0)), limits.get(n, 0)) for n in names}
            least = {n: min(requests.get(n, limits.get(n, 0)), limits.get(n, requests.get(n, 0))) for n in names}
            errors += _compare(path, most, least, per_container)
    if per_pod:
        total = pod_requests(spec)
        errors += _compare(f"spec.podSets[{index}].template.spec", total, total, per_pod)
    return errors


def _compare(path: str, most: Mapping[str, int], least: Mapping[str, int], limits: Json) -> list[str]:
    highest, lowest = _nanos(limits.get("max")), _nanos(limits.get("min"))
    over = [name for name, value in most.items() if name in highest and value > highest[name]]
    under = [name for name, value in lowest.items() if name in least and least[name] < value]
    return _invalid(path, over, _OVER_MAX) + _invalid(path, under, _UNDER_MIN)


def _containers(spec: Json, index: int) -> Iterable[tuple[str, Json]]:
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(kind) or ()):
            yield f"spec.podSets[{index}].template.spec.{kind}[{at}]", container


def _invalid(path: str, names: list[str], message: str) -> list[str]:
    if not names:
        return []
    listed = ",".join(f'"{name}"' for name in sorted(names))
    return [f"{path}: Invalid value: [{listed}]: {message}"]


def _joined(errors: list[str]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def _nanos(quantities: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: parse(str(text)).nanos for name, text in (quantities or {}).items()}


def _summarize(ranges: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """Several ranges together: the tightest bounds, the first defaults."""
    summary: dict[str, dict[str, Any]] = {}
    for entry in ranges:
        for item in (entry.get("spec") or {}).get("limits") or ():
            known = summary.setdefault(item["type"], {"max": {}, "min": {}, "default": {}, "defaultRequest": {}})
            _tighten(known["max"], item.get("max"), smallest=True)
            _tighten(known["min"], item.get("min"), smallest=False)
            for field in ("default", "defaultRequest"):
                known[field] = {**(item.get(field) or {}), **known[field]}
    return summary


def _tighten(known: dict[str, Any], more: Mapping[str, Any] | None, smallest: bool) -> None:
    for name, text in (more or {}).items():
        old = known.get(name)
        if old is None or (parse(str(text)).nanos < parse(str(old)).nanos) == smallest:
            known[name] = text
