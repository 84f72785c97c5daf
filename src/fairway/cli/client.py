"""A few calls to the running node, as the folder's administrator."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fairway.cli.kubeconfig import Access, access
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

_TIMEOUT_S = 30.0
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Refused(Problem):
    """The API's own no."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Api:
    def __init__(self, to: Access) -> None:
        self._to = to
        self._url = urlsplit(to.server)

    def call(self, method: str, path: str, body: object = None, *, accept: str = "application/json") -> dict[str, Any]:
        headers = {"accept": accept, "authorization": f"Bearer {self._to.token}"}
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            with contextlib.closing(self._connect()) as connection:
                data = None if body is None else msgspec.json.encode(body)
                connection.request(method, self._url.path.rstrip("/") + path, data, headers)
                response = connection.getresponse()
                return _answer(response.status, response.read())
        except ssl.SSLError as error:
            raise Problem(
                f"{self._to.server} does not show the certificate that the kubeconfig expects ({error.reason or error})",
                "another program may have taken the port, or the folder's tls/ was replaced: try fairway down, fairway up",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Problem(
                f"no answer from {self._to.server}: {reason}", "see fairway status; start it with fairway up"
            ) from error

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
        return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=self._to.ssl_context())


def connect(folder: DataDir, space: str | None) -> Api:
    if folder.running() is None:
        raise Problem(
            f"nothing is running in {folder.path}",
            "start it with: fairway up --detach (and --data, if it is not the default)",
        )
    return Api(access(folder, space))


def _answer(status: int, data: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(data) if data else {}
    except msgspec.DecodeError:
        document = {}
    if not isinstance(document, dict):
        document = {}
    if status >= 400:
        raise Refused(
            status, str(document.get("message") or f"the API answered {status} {http.client.responses.get(status, '')}")
        )
    return document
