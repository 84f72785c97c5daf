"""What only reads may be asked again when a node dies under it; a write may not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.remote import RemoteClient
from fairway.runtime.transport import Reply, TransportError

PODS = Resource("", "v1", "pods")


class Broken:
    """An answer that breaks off."""

    status = 200
    headers: Mapping[str, str] = {}

    async def read(self) -> bytes:
        raise TransportError("the answer broke off")

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in ():
            yield chunk

    def close(self) -> None:
        pass


class Answer(Broken):
    def __init__(self, status: int = 200) -> None:
        self.status = status

    async def read(self) -> bytes:
        return b'{"metadata": {"name": "p"}}'


class Dying:
    """A server that does these, one after the other."""

    def __init__(self, *fates: Reply | TransportError) -> None:
        self._fates = list(fates)
        self.asked = 0

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        stream: bool = False,
        patience: float | None = None,
    ) -> Reply:
        self.asked += 1
        fate = self._fates.pop(0)
        if isinstance(fate, TransportError):
            raise fate
        return fate

    async def close(self) -> None:
        pass


def test_a_read_is_tried_again_while_nobody_answers() -> None:
    server = Dying(TransportError("refused"), Broken(), Answer())
    client = RemoteClient(server, lambda: "", pauses=(0, 0, 0))
    assert asyncio.run(client.get(PODS, "p", "default")).meta.name == "p"


def test_it_ends_after_the_last_pause_and_at_once_where_no_pauses_are_wanted() -> None:
    for pauses, asked in (((0, 0), 3), ((), 1)):
        server = Dying(*[TransportError("refused")] * 9)
        with pytest.raises(ApiError, match="refused"):
            asyncio.run(RemoteClient(server, lambda: "", pauses=pauses).get(PODS, "p", "default"))
        assert server.asked == asked


def test_an_answer_is_an_answer_and_a_write_is_sent_once() -> None:
    refused = Dying(Answer(404))
    with pytest.raises(ApiError):
        asyncio.run(RemoteClient(refused, lambda: "", pauses=(0,)).get(PODS, "p", "default"))
    writing = Dying(TransportError("refused"), Answer())
    with pytest.raises(ApiError, match="refused"):
        asyncio.run(RemoteClient(writing, lambda: "", pauses=(0,)).create(PODS, {"metadata": {"name": "p"}}))
    assert (refused.asked, writing.asked) == (1, 1)
