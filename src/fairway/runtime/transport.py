"""The network between nodes: real HTTP, or calls in memory."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import aiohttp
import yarl


class TransportError(Exception):
    """The other side could not be reached, or the connection broke; whether a write happened is unknown."""


class Reply(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


class Transport(Protocol):
    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, stream: bool = False
    ) -> Reply:
        """Raises TransportError. A streamed reply has no time limit of its own."""
        ...

    async def close(self) -> None: ...


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


class HttpTransport:
    """Keep-alive connections to one server. Dead peers are noticed: connects and silent reads time out, watches by keep-alive probes."""

    def __init__(
        self,
        server: str,
        tls: ssl.SSLContext | None = None,
        *,
        connect_seconds: float = 10.0,
        total_seconds: float = 60.0,
        silent_seconds: float = 90.0,
        server_name: str = "",
    ) -> None:
        self._server = server.rstrip("/")
        self._tls = tls
        self._server_name = server_name or None
        """Whom the certificate must name, if not the host of the URL."""
        self._closed = False
        self._session: aiohttp.ClientSession | None = None
        self._timeout = aiohttp.ClientTimeout(total=total_seconds, sock_connect=connect_seconds)
        self._stream_timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds, sock_read=silent_seconds)

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, stream: bool = False
    ) -> Reply:
        if self._closed:
            raise TransportError(f"the connection to {self._server} was closed by this side")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=64, ssl=self._tls if self._tls is not None else True)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=True)
        try:
            response = await self._session.request(
                method,
                yarl.URL(self._server + path, encoded=True),  # as it is: no tidying of what the caller quoted
                data=body,
                headers=headers,
                timeout=self._stream_timeout if stream else self._timeout,
                allow_redirects=False,
                server_hostname=self._server_name,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransportError(f"{self._server} cannot be reached: {error or type(error).__name__}") from None
        return _HttpReply(response)

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()
