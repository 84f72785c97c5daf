"""Every visible vector passes or stands in the list of those that do not apply."""

from __future__ import annotations

import pytest

from tests.conformance import runner

runner.load_adapters()
FOLDER = runner.shared_folder() / "conformance"
LISTED = runner.known_unsupported()
VECTORS = list(runner.load_vectors(FOLDER)) if FOLDER.is_dir() else []
SUPPORTED = [
    vector
    for vector in VECTORS
    if (vector["driver"], vector["suite"]) in runner.ADAPTERS or (vector["driver"], "") in runner.ADAPTERS
]


@pytest.mark.skipif(not VECTORS, reason=f"no vectors in {FOLDER}: set FAIRWAY_SHARED to the folder that has them")
def test_the_vector_folder_holds_vectors() -> None:
    assert len(VECTORS) > 100


@pytest.mark.parametrize("vector", SUPPORTED, ids=lambda v: f"{v['suite']}-{runner.identity(v)}")
def test_vector(vector: runner.Vector) -> None:
    try:
        runner.run_vector(vector, LISTED)
    except runner.Unsupported as reason:
        pytest.skip(str(reason))


@pytest.mark.skipif(not VECTORS, reason=f"no vectors in {FOLDER}: set FAIRWAY_SHARED to the folder that has them")
def test_every_listed_exception_names_a_vector_that_exists() -> None:
    names = {runner.identity(vector) for vector in VECTORS}
    assert sorted(set(LISTED) - names) == []
