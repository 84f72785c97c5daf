"""The end of an output, whatever its size and wherever its pieces end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairway.api.logs import CUT, end_of


@pytest.mark.parametrize("piece", [1, 3, 7, 100])
def test_all_of_what_is_short_and_whole_lines_of_what_is_long(piece: int) -> None:
    async def pieces(text: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(text), piece):
            yield text[start : start + piece]

    def end(text: bytes, most: int) -> bytes:
        return asyncio.run(end_of(pieces(text), most))

    assert end(b"", 10) == b""
    assert end(b"one\ntwo\n", 10) == b"one\ntwo\n"
    assert end(b"one\ntwo\nthree\n", 10) == CUT + b"three\n"
    assert end(b"x" * 50, 10) == CUT + b"x" * 10
