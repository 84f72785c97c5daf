"""A request of a person's becomes the Job that says it, or a clear refusal."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from fairway.sdk.request import GPU, QUEUE_LABEL, JobOptions, JobRequest, RequestError, job_object


def container(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_command_line_runs_in_a_shell_and_words_run_as_they_are() -> None:
    assert container(job_object(JobRequest("echo $HOME | wc")))["command"] == ["/bin/sh", "-c", "echo $HOME | wc"]
    assert container(job_object(JobRequest(["echo", "$HOME"])))["command"] == ["echo", "$HOME"]


def test_dollars_mean_what_they_mean_in_a_shell() -> None:
    command = container(job_object(JobRequest("echo $$ $(date) $HOME $$(x)")))["command"][2]
    assert command == "echo $$$ $$(date) $HOME $$$$(x)", "each $ before $ or ( is doubled; Kubernetes halves them again"


def test_resources_queue_and_priority_are_where_queueing_looks_for_them() -> None:
    job = job_object(JobRequest("true", queue="training", cpu=1.5, memory="4096Mi", gpus=2, priority="high"))
    assert job["metadata"]["labels"][QUEUE_LABEL] == "training"
    assert job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "high"
    resources = container(job)["resources"]
    assert resources["requests"] == {"cpu": "1500m", "memory": "4Gi", GPU: "2"}
    assert resources["limits"] == {"memory": "4Gi", GPU: "2"}


def test_a_job_without_a_name_is_named_after_its_command() -> None:
    assert job_object(JobRequest("/usr/bin/Python3.11 train.py"))["metadata"]["generateName"] == "python3-11-"
    assert job_object(JobRequest(["./§§§"]))["metadata"]["generateName"] == "job-"
    assert job_object(JobRequest("true", name="mine"))["metadata"]["name"] == "mine"


def test_an_array_is_an_indexed_job() -> None:
    spec = job_object(JobRequest("true", array="0-9%3"))["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 10, 3)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (JobRequest(""), "no command"),
        (JobRequest([]), "no command"),
        (JobRequest("true", cpu="many"), "cpu: 'many' is not a quantity"),
        (JobRequest("true", memory="4 Gi"), "memory"),
        (JobRequest("true", array="1-9"), "array"),
        (JobRequest("true", array="0-9%0"), "at least one"),
        (JobRequest("true", array="0-999999"), "100,000"),
        (JobRequest("true", cpu=-1), "cpu: -1 is less than nothing"),
        (JobRequest("true", gpus=-1), "gpus: -1 is not a number of GPUs"),
        (JobRequest("true", name="Ünï code"), "name: 'Ünï code' cannot be a job's name"),
        (JobRequest("true", name="a" * 64), "at most 63"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(request_: JobRequest, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        job_object(request_)


def test_options_by_name_are_the_fields_of_a_request() -> None:
    assert set(JobOptions.__annotations__) == {field.name for field in fields(JobRequest)} - {"command"}


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (JobRequest(["echo", "raw\udcff"]), "command"),
        (JobRequest("echo a\0b"), "command"),
        (JobRequest("true", env={"A": "\udcff"}), "env"),
        (JobRequest("true", env={"A\0": "b"}), "env"),
        (JobRequest("true", name="\udcff"), "name"),
        (JobRequest("true", labels={"a": "\udcff"}), "labels"),
    ],
)
def test_what_is_no_text_is_refused_in_words(request_: JobRequest, where: str) -> None:
    with pytest.raises(RequestError, match=where):
        job_object(request_)
