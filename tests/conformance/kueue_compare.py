"""Workloads compared as Kueue's tests do: conditions by type, quantities by value, bookkeeping left out."""

from __future__ import annotations

from typing import Any

from tests.conformance.kueue_world import Json, check, same_quantity


def check_workloads(actual: list[Json], expected: list[Json], ignored: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    ours = {_key(obj): obj for obj in actual}
    theirs = {_key(obj): obj for obj in expected}
    check(sorted(ours), sorted(theirs), "workloads")
    for key, want in theirs.items():
        _check_same(_normal(ours[key], ignored), _normal(want, ignored), key)


def check_admission(actual: Json, expected: Json, what: str) -> None:
    _check_same(actual, expected, what)


def check_same(status: Json | None, expected: Json, ignored: set[str]) -> None:
    """Two statuses, conditions by type, without some fields."""

    def normal(value: Json | None) -> Json:
        conditions = {
            c["type"]: {k: v for k, v in c.items() if k not in ignored} for c in (value or {}).get("conditions") or ()
        }
        return {**(value or {}), "conditions": conditions}

    _check_same(normal(status), normal(expected), "status")


def _key(obj: Json) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata'].get('name', '')}"


def _normal(obj: Json, ignored: set[str]) -> Json:
    obj = {
        "metadata": dict(obj.get("metadata") or {}),
        "spec": obj.get("spec"),
        "status": dict(obj.get("status") or {}),
    }
    for field in ("resourceVersion", "creationTimestamp"):
        obj["metadata"].pop(field, None)
    if "metadata.labels" in ignored:
        obj["metadata"].pop("labels", None)
    status = obj["status"]
    status["conditions"] = {c["type"]: {"message": "", "reason": "", **c} for c in status.get("conditions") or ()}
    status["admissionChecks"] = [
        {k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status.get("admissionChecks") or ()
    ]
    return obj


def _check_same(actual: Any, expected: Any, what: str) -> None:
    if isinstance(expected, dict) or isinstance(actual, dict):
        a, b = actual or {}, expected or {}
        for key in sorted(set(a) | set(b)):
            _check_same(a.get(key), b.get(key), f"{what}.{key}")
    elif isinstance(expected, list) or isinstance(actual, list):
        a, b = actual or [], expected or []
        check(len(a), len(b), f"{what} length ({a!r} against {b!r})")
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            _check_same(x, y, f"{what}[{index}]")
    elif actual != expected and (actual or expected):
        if ".resourceUsage." in what or ".resources." in what:
            assert same_quantity(actual or "0", expected or "0"), f"{what}: got {actual!r}, expected {expected!r}"
            return
        check(actual, expected, what)
