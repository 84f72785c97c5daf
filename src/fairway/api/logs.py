"""What is asked of a container's output, whoever keeps it, and the two readings of a text that is whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

CUT = b"[... the beginning is not kept: only the end of it ...]\n"


class Written(NamedTuple):
    """Whose output."""

    namespace: str
    name: str
    """Of the pod."""
    container: str


@dataclass(frozen=True, slots=True)
class LogOptions:
    follow: bool = False
    previous: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    timestamps: bool = False
    since: float = 0.0
    """Seconds since 1970; 0: from the beginning."""

    def parameters(self, container: str) -> dict[str, str]:
        """As the API of pods takes them."""
        found = {
            "container": container,
            "follow": "true" if self.follow else "",
            "previous": "true" if self.previous else "",
            "tailLines": "" if self.tail_lines is None else str(self.tail_lines),
            "limitBytes": "" if self.limit_bytes is None else str(self.limit_bytes),
            "timestamps": "true" if self.timestamps else "",
            "sinceTime": datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if self.since else "",
        }
        return {name: value for name, value in found.items() if value}


def tail(text: bytes, lines: int | None) -> bytes:
    """The last lines. One that has no end yet counts."""
    if lines is None:
        return text
    if lines == 0:
        return b""
    at = len(text) - 1 if text.endswith(b"\n") else len(text)
    for _ in range(lines):
        at = text.rfind(b"\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


async def end_of(output: AsyncIterator[bytes], most: int) -> bytes:
    """The last bytes of it, from the beginning of a line on."""
    pieces: list[bytes] = []
    size, cut = 0, False
    async for piece in output:
        pieces.append(piece)
        size += len(piece)
        while size - len(pieces[0]) >= most:
            size -= len(pieces.pop(0))
            cut = True
    text = b"".join(pieces)
    if len(text) > most:
        text, cut = text[-most:], True
    if not cut:
        return text
    return CUT + text[text.find(b"\n") + 1 :]


async def stamped(output: AsyncIterator[bytes], at: Callable[[], float]) -> AsyncIterator[bytes]:
    """Every line with a time in front."""
    rest = b""
    async for piece in output:
        *lines, rest = (rest + piece).split(b"\n")
        prefix = _time(at())
        if lines:
            yield b"".join(prefix + line + b"\n" for line in lines)
    if rest:
        yield _time(at()) + rest


def _time(seconds: float) -> bytes:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode()
