"""A link: the hub's connection to one cluster.

It watches what the hub put there (by the label of the hub) and the cluster's queues and nodes. It counts as connected while every watch
that matters is known to be true: from the first moment that one is not, it is lost, and stays so until all are true again.

The lease comes first: nothing is watched before it is held. When nobody answers its renewal any more, whatever else goes through the same
connections is not to be trusted either, be it that it is only silent: the link is opened anew, and every watch begins with a list.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from fairway.api.client import EVERYWHERE, Client, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.reflector import Pace, Reflector
from fairway.control.adapters import names
from fairway.control.mirror import Table
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from fairway.core.model import Time
from fairway.fleet.resources import NODES, PODS

log = logging.getLogger("fairway.fleet")
PACE = Pace(first_seconds=0.2, longest_seconds=5.0)
ANSWER_S = 20.0
"""Within which every request but a watch has its whole answer. One whose answer is lost on the way holds up what else is to be written there."""
_NO_KUEUE = f"it knows no workloads of {WORKLOADS.api_version}: is Kueue installed there, 0.15 or newer?"
_EXTRA = (LOCAL_QUEUES, CLUSTER_QUEUES, NODES)
_NO_ANSWER = (0, 504)


class Guard(Protocol):
    """Keeps the lease on a cluster, so that work there ends when the hub is gone. Reports what keeps it from it, or None."""

    async def run(self, report: Callable[[ApiError | None], None]) -> None: ...

    def hurry(self) -> None:
        """Renew it now, and report."""
        ...

    def safe_at(self, now: Time) -> Time | None:
        """From when on nothing that runs under the lease can still run; None where the cluster knows no leases."""
        ...

    def sending(self, epoch: int) -> AbstractContextManager[None]:
        """While something of this epoch is on its way, the cluster must not be told that nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a cluster cannot be used, as the Active condition of a MultiKueueCluster says it."""

    reason: str
    message: str


class Link:
    """`start` it; `on_state` is called whenever `connected` changes or the trouble does."""

    def __init__(
        self,
        name: str,
        origin: str,
        kinds: Sequence[Resource],
        *,
        now: Callable[[], Time],
        uniform: Callable[[], float],
        on_state: Callable[[str], None],
        on_silence: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """on_silence: told that the connections are of no use any more, and others should be opened."""
        self.name = name
        self._origin = origin
        self._kinds = tuple(kinds)
        self._now = now
        self._uniform = uniform
        self._on_state = on_state
        self._on_silence = on_silence
        self._watching = False
        self.tables = {resource: Table(resource) for resource in (WORKLOADS, *kinds, PODS, *_EXTRA)}
        self.client: Client | None = None
        self.guard: Guard | None = None
        self.connected = False
        self.ever_synced = False
        """Whether the tables have been true once since this process began."""
        self.lost_since: Time = now()
        self.trouble: Trouble | None = Trouble("ClientConnectionFailed", "connecting")
        self.attempts = 0
        self.next_attempt: Time | None = None
        self._ours = Query(labels=f"{names.MULTIKUEUE_ORIGIN}={origin}")
        self._custom: set[Resource] = set()
        self._lacking: set[Resource] = set()
        self._listed: set[Resource] = set()
        self._waiting: set[str] = set()
        self._troubles: dict[str, ApiError] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def table(self, resource: Resource) -> Table:
        return self.tables[resource]

    def has(self, resource: Resource) -> bool:
        return resource in self.tables

    def knows(self, resource: Resource) -> bool:
        """Whether the table of a kind is true now: it was listed, and the cluster is in reach."""
        return self.connected and resource in self._listed

    def lacks(self, resource: Resource) -> bool:
        """Whether the cluster has said that it does not offer such a kind."""
        return resource in self._lacking

    def add(self, kind: Resource) -> None:
        """One more kind of job to watch, a custom one: a cluster need not offer it."""
        self._kinds = (*self._kinds, kind)
        self._custom.add(kind)
        self.tables[kind] = Table(kind)
        self._waiting.add(_source(kind))
        if self.client is not None and self._watching:
            self._watch(self.client, kind, self._ours, matters=True)

    # --- open and close ---------------------------------------------------------------------------------------------

    def open(self, client: Client, guard: Guard | None) -> None:
        """Watch through this client. The tables forget what an earlier one said when the new one has listed."""
        self.client, self.guard = client, guard
        self._troubles.clear()
        self._lacking.clear()
        self._listed.clear()
        self._waiting = {_source(kind) for kind in (WORKLOADS, *self._kinds)}
        if guard is None:
            self._watch_all(client)
            return
        self._waiting.add("lease")
        self._spawn(guard.run(partial(self._on_lease, client)), f"lease-{self.name}")

    def _on_lease(self, client: Client, trouble: ApiError | None) -> None:
        silent = self._watching and trouble is not None and trouble.code in _NO_ANSWER
        if trouble is None and not self._watching:
            self._watch_all(client)
        self._report("lease", trouble)
        if silent:
            self._on_silence(self.name)

    def _watch_all(self, client: Client) -> None:
        self._watching = True
        for resource in (WORKLOADS, *self._kinds):
            self._watch(client, resource, self._ours, matters=True)
        if PODS not in self._kinds:
            self._watch(client, PODS, self._ours, matters=False)
        for resource in _EXTRA:
            self._watch(client, resource, EVERYWHERE, matters=False)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._watching = False
        client, self.client = self.client, None
        close = getattr(client, "close", None)
        if close is not None:
            await close()

    def fail(self, reason: str, message: str) -> None:
        """There is no way to even try."""
        self._set(False, Trouble(reason, message))

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work, name=name))

    def _watch(self, client: Client, resource: Resource, query: Query, *, matters: bool) -> None:
        table = self.tables[resource]
        table.renew()
        handler = _Fresh(table)

        def told(trouble: ApiError | None) -> None:
            if matters:
                self._told(resource, trouble)

        reflector = Reflector(
            client,
            resource,
            handler,
            query,
            sleep=asyncio.sleep,
            uniform=self._uniform,
            pace=PACE,
            on_trouble=told,
            confirm=True,
        )

        async def synced() -> None:
            await reflector.synced.wait()
            handler.listed()
            self._listed.add(resource)
            if matters:
                self._report(_source(resource), None)
            if resource == PODS:
                self._on_state(self.name)  # whoever shows them here may trust the table from now on

        self._spawn(reflector.run(), f"link-{self.name}-{resource.plural}")
        self._spawn(synced(), f"link-{self.name}-{resource.plural}-synced")

    # --- state ------------------------------------------------------------------------------------------------------

    def _told(self, resource: Resource, trouble: ApiError | None) -> None:
        """A cluster that has no such kind has none of our jobs of that kind either, nor has one that lets nobody see a custom kind."""
        lacking = (404, 403) if resource in self._custom else (404,)
        self._lacking.discard(resource)
        if trouble is not None and trouble.code in lacking and resource != WORKLOADS:
            self._lacking.add(resource)
            trouble = None
        self._report(_source(resource), trouble)

    def _report(self, source: str, trouble: ApiError | None) -> None:
        """One of the things that must be true is, or is not any more."""
        if trouble is None:
            self._waiting.discard(source)
            self._troubles.pop(source, None)
        else:
            self._troubles[source] = trouble
            self.attempts += 1
            if source != "lease" and self.guard is not None:
                # Whoever broke off may have been started anew, and takes nothing before the lease is renewed.
                self._waiting.add("lease")
        if self._troubles:
            where, first = next(iter(self._troubles.items()))
            self._set(
                False, Trouble("ClientConnectionFailed", _NO_KUEUE if _is_missing(where, first) else first.message)
            )
        elif not self._waiting:
            self._set(True, None)
        elif self._waiting == {"lease"} and self.guard is not None and source != "lease":
            self.guard.hurry()

    def _set(self, connected: bool, trouble: Trouble | None) -> None:
        changed = connected != self.connected or trouble != self.trouble
        if self.connected and not connected:
            self.lost_since = self._now()
        if connected:
            self.ever_synced = True
            self.attempts = 0
        self.connected, self.trouble = connected, trouble
        if changed:
            log.info("cluster %s: %s", self.name, "connected" if connected else trouble and trouble.message)
            self._on_state(self.name)

    def sending(self, epoch: int) -> AbstractContextManager[None]:
        return self.guard.sending(epoch) if self.guard is not None else nullcontext()

    def safe_at(self, window: Time) -> Time:
        """While it is out of reach: from when on nothing of ours runs there. window: for clusters that know no leases."""
        guarded = self.guard.safe_at(self._now()) if self.guard is not None else None
        return guarded if guarded is not None else self.lost_since + window


def _is_missing(source: str, trouble: ApiError) -> bool:
    return trouble.code == 404 and source == _source(WORKLOADS)


def _source(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}"


class _Fresh:
    """Feeds a table that may hold what an earlier connection knew: what the new one does not list is gone."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._stale = set(table)

    def added(self, item: Item) -> None:
        self._stale.discard(self._table.take(item))

    def modified(self, _before: Item, item: Item) -> None:
        self._table.take(item)

    def deleted(self, item: Item) -> None:
        self._table.remove(item)

    def listed(self) -> None:
        for key in sorted(self._stale):
            self._table.forget(key)
        self._stale.clear()
