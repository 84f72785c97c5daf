"""The commands that people use all day, and the Python client, against a real node that runs real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import fairway
from fairway.sdk.aio import JobFailed
from tests.acceptance.support import PATIENCE_S, Node, eventually


def command(node: Node, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    """`fairway …` on that node's folder."""
    done = subprocess.run(
        [sys.executable, "-m", "fairway", *arguments],
        capture_output=True,
        text=True,
        env=node.env,
        timeout=PATIENCE_S * 4,
        check=False,
    )
    assert code is None or done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
    return done


def shown(node: Node, *arguments: str) -> Any:
    options = ("-o", "json") if "-o" not in arguments else ()
    return json.loads(command(node, *arguments, *options).stdout)


def test_run_prints_the_output_and_ends_with_the_exit_code_of_the_command(shared_node: Node) -> None:
    done = command(shared_node, "run", "--name", "exits-4", "--", "sh", "-c", "echo out $((1+1)) $$; exit 4", code=4)
    assert done.stdout.startswith("out 2 ")
    assert "$$" not in done.stdout
    assert command(shared_node, "run", "--", "true").returncode == 0
    job = shown(shared_node, "show", "exits-4")
    assert isinstance(job, dict)
    assert (job["state"], job["exit_code"], job["queue"]) == ("failed", 4, "default")
    assert command(shared_node, "logs", "exits-4").stdout == done.stdout


def test_a_job_that_cannot_fit_says_why_and_what_would_help(shared_node: Node) -> None:
    command(shared_node, "run", "-d", "--name", "too-big", "--cpu", "5000000", "--", "true")
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        eventually(lambda: bool(client.why("too-big")["blockers"]), "the job is looked at")
        found = client.why("too-big")
    assert found["blockers"][-1]["type"] == "Short"
    assert found["changes"][0]["text"].startswith("with ")
    said = command(shared_node, "why", "too-big").stdout
    assert "too-big is queued" in said
    assert "It would be admitted with" in said
    command(shared_node, "cancel", "too-big")
    assert "there is no job too-big" in command(shared_node, "show", "too-big", code=1).stderr


def test_where_nothing_runs_two_who_run_something_at_once_share_the_node_that_is_started(tmp_path: Path) -> None:
    """Even where somebody else has the usual port, and with nothing on stdout but what the jobs print."""
    env = {**os.environ, "FAIRWAY_DATA": str(tmp_path / "data")}
    with socket.socket() as other:
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", 7443))
            other.listen()
        words = [sys.executable, "-m", "fairway"]
        runs = [
            subprocess.Popen([*words, "run", "--", "echo", text], stdout=subprocess.PIPE, env=env, text=True)
            for text in ("one", "two")
        ]
        try:
            assert [run.communicate(timeout=PATIENCE_S * 4)[0] for run in runs] == ["one\n", "two\n"]
            assert [run.returncode for run in runs] == [0, 0]
        finally:
            subprocess.run([*words, "down"], env=env, timeout=PATIENCE_S * 4, check=True, capture_output=True)


def test_what_is_not_there_is_said_in_words_with_a_way_on(shared_node: Node) -> None:
    command(shared_node, "run", "--name", "once-only", "--", "true")
    for asking in ("show", "logs", "why", "hold", "cancel"):
        said = command(shared_node, asking, "once-onli", code=1).stderr
        assert "there is no job once-onli in namespace default" in said
        assert "did you mean once-only?" in said
    assert "add -n default" in command(shared_node, "show", "-n", "kube-system", "once-only", code=1).stderr
    assert (
        "there is a job once-only already"
        in command(shared_node, "run", "--name", "once-only", "--", "true", code=1).stderr
    )
    assert "has ended" in command(shared_node, "release", "once-only", code=1).stderr


def test_a_queue_that_is_not_there_is_answered_with_those_that_are(shared_node: Node) -> None:
    command(shared_node, "run", "-d", "--name", "lost", "--queue", "defualt", "--", "true")
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        eventually(lambda: "doesn't exist" in client.job("lost").view().reason, "the job is looked at")
    said = command(shared_node, "why", "lost").stdout
    assert said == "lost is queued: LocalQueue defualt doesn't exist\nThe queues of namespace default: default\n"
    assert shown(shared_node, "why", "lost")["localQueues"] == ["default"]
    command(shared_node, "cancel", "lost")


def test_a_job_that_cannot_be_run_says_what_is_wrong_with_it(shared_node: Node) -> None:
    done = command(shared_node, "run", "--name", "mistyped", "--", "trian-a-model", code=127)
    assert "job mistyped failed (exit code 127: trian-a-model: command not found" in done.stderr
    assert "trian-a-model: command not found" in command(shared_node, "ls", "--all").stdout


def test_of_several_documents_those_that_are_right_are_submitted_and_the_others_named(
    shared_node: Node, tmp_path: Path
) -> None:
    def document(name: str, **more: Any) -> dict[str, Any]:
        container = {"name": "c", "image": "none", "command": ["true"], **more}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}}

    file = tmp_path / "jobs.yaml"
    file.write_text(yaml.safe_dump_all([document("good-1"), document("bad-2", resorces={}), document("good-3")]))
    done = command(shared_node, "submit", str(file), code=1)
    assert done.stdout == "Job good-1 submitted\nJob good-3 submitted\n"
    assert "jobs.yaml, document 2: " in done.stderr
    assert 'unknown field "spec.template.spec.containers[0].resorces"' in done.stderr
    assert "2 of 3 submitted" in done.stderr
    assert shown(shared_node, "show", "good-1")["user"]
    file.write_text("apiVersion: 5\nkind: [Job]\n")
    assert "it must say apiVersion" in command(shared_node, "submit", str(file), code=1).stderr
    file.write_text("")
    assert "there is nothing in" in command(shared_node, "submit", str(file), code=1).stderr


def test_the_output_is_that_of_all_containers_and_what_never_started_is_said(shared_node: Node, tmp_path: Path) -> None:
    def document(name: str, **spec: Any) -> dict[str, Any]:
        template = {"spec": {"restartPolicy": "Never", **spec}}
        body = {"backoffLimit": 0, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}

    def says(name: str, script: str) -> dict[str, Any]:
        return {"name": name, "image": "none", "command": ["sh", "-c", f"echo {name}; {script}"]}

    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "none"}}
    documents = [
        document("several", initContainers=[says("before", "true")], containers=[says("a", "true"), says("b", "true")]),
        document("early-end", initContainers=[says("before", "exit 9")], containers=[says("a", "true")]),
        document("no-entry", containers=[{"name": "a", "image": "busybox"}]),
        document("no-volume", volumes=[claim], containers=[says("a", "true")]),
    ]
    file = tmp_path / "jobs.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    command(shared_node, "submit", str(file))
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        jobs = [client.job(name) for name in ("several", "early-end", "no-entry")]
        states = [view.state for view in client.wait(jobs, seconds=PATIENCE_S * 4, check=False)]
    assert states == ["done", "failed", "failed"]
    assert command(shared_node, "logs", "several").stdout == "before\na\nb\n"
    assert command(shared_node, "logs", "early-end").stdout == "before\n"
    done = command(shared_node, "logs", "no-entry")
    assert (done.stdout, "images are not pulled here" in done.stderr) == ("", True)
    eventually(lambda: "FailedMount" in command(shared_node, "why", "no-volume").stdout, "why says what is missing")
    command(shared_node, "cancel", "several", "early-end", "no-entry", "no-volume")


def test_a_held_job_waits_until_it_is_released(shared_node: Node) -> None:
    command(shared_node, "run", "-d", "--name", "patient", "--cpu", "5000000", "--", "true")
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        eventually(lambda: bool(client.job("patient").view().workload), "the job has a workload")
        command(shared_node, "hold", "patient")
        assert client.job("patient").view().state == "held"
        command(shared_node, "release", "patient")
        assert client.job("patient").view().state == "queued"
    listed = shown(shared_node, "ls")
    assert isinstance(listed, list)
    assert "patient" in {job["name"] for job in listed}
    command(shared_node, "cancel", "patient")


def test_who_follows_a_job_is_told_when_it_has_to_stop_and_sees_it_begin_again(
    shared_node: Node, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    script = f"echo begun; until [ -e {go_on} ]; do sleep 0.1; done; echo ended"
    running = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", "--name", "stopped", "--cpu", "10m", "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shared_node.env,
        text=True,
    )
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client, running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "begun\n"
        client.hold("stopped")
        told = [""]
        while told[-1] != "held: released by: fairway release stopped\n":
            told.append(running.stderr.readline())
            assert told[-1], f"it said no more than {told}"
        client.release("stopped")
        assert running.stdout.readline() == "begun\n"
        go_on.touch()
        out, _err = running.communicate(timeout=PATIENCE_S * 4)
    assert (out, running.returncode) == ("ended\n", 0)


def test_every_command_about_jobs_speaks_to_programs_too(shared_node: Node) -> None:
    done = command(shared_node, "run", "--name", "said", "-o", "json", "--", "sh", "-c", "echo said; exit 4", code=4)
    assert (json.loads(done.stdout)["state"], json.loads(done.stdout)["exit_code"]) == ("failed", 4)
    assert "said\n" in done.stderr
    lines = [json.loads(line) for line in command(shared_node, "logs", "said", "-o", "json").stdout.splitlines()]
    assert "".join(line["output"] for line in lines) == "said\n"
    waits = ("--name", "waits", "--cpu", "5000000", "--", "true")
    assert shown(shared_node, "run", "-d", "-o", "json", *waits)["name"] == "waits"
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        eventually(lambda: bool(client.job("waits").view().workload), "the job has a workload")
    for what, result in (("hold", "held"), ("release", "released"), ("cancel", "cancelled")):
        assert shown(shared_node, what, "waits") == [{"name": "waits", "namespace": "default", "result": result}]
    done = command(shared_node, "cancel", "waits", "said", "-o", "json", code=1)
    assert [set(each) - {"name", "namespace"} for each in json.loads(done.stdout)] == [{"error"}, {"result"}]
    assert "error: there is no job waits in namespace default" in done.stderr


def test_a_running_job_in_the_way_is_named_with_what_it_holds(shared_node: Node) -> None:
    cpus = next(
        resource["nominalQuota"]
        for resource in shown(shared_node, "queues")[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        if resource["name"] == "cpu"
    )
    command(shared_node, "run", "-d", "--name", "holder", "--cpu", cpus, "--", "sleep", "300")
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        eventually(lambda: client.job("holder").view().state == "running", "the job runs")
        command(shared_node, "run", "-d", "--name", "behind", "--cpu", "1", "--", "true")
        eventually(lambda: bool(client.job("behind").view().workload), "the job has a workload")
    assert f" in queue default holds {cpus}\n" in command(shared_node, "why", "behind").stdout
    command(shared_node, "cancel", "holder", "behind")


def test_many_jobs_from_python_are_waited_for_and_read(shared_node: Node) -> None:
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
        jobs = client.map([f"echo number {number}" for number in range(4)], cpu="10m")
        assert [view.state for view in client.wait(jobs, seconds=PATIENCE_S * 4)] == ["done"] * 4
        assert [b"".join(job.logs()) for job in jobs] == [f"number {number}\n".encode() for number in range(4)]
        with pytest.raises(JobFailed, match="failed"):
            client.submit("exit 3", cpu="10m").wait(seconds=PATIENCE_S * 4)


def test_the_client_works_where_a_loop_runs_already_as_in_a_notebook(shared_node: Node) -> None:
    async def cell() -> None:
        with fairway.Client(kubeconfig=shared_node.kubeconfig) as client:
            job = client.submit(["sh", "-c", "echo $WHO"], env={"WHO": "wörld"}, cpu="10m")
            assert (job.wait(seconds=PATIENCE_S).state, job.output()) == ("done", "wörld\n")
        async with fairway.AsyncClient(kubeconfig=shared_node.kubeconfig) as twin:
            failing = await twin.submit(fairway.JobRequest("echo twin; exit 3", cpu="10m"), retries=0)
            with pytest.raises(fairway.JobFailed) as failed:
                await failing.wait(seconds=PATIENCE_S)
            assert (failed.value.job.exit_code, await failing.output()) == (3, "twin\n")
            with pytest.raises(fairway.RequestError, match="cpu"):
                await twin.submit("true", cpu="lots")

    asyncio.run(cell())


def test_a_client_that_nobody_closes_ends_quietly(shared_node: Node) -> None:
    script = "import fairway; fairway.Client().list(); kept = fairway.Client(); kept.list()"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", script],
        capture_output=True,
        text=True,
        env={**shared_node.env, "KUBECONFIG": str(shared_node.kubeconfig)},
        timeout=PATIENCE_S * 4,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_queues_and_events_are_listed(shared_node: Node) -> None:
    queues = shown(shared_node, "queues")
    assert isinstance(queues, list)
    assert "default" in {queue["metadata"]["name"] for queue in queues}
    assert "default" in command(shared_node, "queues").stdout
    command(shared_node, "run", "--name", "eventful", "--", "true")
    assert "SuccessfulCreate" in command(shared_node, "events", "eventful").stdout
