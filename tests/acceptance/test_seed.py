"""Every YAML block of the seed, exactly as it stands there, through the life of its objects: twice, with kill -9 in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.support import Kubectl, Node, Result, documents

NAMES = [
    "resourceflavor.kueue.x-k8s.io/default-flavor",
    "clusterqueue.kueue.x-k8s.io/cluster-queue",
    "namespace/compute-jobs",
    "clusterresourceplacement.placement.kubernetes-fleet.io/sample-kueue",
    "localqueue.kueue.x-k8s.io/local-queue",
    "job.batch/mock-workload",
    "job.batch/model-evaluation",
    "resourceplacement.placement.kubernetes-fleet.io/queue-placement",
    "resourceplacement.placement.kubernetes-fleet.io/job1-placement",
    "resourceplacement.placement.kubernetes-fleet.io/job2-placement",
]
COLUMNS = {
    "resourceflavor": (["NAME", "AGE"], []),
    "clusterqueue": (["NAME", "COHORT", "PENDING WORKLOADS"], ["STRATEGY", "ADMITTED WORKLOADS"]),
    "namespace": (["NAME", "STATUS", "AGE"], []),
    "clusterresourceplacement": (
        ["NAME", "GEN", "SCHEDULED", "SCHEDULED-GEN", "AVAILABLE", "AVAILABLE-GEN", "AGE"],
        ["TYPE", "WORK-SYNCHRONIZED", "WORK-SYNCHRONIZED-GEN"],
    ),
    "localqueue": (["NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS"], []),
    "job": (["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"], ["CONTAINERS", "IMAGES", "SELECTOR"]),
    "resourceplacement": (
        ["NAME", "GEN", "SCHEDULED", "SCHEDULED-GEN", "AVAILABLE", "AVAILABLE-GEN", "AGE"],
        ["TYPE", "WORK-SYNCHRONIZED", "WORK-SYNCHRONIZED-GEN"],
    ),
}
CHANGES = {
    "ResourceFlavor": {"nodeLabels": {"arch": "arm"}},
    "ClusterQueue": {"stopPolicy": "Hold"},
    "ClusterResourcePlacement": {"revisionHistoryLimit": 7},
    "LocalQueue": {"stopPolicy": "Hold"},
    "Job": {"backoffLimit": 2},
    "ResourcePlacement": {"revisionHistoryLimit": 7},
}


class Fleet:
    """The seed's objects on a node."""

    def __init__(self, node: Node, kubectl: Kubectl, blocks: list[str]) -> None:
        self.node = node
        self.kubectl = kubectl
        self.blocks = blocks
        self.documents = [document for block in blocks for document in documents(block)]

    @property
    def objects(self) -> list[tuple[str, dict[str, Any]]]:
        return list(zip(NAMES, self.documents, strict=True))

    def versions(self) -> dict[str, int]:
        shown = self.all("get", "-o", "json").json()["items"]
        return {name: int(obj["metadata"]["resourceVersion"]) for name, obj in zip(NAMES, shown, strict=True)}

    def all(self, *arguments: str) -> Result:
        """A command about every object."""
        return self.kubectl(*arguments, "-f", "-", stdin="---\n".join(self.blocks))

    def apply(self, *flags: str) -> list[str]:
        return [line for block in self.blocks for line in self.kubectl.apply(block, flags=flags)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, kubectl_program: Path, seed: list[str]) -> Iterator[Fleet]:
    node = Node(tmp_path_factory.mktemp("fleet")).start()
    try:
        yield Fleet(node, node.kubectl(kubectl_program), seed)
        assert "Traceback" not in node.log(), node.log()
    finally:
        node.stop()


def test_the_seed_has_seven_blocks_of_ten_objects(seed: list[str]) -> None:
    found = [document for block in seed for document in documents(block)]
    assert len(seed) == 7
    assert [f"{each['kind'].lower()}/{each['metadata']['name']}" for each in found] == [
        f"{name.split('/')[0].split('.')[0]}/{name.split('/')[1]}" for name in NAMES
    ]


@pytest.mark.parametrize("round_", ["first", "after kill -9"])
def test_the_seed_can_be_typed_as_it_stands(fleet: Fleet, round_: str) -> None:
    kubectl = fleet.kubectl
    if round_ == "after kill -9":
        before = int(kubectl.path(".metadata.resourceVersion", "get", "namespace", "default"))
        created = kubectl.json("create", "configmap", "marker")
        fleet.node.kill()
        assert kubectl.json("get", "configmap", "marker")["metadata"]["uid"] == created["metadata"]["uid"]
        assert int(created["metadata"]["resourceVersion"]) > before
    first = dict(line.split() for line in fleet.apply())
    assert first == dict.fromkeys(NAMES, "created")
    applied = fleet.all("get", "-o", "json").json()["items"]
    again = dict(line.split() for line in fleet.apply())
    # Where the server fills in fields of list items, kubectl sends the list again; nothing may change by it.
    assert set(again) == set(NAMES)
    assert set(again.values()) <= {"unchanged", "configured"}
    for before, after in zip(applied, fleet.all("get", "-o", "json").json()["items"], strict=True):
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        if after["kind"] != "Job":  # whose suspension is the queue's to change
            assert after.get("spec") == before.get("spec")
            assert after["metadata"].get("generation") == before["metadata"].get("generation")
    _reads_in_every_format(fleet)
    _changes_in_every_way(fleet, round_.split()[0])
    changed = fleet.versions()
    fleet.node.kill()
    after = fleet.versions()
    assert all(after[name] >= version for name, version in changed.items())
    _is_deleted(fleet)
    marker = kubectl.json("create", "configmap", f"marker-{round_.split()[0]}")
    assert int(marker["metadata"]["resourceVersion"]) > max(changed.values())


def _reads_in_every_format(fleet: Fleet) -> None:
    shown = fleet.all("get", "-o", "json").json()["items"]
    assert [each["metadata"]["name"] for each in shown] == [name.split("/")[1] for name in NAMES]
    assert documents(fleet.all("get", "-o", "yaml").out)[0]["items"] == shown
    assert fleet.all("get", "-o", "name").lines == NAMES
    assert fleet.all("get", "-o", "jsonpath={.items[*].kind}").out.split() == [each["kind"] for each in shown]
    columns = fleet.all("get", "-o", "custom-columns=KIND:.kind,NAME:.metadata.name")
    assert columns.rows == [[each["kind"], each["metadata"]["name"]] for each in shown]
    _has_columns(fleet.all("get").out, {kind: narrow for kind, (narrow, _) in COLUMNS.items()})
    _has_columns(fleet.all("get", "-o", "wide").out, {kind: narrow + more for kind, (narrow, more) in COLUMNS.items()})
    described = fleet.all("describe").out
    for each in shown:
        assert re.search(rf"^Name: +{each['metadata']['name']}$", described, re.MULTILINE)
    _seed_commands(fleet.kubectl)


def _has_columns(tables: str, wanted: dict[str, list[str]]) -> None:
    """kubectl prints a table for each run of objects of one kind."""
    found = {}
    for table in tables.strip().split("\n\n"):
        headings, row = (re.split(r" {2,}", line.rstrip()) for line in table.splitlines()[:2])
        found[row[0].split("/")[0].split(".")[0]] = set(headings)
    assert found == {kind: set(headings) for kind, headings in wanted.items()}


def _seed_commands(kubectl: Kubectl) -> None:
    """The commands that the seed shows around its blocks."""
    kubectl("get", "resourceflavor", "default-flavor")
    kubectl("get", "clusterqueue", "cluster-queue")
    kubectl("get", "ns", "compute-jobs")
    kubectl("describe", "crp", "sample-kueue")
    assert set(kubectl("get", "jobs,localqueue", "-n", "compute-jobs", "-o", "name").lines) == {
        name for name in NAMES if name.startswith(("job", "localqueue"))
    }
    kubectl("get", "clusterresourceplacement", "sample-kueue", "-o", "yaml")
    kubectl("get", "resourceplacement", "job1-placement", "-n", "compute-jobs", "-o", "yaml")
    crds = kubectl("get", "crds").out
    for plural in ("clusterqueues", "localqueues", "resourceflavors"):
        assert f"{plural}.kueue.x-k8s.io" in crds


def _changes_in_every_way(fleet: Fleet, seen: str) -> None:
    kubectl = fleet.kubectl
    live = fleet.all("get", "-o", "json").json()["items"]
    assert fleet.all("label", "--overwrite", f"seen={seen}").lines == [f"{name} labeled" for name in NAMES]
    assert fleet.all("annotate", "--overwrite", f"note=some words, {seen}").lines == [
        f"{name} annotated" for name in NAMES
    ]
    edited = [
        {**document, "spec": {**(document["spec"] or {}), **CHANGES[document["kind"]]}}
        for document in fleet.documents
        if document["kind"] in CHANGES
    ]
    names = [name for name, document in fleet.objects if document["kind"] in CHANGES]
    text = yaml.safe_dump_all(edited)
    assert kubectl.run("diff", "-f", "-", stdin=text).code == 1
    settled = yaml.safe_dump_all([each for each in edited if each["kind"] != "Job"])
    assert kubectl.apply(text) == [f"{name} configured" for name in names]
    assert kubectl("diff", "-f", "-", stdin=settled).out == ""
    changed = fleet.all("get", "-o", "json").json()["items"]
    for before, now in zip(live, changed, strict=True):
        change = CHANGES.get(now["kind"], {})
        assert change.items() <= now["spec"].items()
        assert now["metadata"]["labels"]["seen"] == seen
        assert now["metadata"]["uid"] == before["metadata"]["uid"]
        if change:
            assert now["metadata"]["generation"] > before["metadata"]["generation"]
    waited = kubectl("wait", f"--for=jsonpath={{.metadata.labels.seen}}={seen}", "-f", "-", stdin=text).lines
    assert waited == [f"{name} condition met" for name in names]


def _is_deleted(fleet: Fleet) -> None:
    kubectl = fleet.kubectl
    for block in reversed(fleet.blocks):
        kubectl("delete", "-f", "-", "--timeout=50s", stdin=block)
    rest = "---\n".join(fleet.blocks)
    assert kubectl("get", "-f", "-", "--ignore-not-found", stdin=rest).out == ""
