"""Stages are slow to set up, so they serve many tests; one on which a test failed is not used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fairway.fleet.lease import Terms
from tests.chaos.stage import Stage

PATIENT = Terms(lease_s=120, grace_s=1, margin_s=1.0)
"""Nothing is lost for as long as a test takes, however busy the machine."""
HASTY = Terms(lease_s=3, grace_s=1, margin_s=1.0)
"""What is out of reach is given up soon; on a busy machine, even what is not."""


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Terms], Stage]]:
    made: dict[Terms, Stage] = {}

    def stage(terms: Terms) -> Stage:
        found = made.get(terms)
        if found is not None and found.broken:
            made.pop(terms).close()
            found = None
        if found is None:
            found = made[terms] = Stage(tmp_path_factory.mktemp("stage"), terms)
            found.run(found.open())
        return found

    yield stage
    for each in made.values():
        each.close()


@pytest.fixture
def patient(stages: Callable[[Terms], Stage]) -> Stage:
    return stages(PATIENT)


@pytest.fixture
def hasty(stages: Callable[[Terms], Stage]) -> Stage:
    return stages(HASTY)
