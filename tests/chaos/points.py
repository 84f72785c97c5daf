"""The steps of an attempt, as they can be seen from outside: a message between hub and cluster, or a line in the diary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fairway.control.conditions import is_true
from tests.chaos.proxy import Passing

Matches = Callable[[Passing], bool]


def _object(passing: Passing) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(passing.data).get("object") or {}
    return found


def _of_workloads(passing: Passing) -> bool:
    return passing.way == "event" and passing.is_to("GET", "workloads")


def _of_jobs(passing: Passing) -> bool:
    return passing.way == "event" and passing.is_to("GET", "jobs")


POINTS: dict[str, Matches] = {
    "before the copy is made": lambda it: it.way == "request" and it.is_to("POST", "workloads"),
    "when the copy is made": lambda it: it.way == "answer" and it.is_to("POST", "workloads"),
    "when the copy is admitted": lambda it: _of_workloads(it) and is_true(_object(it), "Admitted"),
    "when it is bound": lambda it: it.way == "request" and it.is_to("POST", "jobs"),
    "when the job is created": lambda it: it.way == "answer" and it.is_to("POST", "jobs"),
    "when the payload runs": lambda it: _of_jobs(it) and bool((_object(it).get("status") or {}).get("active")),
    "when the payload has ended": lambda it: _of_jobs(it) and is_true(_object(it), "Complete"),
    "when its end is told": lambda it: _of_workloads(it) and is_true(_object(it), "Finished"),
    "when its end is written": lambda it: it.way == "request" and it.is_to("DELETE", "jobs"),
    "while it is cleaned up": lambda it: it.way == "answer" and it.is_to("DELETE", "jobs"),
}
