"""Watching and waiting: rows as things happen, through a crash of the node too."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Kubectl, Lines, Node, eventually


def test_a_watch_shows_what_comes_changes_and_goes(kubectl: Kubectl) -> None:
    flags = ("get", "cm", "-w", "--output-watch-events")
    with kubectl.follow(*flags) as table, kubectl.follow(*flags, "-l", "team=red") as red:
        first = config_map("c", a="1")
        first["metadata"]["labels"] = {"team": "red"}
        kubectl.apply(config_map("warm-up"))
        table.has("ADDED", "warm-up")
        kubectl.apply(first)
        table.has("ADDED", "c ", " 1 ")
        red.has("ADDED", "c ", " 1 ")
        kubectl("patch", "cm", "c", "--type=merge", "-p", '{"data":{"b":"2"}}')
        table.has("MODIFIED", "c ", " 2 ")
        kubectl("label", "cm", "c", "team-")
        red.has("DELETED", "c ")
        kubectl("delete", "cm", "c")
        table.has("DELETED", "c ")
        assert table.seen[0].split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert not any("warm-up" in line for line in red.seen)


def test_a_single_object_is_watched_in_any_format(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("c", a="1"), config_map("other", a="1"))
    with kubectl.follow("get", "cm", "c", "-w", "-o", "jsonpath={.data.a}{'\\n'}") as seen:
        seen.has("1")
        kubectl("patch", "cm", "other", "--type=merge", "-p", '{"data":{"a":"no"}}')
        kubectl("patch", "cm", "c", "--type=merge", "-p", '{"data":{"a":"2"}}')
        seen.has("2")
        assert seen.seen == ["1", "2"]


def test_waiting_for_conditions_fields_creation_and_deletion(kubectl: Kubectl, cluster: Kubectl) -> None:
    kubectl.apply(job("a"))
    complete = {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}
    waits = {
        "condition": ("wait", "--for=condition=Suspended", "job/a", "--timeout=20s"),
        "field": ("wait", "--for=jsonpath={.spec.parallelism}=4", "job/a", "--timeout=20s"),
        "delete": ("wait", "--for=delete", "job/a", "--timeout=20s"),
        "create": ("wait", "--for=create", "cm/later", "--timeout=20s"),
    }
    with (
        kubectl.follow(*waits["condition"]) as condition,
        kubectl.follow(*waits["field"]) as field,
        kubectl.follow(*waits["delete"]) as delete,
        kubectl.follow(*waits["create"]) as create,
    ):
        kubectl("patch", "job", "a", "--subresource=status", "--type=merge", "-p", json.dumps(complete))
        assert condition.has("condition met") == "job.batch/a condition met"
        kubectl("patch", "job", "a", "-p", '{"spec":{"parallelism":4}}')
        assert field.has("condition met") == "job.batch/a condition met"
        kubectl.apply(config_map("later"))
        create.has("configmap/later condition met")
        kubectl("delete", "job", "a")
        assert delete.process.wait(20) == 0
    assert "timed out" in kubectl.fails("wait", "--for=jsonpath={.data.x}=1", "cm/later", "--timeout=1s")
    assert "not found" in kubectl.fails("wait", "--for=condition=Ready", "cm/never", "--timeout=1s")
    cluster.apply(cluster_queue("waited"))
    active = {"status": {"conditions": [_condition("Active")]}}
    cluster("patch", "cq", "waited", "--subresource=status", "--type=merge", "-p", json.dumps(active))
    cluster("wait", "--for=condition=Active", "cq/waited", "--timeout=5s")
    cluster("delete", "cq", "waited")


def _condition(type_: str) -> dict[str, str]:
    moment = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": "True", "reason": "Ready", "message": "as asked", "lastTransitionTime": moment}


def test_nothing_acknowledged_is_lost_by_kill_9_and_versions_never_go_back(
    own_node: Node, kubectl_program: Path
) -> None:
    kubectl = own_node.kubectl()
    versions = {}
    for turn in range(2):
        made = kubectl.json("create", "cm", "goal")
        versions[f"goal-{turn}"] = int(made["metadata"]["resourceVersion"])
        with (
            kubectl.follow("get", "cm", "-w", "--output-watch-events") as watch,
            kubectl.follow("wait", "--for=jsonpath={.data.done}=yes", "cm/goal", "--timeout=40s") as wait,
        ):
            watch.has("ADDED", "goal")
            many = yaml.safe_dump_all([config_map(f"c-{turn}-{number}") for number in range(20)])
            created = kubectl("create", "-f", "-", "-o", "json", stdin=many)
            own_node.kill()
            kept = {each["metadata"]["name"]: each for each in kubectl.json("get", "cm")["items"]}
            for obj in _documents(created.out):
                name = obj["metadata"]["name"]
                assert kept[name] == obj
                versions[name] = int(obj["metadata"]["resourceVersion"])
            after = kubectl.json("create", "cm", f"after-{turn}")
            assert int(after["metadata"]["resourceVersion"]) > max(versions.values())
            assert len(set(versions.values())) == len(versions)
            _ended_or_goes_on(watch, f"after-{turn}")
            kubectl("patch", "cm", "goal", "--type=merge", "-p", '{"data":{"done":"yes"}}')
            # A wait outlives the connection that it had.
            wait.has("configmap/goal condition met")
            kubectl("delete", "cm", "goal")


def _documents(text: str) -> list[dict[str, dict[str, str]]]:
    found = []
    decoder = json.JSONDecoder()
    while text.strip():
        obj, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        found += obj["items"] if obj["kind"] == "List" else [obj]
    return found


def _ended_or_goes_on(watch: Lines, name: str) -> None:
    """`get -w` ends when its connection does; with a word or without, but it does not hang."""
    eventually(
        lambda: watch.process.poll() is not None or any(name in line for line in watch.seen),
        "the watch ends or goes on",
    )
