"""Changes by kubectl: patch, edit, label, annotate, replace, scale, dry runs; and refusals that a person can act on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Kubectl


def test_every_type_of_patch_works_on_a_job(kubectl: Kubectl) -> None:
    kubectl.apply(job("a", parallelism=1))
    strategic = {"spec": {"template": {"metadata": {"annotations": {"x": "y"}}}, "parallelism": 2}}
    assert kubectl("patch", "job", "a", "-p", json.dumps(strategic)).out == "job.batch/a patched\n"
    kubectl("patch", "job", "a", "--type=merge", "-p", '{"metadata":{"labels":{"m":"1"}}}')
    kubectl("patch", "job", "a", "--type=json", "-p", '[{"op":"replace","path":"/spec/parallelism","value":3}]')
    shown = kubectl.json("get", "job", "a")
    assert shown["spec"]["parallelism"] == 3
    assert shown["spec"]["template"]["metadata"]["annotations"] == {"x": "y"}
    assert shown["spec"]["template"]["spec"]["containers"][0]["image"] == "ubuntu:22.04"
    assert shown["metadata"]["labels"]["m"] == "1"
    assert kubectl("patch", "job", "a", "-p", '{"spec":{"parallelism":3}}').out == "job.batch/a patched (no change)\n"


def test_a_strategic_patch_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=nginx")
    patch = {"spec": {"containers": [{"name": "p", "image": "nginx:2"}]}}
    kubectl("patch", "pod", "p", "-p", json.dumps(patch))
    container = kubectl.json("get", "pod", "p")["spec"]["containers"]
    assert [(each["name"], each["image"]) for each in container] == [("p", "nginx:2")]
    assert container[0]["terminationMessagePath"] == "/dev/termination-log"


def test_a_strategic_patch_of_a_custom_kind_is_refused_in_the_real_words(cluster: Kubectl) -> None:
    cluster.apply(cluster_queue("strategic"))
    said = cluster.fails("patch", "cq", "strategic", "-p", '{"spec":{"cohortName":"x"}}')
    assert said.endswith(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )
    cluster("patch", "cq", "strategic", "--type=merge", "-p", '{"spec":{"cohortName":"x"}}')
    cluster("patch", "cq", "strategic", "--type=json", "-p", '[{"op":"test","path":"/spec/cohortName","value":"x"}]')
    assert cluster.path(".spec.cohortName", "get", "cq", "strategic") == "x"
    cluster("delete", "cq", "strategic")


def test_status_is_written_by_its_subresource_alone(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"status":{"replicas":7}}')
    assert "replicas" not in kubectl.json("get", "deploy", "web").get("status", {})
    both = '{"status":{"replicas":7},"spec":{"replicas":9}}'
    kubectl("patch", "deploy", "web", "--type=merge", "--subresource=status", "-p", both)
    shown = kubectl.json("get", "deploy", "web")
    assert shown["status"]["replicas"] == 7
    assert shown["spec"]["replicas"] == 1
    assert shown["metadata"]["generation"] == 1
    assert kubectl("get", "deploy", "web", "--subresource=status").rows[0][0] == "web"


def test_patches_that_do_not_apply_say_why_and_change_nothing(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c", a="1"))
    before = kubectl.json("get", "cm", "c")
    assert "does not exist" in kubectl.fails(
        "patch", "cm", "c", "--type=json", "-p", '[{"op":"remove","path":"/data/b"}]'
    )
    assert "test /data/a" in kubectl.fails(
        "patch", "cm", "c", "--type=json", "-p", '[{"op":"test","path":"/data/a","value":"2"}]'
    )
    kubectl.fails("patch", "cm", "c", "--type=merge", "-p", '{"data":{"a":1}}')
    kubectl.fails("patch", "cm", "nope", "--type=merge", "-p", '{"data":{"a":"1"}}')
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}
    assert "the object has been modified" in kubectl.fails("patch", "cm", "c", "--type=merge", "-p", json.dumps(stale))
    assert kubectl.json("get", "cm", "c") == before


def test_labels_and_annotations_come_and_go(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c"))
    assert kubectl("label", "cm", "c", "a=1", "b=2").out == "configmap/c labeled\n"
    assert "already has a value (1)" in kubectl.fails("label", "cm", "c", "a=2")
    kubectl("label", "cm", "c", "a=2", "--overwrite")
    assert kubectl("label", "cm", "c", "b-").out == "configmap/c unlabeled\n"
    kubectl("annotate", "cm", "--all", "note=hello there")
    meta = kubectl.json("get", "cm", "c")["metadata"]
    assert meta["labels"] == {"a": "2"}
    assert meta["annotations"]["note"] == "hello there"
    assert "metadata.labels" in kubectl.fails(
        "patch", "cm", "c", "--type=merge", "-p", '{"metadata":{"labels":{"a":"b c"}}}'
    )


def _editor(folder: Path, old: str, new: str) -> str:
    script = folder / "editor"
    script.write_text(f'#!/bin/sh\nsed -i "s/{old}/{new}/" "$1"\n')
    script.chmod(0o755)
    return str(script)


def test_objects_can_be_edited(kubectl: Kubectl, cluster: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(job("a", parallelism=1))
    editor = _editor(tmp_path, "parallelism: 1", "parallelism: 4")
    assert kubectl("edit", "job", "a", EDITOR=editor).out == "job.batch/a edited\n"
    assert kubectl.path(".spec.parallelism", "get", "job", "a") == "4"
    assert "no changes made" in kubectl("edit", "job", "a", EDITOR=editor).err
    cluster.apply(cluster_queue("edited"))
    cluster("edit", "cq", "edited", EDITOR=_editor(tmp_path, "cohortName: all", "cohortName: some"))
    assert cluster.path(".spec.cohortName", "get", "cq", "edited") == "some"
    said = cluster.fails(
        "edit", "cq", "edited", EDITOR=_editor(tmp_path, "queueingStrategy: .*", "queueingStrategy: Nope")
    )
    assert 'clusterqueues.kueue.x-k8s.io "edited" is invalid' in said
    cluster("delete", "cq", "edited")


def test_a_replace_carries_the_version_that_it_replaces(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c", a="1", b="2"))
    first = kubectl.json("get", "cm", "c")
    kubectl("replace", "-f", "-", stdin=yaml.safe_dump(config_map("c", a="2")))
    assert kubectl.json("get", "cm", "c")["data"] == {"a": "2"}
    said = kubectl.fails("replace", "-f", "-", stdin=json.dumps(first))
    assert said.endswith(
        'Operation cannot be fulfilled on configmaps "c": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    kubectl("replace", "--force", "-f", "-", stdin=yaml.safe_dump(config_map("c", a="3")))
    forced = kubectl.json("get", "cm", "c")
    assert forced["data"] == {"a": "3"}
    assert forced["metadata"]["uid"] != first["metadata"]["uid"]


def test_what_has_replicas_can_be_scaled_and_a_job_cannot(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=1")
    assert kubectl("scale", "deployment", "web", "--replicas=3").out == "deployment.apps/web scaled\n"
    assert kubectl.path(".spec.replicas", "get", "deploy", "web") == "3"
    kubectl.fails("scale", "deployment", "web", "--current-replicas=1", "--replicas=9")
    assert kubectl.json("get", "deploy", "web", "--subresource=scale")["kind"] == "Scale"
    kubectl.apply(job("a"))
    assert "NotFound" in kubectl.fails("scale", "job", "a", "--replicas=2")


def test_a_dry_run_on_the_server_answers_as_if(kubectl: Kubectl) -> None:
    made = kubectl("apply", "--dry-run=server", "-f", "-", "-o", "json", stdin=yaml.safe_dump(job("a"))).json()
    assert made["spec"]["completionMode"] == "NonIndexed"
    assert "NotFound" in kubectl.fails("get", "job", "a")
    kubectl.apply(job("a"))
    assert kubectl("delete", "job", "a", "--dry-run=server").out == 'job.batch "a" deleted (server dry run)\n'
    kubectl("label", "job", "a", "x=y", "--dry-run=server")
    assert "x" not in kubectl.json("get", "job", "a")["metadata"].get("labels", {})
    assert "already exists" in kubectl.fails("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(job("a")))


def test_unknown_fields_are_refused_by_default_and_all_of_them_are_named(kubectl: Kubectl) -> None:
    typo = job("a", paralelism=3)
    typo["spec"]["template"]["spec"]["containers"][0]["imag"] = "x"
    said = kubectl.fails("apply", "-f", "-", stdin=yaml.safe_dump(typo))
    assert 'unknown field "spec.paralelism"' in said
    assert 'unknown field "spec.template.spec.containers[0].imag"' in said
    warned = kubectl("apply", "--validate=warn", "-f", "-", stdin=yaml.safe_dump(typo))
    assert 'Warning: unknown field "spec.paralelism"' in warned.err
    assert "paralelism" not in kubectl.json("get", "job", "a")["spec"]
    queue = cluster_queue("typo", cohrt="x")
    assert 'unknown field "spec.cohrt"' in kubectl.fails("apply", "-f", "-", stdin=yaml.safe_dump(queue))


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (job("A_b"), ["metadata.name", "lowercase RFC 1123 subdomain"]),
        (job("a", parallelism=-1), ["spec.parallelism", "must be greater than or equal to 0"]),
        (
            cluster_queue("bad", queueingStrategy="Sometimes"),
            ["spec.queueingStrategy", 'supported values: "StrictFIFO", "BestEffortFIFO"'],
        ),
        (config_map("c", **{"a b": "x"}), ["data[a b]", "a valid config key"]),
    ],
)
def test_invalid_objects_are_refused_with_the_field_and_the_rule(
    kubectl: Kubectl, obj: dict[str, object], words: list[str]
) -> None:
    said = kubectl.fails("create", "-f", "-", stdin=yaml.safe_dump(obj))
    for word in words:
        assert word in said


def test_what_cannot_change_does_not(kubectl: Kubectl) -> None:
    kubectl.apply(job("a", completions=3))
    said = kubectl.fails("patch", "job", "a", "-p", '{"spec":{"completions":5}}')
    assert said == 'The Job "a" is invalid: spec.completions: Invalid value: 5: field is immutable'
