"""Real HTTP between nodes. Loaded by those who call others: a node that nobody sends anywhere starts without it."""

from __future__ import annotations

import socket
import ssl
import weakref
from collections.abc import AsyncIterator, Mapping

import aiohttp
import yarl
from aiohttp.connector import AddrInfoType

from fairway.runtime.transport import Reply, TransportError


class _HttpReply:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def read(self) -> bytes:
        try:
            return await self._response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransportError(f"the answer broke off: {error or type(error).__name__}") from None
        finally:
            self._response.release()

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except aiohttp.ClientPayloadError:
            raise TransportError("the stream broke off: the other side is gone") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransportError(f"the stream broke off: {error or type(error).__name__}") from None
        finally:
            self._response.close()

    def close(self) -> None:
        self._response.close()


def _probed_socket(address: AddrInfoType) -> socket.socket:
    """One that the kernel asks for signs of life while it is silent: a peer that is gone is noticed within half a minute."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not every system has them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


class HttpTransport:
    """Keep-alive connections to one server. Dead peers are noticed: connects and answers time out, and connections that are silent, as a
    watch of a Kubernetes where nothing happens may be for as long as it lasts, are probed by the kernel."""

    def __init__(
        self,
        server: str,
        tls: ssl.SSLContext | None = None,
        *,
        connect_seconds: float = 10.0,
        total_seconds: float = 60.0,
        silent_seconds: float | None = None,
        server_name: str = "",
    ) -> None:
        self._server = server.rstrip("/")
        self._tls = tls
        self._server_name = server_name or None
        """Whom the certificate must name, if not the host of the URL."""
        self._closed = False
        self._session: aiohttp.ClientSession | None = None
        self._answers: weakref.WeakSet[aiohttp.ClientResponse] = weakref.WeakSet()
        self._timeout = aiohttp.ClientTimeout(total=total_seconds, sock_connect=connect_seconds)
        self._connect_seconds = connect_seconds
        self._silent_seconds = silent_seconds

    def _stream_timeout(self, patience: float | None) -> aiohttp.ClientTimeout:
        limits = [each for each in (self._silent_seconds, patience) if each is not None]
        return aiohttp.ClientTimeout(
            total=None, sock_connect=self._connect_seconds, sock_read=min(limits) if limits else None
        )

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
        if self._closed:
            raise TransportError(f"the connection to {self._server} was closed by this side")
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=64, ssl=self._tls if self._tls is not None else True, socket_factory=_probed_socket
            )
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=True)
        try:
            response = await self._session.request(
                method,
                yarl.URL(self._server + path, encoded=True),  # as it is: no tidying of what the caller quoted
                data=body,
                headers=headers,
                timeout=self._stream_timeout(patience) if stream else self._timeout,
                allow_redirects=False,
                server_hostname=self._server_name,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransportError(f"{self._server} cannot be reached: {error or type(error).__name__}") from None
        self._answers.add(response)
        return _HttpReply(response)

    async def close(self) -> None:
        """Whoever still reads an answer is told: a session that is closed lets its readers wait for ever."""
        self._closed = True
        for response in list(self._answers):
            response.content.set_exception(aiohttp.ClientConnectionError("the connection was closed by this side"))
        if self._session is not None:
            await self._session.close()
