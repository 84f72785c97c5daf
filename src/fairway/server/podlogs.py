"""pods/NAME/log: what a container printed, and with follow what it prints from now on.

The engine keeps output as it was written, without times: `timestamps` shows for each line the latest time at which it can have been written
(now, or when the container ended), and `sinceSeconds` leaves out a container that ended before, never a part of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from fairway.api import codec
from fairway.api.errors import ApiError, bad_request, invalid_options, method_not_allowed
from fairway.api.logs import LogOptions, stamped
from fairway.api.request import Target
from fairway.api.space import Space
from fairway.kinds.errors import invalid
from fairway.kinds.types import parse_time
from fairway.server.http import Request
from fairway.server.options import whole_number

Json = Mapping[str, Any]
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_SCHEME = "fairway://"
_TEXT = "text/plain"


class LogSource(Protocol):
    """Where the output of runs is kept."""

    def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        """Raises KeyError for a run that is not known."""
        ...


class LogsElsewhere(Protocol):
    """Where the output of pods is that run on other clusters."""

    async def open(self, pod: Json, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Raises ApiError before the first byte for what cannot be had."""
        ...


async def pod_log(
    space: Space, source: LogSource | None, elsewhere: LogsElsewhere | None, request: Request, target: Target
) -> None:
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    pod = read_pod(space, target)
    asked = _asked(request, space.clock.now)
    name = container_of(pod, request.query.get("container", ""))
    if elsewhere is not None:
        output = await elsewhere.open(pod, name, asked)
    else:
        output = opened(space, source, pod, name, asked)
    await _send(request, output, asked.limit_bytes)


def read_pod(space: Space, target: Target) -> Json:
    pod: Json = codec.parse(space.reads.get(target).value)
    return pod


def opened(
    space: Space, source: LogSource | None, pod: Json, container: str, asked: LogOptions
) -> AsyncIterator[bytes]:
    """What a container of this space has written. Raises ApiError for what there cannot be."""
    run_id, ended = _run(pod, container, previous=asked.previous)
    if not run_id or (ended and ended < asked.since):
        return _text(b"")
    if source is None:
        raise ApiError(501, "NotImplemented", "this space has no engine, so nothing runs here and nothing is logged")
    try:
        output = source.logs(run_id, follow=asked.follow and not ended, tail_lines=asked.tail_lines)
    except KeyError:
        return _text(f"unable to retrieve container logs for {_SCHEME}{run_id}".encode())
    return stamped(output, lambda: ended or space.clock.now) if asked.timestamps else output


async def _text(text: bytes) -> AsyncIterator[bytes]:
    if text:
        yield text


def _asked(request: Request, now: float) -> LogOptions:
    query = request.query
    since = 0.0
    if query.get("sinceSeconds"):
        if query.get("sinceTime"):
            raise bad_request("at most one of sinceTime or sinceSeconds may be specified")
        seconds = whole_number(request, "sinceSeconds")
        if seconds < 1:
            raise invalid_options("PodLogOptions", [invalid("sinceSeconds", seconds, "must be greater than 0")])
        since = now - seconds
    elif query.get("sinceTime"):
        try:
            since = parse_time(query["sinceTime"]).timestamp()
        except ValueError as error:
            raise bad_request(f"sinceTime: {error}") from None
    limit = whole_number(request, "limitBytes") if query.get("limitBytes") else None
    if limit == 0:
        raise invalid_options("PodLogOptions", [invalid("limitBytes", 0, "must be greater than 0")])
    tail = whole_number(request, "tailLines") if query.get("tailLines") else None
    return LogOptions(request.flag("follow"), request.flag("previous"), tail, limit, request.flag("timestamps"), since)


def container_of(pod: Json, asked: str) -> str:
    spec, meta = pod["spec"], pod["metadata"]
    main = [one["name"] for one in spec["containers"]]
    init = [one["name"] for one in spec.get("initContainers") or ()]
    if asked:
        if asked not in (*main, *init):
            raise bad_request(f"container {asked} is not valid for pod {meta['name']}")
        return asked
    chosen = (meta.get("annotations") or {}).get(DEFAULT_CONTAINER)
    if chosen in main:
        return str(chosen)
    if len(main) > 1:
        inits = f" or one of the init containers: [{' '.join(init)}]" if init else ""
        listed = f"choose one of: [{' '.join(main)}]{inits}"
        raise bad_request(f"a container name must be specified for pod {meta['name']}, {listed}")
    return str(main[0])


def _run(pod: Json, container: str, *, previous: bool) -> tuple[str, float]:
    """The run whose output is meant (empty: there is none yet, and nobody to ask), and when it ended (0: it has not)."""
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    everyone = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    found = next((one for one in everyone if one["name"] == container), None)
    if found is None:
        if not pod["spec"].get("nodeName"):
            return "", 0.0
        raise bad_request(f'container "{container}" in pod "{name}" is not available')
    state, last = found.get("state") or {}, (found.get("lastState") or {}).get("terminated")
    if previous:
        if last is None:
            raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        return _ended(last)
    if "terminated" in state:
        return _ended(state["terminated"])
    if "running" in state:
        return str(found.get("containerID", "")).removeprefix(_SCHEME), 0.0
    if last is not None:
        return _ended(last)
    reason = (state.get("waiting") or {}).get("reason", "")
    raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


def _ended(terminated: Json) -> tuple[str, float]:
    at = terminated.get("finishedAt")
    return str(terminated.get("containerID", "")).removeprefix(_SCHEME), parse_time(at).timestamp() if at else 1.0


async def _send(request: Request, output: AsyncIterator[bytes], left: int | None) -> None:
    """Until the output ends, the limit is reached, the client leaves or the node stops."""
    await request.start_stream(_TEXT)
    task = asyncio.current_task()
    assert task is not None
    gone = asyncio.ensure_future(_disconnect(request))
    finished = False
    gone.add_done_callback(lambda _done: None if finished else task.cancel())
    try:
        async for piece in output:
            await request.stream(piece if left is None else piece[:left])
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    break
    except asyncio.CancelledError:
        if gone.done():
            return
    finally:
        finished = True
        gone.cancel()
    await request.end_stream()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
