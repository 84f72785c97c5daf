"""Suite E: what Kueue's webhooks refuse, and how they say it."""

from __future__ import annotations

from typing import Any

from fairway.kinds.errors import FieldError
from fairway.kinds.kueue import KINDS
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import AdmissionRules, cluster_queue, small, workload
from fairway.kinds.types import to_json
from tests.conformance.lax import build
from tests.conformance.runner import Vector, adapter

RULES: dict[str, AdmissionRules] = {
    "ClusterQueue": cluster_queue.admission,
    "Cohort": small.cohort_admission,
    "ResourceFlavor": small.resource_flavor_admission,
    "Workload": workload.admission,
}


TYPES = {kind.name: kind.storage_version.type for kind in KINDS}


@adapter("validate", suites="E")
def validate(vector: Vector) -> None:
    _check(vector, None)


@adapter("validateUpdate", suites="E")
def validate_update(vector: Vector) -> None:
    _check(vector, _build(vector["input"]["oldObject"]))


def _build(obj: dict[str, Any]) -> Any:
    return build(obj, TYPES[obj["kind"]])


def _check(vector: Vector, old: Any | None) -> None:
    obj = vector["input"]["object"]
    gates = Gates.of(vector["config"].get("featureGates", {}))
    errors = RULES[obj["kind"]](_build(obj), old, gates)
    expect = vector["expect"]
    said = [str(error) for error in errors]
    assert expect["valid"] == (not errors), f"expected {'no error' if expect['valid'] else 'an error'}, got {said}"
    if "errors" in expect:
        keys = expect["compare"]
        want = [_pick(error, keys) for error in expect["errors"]]
        got = [_pick(_as_json(error), keys) for error in errors]
        assert got == want, f"expected {want}, got {got}"
    if "firstErrorDetail" in expect:
        assert errors[0].detail == expect["firstErrorDetail"], said
    if "firstErrorBadValue" in expect:
        assert str(errors[0].value) == expect["firstErrorBadValue"], said
    assert not expect.get("warnings"), f"expected warnings {expect['warnings']}, got none"


def _pick(error: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    return {key: error[key] for key in keys if error.get(key) not in (None, "")}


def _as_json(error: FieldError) -> dict[str, Any]:
    return {
        "type": str(error.type),
        "field": error.field,
        "detail": error.detail,
        "badValue": to_json(error.value),
        "origin": error.origin,
    }
