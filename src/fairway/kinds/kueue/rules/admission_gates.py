"""Rules about the annotations that hold a Workload back (admission-gated-by) or lift it up (priority-boost)."""

from __future__ import annotations

import re

from fairway.kinds.errors import FieldError, forbidden, invalid, too_long
from fairway.kinds.kueue.constants import ADMISSION_GATED_BY, PRIORITY_BOOST
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules.labels import domain_prefixed_path
from fairway.kinds.kueue.rules.reading import pairs
from fairway.kinds.kueue.v1beta2.workload import Workload

GATE_MAX = 63
_GATED_BY_PATH = f"metadata.annotations[{ADMISSION_GATED_BY}]"
_BOOST_PATH = f"metadata.annotations[{PRIORITY_BOOST}]"


def gates_in(value: str) -> list[str]:
    """The gates that an annotation's value names."""
    return [gate.strip() for gate in value.split(",")] if value.strip() else []


def well_formed(new: Workload, gates: Gates) -> list[FieldError]:
    annotations = pairs(new.metadata.annotations)
    errors: list[FieldError] = []
    if gates.admission_gated_by:
        errors += _gate_names(annotations.get(ADMISSION_GATED_BY, ""))
    if gates.priority_boost and PRIORITY_BOOST in annotations:
        errors += _boost(annotations[PRIORITY_BOOST])
    return errors


def only_opened(new: Workload, old: Workload, gates: Gates) -> list[FieldError]:
    """Gates can be opened, one by one or all at once; none can be added later."""
    if not gates.admission_gated_by:
        return []
    after = pairs(new.metadata.annotations).get(ADMISSION_GATED_BY, "")
    before = pairs(old.metadata.annotations).get(ADMISSION_GATED_BY, "")
    errors: list[FieldError] = []
    if after and not before:
        errors.append(forbidden(_GATED_BY_PATH, "cannot add admission gate after creation"))
    elif after and not set(gates_in(after)) <= set(gates_in(before)):
        errors.append(forbidden(_GATED_BY_PATH, "can only remove gates, not add new ones"))
    return errors


def _gate_names(value: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for gate in gates_in(value):
        if not gate:
            errors.append(invalid(_GATED_BY_PATH, value, "cannot contain empty gate names"))
        elif gate in seen:
            errors.append(invalid(_GATED_BY_PATH, value, f"duplicate gate name: {gate}"))
        else:
            seen.add(gate)
            errors += domain_prefixed_path(gate, _GATED_BY_PATH)
            if len(gate.encode()) > GATE_MAX:
                errors.append(too_long(_GATED_BY_PATH, GATE_MAX))
    return errors


def _boost(value: str) -> list[FieldError]:
    if not value:
        detail = 'must be a valid signed integer; use "0" explicitly, empty string is not allowed'
        return [invalid(_BOOST_PATH, value, detail)]
    if re.fullmatch(r"[+-]?[0-9]+", value) and -(2**31) <= int(value) < 2**31:
        return []
    return [invalid(_BOOST_PATH, value, "must be a valid signed integer")]
