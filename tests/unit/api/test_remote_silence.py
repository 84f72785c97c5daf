"""How long the other side of a stream may be silent. A Kubernetes where nothing happens says nothing for as long as a watch lasts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping

import pytest
from tests.integration.inprocess import listening

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.remote import RemoteClient
from fairway.runtime.http_transport import HttpTransport
from fairway.runtime.transport import Reply

PODS = Resource("", "v1", "pods")


class Nothing:
    """An answer that ends at once."""

    status = 200
    headers: Mapping[str, str] = {}

    async def read(self) -> bytes:
        return b"{}"

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in ():
            yield chunk

    def close(self) -> None:
        pass


class Asked:
    """A transport that remembers how patient it was asked to be."""

    def __init__(self) -> None:
        self.patience: list[float | None] = []

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
        assert stream
        self.patience.append(patience)
        return Nothing()

    async def close(self) -> None:
        pass


def test_a_watch_may_be_silent_until_it_was_to_end_and_logs_for_ever() -> None:
    async def go() -> list[float | None]:
        transport = Asked()
        client = RemoteClient(transport, lambda: "")
        async for _event in client.watch(PODS, seconds=600):
            pass
        async for _event in client.watch(PODS):
            pass
        async for _chunk in client.stream("/api/v1/namespaces/default/pods/p/log", {"follow": "true"}):
            pass
        return transport.patience

    watched, endless, logs = asyncio.run(go())
    assert watched is not None
    assert watched > 600
    assert (endless, logs) == (None, None)


def test_a_watch_that_its_server_forgot_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairway.api.remote._LATE_S", -0.9)

    async def forgetful(scope: object, receive: object, send: object) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"\n", "more_body": True})  # type: ignore[operator]
        await asyncio.Event().wait()

    async def go() -> ApiError:
        async with listening(forgetful) as port:  # type: ignore[arg-type]
            client = RemoteClient(HttpTransport(f"http://127.0.0.1:{port}"), lambda: "")
            try:
                with pytest.raises(ApiError) as raised:
                    async with asyncio.timeout(20):
                        await anext(client.watch(PODS, seconds=1))
            finally:
                await client.close()
            return raised.value

    assert asyncio.run(go()).code == 0


def test_connections_are_probed_while_they_are_silent() -> None:
    async def go() -> list[int]:
        async def held(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
            await writer.drain()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(held, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = HttpTransport(f"http://127.0.0.1:{port}")
        reply = await transport.send("GET", "/", {}, stream=True)
        connection = reply._response.connection  # type: ignore[attr-defined]
        sock = connection.transport.get_extra_info("socket")
        found = [sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)]
        reply.close()
        await transport.close()
        server.close()
        return found

    assert asyncio.run(go()) == [1]


def test_whoever_reads_an_answer_is_told_when_its_connection_is_closed_on_this_side() -> None:
    async def silent(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})  # type: ignore[operator]
        await asyncio.Event().wait()

    async def go() -> ApiError:
        async with listening(silent) as port:  # type: ignore[arg-type]
            client = RemoteClient(HttpTransport(f"http://127.0.0.1:{port}"), lambda: "")
            output = client.stream("/log")
            assert await anext(output) == b"begun"
            reading = asyncio.ensure_future(anext(output))
            await asyncio.sleep(0)
            await client.close()
            with pytest.raises(ApiError) as raised:
                async with asyncio.timeout(20):
                    await reading
            return raised.value

    assert asyncio.run(go()).code == 0
