"""Commands that people use all day: ls, show, logs, cancel, hold, release, queues, events. Each with -o json for programs."""

from __future__ import annotations

import asyncio
import difflib
import re
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.cli import lifecycle, options
from fairway.cli.kubeconfig import HOME
from fairway.cli.output import Output, note, say, show_json, show_table
from fairway.core.quantity import render_amount
from fairway.kinds.columns import duration
from fairway.kinds.types import parse_time
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

    folder = DataDir.at(data)
    if not lifecycle.is_up(folder):
        raise Problem(f"nothing is running in {folder.path}", "start it with: fairway up --detach")

    async def main() -> T:
        async with AsyncClient(kubeconfig=folder.kubeconfig, context=HOME, namespace=namespace) as client:
            try:
                return await work(client)
            except ApiError as error:
                raise await problem(client, error) from None

    return asyncio.run(main())


async def problem(client: AsyncClient, error: ApiError) -> Problem:
    """What a refusal means to a person. A job that is not there is looked for under similar names and in other namespaces."""
    if error.reason == "AlreadyExists" and error.details.get("kind") == "jobs":
        name = error.details.get("name", "")
        return Problem(f"there is a job {name} already", f"take another name, or remove it: fairway cancel {name}")
    if error.code != 404 or error.details.get("kind") != "jobs":
        return Problem(error.message)
    name = error.details.get("name", "")
    try:
        jobs = await client.list(all_namespaces=True)
    except ApiError:
        jobs = []
    here = [job.name for job in jobs if job.namespace == client.namespace]
    elsewhere = [job.namespace for job in jobs if job.name == name and job.namespace != client.namespace]
    alike = difflib.get_close_matches(name, here, n=3)
    remedy = "fairway ls --all shows the jobs there are"
    if elsewhere:
        remedy = f"there is one in namespace {elsewhere[0]}: add -n {elsewhere[0]}"
    elif alike:
        remedy = f"did you mean {' or '.join(alike)}?"
    return Problem(f"there is no job {name} in namespace {client.namespace}", remedy)


def ls(
    data: options.Data = None,
    namespace: Namespace = "default",
    all_namespaces: Everywhere = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Finished jobs too.")] = False,
    output: options.Format = Output.TEXT,
) -> None:
    """List jobs: state, queue, user, time, and where they run or why they wait."""
    views = talk(data, namespace, lambda client: client.list(all_namespaces=all_namespaces))
    views = [job for job in views if not job.parent]
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
        [job.name, job.state.value, job.queue, job.user, _pods(job), _time(job), " ".join(job.reason.split())]
        for job in shown
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
        (job.kind, f"{job.namespace}/{job.name}"),
        ("State", job.state.value + (f" ({job.reason})" if job.reason not in ("", ", ".join(job.nodes)) else "")),
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
        found = await client.why(name) if job.workload else {}
        if job.state is State.STARTING and not job.reason:
            job = replace(job, reason=await _warning(client, name))
        if job.reason == f"LocalQueue {job.queue} doesn't exist":
            listed = (await client.api.list(LOCAL_QUEUES, Query(namespace))).items
            found["localQueues"] = sorted(item.meta.name for item in listed)
        return job, found

    job, found = talk(data, namespace, work)
    if output is Output.JSON:
        show_json({"job": job.name, "namespace": job.namespace, "state": job.state, "reason": job.reason, **found})
        return
    clusters = found.get("clusters") or ()
    reason = "reserved on the hub" if clusters and job.state is State.CHECKING else job.reason
    blockers = found.get("blockers") or ()
    say(f"{job.name} is {job.state.value}" + (f": {reason}" if reason and not blockers else ""))
    for blocker in blockers:
        say(f"  - {blocker['text']}")
        for holder in blocker.get("holders") or ():
            amount = render_amount(blocker["cell"].partition("/")[2], holder["amount"])
            say(f"      {holder['key'] or 'others'} in queue {holder['queue']} holds {amount}")
    for cluster in (each for each in clusters if each["state"] != "has-it"):
        say(f"  - {cluster['name']} {cluster['text']}" + (f" ({cluster['detail']})" if cluster.get("detail") else ""))
    if "localQueues" in found:
        say(f"The queues of namespace {job.namespace}: {', '.join(found['localQueues']) or 'none'}")
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
        job = await client.view(name)
        if not job.nodes and not job.state.final:
            note(f"job {name} is {job.state.value}, with no output yet" + (f": {job.reason}" if job.reason else ""))
        if follow:
            await client.until(name, namespace, lambda job: job.state in (State.RUNNING, State.DONE, State.FAILED))
        printed = False
        async for chunk in client.logs(name, follow=follow):
            printed = True
            if output is Output.JSON:
                chunk = msgspec.json.encode({"output": chunk.decode(errors="replace")}) + b"\n"
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        if not printed and job.state is State.FAILED:
            note(f"job {name} failed, with no output: {job.reason}")

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
            rows.append([*head, *quota, _idle(queue) if index == 0 else ""])
    headings = ["QUEUE", "COHORT", "PENDING", "RUNNING", "RESOURCE", "QUOTA", "USED", "BORROWED", "STOPPED BY"]
    if not any(row[-1] for row in rows):
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    show_table(headings, rows)


def events(
    name: Annotated[str, typer.Argument(metavar="[JOB]", help="Only those about this job.")] = "",
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """List what happened lately."""

    async def work(client: AsyncClient) -> list[dict[str, Any]]:
        found = [item.json() for item in (await client.api.list(EVENTS, Query(namespace))).items]
        return [event for event in found if _is_about(event["involvedObject"], name)] if name else found

    found = sorted(talk(data, namespace, work), key=lambda event: (_when(event), _revision(event)))
    if output is Output.JSON:
        show_json(found)
        return
    if not found:
        note("nothing happened lately" + (f" to {name}" if name else ""))
        return
    rows = [
        [
            time.strftime("%H:%M:%S", time.localtime(_when(event))),
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
    refused: list[Problem] = []

    async def work(client: AsyncClient) -> list[dict[str, str]]:
        found = []
        for name in names:
            try:
                await act(client, name)
                found.append({"name": name, "namespace": namespace, "result": done})
            except ApiError as error:
                refused.append(await problem(client, error))
                found.append({"name": name, "namespace": namespace, "error": refused[-1].message})
        return found

    found = talk(data, namespace, work)
    if output is Output.JSON:
        show_json(found)
    for each in found if output is Output.TEXT else ():
        if "error" not in each:
            say(f"{each['name']} {done}")
    if refused:
        remedies = dict.fromkeys(each.remedy for each in refused if each.remedy)
        raise Problem("; ".join(each.message for each in refused), "; ".join(remedies))


async def _warning(client: AsyncClient, job: str) -> str:
    """What the last warning about a job's pods says: some of what keeps them from starting stands nowhere else."""
    listed = [
        item.json() for item in (await client.api.list(EVENTS, Query(client.namespace, fields="type=Warning"))).items
    ]
    about = [event for event in listed if _is_about(event["involvedObject"], job)]
    last = max(about, key=lambda event: (_when(event), _revision(event)), default={})
    return f"{last['reason']}: {last.get('message', '')}" if last else ""


def _is_about(about: dict[str, Any], job: str) -> bool:
    """Whether that is the job, its Workload, one of its pods, or a JobSet of that name. What is gone has nothing left but its name."""
    kind, name = about.get("kind"), str(about.get("name", ""))
    if kind == "Workload":
        return re.fullmatch(rf"(job|jobset|pod)-{re.escape(job)}-[0-9a-f]{{5}}", name) is not None
    if kind == "Pod":
        return re.fullmatch(rf"{re.escape(job)}(-[0-9]+)?(-[0-9a-z]{{5}})?", name) is not None
    return name == job


def _when(event: dict[str, Any]) -> float:
    said = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
    return parse_time(said).timestamp()


def _revision(event: dict[str, Any]) -> int:
    return int(event["metadata"]["resourceVersion"])


def _idle(queue: dict[str, Any]) -> str:
    """Why a queue admits nothing, if so."""
    for condition in (queue.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Active" and condition.get("status") != "True":
            return str(condition.get("message", ""))
    return ""


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


COMMANDS = (ls, show, why, logs, cancel, hold, release, queues, events)
