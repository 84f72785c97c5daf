"""A request and a response, as thin as ASGI allows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from fairway.api.errors import ApiError
from fairway.api.request import SYSTEM, Caller
from fairway.kinds.types import encode
from fairway.server.negotiate import JSON

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

BODY_BYTES_MAX = 3 << 20
_NO_CACHE: Header = (b"cache-control", b"no-cache, private")
_JSON_HEADERS: list[Header] = [(b"content-type", JSON.encode()), _NO_CACHE]


def _nothing() -> None:
    return None


class Request:
    __slots__ = ("_query", "caller", "headers", "method", "path", "receive", "scope", "send", "started", "verify")

    def __init__(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        self.path = path
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self._query: dict[str, str] | None = None
        self.caller: Caller = SYSTEM
        self.started = False
        """Whether the answer has begun: after that an error can only end the stream."""
        self.verify: Callable[[], None] = _nothing
        """Raises if the caller may no longer have what it asked for: a stream asks again and again."""

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; of one that is given several times, the last value."""
        if self._query is None:
            raw: bytes = self.scope["query_string"]
            parsed = parse_qs(raw.decode("latin-1"), keep_blank_values=True) if raw else {}
            self._query = {name: values[-1] for name, values in parsed.items()}
        return self._query

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    async def body(self) -> bytes:
        length = self.headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > BODY_BYTES_MAX:
            raise too_large()
        message = await self.receive()
        data: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return data
        chunks, size = [data], len(data)
        while message.get("more_body"):
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ApiError(400, "BadRequest", "the request ended before its body did")
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > BODY_BYTES_MAX:
                raise too_large()
        return b"".join(chunks)

    async def respond(self, status: int, body: bytes, headers: Sequence[Header] = _JSON_HEADERS) -> None:
        self.started = True
        head = [*headers, (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": head})
        await self.send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else body})

    async def respond_json(self, value: Any, status: int = 200) -> None:
        await self.respond(status, encode(value))

    async def start_stream(self, media: str = JSON) -> None:
        self.started = True
        headers = [(b"content-type", media.encode()), _NO_CACHE]
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})

    async def stream(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end_stream(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})


def too_large() -> ApiError:
    return ApiError(
        413,
        "RequestEntityTooLarge",
        f"the request body is larger than {BODY_BYTES_MAX >> 20} MiB: send less at once, or keep large data outside of objects",
    )


def headers_for(media: str = JSON, warnings: Sequence[str] = ()) -> list[Header]:
    if media == JSON and not warnings:
        return _JSON_HEADERS
    headers: list[Header] = [(b"content-type", media.encode()), _NO_CACHE]
    for warning in warnings[:32]:
        text = warning.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        headers.append((b"warning", f'299 - "{text[:1000]}"'.encode("ascii", "replace")))
    return headers


async def respond_error(request: Request, error: ApiError) -> None:
    headers = list(_JSON_HEADERS)
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    if error.code == 401:
        headers.append((b"www-authenticate", b'Bearer realm="fairway"'))
    await request.respond(error.code, encode(error.status()), headers)
