"""Variables, commands and volumes of a container, from its pod and what it refers to."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from fairway.control.pods import environment, volumes
from fairway.control.pods.environment import Sources, Unprepared
from fairway.control.pods.folders import Folders
from fairway.control.pods.preparing import limits
from fairway.engines.engine import Mount

SOURCES = Sources(
    {"cm": {"data": {"a": "1", "b": "2"}, "binaryData": {"raw": base64.b64encode(b"\x00\xff").decode()}}, "none": None},
    {"s": {"data": {"password": base64.b64encode(b"hush").decode()}}},
    {"cpu": "4", "memory": "8Gi"},
)


def pod(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "team", "uid": "u1", "labels": {"app": "x"}, "annotations": {"n": "v"}},
        "spec": {"containers": [{"name": "c", **container}], "nodeName": "vm", **spec},
        "status": {"hostIP": "10.0.0.1", "podIP": "10.0.0.1"},
    }


def env_of(*entries: Any, **more: Any) -> dict[str, str]:
    whole = pod({"env": list(entries), **more})
    return environment.environment(whole, whole["spec"]["containers"][0], SOURCES, {"PATH": "/bin"})


def test_values_may_use_what_came_before_them() -> None:
    found = env_of(
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(LATER)-$$(A)"},
        {"name": "LATER", "value": "2"},
        {"name": "EMPTY"},
    )
    assert found == {"PATH": "/bin", "A": "1", "B": "1-$(LATER)-$(A)", "LATER": "2", "EMPTY": ""}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "team"),
        ("metadata.uid", "u1"),
        ("metadata.labels['app']", "x"),
        ("metadata.annotations['n']", "v"),
        ("metadata.labels['absent']", ""),
        ("spec.nodeName", "vm"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_fields_of_the_pod_can_be_had(path: str, value: str) -> None:
    assert env_of({"name": "F", "valueFrom": {"fieldRef": {"fieldPath": path}}})["F"] == value


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "requests.memory", "divisor": "1Mi"}, "64"),
        ({"resource": "limits.memory", "divisor": "1Gi"}, "8"),
        ({"resource": "requests.cpu"}, "0"),
    ],
)
def test_resources_are_rounded_up_and_without_a_limit_those_of_the_node(ref: Any, value: str) -> None:
    resources = {"limits": {"cpu": "1500m"}, "requests": {"memory": "64Mi"}}
    assert env_of({"name": "R", "valueFrom": {"resourceFieldRef": ref}}, resources=resources)["R"] == value


def test_config_maps_and_secrets_become_variables() -> None:
    found = env_of(
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "a"}}},
        {"name": "P", "valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
        {"name": "b", "value": "mine"},
        envFrom=[{"configMapRef": {"name": "cm"}, "prefix": ""}, {"secretRef": {"name": "s"}, "prefix": "S_"}],
    )
    assert (found["A"], found["P"], found["a"], found["b"], found["S_password"]) == ("1", "hush", "1", "mine", "hush")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "a"}}, 'configmap "none" not found'),
        ({"configMapKeyRef": {"name": "cm", "key": "z"}}, "couldn't find key z in ConfigMap team/cm"),
        ({"secretKeyRef": {"name": "absent", "key": "a"}}, 'secret "absent" not found'),
    ],
)
def test_what_is_missing_is_named_unless_it_is_optional(entry: Any, message: str) -> None:
    with pytest.raises(Unprepared) as caught:
        env_of({"name": "X", "valueFrom": entry})
    assert (caught.value.problem.reason, caught.value.problem.message) == ("CreateContainerConfigError", message)
    optional = {kind: {**ref, "optional": True} for kind, ref in entry.items()}
    assert "X" not in env_of({"name": "X", "valueFrom": optional})


@pytest.mark.parametrize(
    ("container", "argv"),
    [
        ({"command": ["a", "$(X)"], "args": ["b"]}, ("a", "1", "b")),
        ({"args": ["b", "c"]}, ("b", "c")),
    ],
)
def test_a_command_is_command_then_args(container: Any, argv: tuple[str, ...]) -> None:
    assert environment.command(container, {"X": "1"}) == argv


def test_without_a_command_it_is_said_why_there_must_be_one() -> None:
    with pytest.raises(Unprepared) as caught:
        environment.command({"image": "nginx"}, {})
    assert caught.value.problem.final
    assert "images are not pulled" in caught.value.problem.message


def test_names_of_all_that_a_pod_needs() -> None:
    whole = pod(
        {"envFrom": [{"configMapRef": {"name": "m1"}}], "env": [{"valueFrom": {"secretKeyRef": {"name": "s1"}}}]},
        volumes=[
            {"name": "v1", "secret": {"secretName": "s2"}},
            {"name": "v2", "projected": {"sources": [{"secret": {"name": "s3"}}, {"configMap": {"name": "m2"}}]}},
        ],
    )
    assert environment.references(whole["spec"]) == ({"m1", "m2"}, {"s1", "s2", "s3"})


def test_volumes_are_folders_with_their_files(tmp_path: Path) -> None:
    whole = pod(
        {},
        volumes=[
            {"name": "scratch", "emptyDir": {}},
            {"name": "config", "configMap": {"name": "cm", "items": [{"key": "a", "path": "deep/a.txt"}]}},
            {"name": "keys", "secret": {"secretName": "s", "defaultMode": 0o400}},
            {"name": "host", "hostPath": {"path": str(tmp_path)}},
            {
                "name": "all",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "cm"}},
                        {"secret": {"name": "s"}},
                        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                    ]
                },
            },
        ],
    )
    folders = Folders(tmp_path / "pods")
    found = folders.make("u1", volumes.volumes(whole, SOURCES))
    assert os.listdir(found["scratch"]) == []
    assert (Path(found["config"]) / "deep/a.txt").read_text() == "1"
    key = Path(found["keys"]) / "password"
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("hush", 0o400)
    assert found["host"] == str(tmp_path)
    assert sorted(os.listdir(found["all"])) == ["a", "b", "labels", "password", "raw"]
    assert (Path(found["all"]) / "labels").read_text() == 'app="x"'
    assert (Path(found["all"]) / "raw").read_bytes() == b"\x00\xff"
    (Path(found["scratch"]) / "kept").touch()
    folders.make("u1", volumes.volumes(whole, SOURCES))
    assert os.listdir(found["scratch"]) == ["kept"], "a second container finds what the first left"
    folders.remove("u1")
    assert folders.known() == []


def test_a_pod_that_comes_from_a_kubernetes_runs_without_the_token_that_was_mounted_there() -> None:
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    whole = pod({}, volumes=[{"name": "kube-api-access-x", "projected": {"sources": sources}}])
    (made,) = volumes.volumes(whole, SOURCES)
    assert isinstance(made, volumes.Filled)
    assert [file.path for file in made.files] == ["namespace"]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'MountVolume.SetUp failed for volume "v" : configmap "none" not found'),
        (
            {"persistentVolumeClaim": {"claimName": "c"}},
            'MountVolume.SetUp failed for volume "v" : a host process cannot have volumes of kind persistentVolumeClaim; '
            "use emptyDir, hostPath, configMap or secret",
        ),
    ],
)
def test_a_volume_that_cannot_be_had_is_waited_for(volume: Any, message: str) -> None:
    with pytest.raises(Unprepared) as caught:
        volumes.volumes(pod({}, volumes=[{"name": "v", **volume}]), SOURCES)
    assert (caught.value.problem.message, caught.value.problem.note) == (message, "FailedMount")


def test_mounts_are_offered_by_path_and_by_variable() -> None:
    container = {
        "workingDir": "/data/in",
        "volumeMounts": [
            {"name": "my-vol", "mountPath": "/data"},
            {"name": "my-vol", "mountPath": "/part", "subPathExpr": "$(WHO)", "readOnly": True},
        ],
    }
    found = volumes.mounts(container, {"my-vol": "/pods/v"}, {"WHO": "me"})
    assert found == [Mount("/pods/v", "/data", False), Mount("/pods/v/me", "/part", True)]
    assert volumes.variables(container, {"my-vol": "/pods/v"}) == {"FAIRWAY_VOLUME_MY_VOL": "/pods/v"}
    assert volumes.working_folder(container, found) == "/pods/v/in"
    assert volumes.working_folder({"workingDir": "/database"}, found) == "/database"


def test_a_sub_path_does_not_leave_its_volume() -> None:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/data", "subPathExpr": "$(WHERE)"}]}
    with pytest.raises(Unprepared):
        volumes.mounts(container, {"v": "/pods/v"}, {"WHERE": "../../etc"})


def test_limits_are_those_of_the_container() -> None:
    given = limits({"resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}}})
    assert (given.cpu_millis, given.memory_bytes) == (1500, 64 << 20)
    assert limits({}).cpu_millis is None


@pytest.mark.parametrize("path", ["../up", "/etc/cron.d/x", "a/../../b", ""])
@pytest.mark.parametrize("kind", ["configMap", "secret", "projected", "downwardAPI"])
def test_a_file_does_not_leave_its_volume(path: str, kind: str) -> None:
    volume: dict[str, Any] = {
        "configMap": {"configMap": {"name": "cm", "items": [{"key": "a", "path": path}]}},
        "secret": {"secret": {"secretName": "s", "items": [{"key": "password", "path": path}]}},
        "projected": {"projected": {"sources": [{"configMap": {"name": "cm", "items": [{"key": "a", "path": path}]}}]}},
        "downwardAPI": {"downwardAPI": {"items": [{"path": path, "fieldRef": {"fieldPath": "metadata.name"}}]}},
    }[kind]
    with pytest.raises(Unprepared) as caught:
        volumes.volumes(pod({}, volumes=[{"name": "v", **volume}]), SOURCES)
    assert "leaves the volume" in caught.value.problem.message
