"""The client for event loops."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from fairway.api.client import BulkItem, Client, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.sdk import queued
from fairway.sdk.connect import connect
from fairway.sdk.queued import JOBS, PODS, WORKLOADS, Queued
from fairway.sdk.request import JobOptions, JobRequest, job_object
from fairway.sdk.view import JobView, State, view

EXPLANATIONS = Resource("fairway.dev", "v1", "explanations")
_BULK = 500
_NEWS_SECONDS = 2
_PATIENCE_S = {0: 30.0, 503: 10.0}
"""How long one bears with no answer, and with one that says not now."""
_AGAIN_S = 0.3
_NOT_YET = 400
"""What a server answers that is asked for the output of a container that has not started."""


class JobFailed(Exception):
    """A job that was waited for did not succeed."""

    def __init__(self, job: JobView) -> None:
        super().__init__(f"job {job.name} failed: {job.reason}")
        self.job = job


class AsyncJob:
    """A submitted job."""

    def __init__(self, client: AsyncClient, name: str, namespace: str) -> None:
        self._client = client
        self.name = name
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"AsyncJob({self.namespace}/{self.name})"

    async def view(self) -> JobView:
        return await self._client.view(self.name, self.namespace)

    async def wait(self, *, seconds: float | None = None, check: bool = True) -> JobView:
        """Until it is done or has failed. check: raise JobFailed if it failed. Raises TimeoutError after `seconds`."""
        seen: JobView | None = None

        def over(job: JobView) -> bool:
            nonlocal seen
            seen = job
            return job.state.final

        try:
            async with asyncio.timeout(seconds):
                final = await self._client.until(self.name, self.namespace, over)
        except TimeoutError:
            raise TimeoutError(_still(self.name, seen, seconds)) from None
        if check and final.state is State.FAILED:
            raise JobFailed(final)
        return final

    async def logs(self, *, follow: bool = False) -> AsyncIterator[bytes]:
        """The output of all its pods, one after the other."""
        async for chunk in self._client.logs(self.name, self.namespace, follow=follow):
            yield chunk

    async def output(self) -> str:
        """All that it printed so far."""
        return b"".join([chunk async for chunk in self.logs()]).decode(errors="replace")

    async def cancel(self) -> None:
        await self._client.cancel(self.name, self.namespace)


class AsyncClient:
    """Everything that people do with jobs, in one namespace by default.

    Without arguments it finds the node that `fairway up` started; KUBECONFIG, a path or a context name choose another.
    """

    def __init__(
        self,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        namespace: str = "default",
        client: Client | None = None,
    ) -> None:
        self._remote = connect(kubeconfig, context) if client is None else None
        self.api: Client = client if client is not None else self._remote  # type: ignore[assignment]
        self.namespace = namespace

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()

    # --- submit ---------------------------------------------------------------------------------------------------

    async def submit(self, command: str | Sequence[str] | JobRequest, **options: Unpack[JobOptions]) -> AsyncJob:
        """Put a job into a queue. options: the fields of JobRequest (cpu, memory, gpus, queue, name, env …)."""
        item = await self.api.create(JOBS, job_object(self._request(command, options)))
        return AsyncJob(self, item.meta.name, item.meta.namespace)

    async def map(
        self, commands: Iterable[str | Sequence[str] | JobRequest], **options: Unpack[JobOptions]
    ) -> list[AsyncJob]:
        """One job per command, submitted together. Raises the first refusal; those before it are submitted."""
        requests = [self._request(command, options) for command in commands]
        jobs: list[AsyncJob] = []
        for start in range(0, len(requests), _BULK):
            batch = [BulkItem("create", JOBS, job_object(request)) for request in requests[start : start + _BULK]]
            for result in await self.api.bulk(batch):
                if isinstance(result, ApiError):
                    raise result
                jobs.append(AsyncJob(self, result.meta.name, result.meta.namespace))
        return jobs

    def _request(self, command: str | Sequence[str] | JobRequest, options: JobOptions) -> JobRequest:
        if isinstance(command, JobRequest):
            return replace(command, **options) if options else command
        given: JobOptions = {"namespace": self.namespace, "user": current_user(), **options}
        return JobRequest(command, **given)

    def job(self, name: str, namespace: str = "") -> AsyncJob:
        """A job by its name, whoever submitted it."""
        return AsyncJob(self, name, namespace or self.namespace)

    # --- look -----------------------------------------------------------------------------------------------------

    async def view(self, name: str, namespace: str = "") -> JobView:
        return await self._view(await queued.find(self.api, name, namespace or self.namespace))

    async def _view(self, found: Queued) -> JobView:
        workload, pods = await asyncio.gather(self._workload(found), self._pods(found))
        listed = [pod.json() for pod in pods]
        if found.obj is None and not listed:
            raise ApiError(404, "NotFound", f"the pods of group {found.name} are gone")
        return view(found.as_job(listed), workload, listed, kind=found.kind)

    async def why(self, name: str, namespace: str = "") -> dict[str, Any]:
        """Why it does not run yet, as data: blockers with numbers, and changes that would admit it."""
        namespace = namespace or self.namespace
        if self._remote is None:
            raise RuntimeError("explanations need a connection to a node")
        found = await queued.find(self.api, name, namespace)
        workload = await self._workload(found)
        if workload is not None:
            return await self._remote.document(EXPLANATIONS.path(namespace, workload["metadata"]["name"]))
        if (await self._view(found)).state is State.QUEUED:
            return {
                "workload": "",
                "where": "unknown",
                "summary": "just submitted",
                "blockers": [],
                "changes": [],
            }
        raise ApiError(404, "NotFound", f"job {name} is in no queue: nothing but its own pods keeps it from running")

    async def list(self, *, all_namespaces: bool = False, namespace: str = "") -> Views:
        query = Query("" if all_namespaces else namespace or self.namespace)
        jobs, jobsets, workloads, pods = await asyncio.gather(
            self.api.list(JOBS, query),
            queued.list_jobsets(self.api, query),
            self.api.list(WORKLOADS, query),
            self.api.list(PODS, query),
        )
        by_owner = {
            owner["uid"]: workload
            for item in workloads.items
            for workload in (item.json(),)
            for owner in workload["metadata"].get("ownerReferences") or ()
        }
        read: Pods = [item.json() for item in pods.items]
        by_job, by_jobset = (_by_label(read, label) for label in (queued.JOB_LABEL, queued.JOBSET_LABEL))
        found = [
            view(job, by_owner.get(job["metadata"]["uid"]), by_job.get(_key(job), ()))
            for job in (item.json() for item in jobs.items)
        ]
        for jobset in jobsets:
            parts = by_jobset.get(_key(jobset), [])
            workload = by_owner.get(jobset["metadata"]["uid"])
            found.append(view(queued.jobset_as_job(jobset, parts), workload, parts, kind="JobSet"))
        for (_namespace, name), parts in queued.groups(read).items():
            workload = next((each for pod in parts if (each := by_owner.get(pod["metadata"]["uid"]))), None)
            kind = "PodGroup" if queued.GROUP_LABEL in parts[0]["metadata"]["labels"] else "Pod"
            found.append(view(queued.pods_as_job(name, parts), workload, parts, kind=kind))
        return found

    async def until(self, name: str, namespace: str, right: Callable[[JobView], bool], *, every: int = 0) -> JobView:
        """The job as soon as it is as wanted. Follows its changes; asks again when the stream ends, or after that many seconds: what a
        job waits for is no change of its own."""
        found = await self._found(name, namespace)
        patience = Patience()
        while True:
            try:
                # Listed before it is looked at: whatever happens after the look is in the stream.
                listing = await self.api.list(found.resource, found.itself)
                now = await self.view(name, namespace)
                patience.renew()
                if right(now):
                    return now
                async for event in self.api.watch(
                    found.resource, found.itself, revision=listing.revision, seconds=every
                ):
                    if event.type == "ERROR":
                        break
                    now = await self.view(name, namespace)
                    if right(now):
                        return now
            except ApiError as error:
                await patience.bear(error)

    async def wait(self, jobs: Iterable[AsyncJob], *, seconds: float | None = None, check: bool = True) -> Views:
        """Until all of them are done or have failed, over one stream for all. As for one, otherwise."""
        wanted = [(job.namespace, job.name) for job in jobs]
        left: dict[str, set[str]] = {}
        for namespace, name in wanted:
            left.setdefault(namespace, set()).add(name)
        try:
            async with asyncio.timeout(seconds):
                for namespace, names in left.items():
                    await self._all_over(namespace, names)
                found = {(each.namespace, each.name): each for each in await self._views(wanted)}
                for key, each in found.items():
                    if not each.state.final:  # No Job, but a JobSet or pods, which are waited for one by one.
                        found[key] = await self.until(each.name, each.namespace, lambda job: job.state.final)
        except TimeoutError:
            unfinished = sum(map(len, left.values()))
            raise TimeoutError(f"{unfinished} of {len(wanted)} jobs are not over after {seconds:g} s") from None
        for key in wanted:
            if key not in found:
                raise ApiError(404, "NotFound", f"job {key[1]} was deleted while it was waited for")
            if check and found[key].state is State.FAILED:
                raise JobFailed(found[key])
        return [found[key] for key in wanted]

    async def _views(self, wanted: Sequence[tuple[str, str]]) -> Views:
        names = set(wanted)
        listed = [await self.list(namespace=each) for each in dict.fromkeys(where for where, _name in wanted)]
        return [each for some in listed for each in some if (each.namespace, each.name) in names]

    async def _all_over(self, namespace: str, names: set[str]) -> None:
        while names:
            listing = await self.api.list(JOBS, Query(namespace))
            there = {item.meta.name: item for item in listing.items}
            names -= {name for name in names if name not in there or _is_over(there[name])}
            if not names:
                return
            async for event in self.api.watch(JOBS, Query(namespace), revision=listing.revision):
                if event.type == "ERROR":
                    break
                if event.type == "DELETED" or (event.type == "MODIFIED" and _is_over(event.item)):
                    names.discard(event.item.meta.name)
                    if not names:
                        return

    async def logs(self, name: str, namespace: str = "", *, follow: bool = False) -> AsyncIterator[bytes]:
        """The output of all containers of all its pods, one after the other. follow: of those that come, too, until the job is over."""
        namespace = namespace or self.namespace
        if self._remote is None:
            raise RuntimeError("logs need a connection to a node")
        read: set[tuple[str, str]] = set()
        patience = Patience()
        while True:
            try:
                found = await queued.find(self.api, name, namespace)
                final = (await self._view(found)).state.final
                fresh = [
                    (pod.meta, container)
                    for pod in await self._pods(found)
                    for container in queued.containers(pod.json())
                    if (pod.meta.uid, container) not in read
                ]
                patience.renew()
            except ApiError as error:
                if not follow:
                    raise
                await patience.bear(error)
                continue
            before, waiting = len(read), None
            for pod, container in fresh:
                path, asked = PODS.path(namespace, pod.name, "log"), {"container": container}
                try:
                    async for chunk in self._followed(path, asked) if follow else self._remote.stream(path, asked):
                        yield chunk
                except ApiError as error:
                    if error.code == _NOT_YET:
                        waiting = error
                        continue
                    if error.code != 404:  # It was there a moment ago; its job may go on without it.
                        raise
                read.add((pod.uid, container))
            if final or not follow:
                if waiting is not None and not read and not final:
                    raise waiting
                return
            if len(read) == before:
                await self._news(name, namespace)

    async def _followed(self, path: str, asked: Mapping[str, str]) -> AsyncIterator[bytes]:
        """A node that is restarted, or silent for long, breaks the stream: it goes on where it was."""
        assert self._remote is not None
        sent, patience = 0, Patience()
        while True:
            known = sent
            try:
                async for chunk in self._remote.stream(path, {**asked, "follow": "true"}):
                    patience.renew()
                    fresh, known = chunk[known:], max(0, known - len(chunk))
                    sent += len(fresh)
                    if fresh:
                        yield fresh
                return
            except ApiError as error:
                await patience.bear(error)

    async def _news(self, name: str, namespace: str) -> None:
        """Until something becomes of the job, or a while has passed."""
        try:
            found = await queued.find(self.api, name, namespace)
            listing = await self.api.list(found.resource, found.itself)
            async for _event in self.api.watch(
                found.resource, found.itself, revision=listing.revision, seconds=_NEWS_SECONDS
            ):
                return
        except ApiError as error:
            if error.code:
                raise

    async def _found(self, name: str, namespace: str) -> Queued:
        patience = Patience()
        while True:
            try:
                return await queued.find(self.api, name, namespace)
            except ApiError as error:
                await patience.bear(error)

    async def _pods(self, found: Queued) -> Items:
        return (await self.api.list(PODS, found.pods)).items

    async def _workload(self, found: Queued) -> dict[str, Any] | None:
        listed = (await self.api.list(WORKLOADS, found.workload())).items
        return listed[0].json() if listed else None

    async def resource_of(self, group: str, version: str, kind: str) -> tuple[str, bool]:
        """The plural of a kind and whether it is namespaced, as the server says."""
        if self._remote is None:
            raise RuntimeError("discovery needs a connection to a node")
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        shown = f"{group}/{version}" if group else version
        try:
            found = await self._remote.document(path)
        except ApiError as error:
            raise ApiError(
                error.code, error.reason, f"{shown} is not served here: check apiVersion of kind {kind}"
            ) from None
        for resource in found.get("resources") or ():
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource["name"], resource["namespaced"]
        raise ApiError(404, "NotFound", f"there is no kind {kind} in {shown}")

    # --- change ---------------------------------------------------------------------------------------------------

    async def cancel(self, name: str, namespace: str = "") -> None:
        namespace = namespace or self.namespace
        found = await queued.find(self.api, name, namespace)
        if found.obj is not None:
            await self.api.delete(found.resource, name, namespace)
            return
        for pod in await self._pods(found):
            await self.api.delete(PODS, pod.meta.name, namespace)

    async def hold(self, name: str, namespace: str = "") -> None:
        """Stop it if it runs, and keep it from being admitted until it is released."""
        await self._set_active(name, namespace or self.namespace, active=False)

    async def release(self, name: str, namespace: str = "") -> None:
        await self._set_active(name, namespace or self.namespace, active=True)

    async def _set_active(self, name: str, namespace: str, *, active: bool) -> None:
        found = await queued.find(self.api, name, namespace)
        if (await self._view(found)).state.final:
            raise ApiError(409, "Conflict", f"job {name} has ended: it can neither be held nor released")
        workload = await self._workload(found)
        if workload is None:
            raise ApiError(404, "NotFound", f"job {name} is in no queue, so there is nothing to hold or release")
        change = {"spec": {"active": active}}
        media = "application/merge-patch+json"
        await self.api.patch(WORKLOADS, workload["metadata"]["name"], change, namespace, media=media)


class Patience:
    """With a node that does not answer: it may be about to be back."""

    def __init__(self) -> None:
        self._since: float | None = None

    def renew(self) -> None:
        self._since = None

    async def bear(self, error: ApiError) -> None:
        """Raises it if that is the node's answer, or has been for long: a hub that is just back says 503 until it has its clusters."""
        now = asyncio.get_running_loop().time()
        self._since = now if self._since is None else self._since
        if error.code not in _PATIENCE_S or now - self._since > _PATIENCE_S[error.code]:
            raise error
        await asyncio.sleep(_AGAIN_S)


Views = list[JobView]
Items = list[Item]
Pods = list[Mapping[str, Any]]


def _still(name: str, job: JobView | None, seconds: float | None) -> str:
    what = (
        f"{job.state.value} ({job.reason})" if job is not None and job.reason else job.state.value if job else "unknown"
    )
    return f"job {name} is still {what} after {seconds or 0:g} s"


def _is_over(item: Item) -> bool:
    return view(item.json(), None, ()).state.final


def _by_label(pods: Iterable[Mapping[str, Any]], label: str) -> dict[tuple[str, str], Pods]:
    found: dict[tuple[str, str], Pods] = {}
    for pod in pods:
        meta = pod["metadata"]
        if value := (meta.get("labels") or {}).get(label):
            found.setdefault((meta["namespace"], value), []).append(pod)
    return found


def _key(job: Mapping[str, Any]) -> tuple[str, str]:
    return job["metadata"]["namespace"], job["metadata"]["name"]


def current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
