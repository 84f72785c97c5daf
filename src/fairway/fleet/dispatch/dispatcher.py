"""The loop of dispatching: look at every workload that something happened to, decide, write on the hub, then on clusters.

Everything is derived from objects on the hub and on the clusters. What is remembered beside them may be forgotten at any time: what is
on its way (it is looked at again when the answer comes), rounds of nominations (they begin anew), promises (clusters tell what they gave).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from fairway.api.client import Client, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import JobAdapter, Json
from fairway.control.apply import Applier, Note, Write
from fairway.control.conditions import is_true
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror, Table
from fairway.control.resources import CHECKS, KUEUE, WORKLOADS
from fairway.control.times import parse_duration
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.core.dispatch.decide import decide
from fairway.core.dispatch.model import Action, Bind, Case, DeleteRemote, Finish, Local, Nominate, SyncJob
from fairway.core.dispatch.model import Link as LinkFacts
from fairway.core.model import SECOND, Time
from fairway.fleet.dispatch import facts
from fairway.fleet.dispatch.errands import Errands
from fairway.fleet.dispatch.facts import CustomKind, Scene
from fairway.fleet.dispatch.knowledge import Knowledge
from fairway.fleet.dispatch.nominator import Nominator
from fairway.fleet.dispatch.places import Places, workload_of
from fairway.fleet.dispatch.writes import Op, Outcome, Scribe
from fairway.fleet.link.link import Link
from fairway.fleet.link.links import Links
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CONFIGS
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.fleet")
_LOOKS_MAX = 500
_RETRY_SECONDS = 1.0
_LONGEST_NAP = 300.0
_FOREIGN_AGAIN: Time = 60 * SECOND
PATIENCE: Time = 2 * SECOND
"""How long the end of a job waits for its pods to be seen here as they ended."""


class Pods(Protocol):
    """What is known here of the pods that jobs have on clusters. Jobs by their uid."""

    def told(self, job: str, cluster: str) -> bool:
        """Whether all that is known of them is to be seen here."""
        ...

    def count(self, job: str, cluster: str) -> int: ...

    def saved(self, job: Json, cluster: str, *, finished: bool) -> bool:
        """Whether their output outlives them. The job as it is here; finished: whether it is over."""
        ...


class Dispatcher:
    """`start` it once both mirrors are true."""

    def __init__(
        self,
        client: Client,
        hub: Mirror,
        fleet: Mirror,
        links: Links,
        config: Configuration,
        origin: str,
        clock: Clock,
        record: Callable[[Note], None],
        revision: Callable[[], int],
        adapters: Sequence[JobAdapter],
        window: Callable[[str], Time] | None = None,
        released: Callable[[str], Time | None] | None = None,
        departed: Callable[[], Mapping[str, Time]] = dict,
        pods: Pods | None = None,
        patience: Time = PATIENCE,
    ) -> None:
        """revision: the hub's own, now. window: how long a cluster that knows no leases must be out of reach to be given up.
        released: from when on nothing of ours runs on a cluster that is no longer ours, if anybody knows. departed: all such clusters on which
        something may still run, and until when.
        pods: who shows the pods of clusters here; a job is over when they are seen (patience: or so much later), and its copy goes when
        their output is kept."""
        self._config = config
        self._origin = origin
        self._clock = clock
        self._links = links
        self._revision = revision
        self._lost = parse_duration(config.multi_kueue.worker_lost_timeout)
        self._window = window or (lambda _cluster: self._lost)
        self._released = released
        self._departed = departed
        self._pods = pods
        self._patience = patience
        self._awaited: dict[str, Time] = {}
        """Until when to wait for the pods of workloads that are over."""
        self._epoch = 0
        self._gates = config.feature_gates.get("MultiKueueOrchestratedPreemption", False)
        self.known = Knowledge(hub, fleet, links, adapters)
        self.nominator = Nominator(config, self.known)
        self._applier = Applier(client, hub, record)
        self.errands = Errands(links, self.known, self._next_epoch, record, self.now, self._look_again)
        self._held: dict[str, set[str]] = {}
        """By job: workloads whose copies wait for the job's output to be kept."""
        self._inherited: set[str] = set()
        """Workloads that had attempts before this process began."""
        self._remote_jobs: dict[tuple[str, str], dict[tuple[Resource, str], None]] = {}
        """By cluster and workload: jobs there that belong to it."""
        self._places = Places()
        self._dirty: dict[str, None] = {}
        self._due: list[tuple[Time, str]] = []
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._listen(hub, fleet, adapters)

    def now(self) -> Time:
        return int(self._clock.now * SECOND)

    def adopt(self, kind: CustomKind, table: Table) -> None:
        """Dispatch a kind that has no adapter, too. table: its objects here."""
        self.known.adopt(kind, table)
        self._links.add(kind.resource)
        table.on_change(self._on_job)
        for name in self._links.names():
            link = self._links.get(name)
            if link is not None:
                link.table(kind.resource).on_change(partial(self._on_remote_job, name, kind.resource))
        self._touch_all()

    def bound_to(self, cluster: str) -> list[Json]:
        """Workloads that run there, as far as the hub knows."""
        found = (self.known.hub[WORKLOADS].get(key) for key in self._places.at(cluster))
        return [each for each in found if each is not None and (each.get("status") or {}).get("clusterName") == cluster]

    def _next_epoch(self) -> int:
        """Above all that were given before, in this life and in earlier ones."""
        self._epoch = max(self._epoch + 1, self._revision())
        return self._epoch

    # --- what changed -----------------------------------------------------------------------------------------------

    def _listen(self, hub: Mirror, fleet: Mirror, adapters: Sequence[JobAdapter]) -> None:
        hub[WORKLOADS].on_change(self._on_workload)
        for adapter in adapters:
            if adapter.resource in hub:
                hub[adapter.resource].on_change(self._on_job)
        hub[CHECKS].on_change(self._on_check)
        fleet[MULTIKUEUE_CONFIGS].on_change(self._on_config)
        fleet[CLUSTERS].on_change(self._on_cluster)
        self._links.on_new(self._on_link)
        self._links.on_change(self._on_link_state)

    def _on_workload(self, key: str, before: Item | None, after: Item | None) -> None:
        if any(item is not None and b'"admissionChecks"' in item.value for item in (before, after)):
            self.touch(key)

    def _on_check(self, key: str, before: Item | None, after: Item | None) -> None:
        """A check leads elsewhere now: everything that it is about is looked at."""
        old, new = (_parameters(each) for each in (before, after))
        if old == new or MULTIKUEUE not in (old[0], new[0]):
            return
        name = f'"name":"{key.partition("/")[2]}"'.encode()
        for workload in self.known.hub[WORKLOADS]:
            item = self.known.hub[WORKLOADS].item(workload)
            if item is not None and name in item.value.replace(b": ", b":"):
                self.touch(workload)

    def _on_config(self, key: str, before: Item | None, after: Item | None) -> None:
        if _clusters(before) == _clusters(after):
            return
        name = key.partition("/")[2]
        checks = {check for check in self.known.controllers if self.known.config_of(check) == name}
        for workload in self._places.with_checks(checks):
            self.touch(workload)

    def _on_cluster(self, key: str, before: Item | None, after: Item | None) -> None:
        """Another pool, other labels, drained or no longer: what waits, or has a copy there, is nominated anew."""
        if _offers_itself(before) == _offers_itself(after):
            return
        for workload in self._places.at_or_waiting(key.partition("/")[2]):
            self.touch(workload)

    def _on_job(self, _key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        if item is None or (b"multikueue" not in item.value and b"queue-name" not in item.value):
            return
        for workload in self._places.of_job(item.uid or item.meta.uid):
            self.touch(workload)

    def _on_link(self, link: Link) -> None:
        """Listen to what the cluster tells, before it begins to."""
        cluster = link.name
        self.errands.open(link)
        link.table(WORKLOADS).on_change(lambda key, before, after: self._on_remote(cluster, key, before, after))
        self.nominator.listen(link)
        for resource, table in link.tables.items():
            if resource in (kind.resource for kind in self.known.kinds.values()):
                table.on_change(partial(self._on_remote_job, cluster, resource))

    def _on_remote(self, cluster: str, key: str, before: Item | None, after: Item | None) -> None:
        self.nominator.saw(cluster, key, before, after)
        self.errands.saw(key, cluster, gone=after is None)
        self.touch(key)

    def _on_remote_job(
        self, cluster: str, resource: Resource, job: str, before: Item | None, after: Item | None
    ) -> None:
        item = after or before
        assert item is not None
        workload = workload_of(item)
        if not workload:
            return
        key = f"{job.partition('/')[0]}/{workload}"
        known = self._remote_jobs.setdefault((cluster, key), {})
        if after is not None:
            known[resource, job] = None
        else:
            known.pop((resource, job), None)
            if not known:
                del self._remote_jobs[cluster, key]
        self.touch(key)

    def _on_link_state(self, cluster: str) -> None:
        link = self._links.get(cluster)
        if link is None:
            self.errands.close(cluster)
        for key in self._places.at_or_waiting(cluster):
            self.touch(key)
        if link is not None and link.connected:
            # Whatever is there is looked at: it may have lost its workload here while nobody could tell.
            for key in link.table(WORKLOADS):
                self.touch(key)

    def _touch_all(self) -> None:
        for key in self._places.all():
            self.touch(key)

    def touch(self, key: str) -> None:
        self._dirty[key] = None
        self.idle.clear()
        self._wake.set()

    def _look_again(self, key: str, at: Time | None) -> None:
        """At once, or at a time."""
        if at is None:
            self.touch(key)
        else:
            heapq.heappush(self._due, (at, key))

    def touch_job(self, uid: str) -> None:
        """More is known of the pods of a job: whoever waits for that goes on."""
        waiting = [key for key in self._places.of_job(uid) if key in self._awaited]
        for key in sorted({*waiting, *self._held.pop(uid, ())}):
            self.touch(key)

    def safe_at(self, cluster: str) -> Time:
        """From when on nothing of ours runs on a cluster that is out of reach."""
        link = self._links.get(cluster)
        return link.safe_at(self._window(cluster)) if link is not None else self._safe_without(cluster)

    # --- the loop ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="dispatcher")
        self.known.load()
        for key in self.known.hub[WORKLOADS]:
            self.touch(key)
            if facts.had_attempts(self.known.hub[WORKLOADS].get(key) or {}):
                self._inherited.add(key)
        self._wake.set()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.errands.stop()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._nap()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(0)
            self._wake.clear()
            try:
                if await self.step():
                    self._wake.set()
                elif not self._wake.is_set() and not self.errands.rest:
                    self.idle.set()
            except Exception as error:
                if isinstance(error, ApiError):
                    log.warning("dispatch: %s; trying again", error.message)
                else:
                    log.exception("dispatch: a pass failed; trying again")
                await asyncio.sleep(_RETRY_SECONDS)
                self._touch_all()

    def _nap(self) -> float:
        if not self._due:
            return _LONGEST_NAP
        return min(_LONGEST_NAP, max(0.0, (self._due[0][0] - self.now()) / SECOND) + 0.001)

    async def step(self) -> bool:
        """One pass. Says whether there is more to do at once."""
        now = self.now()
        while self._due and self._due[0][0] <= now:
            self._dirty[heapq.heappop(self._due)[1]] = None
        outcomes: list[tuple[str, Outcome]] = []
        for key in list(self._dirty)[:_LOOKS_MAX]:
            del self._dirty[key]
            try:
                outcomes.append((key, self._look(key, now)))
            except Exception:  # one workload that nobody understands must not hold up all others
                log.exception("dispatch: workload %s cannot be looked at; it stays as it is", key)
        failed = await self._apply(outcomes)
        for key, outcome in outcomes:
            if key not in failed:
                self.errands.send(key, outcome.ops)
        return bool(self._dirty)

    async def _apply(self, outcomes: Sequence[tuple[str, Outcome]]) -> set[str]:
        """What became of jobs first, and only then of their workloads: a workload that is finished takes its copies with it."""
        failed: set[str] = set()
        for about_jobs in (True, False):
            writes: list[Write] = []
            for key, outcome in outcomes:
                for write in outcome.writes:
                    if (write.resource != WORKLOADS) is about_jobs and key not in failed:
                        write.failed = partial(self._not_written, key, failed)
                        writes.append(write)
            if writes:
                await self._applier.apply(writes)
                if self._applier.trouble is not None:
                    raise self._applier.trouble
        return failed

    def _not_written(self, key: str, failed: set[str], error: ApiError) -> None:
        """What changed meanwhile is looked at at once; what is refused for what it is, again later, and ever more rarely."""
        failed.add(key)
        if error.code in (404, 409):
            self.touch(key)
        else:
            self.errands.put_off(key)

    # --- one workload -----------------------------------------------------------------------------------------------

    def _look(self, key: str, now: Time) -> Outcome:
        if key in self.known.hub[WORKLOADS] and self.errands.busy(key):
            return Outcome()  # the answer makes us look again
        scene = self.known.scene(key, self.errands.leaving(key))
        self._places.see(key, scene)
        if scene is None:
            self.nominator.forget(key)
            self._awaited.pop(key, None)
            self.errands.forget(key)
            return self._orphans(key, now)
        if self.known.awaits(scene):
            return Outcome()
        if not scene.jobs and scene.adapter is not None and not scene.workload["metadata"].get("deletionTimestamp"):
            return Outcome()  # the job is not known yet, or has just gone: its workload follows
        case = self._case(key, scene, now)
        decision = decide(case, now)
        syncs = [action for action in decision.actions if isinstance(action, SyncJob | Finish)]
        over = [each for each in syncs if isinstance(each, Finish) or _any_over(scene.remote_jobs.get(each.cluster))]
        if over and not self._seen(key, scene, over[0].cluster, now):
            decision.actions = [action for action in decision.actions if action not in over]
        scribe = Scribe(scene, self._origin, now, gated=self._gates)
        unasked = _unasked(case.local, decision.actions)
        if unasked:  # the API takes no cluster that was not asked; it is bound in the look after this
            scribe.nominate([unasked])
            decision.actions = []
        for action in decision.actions:
            if isinstance(action, Nominate):
                self.nominator.nominate(key, scene, case, scribe, decision, now)
            else:
                scribe.act(action)
        if not any(isinstance(action, Nominate) for action in decision.actions):
            self.nominator.settled(key)
        if decision.due is not None:
            heapq.heappush(self._due, (decision.due, key))
        outcome = scribe.outcome()
        outcome.ops = self._allowed(key, outcome.ops, scene.jobs, is_true(scene.workload, "Finished"))
        return outcome

    def _allowed(self, key: str, ops: Sequence[Op], jobs: Sequence[Json], finished: bool) -> list[Op]:
        """Without what was refused a moment ago, and without the end of copies whose output is not kept yet."""
        held: set[str] = set()
        if self._pods is not None:
            for cluster in dict.fromkeys(op.cluster for op in ops if op.verb == "delete"):
                for job in jobs:  # all of them are asked: each is seen to
                    if not self._pods.saved(job, cluster, finished=finished):
                        held.add(cluster)
                        self._held.setdefault(job["metadata"]["uid"], set()).add(key)
        return [
            op
            for op in ops
            if self.errands.may_try(key, op.cluster) and not (op.verb == "delete" and op.cluster in held)
        ]

    def _seen(self, key: str, scene: Scene, cluster: str, now: Time) -> bool:
        """Whether the pods of a job that is over are to be seen here as they ended. Nobody waits long for those that are not."""
        if self._pods is None or self._patience == 0:
            return True
        ended = sum(_ended(job) for job in scene.remote_jobs.get(cluster) or ())
        uids = [job["metadata"]["uid"] for job in scene.jobs]
        there = sum(self._pods.count(uid, cluster) for uid in uids)
        if there >= ended and all(self._pods.told(uid, cluster) for uid in uids):
            self._awaited.pop(key, None)
            return True
        until = self._awaited.setdefault(key, now + self._patience)
        if now >= until:
            del self._awaited[key]
            return True
        heapq.heappush(self._due, (until, key))
        return False

    def _case(self, key: str, scene: Scene, now: Time) -> Case:
        remotes = {}
        link_facts = {}
        again = facts.had_attempts(scene.workload)
        bound = (scene.workload.get("status") or {}).get("clusterName") or ""
        named = (*self.known.clusters(scene.check), *scene.remotes, *scene.remote_jobs, *([bound] if bound else ()))
        wanted = dict.fromkeys(named)
        for name in wanted:
            link = self._links.get(name)
            if link is not None and link.connected:
                if name in scene.remotes:
                    remotes[name] = facts.remote_of(scene, name)
                if name in scene.remote_jobs or name not in remotes or remotes[name].leaving:
                    self.errands.sure(key, name)
                may_run = name in scene.remote_jobs or self.errands.may_have_job(key, name)
                link_facts[name] = LinkFacts(True, may_run=may_run)
                continue
            may_run = name in scene.remote_jobs or self.errands.may_have_job(key, name)
            if link is None:
                # Nobody knows it any more; what it still runs is over when its lease is.
                link_facts[name] = LinkFacts(False, self._safe_without(name), again)
                continue
            may_run = may_run or (again and not link.ever_synced)
            link_facts[name] = LinkFacts(False, link.safe_at(self._window(name)), may_run)
        if again:  # on a cluster, perhaps, that left the fleet since; nothing here says which it was
            for name, at in self._departed().items():
                if name or key in self._inherited:
                    link_facts.setdefault(name, LinkFacts(False, at, True))
        return Case(facts.local_of(scene, now), remotes, link_facts, self._gates, self._lost)

    def _safe_without(self, cluster: str) -> Time:
        known = self._released(cluster) if self._released is not None else None
        return known if known is not None else self.now()

    def _orphans(self, key: str, now: Time) -> Outcome:
        """Copies of a workload that is not here any more. Its job may still be."""
        outcome = Outcome()
        here: list[Json] = []
        if key in self.known.hub[WORKLOADS]:
            return outcome
        for cluster in self._links.names():
            link = self._links.get(cluster)
            if link is None or not link.connected or self.errands.busy(key, cluster):
                continue
            remote = link.table(WORKLOADS).get(key)
            jobs = self._orphan_jobs(link, key)
            for adapter_resource, job in jobs:
                table = self.known.table(adapter_resource)
                known = table.get(f"{job['metadata']['namespace']}/{job['metadata']['name']}") if table else None
                here += [known] if known is not None else []
                if not job["metadata"].get("deletionTimestamp"):
                    outcome.ops.append(Op(cluster, "delete", adapter_resource, job))
            if remote is None:
                continue
            scene = Scene(remote, "", None, (), {cluster: remote}, {}, self.errands.leaving(key))
            if jobs and remote["metadata"].get("deletionTimestamp"):
                continue
            scribe = Scribe(scene, self._origin, now)
            scribe.act(DeleteRemote(cluster))
            outcome.ops += scribe.outcome().ops
        outcome.ops = self._allowed(key, outcome.ops, here, _any_over(here))
        return outcome

    def _orphan_jobs(self, link: Link, key: str) -> list[tuple[Resource, Json]]:
        known = self._remote_jobs.get((link.name, key), {})
        found = ((resource, link.table(resource).get(job)) for resource, job in known)
        return [(resource, job) for resource, job in found if job is not None]


def _any_over(jobs: Sequence[Json] | None) -> bool:
    return any(is_true(job, end) for job in jobs or () for end in ("Complete", "Completed", "Failed"))


def _ended(job: Json) -> int:
    """How many pods of a Job have ended, as it says itself; nothing for kinds that do not."""
    status = job.get("status") or {}
    found = (status.get("succeeded"), status.get("failed"))
    return sum(each for each in found if isinstance(each, int))


def _unasked(local: Local, actions: Sequence[Action]) -> str:
    """A cluster that is to be bound though nobody asks it: as when the hub started anew, asked nobody yet, and finds it admitted there."""
    bound = [each.cluster for each in actions if isinstance(each, Bind)]
    return bound[0] if bound and not local.cluster and bound[0] not in local.nominated else ""


def _parameters(check: Item | None) -> tuple[str, str, str]:
    """Who answers a check, and from which configuration."""
    spec = (check.json().get("spec") or {}) if check is not None else {}
    parameters = spec.get("parameters") or {}
    usable = parameters.get("kind") == "MultiKueueConfig" and parameters.get("apiGroup") == KUEUE
    return (
        str(spec.get("controllerName", "")),
        "MultiKueueConfig" if usable else "",
        parameters.get("name", "") if usable else "",
    )


def _offers_itself(item: Item | None) -> tuple[Json | None, ...]:
    """All of a Cluster that a nomination looks at."""
    if item is None:
        return (None,)
    obj = item.json()
    return obj["metadata"].get("labels"), obj.get("spec"), (obj.get("status") or {}).get("drift")


def _clusters(config: Item | None) -> list[str]:
    return list((config.json().get("spec") or {}).get("clusters") or ()) if config is not None else []
