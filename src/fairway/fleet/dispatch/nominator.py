"""Carries out nominations: which clusters get a copy of a workload now, by the dispatcher that the configuration names."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from fairway.api import selectors
from fairway.api.client import Item, Resource
from fairway.api.selectors import SelectorError
from fairway.control.adapters import Json, names
from fairway.control.conditions import is_true
from fairway.control.configuration import Configuration
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from fairway.core.dispatch import nominate
from fairway.core.dispatch.ledger import Ledger, Offer, Requests
from fairway.core.dispatch.model import Case, CheckState, Decision, SetCheck
from fairway.core.dispatch.nominate import Candidate, Nomination
from fairway.core.labels import Taint, tolerations, untolerated
from fairway.core.model import Time
from fairway.fleet.clusters import pools
from fairway.fleet.dispatch import offers
from fairway.fleet.dispatch.facts import Scene, state_of
from fairway.fleet.dispatch.knowledge import Knowledge
from fairway.fleet.dispatch.writes import Scribe
from fairway.fleet.link.link import Link
from fairway.fleet.resources import CLUSTER_SELECTOR, CLUSTERS

_HOPELESS_AGAIN = 60
_HOPELESS_LONGEST = 3600


@dataclass(slots=True)
class _Round:
    began: Time
    clusters: tuple[str, ...] = ()


class Nominator:
    def __init__(self, config: Configuration, known: Knowledge) -> None:
        self._config = config.multi_kueue
        self._config_order = config.gate("MultiKueueIncrementalDispatcherRespectConfigOrder")
        self._known = known
        self.ledger = Ledger()
        self._rounds: dict[str, _Round] = {}
        self._promised: dict[str, dict[str, str]] = {}
        """By workload: the queue on each cluster that something was promised from."""
        self._offers: dict[tuple[str, str], tuple[str, Offer] | None] = {}
        self._holding: dict[tuple[str, str], tuple[str, dict[str, int]]] = {}
        """By cluster and workload: the queue that gave its copy quota, and what it gave."""
        self._settling: dict[tuple[str, str], deque[tuple[int, str, dict[str, int]]]] = {}

    # --- what clusters tell -----------------------------------------------------------------------------------------

    def listen(self, link: Link) -> None:
        cluster = link.name
        self._holding = {at: held for at, held in self._holding.items() if at[0] != cluster}
        link.table(LOCAL_QUEUES).on_change(lambda key, _before, _after: self._stale(cluster, key))
        link.table(CLUSTER_QUEUES).on_change(lambda key, _before, after: self._on_queue(cluster, key, after))

    def _stale(self, cluster: str, local_queue: str) -> None:
        self._offers.pop((cluster, local_queue), None)

    def _on_queue(self, cluster: str, key: str, after: Item | None) -> None:
        for known in [each for each in self._offers if each[0] == cluster]:
            del self._offers[known]
        queue = key.partition("/")[2]
        line = self._settling.get((cluster, queue))
        revision = _revision(after) if after is not None else 0
        while line and line[0][0] < revision:
            self.ledger.settle(cluster, queue, line.popleft()[1])

    def saw(self, cluster: str, key: str, before: Item | None, after: Item | None) -> None:
        """A copy got quota, or gave it back: the cluster's queue says so a little later, and until then the ledger does."""
        has, item = _held(after), after or before
        had = self._holding.get((cluster, key))
        if had == has or item is None:
            return
        if has is not None:
            self._holding[cluster, key] = has
        else:
            del self._holding[cluster, key]
        revision = _revision(item)
        queue, cells = has or had or ("", {})
        undone = {each: -amount for each, amount in cells.items()}
        name, opposite = key, f"-{key}"
        if has is not None:
            self._unpromise(key, cluster)
        else:
            name, opposite, cells, undone = opposite, name, undone, cells
        line = self._settling.setdefault((cluster, queue), deque())
        told = next((each for each in line if each[1:] == (opposite, undone)), None)
        if told is not None:
            # There and back before the queue said anything: what it says does not change by it, so that it may never say it.
            line.remove(told)
            self.ledger.settle(cluster, queue, opposite)
            return
        if has is None:
            self.ledger.settle(cluster, queue, key)
        if self._queue_revision(cluster, queue) > revision:
            return  # the queue's own watch was quicker: what it says has this in it
        self.ledger.promise(cluster, queue, name, cells)
        line.append((revision, name, cells))

    def _queue_revision(self, cluster: str, queue: str) -> int:
        link = self._known.links.get(cluster)
        item = link.table(CLUSTER_QUEUES).item(f"/{queue}") if link is not None else None
        return _revision(item) if item is not None else 0

    def settled(self, key: str) -> None:
        """Nothing is asked for any more: it has a cluster, or no quota here."""
        self._rounds.pop(key, None)
        for cluster in list(self._promised.get(key, ())):
            self._unpromise(key, cluster)

    forget = settled

    def _unpromise(self, key: str, cluster: str) -> None:
        queues = self._promised.get(key)
        queue = queues.pop(cluster, None) if queues is not None else None
        if queue is not None:
            self.ledger.settle(cluster, queue, key)
        if queues is not None and not queues:
            del self._promised[key]

    # --- nominate ---------------------------------------------------------------------------------------------------

    def nominate(self, key: str, scene: Scene, case: Case, scribe: Scribe, decision: Decision, now: Time) -> None:
        """Write down who is asked, and see to it that they and nobody else have a copy."""
        configured = self._known.clusters(scene.check)
        barred = self.barred(scene, configured)
        chosen = self._choose(key, scene, case, [each for each in configured if each not in barred], barred, now)
        if chosen.due is not None:
            decision.look_at(chosen.due)
        if chosen.hopeless:
            self._give_back(scene, scribe, chosen.hopeless)
            for cluster in sorted(case.remotes):
                scribe.delete(cluster)
            return
        scribe.nominate(chosen.clusters)
        for cluster in chosen.clusters:
            link = case.links.get(cluster)
            if link is not None and link.connected and cluster not in case.remotes and cluster not in barred:
                scribe.create(cluster)
        for cluster in sorted(case.remotes):
            if cluster not in chosen.clusters:
                scribe.delete(cluster)

    def _choose(
        self, key: str, scene: Scene, case: Case, allowed: list[str], barred: dict[str, str], now: Time
    ) -> Nomination:
        connected = [each for each in allowed if each in case.links and case.links[each].connected]
        mode = self._config.dispatcher_name
        if mode == nominate.ALL_AT_ONCE:
            return nominate.all_at_once(connected)
        if mode == nominate.INCREMENTAL:
            return self._incremental(key, case.local.nominated, allowed, now)
        if mode == nominate.SCORED:
            return self._scored(key, scene, case, connected, allowed, barred, now)
        return Nomination(case.local.nominated)

    def _incremental(self, key: str, nominated: tuple[str, ...], allowed: list[str], now: Time) -> Nomination:
        turn = self._rounds.setdefault(key, _Round(now))
        over = now >= turn.began + nominate.ROUND
        step = self._config.incremental_dispatcher_config
        size = step.step_size if step is not None else 3
        try:
            chosen = nominate.incremental(allowed, nominated, over, size, self._config_order)
        except nominate.NoMoreClusters:
            return Nomination(nominated)
        if over or not nominated:
            turn.began = now
        return Nomination(chosen, due=turn.began + nominate.ROUND)

    def _scored(
        self,
        key: str,
        scene: Scene,
        case: Case,
        connected: list[str],
        allowed: list[str],
        barred: dict[str, str],
        now: Time,
    ) -> Nomination:
        turn = self._rounds.get(key)
        requests = offers.requests_of(scene.workload)
        local_queue = f"{scene.workload['metadata'].get('namespace', '')}/{scene.workload['spec'].get('queueName', '')}"
        candidates = [self.candidate(each, local_queue) for each in connected]
        asked_at = turn.began if turn is not None else None
        chosen = nominate.scored(candidates, case.local.nominated, asked_at, requests, self.ledger, now, barred)
        lost = [each for each in allowed if each not in connected]
        if chosen.hopeless and lost:
            # One that is out of reach may be the one: nothing is hopeless before it is heard.
            return Nomination(case.local.nominated)
        if turn is None or set(chosen.clusters) - set(turn.clusters):
            self._rounds[key] = _Round(now, chosen.clusters)
        for cluster, cells in chosen.promises.items():
            found = self._offers.get((cluster, local_queue))
            if found is not None:
                self.ledger.promise(cluster, found[0], key, cells)
                self._promised.setdefault(key, {})[cluster] = found[0]
        return chosen

    def candidate(self, cluster: str, local_queue: str) -> Candidate:
        """The queue of the same name there, and what it offers."""
        at = (cluster, local_queue)
        if at not in self._offers:
            self._offers[at] = self._offer(cluster, local_queue)
        found = self._offers[at]
        return Candidate(cluster, found[0] if found else local_queue, found[1] if found else None)

    def _offer(self, cluster: str, local_queue: str) -> tuple[str, Offer] | None:
        link = self._known.links.get(cluster)
        tenant = link.table(LOCAL_QUEUES).view(local_queue) if link is not None else None
        if link is None or tenant is None:
            return None
        name = (tenant.get("spec") or {}).get("clusterQueue", "")
        queues = link.table(CLUSTER_QUEUES)
        queue = queues.view(f"/{name}")
        if queue is None:
            return name, Offer((), False, f"its ClusterQueue {name} does not exist")
        if ((tenant.get("spec") or {}).get("stopPolicy") or "None") != "None":
            return name, Offer((), False, f"its LocalQueue {local_queue} is stopped")
        every = {key: obj for key in queues if (obj := queues.view(key)) is not None}
        return name, offers.offer_of(queue, offers.in_cohort(queue, every))

    def shortcoming(self, key: str, cluster: str, scene: Scene, requests: Requests) -> str:
        """What keeps a cluster from taking the workload now, for people; empty if nothing does."""
        local_queue = f"{scene.workload['metadata'].get('namespace', '')}/{scene.workload['spec'].get('queueName', '')}"
        candidate = self.candidate(cluster, local_queue)
        promised = self.ledger.promised_to_others(cluster, candidate.queue, key)
        return nominate.shortcoming(candidate, requests, promised)

    # --- who may be asked -------------------------------------------------------------------------------------------

    def barred(self, scene: Scene, configured: list[str]) -> dict[str, str]:
        """Clusters that do not come into question for this workload, and why."""
        found: dict[str, str] = {}
        text = selector_of(scene)
        pool = self._pool_of(scene.workload)
        for name in configured:
            cluster = self._known.fleet[CLUSTERS].view(f"/{name}") if CLUSTERS in self._known.fleet else None
            why = closed(cluster)
            if pools.pool_of(cluster) != pool:
                why = f"is in pool {pools.pool_of(cluster)}, and the workload's queue is in pool {pool}"
            if not why:
                why = _repelled(cluster, scene.workload)
            if not why and text:
                why = _mismatch(text, name, cluster)
            if not why and scene.adapter is not None and self._lacks(name, scene.adapter.resource):
                why = f"does not offer {scene.adapter.resource.plural} ({scene.adapter.resource.api_version})"
            if why:
                found[name] = why
        return found

    def _lacks(self, cluster: str, resource: Resource) -> bool:
        link = self._known.links.get(cluster)
        return link is not None and link.connected and link.lacks(resource)

    def _pool_of(self, workload: Json) -> str:
        queues = self._known.table(CLUSTER_QUEUES)
        name = self._known.queue_of(workload)
        return pools.marked_pool((queues.view(f"/{name}") if queues is not None else None) or {})

    def _give_back(self, scene: Scene, scribe: Scribe, why: str) -> None:
        """No cluster can ever admit it: others get its quota here, and it is tried again ever more rarely."""
        before = state_of(scene.workload, scene.check)
        count = int(before.get("retryCount") or 0)
        after = min(_HOPELESS_LONGEST, _HOPELESS_AGAIN << min(count, 6))
        scribe.act(SetCheck(CheckState.RETRY, why, "Warning", after))


def selector_of(scene: Scene) -> str:
    for obj in (*scene.jobs, scene.workload):
        text = names.notes(obj).get(CLUSTER_SELECTOR, "")
        if text:
            return text
    return ""


def closed(cluster: Json | None) -> str:
    """Why a cluster takes no new work, whoever asks; empty if it does."""
    if cluster is None:
        return ""
    if (cluster.get("spec") or {}).get("state", "Active") != "Active":
        return "is draining"
    status = cluster.get("status") or {}
    if status.get("drift"):
        return f"does not match its pool: {'; '.join(status['drift'])}"
    return ""


def _repelled(cluster: Json | None, workload: Json) -> str:
    """By a taint of the cluster's that the pods do not tolerate."""
    given = ((cluster or {}).get("spec") or {}).get("taints") or ()
    taints = tuple(Taint(each["key"], each.get("effect", "NoSchedule"), each.get("value", "")) for each in given)
    for pod_set in workload["spec"].get("podSets") or () if taints else ():
        taint = untolerated(taints, tolerations((pod_set.get("template") or {}).get("spec") or {}))
        if taint is not None:
            return f"has the taint {taint.key}={taint.value}, which pod set {pod_set['name']} does not tolerate"
    return ""


def _mismatch(text: str, name: str, cluster: Json | None) -> str:
    labels = {**(((cluster or {}).get("metadata") or {}).get("labels") or {}), "name": name}
    try:
        selector = selectors.parse(text)
    except SelectorError as error:
        return f"the cluster selector {text!r} cannot be read: {error}"
    return "" if selector.matches(labels) else f"does not match the job's cluster selector {text!r}"


def _held(item: Item | None) -> tuple[str, dict[str, int]] | None:
    if item is None or b'"admission"' not in item.value:
        return None
    obj = item.json()
    if is_true(obj, "Finished"):
        return None
    queue, cells = offers.cells_of(obj)
    return (queue, cells) if queue else None


def _revision(item: Item) -> int:
    text = item.meta.resource_version
    return int(text) if text.isdecimal() else 0
