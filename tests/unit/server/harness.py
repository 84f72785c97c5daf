"""A space behind its application, asked the way a client asks, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.api import bootstrap
from fairway.api.request import Target
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SystemIds
from fairway.server.access import SpaceAccess
from fairway.server.app import App, Served
from fairway.server.rbac.bootstrap import bootstrap_objects
from fairway.server.tokens import issue_token
from fairway.store import Store

RBAC = "/apis/rbac.authorization.k8s.io/v1"
TOKENS = "/apis/fairway.dev/v1/tokens"
REVIEWS = "/apis/authorization.k8s.io/v1"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.monotonic = 0.0


class Harness:
    """Make it with `await Harness.new()`; admin's token is there from the start."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store()
        self.space = Space("default", self.store, KINDS, self.clock, SystemIds())
        self.access = SpaceAccess(self.space)
        self.app = App([Served(self.space, self.access)])
        self.tokens: dict[str, str] = {}

    @classmethod
    async def new(cls) -> Harness:
        harness = cls()
        await bootstrap.ensure(harness.space, [*bootstrap.namespaces(), *bootstrap_objects()])
        await harness.user("admin", "system:masters")
        return harness

    async def user(self, name: str, *groups: str) -> str:
        _name, secret = await issue_token(self.space.objects, name, groups)
        self.tokens[name] = secret
        return secret

    async def call(
        self,
        user: str,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> tuple[int, Any]:
        """user: a name with a token, a secret, or empty for nobody."""
        sent = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        if user:
            sent.append((b"authorization", f"Bearer {self.tokens.get(user, user)}".encode()))
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        if data:
            sent.append((b"content-type", content.encode()))
        path, _mark, query = url.partition("?")
        answer: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data}

        async def send(message: Any) -> None:
            answer.append(message)

        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": sent}
        await self.app(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in answer[1:])
        return answer[0]["status"], msgspec.json.decode(text) if text[:1] in (b"{", b"[") else text.decode()

    async def watch(self, user: str, url: str) -> tuple[asyncio.Queue[Any], asyncio.Task[None]]:
        """Events of a watch as they come; None at its end."""
        path, _mark, query = url.partition("?")
        events: asyncio.Queue[Any] = asyncio.Queue()

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        async def send(message: Any) -> None:
            for line in message.get("body", b"").splitlines():
                events.put_nowait(msgspec.json.decode(line))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                events.put_nowait(None)

        headers = [(b"authorization", f"Bearer {self.tokens[user]}".encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        return events, asyncio.ensure_future(self.app(scope, receive, send))

    async def ok(self, user: str, method: str, url: str, body: Any = None, **more: Any) -> Any:
        status, result = await self.call(user, method, url, body, **more)
        assert status < 300, result
        return result

    async def refused(self, user: str, method: str, url: str, body: Any = None, **more: Any) -> str:
        """The message of a 403."""
        status, result = await self.call(user, method, url, body, **more)
        assert status == 403, (status, result)
        message: str = result["message"]
        return message

    async def bind(self, user: str, role: str, namespace: str = "") -> None:
        """Give a cluster role to a user, as the administrator."""
        place = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
        body = {
            "metadata": {"generateName": "b-"},
            "roleRef": {"kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": user}],
        }
        await self.ok("admin", "POST", RBAC + place, body)

    def target(self, bucket: str, namespace: str, name: str) -> Target:
        kind = self.space.registry.bucket(bucket)
        assert kind is not None
        return Target(kind, kind.versions[0], namespace, name)
