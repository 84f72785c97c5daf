"""The clusters of a hub's own machine: joined to it as soon as they serve, and in its kubeconfig beside it.

Runs in the hub's node, which is the one process that can write to the hub at any time. A cluster is reached as its administrator, by the
kubeconfig in its folder; what changes there (a port, a certificate) is carried on to the hub within a second or two.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import KubeconfigError, load
from fairway.api.remote import RemoteClient
from fairway.cli import kubeconfig
from fairway.cli.contexts import SpaceContext, write_kubeconfig
from fairway.cli.kubeconfig import HOME
from fairway.fleet import access, joining
from fairway.fleet.joining import Joining, Way
from fairway.runtime import layout
from fairway.runtime.clock import Clock, SystemClock
from fairway.runtime.datadir import DataDir
from fairway.runtime.layout import Layout
from fairway.runtime.status import Problem

log = logging.getLogger("fairway.fleet")
_LOOK_S = 1.0
_CALL_S = 10.0
FIRST_S = 10.0
"""How long a hub that starts waits for its clusters to be joined before it says that it is up."""


@dataclass(frozen=True, slots=True)
class Local:
    """A cluster of this machine, and where its administrator's kubeconfig is."""

    name: str
    data: DataDir
    context: str

    def access(self) -> kubeconfig.Access:
        return kubeconfig.access(self.data, self.context)


def locals_of(data: DataDir, known: Layout) -> list[Local]:
    own = [Local(layout.OWN, data, layout.OWN)] if known.own else []
    return [*own, *(Local(name, data.cluster(name), HOME) for name in known.names)]


def client_of(to: kubeconfig.Access, clock: Clock) -> RemoteClient:
    """Raises KubeconfigError."""
    text = joining.kubeconfig("cluster", Way(to.server, to.authority.encode(), to.token))
    return load(text, clock).connect("fairway-join")


@dataclass(slots=True)
class Members:
    """Keeps the hub and its kubeconfig up to date about the clusters of its machine."""

    data: DataDir
    hub: Client
    contexts: Sequence[SpaceContext]
    """Of the node's own spaces."""
    clock: Clock = field(default_factory=SystemClock)
    said: Callable[[str], None] = log.warning
    first: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once each cluster was tried."""
    _joined: dict[str, kubeconfig.Access] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)
    _written: tuple[SpaceContext, ...] = ()
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="members")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            try:
                await self.step()
            except Exception:
                log.exception("looking after the clusters of this machine failed; trying again")
            self.first.set()
            await asyncio.sleep(_LOOK_S)

    async def step(self) -> None:
        found = locals_of(self.data, layout.read(self.data))
        if not self.first.is_set():
            await access.ensure_namespace(self.hub)
        await asyncio.gather(*(self._look(each) for each in found))
        self.write(found)

    def write(self, found: Sequence[Local]) -> None:
        """The hub's kubeconfig, with a context for each of the clusters."""
        extra = [context for each in found if each.data != self.data and (context := _context(each)) is not None]
        contexts = (*self.contexts, *extra)
        if contexts != self._written:
            write_kubeconfig(self.data.kubeconfig, contexts, _current(self.data, contexts))
            self._written = contexts

    async def _look(self, local: Local) -> None:
        try:
            to = local.access()
            if self._joined.get(local.name) == to:
                return
            async with asyncio.timeout(_CALL_S):
                await self._join(local.name, to)
            self._joined[local.name] = to
            self._troubles.pop(local.name, None)
        except (Problem, ApiError, KubeconfigError) as error:
            self._trouble(local.name, getattr(error, "message", str(error)))
        except joining.NameTaken as error:
            self._trouble(local.name, f"{error}; remove that one first: fairway cluster rm {local.name}")
        except TimeoutError:
            self._trouble(local.name, f"no answer within {_CALL_S:.0f} s")

    def _trouble(self, name: str, message: str) -> None:
        if self._troubles.get(name) != message:
            self._troubles[name] = message
            self.said(f"{name} is not joined to the hub yet: {message}")

    async def _join(self, name: str, to: kubeconfig.Access) -> None:
        cluster = client_of(to, self.clock)
        try:
            described = Joining(name, identity=await joining.identity(cluster))
            if await self._still_good(name, to):
                await joining.check_name(self.hub, described)
                await access.grant(cluster)
                await joining.announce(self.hub, described)
            else:
                await joining.join(self.hub, cluster, described, Way(to.server, to.authority.encode()))
        finally:
            await cluster.close()

    async def _still_good(self, name: str, to: kubeconfig.Access) -> bool:
        """Whether the way that the hub knows leads there still, with a token that is let in."""
        way = await joining.known_way(self.hub, name)
        if way is None or (way.server, way.authority) != (to.server, to.authority.encode()):
            return False
        client = client_of(kubeconfig.Access(way.server, to.authority, way.token), self.clock)
        try:
            await joining.identity(client)
        except ApiError as error:
            if error.code in (401, 403):
                return False
            raise
        finally:
            await client.close()
        return True


def _context(local: Local) -> SpaceContext | None:
    try:
        to = local.access()
    except Problem:
        return None
    return SpaceContext(local.name, to.server, to.authority.encode(), to.token)


def _current(data: DataDir, contexts: Sequence[SpaceContext]) -> str:
    """What somebody chose with kubectl config use-context stays chosen."""
    try:
        chosen = kubeconfig.current(data)
    except Problem:
        return ""
    return chosen if chosen in {name for context in contexts for name in (context.name, *context.aliases)} else ""
