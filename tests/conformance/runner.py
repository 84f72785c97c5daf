"""Loads folders of vectors and runs each through the adapter registered for its driver."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Vector = dict[str, Any]
Adapter = Callable[[Vector], None]

PROJECT_ROOT = Path(__file__).resolve().parents[2]
UNSUPPORTED_FILE = Path(__file__).with_name("unsupported.json")

# Modules that register adapters. A module that is not there yet is simply not listed.
MODULES: tuple[str, ...] = (
    "kueue_quota",
    "kueue_queue",
    "kueue_flavors",
    "kueue_preemption",
    "kueue_schedule",
    "kueue_entries",
)

# (driver, suite letter) -> adapter; the suite is "" when an adapter serves a driver in every suite.
ADAPTERS: dict[tuple[str, str], Adapter] = {}


class Unsupported(Exception):
    """A vector asks for something that this project does not do; the message is the reason."""


def adapter(driver: str, suites: str = "") -> Callable[[Adapter], Adapter]:
    """Register a function for a driver, in the suites named by their letters (none named: in all)."""

    def register(function: Adapter) -> Adapter:
        for suite in suites.replace(",", "") or [""]:
            key = (driver, suite)
            if key in ADAPTERS:
                raise ValueError(f"driver {driver!r} of suite {suite or 'any'!r} has two adapters: keep one")
            ADAPTERS[key] = function
        return function

    return register


@dataclass(slots=True)
class SuiteResult:
    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    unsupported: dict[str, str] = field(default_factory=dict)


def load_adapters() -> None:
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}")


def shared_folder() -> Path:
    """Where the vectors are: FAIRWAY_SHARED, else the folder `shared` beside the project."""
    return Path(os.environ.get("FAIRWAY_SHARED", PROJECT_ROOT.parent / "shared"))


def load_vectors(folder: Path, suites: frozenset[str] = frozenset()) -> Iterator[Vector]:
    for path in sorted(folder.rglob("*.json")):
        data = json.loads(path.read_text())
        if not isinstance(data, dict) or "vectors" not in data:
            continue
        for vector in data["vectors"]:
            if not suites or vector["suite"] in suites:
                yield vector


def identity(vector: Vector) -> str:
    return f"{vector['test']}/{vector['name']}"


def known_unsupported() -> dict[str, str]:
    entries = json.loads(UNSUPPORTED_FILE.read_text())
    return {str(key): str(reason) for key, reason in entries.items()}


def find_adapter(vector: Vector) -> Adapter:
    driver, suite = vector["driver"], vector["suite"]
    found = ADAPTERS.get((driver, suite)) or ADAPTERS.get((driver, ""))
    if found is None:
        raise Unsupported(f"no adapter for driver {driver!r} of suite {suite}")
    return found


def run_vector(vector: Vector, listed: dict[str, str]) -> None:
    """Raises AssertionError when the behaviour differs and Unsupported when the vector does not apply."""
    reason = listed.get(identity(vector))
    if reason is not None:
        raise Unsupported(reason)
    find_adapter(vector)(vector)


def run(folder: Path, suites: frozenset[str] = frozenset()) -> dict[str, SuiteResult]:
    load_adapters()
    listed = known_unsupported()
    results: dict[str, SuiteResult] = {}
    for vector in load_vectors(folder, suites):
        result = results.setdefault(vector["suite"], SuiteResult())
        try:
            run_vector(vector, listed)
        except Unsupported as reason:
            result.unsupported[identity(vector)] = str(reason)
        except Exception as error:  # a crash in the code under test is a failed vector, not the end of the run
            result.failed[identity(vector)] = f"{type(error).__name__}: {error}"
        else:
            result.passed += 1
    return dict(sorted(results.items()))
