"""HTTP/1.1 as far as a hub and a cluster speak it: whole requests, whole answers, and streams of lines."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

LAST = b"0\r\n\r\n"
"""The end of a stream."""


class Broken(Exception):
    """The other side is gone, or says something that is no HTTP."""


@dataclass(slots=True)
class Message:
    """A request or an answer. Of an answer that is a stream only the head is here; its pieces follow."""

    first: str
    """The request line or the status line."""
    headers: list[tuple[str, str]]
    body: bytes = b""
    streamed: bool = False
    raw: bytes = field(default=b"", repr=False)
    """As it came."""

    @property
    def method(self) -> str:
        return self.first.split(" ")[0]

    @property
    def path(self) -> str:
        return self.first.split(" ")[1]

    @property
    def status(self) -> int:
        return int(self.first.split(" ")[1])

    @property
    def writes(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH", "DELETE")

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


async def read(reader: asyncio.StreamReader) -> Message | None:
    """None at the end of a connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise Broken("ended within a head") from None
        return None
    except (OSError, asyncio.LimitOverrunError) as error:
        raise Broken(str(error)) from None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    message = Message(first, [(name.strip().lower(), value.strip()) for name, _, value in pairs], raw=head)
    if "chunked" in message.header("transfer-encoding"):
        message.streamed = True
        return message
    try:
        message.body = await reader.readexactly(int(message.header("content-length") or 0))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise Broken(str(error)) from None
    message.raw = head + message.body
    return message


async def piece(reader: asyncio.StreamReader) -> bytes:
    """The next chunk of a stream; empty at its end."""
    try:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        data = await reader.readexactly(size + 2)
    except (asyncio.IncompleteReadError, OSError, ValueError) as error:
        raise Broken(str(error)) from None
    return data[:-2]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
