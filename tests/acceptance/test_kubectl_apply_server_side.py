"""Server-side apply: owners, conflicts, taking over, and moving over from client-side apply."""

from __future__ import annotations

import yaml

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Kubectl

SERVER_SIDE = ("--server-side",)


def test_an_applied_object_is_its_appliers_and_applying_again_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(config_map("c", a="1", b="2"), flags=SERVER_SIDE) == ["configmap/c serverside-applied"]
    first = kubectl.json("get", "cm", "c", "--show-managed-fields")
    entry = first["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}
    kubectl.apply(config_map("c", a="1", b="2"), flags=SERVER_SIDE)
    assert kubectl.json("get", "cm", "c", "--show-managed-fields") == first
    kubectl.apply(config_map("c", a="1"), flags=SERVER_SIDE)
    assert kubectl.json("get", "cm", "c")["data"] == {"a": "1"}


def test_a_conflict_names_owner_and_field_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c", a="1", b="2"), flags=SERVER_SIDE)
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    said = kubectl.fails(*other, stdin=yaml.safe_dump(config_map("c", a="9")))
    assert said.startswith('error: Apply failed with 1 conflict: conflict with "kubectl": .data.a\n')
    kubectl(*other, "--force-conflicts", stdin=yaml.safe_dump(config_map("c", a="9")))
    shown = kubectl.json("get", "cm", "c", "--show-managed-fields")
    assert shown["data"] == {"a": "9", "b": "2"}
    owners = {entry["manager"]: entry["fieldsV1"]["f:data"] for entry in shown["metadata"]["managedFields"]}
    assert owners == {"kubectl": {"f:b": {}}, "other": {"f:a": {}}}


def test_managers_may_share_what_they_agree_on(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c", a="1"), flags=SERVER_SIDE)
    kubectl.apply(config_map("c", a="1"), flags=("--server-side", "--field-manager=other"))
    kubectl.apply(config_map("c"), flags=SERVER_SIDE)
    assert kubectl.json("get", "cm", "c")["data"] == {"a": "1"}
    kubectl.apply(config_map("c"), flags=("--server-side", "--field-manager=other"))
    assert not kubectl.json("get", "cm", "c").get("data")


def test_a_job_moves_over_from_client_side_apply_and_keeps_what_the_server_filled_in(kubectl: Kubectl) -> None:
    kubectl.apply(job("a", parallelism=2))
    before = kubectl.json("get", "job", "a")
    kubectl.apply(job("a", parallelism=2), flags=SERVER_SIDE)
    moved = kubectl.json("get", "job", "a", "--show-managed-fields")
    assert moved["spec"] == before["spec"]
    assert moved["metadata"]["labels"] == before["metadata"]["labels"]
    assert moved["metadata"]["generation"] == before["metadata"]["generation"]
    owners = {(each["manager"], each["operation"]) for each in moved["metadata"]["managedFields"]}
    assert {("kubectl", "Apply"), ("kubectl-last-applied", "Apply")} <= owners
    assert ("kubectl-client-side-apply", "Update") not in owners
    kubectl.apply(job("a", parallelism=3, backoffLimit=1), flags=SERVER_SIDE)
    kubectl.apply(job("a", parallelism=3), flags=SERVER_SIDE)
    spec = kubectl.json("get", "job", "a")["spec"]
    assert (spec["parallelism"], spec["backoffLimit"]) == (3, 6)


def test_another_applier_conflicts_with_the_client_side_one(kubectl: Kubectl) -> None:
    kubectl.apply(job("a", parallelism=2))
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    said = kubectl.fails(*other, stdin=yaml.safe_dump(job("a", parallelism=5)))
    assert said.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using batch/v1: .spec.parallelism\n'
    )


def test_custom_kinds_are_applied_too_in_either_version(cluster: Kubectl) -> None:
    cluster.apply(cluster_queue("applied"), flags=SERVER_SIDE)
    older = {**cluster_queue("applied"), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    older["spec"] = {"cohort": "some", "namespaceSelector": {}}
    cluster.apply(older, flags=SERVER_SIDE)
    assert cluster.path(".spec.cohortName", "get", "cq", "applied") == "some"
    cluster("delete", "cq", "applied")


def test_the_seed_is_applied_on_the_server_side_too(cluster: Kubectl, seed: list[str]) -> None:
    applied = [line for block in seed for line in cluster.apply(block, flags=("--server-side", "--force-conflicts"))]
    assert len(applied) == 10
    assert all(line.endswith(" serverside-applied") for line in applied)
    # A job's suspension is the queue's from now on, and the next apply would conflict with it, as it should.
    settled = [block for block in seed if "kind: Job\n" not in block]
    text = "---\n".join(settled)
    first = cluster("get", "-f", "-", "-o", "json", stdin=text).json()["items"]
    for block in settled:
        cluster.apply(block, flags=SERVER_SIDE)
    again = cluster("get", "-f", "-", "-o", "json", stdin=text).json()["items"]
    assert [each.get("spec") for each in again] == [each.get("spec") for each in first]
    assert [each["metadata"].get("generation") for each in again] == [
        each["metadata"].get("generation") for each in first
    ]
    rest = "---\n".join(seed[1:])
    cluster("delete", "--ignore-not-found", "--timeout=50s", "-f", "-", stdin=rest)
