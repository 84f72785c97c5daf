"""Pods with the real kubectl: run, logs, delete, and a node that is killed under them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fairway.runtime import process
from tests.acceptance.support import PATIENCE_S, Kubectl, Node

EXIT_CODE = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"


def until(kubectl: Kubectl, name: str, path: str, value: str) -> None:
    kubectl("wait", f"pod/{name}", f"--for=jsonpath={{{path}}}={value}", f"--timeout={PATIENCE_S:.0f}s")


def ended(kubectl: Kubectl, name: str, phase: str = "Succeeded") -> None:
    until(kubectl, name, ".status.phase", phase)


def run(kubectl: Kubectl, name: str, script: str, *flags: str) -> None:
    kubectl("run", name, "--image=busybox", "--restart=Never", *flags, "--command", "--", "sh", "-c", script)


def test_a_pod_runs_and_kubectl_shows_how_it_ended(kubectl: Kubectl) -> None:
    run(kubectl, "good", "echo hello")
    run(kubectl, "bad", "exit 3")
    ended(kubectl, "good")
    ended(kubectl, "bad", "Failed")
    rows = {row[0]: row[1:4] for row in kubectl("get", "pods").rows}
    assert rows == {"good": ["0/1", "Completed", "0"], "bad": ["0/1", "Error", "0"]}
    assert kubectl("logs", "good").out == "hello\n"
    assert kubectl("get", "pod", "bad", "-o", EXIT_CODE).out == "3"
    described = kubectl("describe", "pod", "good").out
    assert "Successfully assigned" in described
    assert "fairway.dev/ImagesPulled" in described


def test_logs_follow_a_running_pod_to_its_end(kubectl: Kubectl, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run(kubectl, "p", f"echo one; while ! test -e {gate}; do sleep 0.05; done; echo two")
    until(kubectl, "p", ".status.phase", "Running")
    following = subprocess.Popen(
        [str(kubectl.program), *kubectl.always, "logs", "-f", "p"], env=kubectl.env, stdout=subprocess.PIPE, text=True
    )
    assert following.stdout is not None
    try:
        assert following.stdout.readline() == "one\n"
        gate.touch()
        rest, _ = following.communicate(timeout=PATIENCE_S)
    finally:
        following.kill()
    assert rest == "two\n"
    assert following.returncode == 0


def test_logs_take_the_options_that_kubectl_has(kubectl: Kubectl) -> None:
    run(kubectl, "p", "for i in 1 2 3 4 5; do echo line $i; done", "--labels=app=x")
    run(kubectl, "q", "echo of q", "--labels=app=x")
    ended(kubectl, "p")
    ended(kubectl, "q")
    assert kubectl("logs", "p", "--tail=2").out == "line 4\nline 5\n"
    assert kubectl("logs", "p", "--limit-bytes=8").out == "line 1\nl"
    stamped = kubectl("logs", "p", "--timestamps", "--tail=1").out
    assert stamped.endswith(" line 5\n")
    assert stamped[:2] == "20"
    assert kubectl("logs", "p", "--since=1h").out.startswith("line 1\n")
    both = kubectl("logs", "-l", "app=x", "--prefix").lines
    assert any(line.endswith("of q") and "pod/q" in line for line in both)
    assert sum("line" in line for line in both) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("p", "-c", "absent"), "container absent is not valid for pod p"),
        (("p", "--previous"), 'previous terminated container "p" in pod "p" not found'),
        (("none",), 'pods "none" not found'),
    ],
)
def test_logs_are_refused_in_the_words_of_the_real_server(
    kubectl: Kubectl, arguments: tuple[str, ...], message: str
) -> None:
    run(kubectl, "p", "true")
    ended(kubectl, "p")
    assert message in kubectl.fails("logs", *arguments)


def test_a_deleted_pod_is_stopped_in_good_order(kubectl: Kubectl, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    ready = tmp_path / "ready"
    run(kubectl, "p", f"trap 'echo ended > {mark}; exit 0' TERM; touch {ready}; while true; do sleep 0.05; done")
    until(kubectl, "p", ".status.phase", "Running")
    assert process.wait_until(ready.exists, PATIENCE_S)
    kubectl("delete", "pod", "p")
    assert mark.read_text() == "ended\n"
    assert kubectl("get", "pods").out == ""


def test_a_pod_can_be_deleted_by_force(kubectl: Kubectl) -> None:
    run(kubectl, "p", "trap '' TERM; while true; do sleep 0.05; done")
    until(kubectl, "p", ".status.phase", "Running")
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    assert kubectl("get", "pods").out == ""


def test_a_pod_without_a_command_says_what_is_missing(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=nginx", "--restart=Never")
    ended(kubectl, "p", "Failed")
    assert "images are not pulled" in kubectl("describe", "pod", "p").out


def test_a_pod_that_does_not_fit_says_what_is_missing(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_HUGE)
    until(kubectl, "huge", ".status.conditions[0].reason", "Unschedulable")
    message = kubectl("get", "pod", "huge", "-o", "jsonpath={.status.conditions[0].message}").out
    assert message.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


_HUGE = """
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers: [{name: a, image: i, command: ["true"], resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_a_node_killed_under_a_pod_finds_the_same_process_and_its_exit_code(
    own_node: Node, kubectl_program: Path, tmp_path: Path
) -> None:
    kubectl = own_node.kubectl(kubectl_program)
    gate, started = tmp_path / "gate", tmp_path / "started"
    run(kubectl, "p", f"echo $$$$ >> {started}; while ! test -e {gate}; do sleep 0.05; done; echo bye; exit 7")
    until(kubectl, "p", ".status.phase", "Running")
    assert process.wait_until(lambda: started.exists() and started.read_text().endswith("\n"), PATIENCE_S)
    pid = int(started.read_text())
    for _ in range(2):
        own_node.kill()
        assert kubectl("get", "pod", "p", "-o", "jsonpath={.status.phase}").out == "Running"
    os.kill(pid, 0)
    gate.touch()
    ended(kubectl, "p", "Failed")
    assert kubectl("get", "pod", "p", "-o", EXIT_CODE).out == "7"
    assert kubectl("logs", "p").out == "bye\n"
    assert started.read_text() == f"{pid}\n", "it was started once"
    assert kubectl("get", "pod", "p", "-o", "jsonpath={.status.containerStatuses[0].restartCount}").out == "0"
