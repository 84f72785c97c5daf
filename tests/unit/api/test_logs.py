"""What is asked of a container's output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairway.api.logs import LogOptions, stamped, tail


@pytest.mark.parametrize(
    ("text", "lines", "found"),
    [
        (b"a\nb\nc\n", None, b"a\nb\nc\n"),
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 5, b"a\nb\n"),
        (b"a\n\n\n", 2, b"\n\n"),
        (b"a\nb\n", 0, b""),
        (b"", 3, b""),
    ],
)
def test_the_last_lines(text: bytes, lines: int | None, found: bytes) -> None:
    assert tail(text, lines) == found


def test_lines_get_their_time_wherever_pieces_end() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"on", b"e\ntwo\nth", b"ree"):
            yield piece

    async def test() -> bytes:
        return b"".join([piece async for piece in stamped(pieces(), lambda: 1.5)])

    time = b"1970-01-01T00:00:01.500000000Z "
    assert asyncio.run(test()) == time + b"one\n" + time + b"two\n" + time + b"three"


def test_options_travel_as_the_api_of_pods_takes_them() -> None:
    assert LogOptions().parameters("main") == {"container": "main"}
    asked = LogOptions(follow=True, previous=True, tail_lines=0, limit_bytes=9, timestamps=True, since=1_700_000_000.0)
    assert asked.parameters("main") == {
        "container": "main",
        "follow": "true",
        "previous": "true",
        "tailLines": "0",
        "limitBytes": "9",
        "timestamps": "true",
        "sinceTime": "2023-11-14T22:13:20Z",
    }
