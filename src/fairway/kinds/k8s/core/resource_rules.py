"""Checks of requests and limits, and of the names of resources."""

from __future__ import annotations

from fairway.core.quantity import MILLI, NANO, parse
from fairway.kinds import names
from fairway.kinds.errors import FieldError, forbidden, invalid, not_found, required
from fairway.kinds.k8s.core.container import ResourceRequirements
from fairway.kinds.k8s.opt import items, pairs
from fairway.kinds.k8s.rules import named
from fairway.kinds.types import Quantity

COMPUTE = ("cpu", "memory")
HUGE_PAGES = "hugepages-"
_CONTAINER = frozenset({*COMPUTE, "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD = frozenset(
    {
        *_CONTAINER,
        *_COUNTED,
        *(f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER),
        "requests.storage",
        "storage",
    }
)


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """A device or licence that some node offers: counted in whole numbers, and its limit is its request."""
    return not is_native(name) and not name.startswith("requests.") and not names.qualified_name(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def container_resource(path: str, name: str) -> list[FieldError]:
    errors = named(path, name, names.qualified_name)
    if errors:
        return errors
    huge = name.startswith(HUGE_PAGES)
    if "/" not in name:
        if name not in _STANDARD and not huge:
            errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        if name not in _CONTAINER and not huge:
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def amount(path: str, name: str, value: Quantity) -> list[FieldError]:
    nanos = parse(value).nanos
    if nanos < 0:
        return [invalid(path, value, "must be greater than or equal to 0")]
    if (name in _COUNTED or is_extended(name)) and (nanos // MILLI) * MILLI % NANO:
        return [invalid(path, value, "must be an integer")]
    return []


def requirements(path: str, resources: ResourceRequirements, claims: frozenset[str]) -> list[FieldError]:
    """Requests and limits of one container: known names, whole and positive amounts, no request beyond its limit."""
    errors: list[FieldError] = []
    requests, limits = pairs(resources.requests), pairs(resources.limits)
    for side, amounts in (("limits", limits), ("requests", requests)):
        for name in sorted(amounts):
            errors += container_resource(f"{path}.{side}[{name}]", name)
            errors += amount(f"{path}.{side}[{name}]", name, amounts[name])
    for name in sorted(requests):
        errors += _against_limit(path, name, requests[name], limits.get(name))
    given = {*requests, *limits}
    if any(name.startswith(HUGE_PAGES) for name in given) and not given & set(COMPUTE):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    for index, claim in enumerate(items(resources.claims)):
        if claim.name not in claims:
            errors.append(not_found(f"{path}.claims[{index}]", claim.name))
    return errors


def _against_limit(path: str, name: str, request: Quantity, limit: Quantity | None) -> list[FieldError]:
    if limit is None:
        if may_overcommit(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    asked, most = parse(request).nanos, parse(limit).nanos
    if asked != most and not may_overcommit(name):
        return [invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")]
    if asked > most:
        return [invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")]
    return []
