"""Commands that people use all day: submit, ls, show, logs, cancel, hold, release, queues, events. Each with -o json for programs."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer
import yaml

from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.cli import options
from fairway.cli.kubeconfig import HOME
from fairway.cli.output import Output, note, say, show_json, show_table
from fairway.core.quantity import render_amount
from fairway.kinds.columns import duration
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem
from fairway.sdk.aio import AsyncClient
from fairway.sdk.view import JobView, State

T = TypeVar("T")
EVENTS = Resource("", "v1", "events")
CLUSTER_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", namespaced=False)
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues")

JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's name.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", metavar="NS", help="Whose job.")]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]


def talk(data: str | None, namespace: str, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
    """Run something with a client of the node in that folder; refusals become problems that a person can read."""

    async def main() -> T:
        folder = DataDir.at(data)
        if folder.running() is None:
            raise Problem(f"nothing is running in {folder.path}", "start it with: fairway up --detach")
        async with AsyncClient(kubeconfig=folder.kubeconfig, context=HOME, namespace=namespace) as client:
            return await work(client)

    try:
        return asyncio.run(main())
    except ApiError as error:
        raise Problem(error.message) from None


def submit(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="YAML with jobs (or anything else); - reads stdin.")
    ],
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Submit jobs written as YAML."""
    documents = [document for file in files for document in _documents(file)]

    async def work(client: AsyncClient) -> list[dict[str, Any]]:
        made = []
        for document in documents:
            resource = await _resource_of(client, document)
            item = await client.api.create(resource, document, _namespace_of(document, namespace, resource))
            made.append(item.json())
            if output is Output.TEXT:
                say(f"{document['kind']} {item.meta.name} submitted")
        return made

    made = talk(data, namespace, work)
    if output is Output.JSON:
        show_json(made)


def ls(
    data: options.Data = None,
    namespace: Namespace = "default",
    all_namespaces: Everywhere = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Finished jobs too.")] = False,
    output: options.Format = Output.TEXT,
) -> None:
    """List jobs: state, queue, user, time, and where they run or why they wait."""
    views = talk(data, namespace, lambda client: client.list(all_namespaces=all_namespaces))
    shown = sorted((job for job in views if everything or not job.state.final), key=lambda job: (job.created, job.name))
    if output is Output.JSON:
        show_json([asdict(job) for job in shown])
        return
    if not shown:
        hidden = len(views)
        note("no jobs" + (f"; {hidden} finished, shown with --all" if hidden else f" in namespace {namespace}"))
        return
    headings = ["NAME", "STATE", "QUEUE", "USER", "PODS", "TIME", "WHERE / WHY"]
    rows = [
        [job.name, job.state.value, job.queue, job.user, _pods(job), _time(job), _short(job.reason)] for job in shown
    ]
    if any(job.cluster for job in shown):
        headings.insert(-1, "CLUSTER")
        rows = [[*row[:-1], job.cluster, row[-1]] for job, row in zip(shown, rows, strict=True)]
    if all_namespaces:
        headings.insert(0, "NAMESPACE")
        rows = [[job.namespace, *row] for job, row in zip(shown, rows, strict=True)]
    show_table(headings, rows)


def show(
    name: JobName, data: options.Data = None, namespace: Namespace = "default", output: options.Format = Output.TEXT
) -> None:
    """Show one job: its state and why, its queue, its times."""
    job = talk(data, namespace, lambda client: client.view(name))
    if output is Output.JSON:
        show_json(asdict(job))
        return
    lines = [
        ("Job", f"{job.namespace}/{job.name}"),
        ("State", job.state.value + (f" ({job.reason})" if job.reason else "")),
        ("Queue", job.queue or "none"),
        ("User", job.user),
        ("Pods", _pods(job)),
        ("Submitted", _moment(job.created)),
        ("Started", _moment(job.started)),
        ("Finished", _moment(job.finished)),
        ("Exit code", "" if job.exit_code is None else str(job.exit_code)),
        ("Cluster", job.cluster),
        ("Nodes", ", ".join(job.nodes)),
        ("Workload", job.workload),
    ]
    for heading, value in lines:
        if value:
            say(f"{heading:<11}{value}")


def why(
    name: JobName, data: options.Data = None, namespace: Namespace = "default", output: options.Format = Output.TEXT
) -> None:
    """Say why a job does not run yet: what is missing, who has it, who is ahead, and what would help."""

    async def work(client: AsyncClient) -> tuple[JobView, dict[str, Any]]:
        job = await client.view(name)
        return job, await client.why(name) if job.workload else {}

    job, found = talk(data, namespace, work)
    if output is Output.JSON:
        show_json(found)
        return
    clusters = found.get("clusters") or ()
    reason = "reserved on the hub" if clusters and job.state is State.CHECKING else job.reason
    say(f"{job.name} is {job.state.value}" + (f": {reason}" if reason else ""))
    for blocker in found.get("blockers") or ():
        say(f"  - {blocker['text']}")
        for holder in blocker.get("holders") or ():
            amount = render_amount(blocker["cell"].partition("/")[2], holder["amount"])
            say(f"      {holder['key'] or 'others'} in queue {holder['queue']} holds {amount}")
    for cluster in (each for each in clusters if each["state"] != "has-it"):
        say(f"  - {cluster['name']} {cluster['text']}" + (f" ({cluster['detail']})" if cluster.get("detail") else ""))
    for index, change in enumerate((found.get("changes") or ())[:3]):
        then = "The hub would reserve it " if clusters else "It would be admitted "
        say(f"{then if index == 0 else 'or '}{change['text']}")


def logs(
    name: JobName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Print a job's output. With -o json: an object with each piece of it, one a line, as it comes."""

    async def work(client: AsyncClient) -> None:
        if follow:
            await client.until(name, namespace, lambda job: job.state in (State.RUNNING, State.DONE, State.FAILED))
        async for chunk in client.logs(name, follow=follow):
            if output is Output.JSON:
                chunk = msgspec.json.encode({"output": chunk.decode(errors="replace")}) + b"\n"
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()

    talk(data, namespace, work)


def cancel(
    names: Annotated[list[str], typer.Argument(metavar="JOB…", help="The jobs' names.")],
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Stop jobs and remove them."""
    _each(names, data, namespace, output, "cancelled", lambda client, name: client.cancel(name))


def hold(
    names: Annotated[list[str], typer.Argument(metavar="JOB…", help="The jobs' names.")],
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Keep jobs from running until they are released; running ones are stopped."""
    _each(names, data, namespace, output, "held", lambda client, name: client.hold(name))


def release(
    names: Annotated[list[str], typer.Argument(metavar="JOB…", help="The jobs' names.")],
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Let held jobs wait for their turn again."""
    _each(names, data, namespace, output, "released", lambda client, name: client.release(name))


def queues(data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """List queues: quota, what is used and borrowed, how many wait."""

    async def work(client: AsyncClient) -> list[dict[str, Any]]:
        return [item.json() for item in (await client.api.list(CLUSTER_QUEUES)).items]

    found = talk(data, "default", work)
    if output is Output.JSON:
        show_json(found)
        return
    if not found:
        note("no queues yet; kubectl apply -f examples/two-teams.yaml makes two")
        return
    rows = []
    for queue in found:
        status = queue.get("status") or {}
        counts = [str(status.get(name) or 0) for name in ("pendingWorkloads", "admittedWorkloads")]
        quotas = _quotas(queue) or [["", "", "", ""]]
        for index, quota in enumerate(quotas):
            head = [queue["metadata"]["name"], queue["spec"].get("cohortName", ""), *counts] if index == 0 else [""] * 4
            rows.append([*head, *quota])
    show_table(["QUEUE", "COHORT", "PENDING", "RUNNING", "RESOURCE", "QUOTA", "USED", "BORROWED"], rows)


def events(
    name: Annotated[str, typer.Argument(metavar="[JOB]", help="Only those about this job.")] = "",
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """List what happened lately."""

    async def work(client: AsyncClient) -> list[dict[str, Any]]:
        fields = f"involvedObject.name={name}" if name else ""
        return [item.json() for item in (await client.api.list(EVENTS, Query(namespace, fields=fields))).items]

    found = sorted(
        talk(data, namespace, work),
        key=lambda event: event.get("lastTimestamp") or event["metadata"]["creationTimestamp"],
    )
    if output is Output.JSON:
        show_json(found)
        return
    if not found:
        note("nothing happened lately")
        return
    rows = [
        [
            (event.get("lastTimestamp") or event["metadata"]["creationTimestamp"])[11:19],
            event.get("reason", ""),
            f"{event['involvedObject'].get('kind', '')}/{event['involvedObject'].get('name', '')}",
            event.get("message", ""),
        ]
        for event in found
    ]
    show_table(["TIME", "WHAT", "ABOUT", "MESSAGE"], rows)


# --- shared -----------------------------------------------------------------------------------------------------------


def _each(
    names: list[str],
    data: str | None,
    namespace: str,
    output: Output,
    done: str,
    act: Callable[[AsyncClient, str], Awaitable[None]],
) -> None:
    """One that is refused does not keep the others; in the end it says which were."""

    async def work(client: AsyncClient) -> list[dict[str, str]]:
        found = []
        for name in names:
            try:
                await act(client, name)
                found.append({"name": name, "namespace": namespace, "result": done})
            except ApiError as error:
                found.append({"name": name, "namespace": namespace, "error": error.message})
        return found

    found = talk(data, namespace, work)
    if output is Output.JSON:
        show_json(found)
    refused = [each for each in found if "error" in each]
    for each in found if output is Output.TEXT else ():
        if "error" not in each:
            say(f"{each['name']} {done}")
    if refused:
        raise Problem("; ".join(each["error"] for each in refused))


def _documents(file: Path) -> list[dict[str, Any]]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except FileNotFoundError:
        raise Problem(f"there is no file {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {file}: {error}") from None
    except yaml.YAMLError as error:
        raise Problem(f"{file} is not valid YAML: {' '.join(str(error).split())}") from None
    for document in found:
        if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
            raise Problem(f"{file}: every document must say apiVersion and kind")
    return found


async def _resource_of(client: AsyncClient, document: dict[str, Any]) -> Resource:
    """Which resource a document's kind is: asked of the server, which knows CRDs too."""
    group, _slash, version = document["apiVersion"].rpartition("/")
    plural, namespaced = await client.resource_of(group, version, document["kind"])
    return Resource(group, version, plural, namespaced)


def _namespace_of(document: dict[str, Any], namespace: str, resource: Resource) -> str:
    if not resource.namespaced:
        return ""
    return (document.get("metadata") or {}).get("namespace") or namespace


def _quotas(queue: dict[str, Any]) -> list[list[str]]:
    used = {
        (flavor["name"], resource["name"]): resource
        for flavor in (queue.get("status") or {}).get("flavorsReservation") or ()
        for resource in flavor.get("resources") or ()
    }
    rows = []
    for group in queue["spec"].get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                usage = used.get((flavor["name"], resource["name"]), {})
                label = f"{resource['name']} ({flavor['name']})"
                rows.append(
                    [
                        label,
                        str(resource["nominalQuota"]),
                        str(usage.get("total") or 0),
                        str(usage.get("borrowed") or 0),
                    ]
                )
    return rows


def _pods(job: JobView) -> str:
    return f"{job.succeeded}/{job.total}"


def _time(job: JobView) -> str:
    start = job.started or job.created
    end = job.finished or time.time()
    return duration(max(0.0, end - start))


def _moment(when: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when)) if when else ""


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


COMMANDS = (submit, ls, show, why, logs, cancel, hold, release, queues, events)
