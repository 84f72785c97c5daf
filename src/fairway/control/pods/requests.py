"""What one pod of a template asks for: containers, init containers, sidecars, overhead, transformations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairway.core.quantity import NANO, parse

Json = Mapping[str, Any]
Nanos = dict[str, int]


@dataclass(slots=True, frozen=True)
class Transformation:
    """Counts a resource as others: each output is the input times its factor."""

    outputs: Mapping[str, str]
    replace: bool = False
    multiply_by: str | None = None


@dataclass(slots=True, frozen=True)
class RequestRules:
    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)


NO_RULES = RequestRules()


def pod_requests(spec: Json) -> Nanos:
    """Nano-units per resource that the whole pod needs at its widest moment."""
    running: Nanos = {}
    for container in spec.get("containers") or ():
        _add(running, _container(container))
    sidecars: Nanos = {}
    widest: Nanos = {}
    for container in spec.get("initContainers") or ():
        need = _container(container)
        if container.get("restartPolicy") == "Always":
            _add(running, need)
            _add(sidecars, need)
            need = dict(sidecars)
        else:
            _add(need, sidecars)
        _max(widest, need)
    _max(running, widest)
    running.update(_amounts((spec.get("resources") or {}).get("requests")))
    _add(running, _amounts(spec.get("overhead")))
    return running


def apply_rules(requests: Nanos, rules: RequestRules) -> Nanos:
    kept = {
        name: amount
        for name, amount in requests.items()
        if not any(name.startswith(prefix) for prefix in rules.excluded_prefixes)
    }
    if not any(name in rules.transformations for name in kept):
        return kept
    return _transform(kept, rules.transformations)


def _transform(requests: Nanos, transformations: Mapping[str, Transformation]) -> Nanos:
    """Outputs may cancel each other (a negative factor is an allowance) but never lower what was asked for as such."""
    retained: Nanos = {}
    generated: Nanos = {}
    for name, amount in requests.items():
        rule = transformations.get(name)
        if rule is None:
            retained[name] = amount
            continue
        if not rule.replace:
            retained[name] = amount
        base = amount
        if rule.multiply_by is not None and rule.multiply_by in requests:
            base = base * requests[rule.multiply_by] // NANO
        _add(generated, {output: base * parse(factor).nanos // NANO for output, factor in rule.outputs.items()})
    _add(retained, {name: max(0, amount) for name, amount in generated.items()})
    return retained


def _container(container: Json) -> Nanos:
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(quantities: Mapping[str, Any] | None) -> Nanos:
    return {name: parse(str(text)).nanos for name, text in (quantities or {}).items()}


def _add(total: Nanos, more: Nanos) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _max(total: Nanos, other: Nanos) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, 0), amount)
