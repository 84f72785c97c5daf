"""What many containers have written, asked for in one call."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.logs import CUT
from fairway.api.space import Space
from fairway.kinds import builtin
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SeededIds
from fairway.server import outputs as module
from fairway.server.routes import ResourcePath
from fairway.store import Store

PODS = Resource("", "v1", "pods")


class Engine:
    def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        return self._text(f"line\nof {run_id}\n".encode())

    async def _text(self, text: bytes) -> AsyncIterator[bytes]:
        yield text


class Asked:
    """A request, as far as the call looks at it."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self.answer: Any = None

    async def body(self) -> bytes:
        return msgspec.json.encode(self._body)

    async def respond_json(self, answer: Any) -> None:
        self.answer = answer


async def ask(body: Any) -> list[dict[str, Any]]:
    space = Space("test", Store(), builtin.KINDS, SystemClock(), SeededIds(1))
    await space.store.open()
    await bootstrap.ensure(space, bootstrap.namespaces())
    client = LocalClient(space)
    for name in ("a", "b"):
        spec = {"containers": [{"name": "main", "image": "i"}], "nodeName": "n"}
        pod = (await client.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")).json()
        state = {"terminated": {"exitCode": 0, "containerID": f"fairway://run-{name}"}}
        one = {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        status = {**pod["status"], "containerStatuses": [one]}
        await client.update(PODS, {**pod, "status": status}, subresource="status")

    def authorize(verb: str, path: ResourcePath) -> None:
        if path.name == "b":
            raise ApiError(403, "Forbidden", f"may not {verb} {path.resource}/{path.subresource} of {path.name}")

    request = Asked(body)
    await module.outputs(space, Engine(), request, authorize)  # type: ignore[arg-type]
    await space.store.close()
    found: list[dict[str, Any]] = request.answer["items"]
    return found


def item(name: str) -> dict[str, str]:
    return {"namespace": "default", "name": name, "container": "main"}


def test_each_has_its_own_answer() -> None:
    found = asyncio.run(ask({"items": [item("a"), item("b"), item("nobody")]}))
    assert [each["code"] for each in found] == [200, 403, 404]
    assert b64decode(found[0]["text"]) == b"line\nof run-a\n"
    assert found[1]["object"]["message"] == "may not get pods/log of b"


def test_of_long_ones_the_end_and_of_many_long_ones_only_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 10)
    found = asyncio.run(ask({"items": [item("a"), item("a")], "limitBytes": 10}))
    assert b64decode(found[0]["text"]) == CUT + b"of run-a\n"
    assert found[1]["code"] == 413


def test_what_is_no_list_of_containers_is_refused() -> None:
    with pytest.raises(ApiError, match="the body is not a list of containers"):
        asyncio.run(ask({"items": [{"pod": "a"}]}))
    with pytest.raises(ApiError, match="1001 items are too many for one call: send at most 1000"):
        asyncio.run(ask({"items": [item("a")] * 1001}))
