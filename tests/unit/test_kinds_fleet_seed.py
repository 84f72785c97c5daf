"""The KubeFleet objects of the seed are accepted exactly as they stand there."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
import yaml
from tests.conformance.runner import shared_folder

from fairway.kinds import defaults
from fairway.kinds.check import check
from fairway.kinds.fleet import KINDS
from fairway.kinds.kind import Kind, Version, decode
from fairway.kinds.types import to_json

SEED = shared_folder() / "seeds" / "004_d89283798958dbdc.txt"
BY_NAME = {(kind.group, kind.name): kind for kind in KINDS}


def _documents() -> list[dict[str, Any]]:
    """Runs of lines from an apiVersion of ours to the first line that is prose, a comment at the margin or `---`."""
    found = []
    lines = SEED.read_text().splitlines()
    for start, line in enumerate(lines):
        if not re.match(r"apiVersion: (placement|cluster)\.kubernetes-fleet\.io/", line):
            continue
        block = []
        for following in lines[start:]:
            if not re.match(r"(\s|$|[A-Za-z]+:(\s|$))", following):
                break
            block.append(following)
        found.append(yaml.safe_load("\n".join(block)))
    return found


DOCUMENTS = _documents() if SEED.is_file() else []
needs_seed = pytest.mark.skipif(
    not DOCUMENTS, reason=f"{SEED} is missing: set FAIRWAY_SHARED to the folder that has it"
)


def _version(document: dict[str, Any]) -> tuple[Kind, Version]:
    group, _, version = document["apiVersion"].partition("/")
    kind = BY_NAME[group, document["kind"]]
    return kind, kind.version(version)


@needs_seed
def test_the_seed_has_four_placements() -> None:
    assert [(document["kind"], document["metadata"]["name"]) for document in DOCUMENTS] == [
        ("ClusterResourcePlacement", "sample-kueue"),
        ("ResourcePlacement", "queue-placement"),
        ("ResourcePlacement", "job1-placement"),
        ("ResourcePlacement", "job2-placement"),
    ]


@needs_seed
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["metadata"]["name"])
def test_a_placement_of_the_seed_is_decoded_strictly_defaulted_and_valid(document: dict[str, Any]) -> None:
    kind, version = _version(document)
    _clean, findings = check(document, version.node)
    assert (findings.unknown, findings.errors) == ([], [])
    placement = decode(msgspec.json.encode(document), version.type)
    defaults.fill(placement)
    kind.default(placement, None)
    assert kind.validate(placement, None) == []
    assert kind.validate(placement, placement) == []


@needs_seed
def test_what_the_seed_leaves_out_is_filled_in() -> None:
    queue = DOCUMENTS[1]
    kind, version = _version(queue)
    placement = decode(msgspec.json.encode(queue), version.type)
    defaults.fill(placement)
    kind.default(placement, None)
    spec = to_json(placement)["spec"]
    assert spec["resourceSelectors"][0]["selectionScope"] == "NamespaceWithResources"
    assert spec["strategy"]["applyStrategy"] == {
        "comparisonOption": "PartialComparison",
        "type": "ClientSideApply",
        "whenToApply": "IfNotDrifted",
        "whenToTakeOver": "Always",
    }
    assert spec["revisionHistoryLimit"] == 15
