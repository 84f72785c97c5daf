"""The output of pods that run on clusters, read through the hub.

While a pod is there, its cluster is asked, and what it says is passed on, refusals too. When the cluster goes out of reach in the middle of what
is followed, it is asked again once it is back, from where the output broke off. When the pod is gone, the hub has the end of what it wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from fairway.api.errors import ApiError, bad_request
from fairway.api.logs import CUT, LogOptions, stamped, tail
from fairway.control.adapters import Json
from fairway.control.times import parse_time, time_of_day
from fairway.core.model import SECOND
from fairway.fleet.link.links import Links
from fairway.fleet.pods.mirrored import cluster_of
from fairway.fleet.pods.reading import Streams, streams
from fairway.fleet.resources import PODS
from fairway.runtime.archive import Archive, ArchiveError

_LOOK_AGAIN_S = 0.5
_ANSWER_LOOKS = 20
_PIECE = 1 << 16


class PodLogs:
    """What the hub's API serves as pods/log."""

    def __init__(self, links: Links, archive: Archive, bound: Callable[[str], str]) -> None:
        """bound: of the uid of a pod that is a job itself, the cluster that it was given to."""
        self._links = links
        self._archive = archive
        self._bound = bound

    async def open(self, pod: Mapping[str, Any], container: str, options: LogOptions) -> AsyncIterator[bytes]:
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        cluster = cluster_of(pod) or self._bound(uid)
        if container in self._archive.names(uid):
            return await self._kept(pod, container, options)
        if not cluster:
            waits = f"pod {name} is on no cluster yet, so it has written nothing; `fairway why` says what it waits for"
            raise bad_request(waits)
        client = self._client(name, cluster)
        reading = _Reading(self, pod, container, options, cluster)
        try:
            return reading.follow(await self._answer(cluster, reading.ask(client)))
        except TimeoutError:
            raise self._unreachable(name, cluster) from None
        except ApiError as error:
            link = self._links.get(cluster)
            if link is None or not link.connected or error.code == 0:
                raise self._unreachable(name, cluster) from None
            if error.code == 403:
                raise ApiError(
                    403, "Forbidden", f"cluster {cluster} does not let the hub read the output: {error.message}"
                ) from None
            raise

    async def _answer(self, cluster: str, asking: Awaitable[AsyncIterator[bytes]]) -> AsyncIterator[bytes]:
        """Raises TimeoutError when the cluster is lost before it says anything, or takes too long to."""
        answer = asyncio.ensure_future(asking)
        try:
            for _ in range(_ANSWER_LOOKS):
                await asyncio.wait({answer}, timeout=_LOOK_AGAIN_S)
                if answer.done():
                    return answer.result()
                link = self._links.get(cluster)
                if link is None or not link.connected:
                    break
            raise TimeoutError
        finally:
            answer.cancel()

    def _client(self, pod: str, cluster: str) -> Streams:
        link = self._links.get(cluster)
        client = streams(link.client) if link is not None and link.connected else None
        if client is None:
            raise self._unreachable(pod, cluster)
        return client

    def _unreachable(self, pod: str, cluster: str) -> ApiError:
        link = self._links.get(cluster)
        if link is None:
            why = f"cluster {cluster}, which is no longer part of the fleet"
        else:
            trouble = f" ({link.trouble.message})" if link.trouble is not None else ""
            lost = f"cannot be reached since {time_of_day(link.lost_since)}{trouble}"
            why = f"cluster {cluster}, which {lost if not link.connected else 'does not answer'}"
        return ApiError(503, "ServiceUnavailable", f"the output of pod {pod} is on {why}; try again when it is back")

    def again(self, cluster: str) -> Streams | None:
        link = self._links.get(cluster)
        return streams(link.client) if link is not None and link.connected else None

    def is_kept(self, pod: Mapping[str, Any], container: str) -> bool:
        return container in self._archive.names(pod["metadata"]["uid"])

    async def _kept(self, pod: Mapping[str, Any], container: str, options: LogOptions) -> AsyncIterator[bytes]:
        if options.previous:
            name = pod["metadata"]["name"]
            raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        ended = _ended(pod, container)
        text = b"" if ended and ended < options.since else tail(await self.text(pod, container), options.tail_lines)
        return stamped(_pieces(text), lambda: ended) if options.timestamps else _pieces(text)

    async def text(self, pod: Mapping[str, Any], container: str) -> bytes:
        try:
            return await self._archive.read(pod["metadata"]["uid"], container)
        except (KeyError, ArchiveError) as error:
            name = pod["metadata"]["name"]
            raise ApiError(500, "InternalError", f"what was kept of pod {name} cannot be read: {error}") from None


class _Reading:
    """One reader of one container, over as many connections as it takes."""

    def __init__(
        self, logs: PodLogs, pod: Mapping[str, Any], container: str, options: LogOptions, cluster: str
    ) -> None:
        self._logs = logs
        self._pod = pod
        self._container = container
        self._options = options
        self._cluster = cluster
        self._sent = 0
        self._last = b""

    async def ask(self, client: Streams) -> AsyncIterator[bytes]:
        metadata = self._pod["metadata"]
        path = PODS.path(metadata.get("namespace", ""), metadata["name"], "log")
        return await client.open(path, self._options.parameters(self._container))

    async def follow(self, output: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while True:
            try:
                async for piece in output:
                    self._sent += len(piece)
                    yield piece
                return
            except ApiError as error:
                broken = error
            if not self._options.follow:
                yield f"\n[the output breaks off: cluster {self._cluster}: {broken.message}]\n".encode()
                return
            if self._options.tail_lines is not None or self._options.since:
                # What was sent began somewhere in the middle: where it goes on cannot be told from its length.
                self._options = replace(self._options, tail_lines=0, since=0.0)
                self._sent = 0
                yield f"\n[cluster {self._cluster} was out of reach: some output may be missing here]\n".encode()
            output = self._skip(await self._reconnect())

    async def _reconnect(self) -> AsyncIterator[bytes]:
        while True:
            if self._logs.is_kept(self._pod, self._container):
                text = await self._logs.text(self._pod, self._container)
                return _pieces(text if not text.startswith(CUT) else b"")
            client = self._logs.again(self._cluster)
            if client is not None:
                try:
                    return await self.ask(client)
                except ApiError as error:
                    if 400 <= error.code < 500 and error.code != 429:
                        return _pieces(f"[{error.message}]\n".encode())
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _skip(self, output: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Without what the reader has already."""
        left, self._sent = self._sent, 0
        async for piece in output:
            taken = min(left, len(piece))
            left -= taken
            self._sent += taken
            if len(piece) > taken:
                yield piece[taken:]


async def _pieces(text: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _ended(pod: Mapping[str, Any], container: str) -> float:
    status = pod.get("status") or {}
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        terminated: Json | None = (one.get("state") or {}).get("terminated")
        if one["name"] == container and terminated and terminated.get("finishedAt"):
            return parse_time(terminated["finishedAt"]) / SECOND
    return 0.0
