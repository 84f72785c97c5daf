"""A server that misbehaves: in front of our own application, over a real socket, one fault per request as the test plans it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from fairway.api.errors import ApiError, expired
from fairway.kinds.types import encode

Message = dict[str, Any]
HTTP_FAULTS: dict[str, ApiError] = {
    "401": ApiError(401, "Unauthorized", "the token ran out"),
    "410": expired("too old resource version: 1 (2)"),
    "429": ApiError(429, "TooManyRequests", "not so fast", retry_after=1),
    "500": ApiError(500, "InternalError", "something broke"),
    "503": ApiError(503, "ServiceUnavailable", "back in a minute", retry_after=2),
}
STREAM_FAULTS = (
    "410 in the stream",
    "500 in the stream",
    "clean close",
    "cut in a line",
    "cut between lines",
    "half-open",
    "bookmarks",
    "duplicates",
    "late events",
    "garbage",
)


_REPEATING = ("bookmarks", "duplicates", "late events")


class Broken(Exception):
    """Makes the server drop the connection without an end."""


class Faults:
    """An ASGI application. `plan` holds a fault for each of the next requests that it fits; `seen` counts those that happened."""

    def __init__(self, app: Any, revision: Callable[[], int]) -> None:
        self.app = app
        self._revision = revision
        self._forgotten = 0
        """What was before this revision is gone for good: only a new list helps."""
        self.plan: deque[str] = deque()
        self.seen: Counter[str] = Counter()
        self.requests: list[tuple[str, str]] = []
        self._open: set[_Stream] = set()

    async def begin(self, plan: Iterable[str]) -> None:
        """The faults of the plan come now: watches that are open end, so that others begin."""
        self.plan.extend(plan)
        for stream in list(self._open):
            await stream.end()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        watching = b"watch=true" in scope["query_string"]
        self.requests.append(("watch" if watching else "list", scope["query_string"].decode()))
        fault = self._next(watching)
        if watching and self._asks_for_the_past(scope["query_string"]):
            fault = "410"
        if fault.startswith("410"):
            self._forgotten = self._revision()
        error = HTTP_FAULTS.get(fault)
        if error is not None:
            await _refuse(send, error)
        elif fault == "no answer":
            raise Broken
        elif watching:
            stream = _Stream(fault, send)
            self._open.add(stream)
            try:
                await stream.run(self.app, scope, receive)
            finally:
                self._open.discard(stream)
        else:
            await self.app(scope, receive, send)

    def _asks_for_the_past(self, query: bytes) -> bool:
        asked = parse_qs(query.decode()).get("resourceVersion", [""])[0]
        return bool(asked) and int(asked) < self._forgotten

    def _next(self, watching: bool) -> str:
        if not self.plan or (self.plan[0] in (*STREAM_FAULTS, "410") and not watching):
            return ""
        fault = self.plan.popleft()
        self.seen[fault] += 1
        return fault


async def _refuse(send: Any, error: ApiError) -> None:
    body = encode(error.status())
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    await send({"type": "http.response.start", "status": error.code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Stream:
    """One watch with one fault, after a few events; or with none."""

    def __init__(self, fault: str, send: Any) -> None:
        self._fault = fault
        self._send = send
        self._left = 6 if fault in _REPEATING else 2
        self._started = False
        self._gone = asyncio.Event()
        self._over = False
        self._first = b""

    async def run(self, app: Any, scope: Any, receive: Any) -> None:
        leaving = asyncio.ensure_future(self._watch_client(receive))

        async def until_gone() -> Message:
            await self._gone.wait()
            return {"type": "http.disconnect"}

        try:
            await app(scope, until_gone, self._forward)
            if self._fault == "half-open" and self._over:
                await asyncio.wait([leaving])
            if self._fault.startswith("cut") and self._over:
                raise Broken
        finally:
            leaving.cancel()

    async def _watch_client(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone.set()

    async def _forward(self, message: Message) -> None:
        if self._over:
            return
        if message["type"] == "http.response.start":
            self._started = True
            await self._send(message)
            return
        for line in message.get("body", b"").splitlines(keepends=True):
            if not self._over:
                await self._line(line)
        if not self._over and not message.get("more_body"):
            await self._send({"type": "http.response.body", "body": b""})

    async def _line(self, line: bytes) -> None:
        self._first = self._first or line
        if self._fault and self._left == 0:
            await self._break(line)
            return
        self._left -= 1
        await self._chunk(line)
        if self._fault in _REPEATING:
            again = {"duplicates": line, "late events": self._first, "bookmarks": _bookmark(line)}
            await self._chunk(again[self._fault])

    async def end(self) -> None:
        if self._started and not self._over:
            self._over = True
            self._gone.set()
            await self._send({"type": "http.response.body", "body": b""})

    async def _break(self, line: bytes) -> None:
        self._over = True
        last = {
            "410 in the stream": _error(expired("too old resource version: 1 (2)")),
            "500 in the stream": _error(HTTP_FAULTS["500"]),
            "cut in a line": line[: len(line) // 2],
            "garbage": b"<html>oops</html>\n",
        }.get(self._fault, b"")
        if last:
            await self._chunk(last)
        if self._fault != "half-open":
            self._gone.set()
            if not self._fault.startswith("cut"):
                await self._send({"type": "http.response.body", "body": b""})

    async def _chunk(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _error(error: ApiError) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % encode(error.status())


def _bookmark(line: bytes) -> bytes:
    """As Go writes one: a typed object with its zero values."""
    obj = msgspec.json.decode(line)["object"]
    metadata = {"creationTimestamp": None, "resourceVersion": obj["metadata"]["resourceVersion"]}
    empty = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": metadata, "data": None}
    return b'{"type":"BOOKMARK","object":%s}\n' % encode(empty)
