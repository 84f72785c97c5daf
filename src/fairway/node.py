"""A node: one process that serves one or more spaces. Puts the rooms together; decides nothing itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from fairway.api import bootstrap, codec
from fairway.api.crds import CustomKinds
from fairway.api.errors import ApiError
from fairway.api.expiry import EventExpiry
from fairway.api.garbage import GarbageCollector
from fairway.api.local import LocalClient
from fairway.api.namespaces import NamespaceController
from fairway.api.space import Space
from fairway.control import default_queue
from fairway.control.adapters import ADAPTERS
from fairway.control.admission.queueing import Queueing
from fairway.control.configuration import Configuration, MultiKueue
from fairway.control.fencing.fencing import Fencing
from fairway.control.in_use import InUse
from fairway.control.jobs.controller import Jobs
from fairway.control.jobs.hook import FirstStatus
from fairway.control.jobsets.controller import JobSets
from fairway.control.pods.cluster import Cluster
from fairway.control.pods.machine import Declared
from fairway.control.pods.place import Place, this_machine
from fairway.control.workloads.hook import JobHook
from fairway.fleet import joining
from fairway.fleet.clusters.hook import FleetHook
from fairway.fleet.fleet import Fleet, connect
from fairway.fleet.home import HomeClusters
from fairway.fleet.link.links import Connect
from fairway.fleet.pods.hook import MirrorHook
from fairway.kinds import builtin
from fairway.kinds.kueue.gates import Gates
from fairway.runtime.archive import Archive, SqliteArchive
from fairway.runtime.clock import Clock, SystemClock
from fairway.runtime.disk import ThreadDisk
from fairway.runtime.ids import Ids, SystemIds
from fairway.server import tokens
from fairway.server.access import SpaceAccess
from fairway.server.app import App, Served
from fairway.server.rbac.aggregation import Aggregation
from fairway.server.rbac.bootstrap import bootstrap_objects
from fairway.store import Store
from fairway.store.sqlite import SqliteLog


class Keeper(Protocol):
    """Looks after a space in the background."""

    def start(self) -> None: ...

    async def stop(self) -> None: ...


SCORED = "fairway.dev/scored"
"""The dispatcher of a hub that nobody configured."""


class Node:
    """Opens the stores of its spaces below a folder, and keeps them in order while it runs."""

    def __init__(
        self,
        data: Path | None,
        names: Sequence[str] = ("default",),
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        machine: Declared | None = None,
        config: Configuration | None = None,
        with_default_queue: bool = True,
        place: Place | None = None,
        store: Callable[[str], Store] | None = None,
        hub: str = "",
        connect: Connect = connect,
        archive: Callable[[str], Archive] | None = None,
    ) -> None:
        """hub: the space that dispatches to clusters, and runs nothing itself. machine: what the first other space has to run things on,
        which makes it a cluster; without it nothing runs anywhere.

        place, store, archive and connect: where it runs things, where it keeps a space's objects and the output of what ran elsewhere, and
        how it reaches clusters, if not on this machine, in the folder and over the network."""
        self._data = data
        self._place = place
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        kinds = builtin.kinds(Gates.of(config.feature_gates)) if config is not None else builtin.KINDS
        self.spaces = [Space(name, (store or self._store)(name), kinds, self._clock, self._ids) for name in names]
        self._config = config
        self._connect = connect
        self._archive = archive or self._texts
        self._with_default_queue = with_default_queue
        self.queueing: dict[str, Queueing] = {}
        self._keepers: list[Keeper] = []
        self._access: dict[str, SpaceAccess] = {}
        self._machine = machine if data is not None else None
        self._hub = hub
        self._engine = next((name for name in names if name != hub), "")
        self.cluster: Cluster | None = None
        self.fleet: Fleet | None = None

    def _store(self, name: str) -> Store:
        if self._data is None:
            return Store()
        folder = self._data / "spaces" / name
        folder.mkdir(parents=True, exist_ok=True)
        return Store(SqliteLog(folder / "store.db"), ThreadDisk(f"store-{name}"))

    def _texts(self, name: str) -> Archive:
        return SqliteArchive(self._data / "spaces" / name / "output.db" if self._data is not None else ":memory:")

    async def start(self) -> App:
        """Load, make sure of what a space starts with, and begin to look after it. Raises StoreError for what cannot be opened."""
        served = []
        for space in self.spaces:
            await space.store.open()
            self._access[space.name], keepers = await self._keep(space)
            cluster, runners = await self._run_on_this_machine(space)
            # What ran is found again by a thread, which gets no turn while a hundred thousand objects are read.
            for keeper in (*keepers, *runners):
                self._look_after(keeper)
            self.cluster = self.cluster or cluster
            logs = cluster.engine if cluster is not None else None
            fleet = self._lead(space) if space.name == self._hub else None
            queueing = self.queueing[space.name]
            elsewhere = fleet.logs if fleet is not None else None
            explain = fleet.explanations.explain if fleet is not None else queueing.explain
            served.append(Served(space, self._access[space.name], logs, explain, queueing.views, elsewhere))
        _warm_up(self.spaces[0])
        app = App(served)
        app.ready = True
        return app

    async def _keep(self, space: Space) -> tuple[SpaceAccess, list[Keeper]]:
        kinds, garbage, namespaces = CustomKinds(space), GarbageCollector(space), NamespaceController(space)
        kinds.load()
        await bootstrap.ensure(space, [*bootstrap.namespaces(), *bootstrap_objects()])
        await kinds.ensure_builtin()
        namespaces.load()
        in_use = InUse(LocalClient(space, "kueue-admission"))
        queueing = await self._queue(space)
        access = SpaceAccess(space)
        token_keeper = tokens.TokenKeeper(space, access.authenticator)
        aggregation = Aggregation(space, access.authorizer)
        expiry = EventExpiry(space)
        return access, [kinds, garbage, namespaces, expiry, in_use, queueing, token_keeper, aggregation]

    def _look_after(self, keeper: Keeper) -> None:
        keeper.start()
        self._keepers.append(keeper)

    def _lead(self, space: Space) -> Fleet:
        """What makes a space a hub."""
        config, store = self.configuration(space), space.store
        space.objects.hooks += (FleetHook(space), MirrorHook())
        self.fleet = Fleet(
            lambda name: LocalClient(space, name, reports=True),
            self.queueing[space.name],
            config,
            config.multi_kueue.origin,
            self._clock,
            self._ids,
            lambda: store.revision,
            self._connect,
            archive=self._archive(space.name),
        )
        self._look_after(self.fleet)
        if self._with_default_queue:
            self._look_after(HomeClusters(LocalClient(space, "fairway-fleet"), self._ids.uniform))
        return self.fleet

    def _runs_here(self, space: Space) -> Declared | None:
        """What the space has to run things on, if it has anything."""
        return self._machine if space.name == self._engine else None

    async def _run_on_this_machine(self, space: Space) -> tuple[Cluster | None, list[Keeper]]:
        declared = self._runs_here(space)
        if declared is None or self._data is None:
            return None, []
        folder = self._data / "spaces" / space.name
        place = self._place = self._place or this_machine()
        leases = place.leases(folder / "leases")
        fencing = Fencing(space, LocalClient(space, "fairway-fencing"), leases, self._clock, boot=place.boot)
        space.objects.hooks += fencing.hooks
        cluster = Cluster(
            lambda name: LocalClient(space, name, reports=True),
            folder,
            declared,
            place,
            self._clock,
            self._ids,
            fencing,
        )
        await cluster.open()
        space.objects.hooks += (FirstStatus(self._clock), cluster.binder.place)
        jobs = Jobs(
            LocalClient(space, "job-controller", reports=True), self._clock, cluster.recorder, self._ids.uniform
        )
        sets = JobSets(
            LocalClient(space, "jobset-controller", reports=True), self._clock, cluster.recorder, self._ids.uniform
        )
        return cluster, [fencing, sets, jobs, cluster]

    def _capacity(self, space: Space) -> dict[str, str] | None:
        """What the space's default queue may give out: what its machine has, if it has one."""
        declared = self._runs_here(space)
        if declared is None:
            return None
        place = self._place = self._place or this_machine()
        found = declared.capacity(place.machine)
        return {name: amount for name, amount in found.items() if name != "pods"}

    async def _queue(self, space: Space) -> Queueing:
        config = self.configuration(space)
        if self._with_default_queue:
            await default_queue.ensure(space, self._capacity(space), hub=space.name == self._hub)
        space.objects.hooks.append(JobHook(space, config, ADAPTERS))
        queueing = Queueing(LocalClient(space, "kueue", reports=True), self._clock, self._ids, config)
        self.queueing[space.name] = queueing
        return queueing

    def configuration(self, space: Space) -> Configuration:
        """As the file says; a hub without one has a name that no other hub has, and chooses clusters by score."""
        if self._config is not None:
            return self._config
        if space.name != self._hub:
            return Configuration()
        record = space.store.latest("namespaces", "/kube-system")
        assert record is not None, "every space starts with it"
        origin = joining.origin(codec.glance(record.value).uid)
        return Configuration(multi_kueue=MultiKueue(origin=origin, dispatcher_name=SCORED))

    async def admin_token(self, space: Space, known: str) -> str:
        """A token that may do everything in a space: the known one if it still can, otherwise a new one."""
        access = self._access[space.name]
        caller = access.authenticator.authenticate(known) if known else None
        if caller is not None and "system:masters" in caller.groups:
            return known
        description = "the kubeconfig in the data folder"
        _name, secret = await tokens.issue_token(
            space.objects, "fairway-admin", ("system:masters",), description=description
        )
        return secret

    async def stop(self) -> None:
        for keeper in reversed(self._keepers):
            await keeper.stop()
        for space in self.spaces:
            await space.store.close()


_BUSY_KINDS = ("jobs.batch", "pods", "workloads.kueue.x-k8s.io", "events")


def _warm_up(space: Space) -> None:
    """Read one object of each busy kind, so that the first real one does not wait for its types to be worked out."""
    for name in _BUSY_KINDS:
        kind = space.registry.bucket(name)
        if kind is not None:
            with contextlib.suppress(ApiError):
                codec.read(kind, kind.storage_version, b'{"metadata":{"name":"warm"}}')
