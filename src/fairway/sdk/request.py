"""What a person asks for, and the Job object that says it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from fairway.core.quantity import QuantityError, canonical

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
USER_ANNOTATION = "fairway.dev/user"
BUNDLE_ANNOTATION = "fairway.dev/bundle"
BUNDLE_VARIABLE = "FAIRWAY_BUNDLE"
IMAGE = "none"
"""What stands for the image where nobody names one: commands run on the machine, images are not pulled."""
GPU = "nvidia.com/gpu"
_ARRAY = re.compile(r"(\d+)-(\d+)(?:%(\d+))?")
_DOLLAR = re.compile(r"\$(?=[$(])")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_MAX = 63
"""A job's name is a label of its pods."""


class RequestError(ValueError):
    """The request cannot be made into a job; the message says why."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    command: str | Sequence[str]
    """A shell command line, or the words of a command."""
    name: str = ""
    """Empty: made from the command, with a few letters that make it unique."""
    namespace: str = "default"
    queue: str = ""
    """Empty: the namespace's default queue."""
    cpu: float | str = 1
    memory: str = ""
    gpus: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    image: str = ""
    array: str = ""
    """0-9, or 0-99%10 for at most ten at a time: one pod per index, which it finds in JOB_COMPLETION_INDEX."""
    priority: str = ""
    """Name of a WorkloadPriorityClass."""
    retries: int = 0
    seconds: int | None = None
    """How long it may run in all."""
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    bundle: str = ""
    """Where its code is, as URI#sha256:HASH: it is unpacked in the folder where the command starts."""


class JobOptions(TypedDict, total=False):
    """The fields of JobRequest beside the command, for those who give them by name."""

    name: str
    namespace: str
    queue: str
    cpu: float | str
    memory: str
    gpus: int
    env: Mapping[str, str]
    workdir: str
    image: str
    array: str
    priority: str
    retries: int
    seconds: int | None
    labels: Mapping[str, str]
    user: str
    bundle: str


def job_object(request: JobRequest) -> dict[str, Any]:
    argv = _argv(request.command)
    _check_text("command", argv)
    _check_text("env", [text for pair in request.env.items() for text in map(str, pair)])
    _check_text("name, workdir, labels", [request.name, request.workdir, *request.labels.values()])
    _check_name(request.name)
    metadata: dict[str, Any] = {"namespace": request.namespace, "labels": dict(request.labels)}
    if request.queue:
        metadata["labels"][QUEUE_LABEL] = request.queue
    if request.priority:
        metadata["labels"][PRIORITY_LABEL] = request.priority
    if request.user:
        metadata["annotations"] = {USER_ANNOTATION: request.user}
    if request.name:
        metadata["name"] = request.name
    else:
        metadata["generateName"] = f"{_stem(argv)}-"
    template: dict[str, Any] = {"spec": _pod_spec(request, argv)}
    if request.bundle:
        template["metadata"] = {"annotations": {BUNDLE_ANNOTATION: request.bundle}}
    spec: dict[str, Any] = {"backoffLimit": request.retries, "template": template}
    if request.seconds is not None:
        spec["activeDeadlineSeconds"] = request.seconds
    if request.array:
        spec |= _array(request.array)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _argv(command: str | Sequence[str]) -> list[str]:
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else [str(word) for word in command]
    if not argv or not (command if isinstance(command, str) else argv[0]).strip():
        raise RequestError("there is no command to run: say what to run, like 'python train.py'")
    # Kubernetes reads $(NAME) and $$ in a command; what a person types means itself.
    return [_DOLLAR.sub("$$", word) for word in argv]


def _check_text(what: str, texts: Iterable[str]) -> None:
    """Jobs are stored as text, and a process takes no NUL: what is neither is better refused here than on its way."""
    for text in texts:
        if "\0" in text:
            raise RequestError(f"{what}: {text[:80]!r} has a NUL character in it: take it out")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RequestError(
                f"{what}: {text[:80]!r} is not UTF-8: put such bytes in a file, or encode them"
            ) from None


def _check_name(name: str) -> None:
    if name and (len(name) > _NAME_MAX or not _NAME.fullmatch(name)):
        shown = name if len(name) <= _NAME_MAX else name[: _NAME_MAX - 1] + "…"
        raise RequestError(
            f"name: {shown!r} cannot be a job's name: use small letters, digits and dashes, at most {_NAME_MAX}, like train-1"
        )


def _stem(argv: Sequence[str]) -> str:
    words = shlex.split(argv[2], posix=False)[:1] if argv[:2] == ["/bin/sh", "-c"] else argv[:1]
    stem = re.sub(r"[^a-z0-9]+", "-", (words[0] if words else "job").rpartition("/")[2].lower()).strip("-")[:40]
    return stem if _NAME.fullmatch(stem) else "job"


def _pod_spec(request: JobRequest, argv: list[str]) -> dict[str, Any]:
    requests: dict[str, str] = {"cpu": _quantity("cpu", str(request.cpu))}
    if request.memory:
        requests["memory"] = _quantity("memory", str(request.memory))
    if not isinstance(request.gpus, int) or request.gpus < 0:
        raise RequestError(f"gpus: {request.gpus!r} is not a number of GPUs, like 1")
    if request.gpus:
        requests[GPU] = str(request.gpus)
    limits = {name: amount for name, amount in requests.items() if name in ("memory", GPU)}
    container: dict[str, Any] = {
        "name": "main",
        "image": request.image or IMAGE,
        "command": argv,
        "resources": {"requests": requests, "limits": limits} if limits else {"requests": requests},
    }
    env = {**request.env, **({BUNDLE_VARIABLE: request.bundle} if request.bundle else {})}
    if env:
        container["env"] = [{"name": name, "value": str(value)} for name, value in env.items()]
    if request.workdir:
        container["workingDir"] = request.workdir
    return {"restartPolicy": "Never", "containers": [container]}


def _quantity(what: str, text: str) -> str:
    try:
        amount = canonical(text)
    except QuantityError as error:
        raise RequestError(f"{what}: {error}") from None
    if amount.startswith("-"):
        raise RequestError(f"{what}: {text} is less than nothing")
    return amount


def _array(text: str) -> dict[str, Any]:
    match = _ARRAY.fullmatch(text)
    if match is None or match[1] != "0":
        raise RequestError(f"array: {text!r} is not 0-N, or 0-N%M for at most M at a time")
    count = int(match[2]) + 1
    at_once = int(match[3]) if match[3] else count
    if not 1 <= count <= 100_000 or at_once < 1:
        raise RequestError(f"array: {text!r} must have between 1 and 100,000 indexes, and at least one at a time")
    return {"completionMode": "Indexed", "completions": count, "parallelism": min(at_once, count)}
