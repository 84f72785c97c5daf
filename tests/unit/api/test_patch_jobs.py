"""Patches and server-side apply on real Jobs: the schema of the kind says how their lists merge."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.api.patch import apply as ssa
from fairway.api.patch import fieldset, strategic
from fairway.api.patch.apply import Conflict
from fairway.kinds.k8s.batch.kinds import JOB
from fairway.kinds.kind import convert
from fairway.kinds.types import to_json

NODE = JOB.storage_version.node
V1 = "batch/v1"
CONTAINER = {
    "name": "c",
    "image": "ubuntu:22.04",
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 80}],
    "resources": {"requests": {"cpu": "1"}},
}


def job(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pod = {"containers": [container or CONTAINER], "restartPolicy": "Never"}
    return {
        "apiVersion": V1,
        "kind": "Job",
        "metadata": {"name": "evaluation", "namespace": "n", "annotations": {"queue": "q"}},
        "spec": {"parallelism": 1, "template": {"spec": pod}, **spec},
    }


def defaulted(obj: dict[str, Any]) -> dict[str, Any]:
    """As the API stores it."""
    entries = obj["metadata"].get("managedFields")
    new = convert({**obj, "metadata": {**obj["metadata"], "managedFields": []}}, JOB.storage_version.type)
    JOB.default(new, None)
    JOB.prepare(new, None)
    result: dict[str, Any] = to_json(new)
    result["metadata"]["managedFields"] = entries
    return result


def applied(live: dict[str, Any] | None, config: dict[str, Any], manager: str = "me", **more: Any) -> dict[str, Any]:
    return ssa.apply(live, config, manager, V1, more.pop("force", False), more.pop("time", "t1"), NODE, **more)[0]


def owned(obj: dict[str, Any], manager: str) -> set[str]:
    entries = [entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == manager]
    return {fieldset.show(path) for entry in entries for path in fieldset.members(entry["fieldsV1"])}


def test_reapplying_a_job_that_the_server_completed_changes_nothing() -> None:
    live = defaulted(applied(None, job()))
    assert live["spec"]["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert applied(live, job(), time="t2") is live


def test_an_applied_job_owns_its_fields_by_the_keys_of_their_lists() -> None:
    mine = owned(applied(None, job()), "me")
    pod = ".spec.template.spec"
    assert {
        ".spec.parallelism",
        f"{pod}.restartPolicy",
        f'{pod}.containers[name="c"]',
        f'{pod}.containers[name="c"].image',
        f'{pod}.containers[name="c"].env[name="A"].value',
        f'{pod}.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
        f'{pod}.containers[name="c"].resources.requests.cpu',
        ".metadata.annotations.queue",
    } <= mine
    assert not any(path in mine for path in (".spec", ".metadata", ".metadata.name", f"{pod}.containers"))


def test_two_appliers_share_a_container_and_each_takes_only_its_own_with_it() -> None:
    live = defaulted(applied(None, job()))
    sidecar = job({"name": "c", "env": [{"name": "X", "value": "9"}]})
    del sidecar["spec"]["parallelism"]
    both = applied(live, sidecar, "injector")
    env = both["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each["name"] for each in env] == ["A", "B", "X"]
    gone = applied(both, {key: value for key, value in sidecar.items() if key != "spec"}, "injector")
    assert gone["spec"] == live["spec"]
    without_b = copy.deepcopy(CONTAINER) | {"env": [{"name": "A", "value": "1"}]}
    env = applied(both, job(without_b))["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each["name"] for each in env] == ["A", "X"]


def test_a_changed_image_conflicts_with_its_owner_by_the_path_that_kubectl_prints() -> None:
    live = defaulted(applied(None, job()))
    with pytest.raises(Conflict) as caught:
        applied(live, job({**CONTAINER, "image": "ubuntu:24.04"}), "you")
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "me": .spec.template.spec.containers[name="c"].image'
    )


def test_a_queue_that_unsuspends_a_job_is_told_apart_from_its_submitter() -> None:
    live = defaulted(applied(None, job(suspend=True)))
    started = {**live, "spec": {**live["spec"], "suspend": False}}
    started["metadata"]["managedFields"] = ssa.update(
        live, started, live["metadata"]["managedFields"], "queue", V1, "t2", NODE
    )
    with pytest.raises(Conflict, match='conflict with "queue" using batch/v1: .spec.suspend'):
        applied(started, job(suspend=True))
    assert applied(started, job())["spec"]["suspend"] is False


def test_a_strategic_patch_as_kubectl_sends_it_touches_only_what_it_names() -> None:
    live = defaulted(job())
    patch = {
        "metadata": {"annotations": {"queue": "r"}},
        "spec": {
            "parallelism": 3,
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "c"}],
                    "containers": [
                        {
                            "name": "c",
                            "image": "ubuntu:24.04",
                            "$setElementOrder/env": [{"name": "B"}, {"name": "C"}],
                            "env": [{"name": "C", "value": "3"}, {"name": "A", "$patch": "delete"}],
                        }
                    ],
                }
            },
        },
    }
    before = live["spec"]["template"]["spec"]["containers"][0]
    result = strategic.apply(live, patch, NODE)
    after = result["spec"]["template"]["spec"]["containers"][0]
    assert after["env"] == [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    assert {**after, "env": before["env"], "image": before["image"]} == before
    assert result["spec"]["parallelism"] == 3
    assert result["metadata"]["annotations"] == {"queue": "r"}


def test_a_volume_changes_its_kind_by_retained_keys() -> None:
    live = job()
    live["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]
    change = {"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "m"}}
    result = strategic.apply(live, {"spec": {"template": {"spec": {"volumes": [change]}}}}, NODE)
    assert result["spec"]["template"]["spec"]["volumes"] == [
        {"name": "v", "configMap": {"name": "m"}},
        {"name": "w", "emptyDir": {}},
    ]
