"""Writes what is decided about a hub's queues: the Active condition of its checks, quotas that follow, warnings about those that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.apply import Note, Write
from fairway.control.conditions import find_condition, set_condition, with_own_status
from fairway.control.mirror import Tables
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES
from fairway.control.times import render_time
from fairway.core.model import Time
from fairway.fleet.clusters import checks, pools, quota
from fairway.fleet.clusters.ports import Links, Said
from fairway.fleet.clusters.sight import by_name, objects
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS

COMPONENT = "fairway-fleet"
PATIENCE_SECONDS = 3.0
"""A quota goes down only if it would for so long: queues of a cluster that is just reached are not known all at once."""
START_SECONDS = 10.0
"""After a start, links get this long to come up before a cluster that was there counts as gone."""


class Checking:
    def __init__(
        self,
        mirror: Tables,
        links: Links,
        pool_of: Callable[[str], str],
        held: Callable[[str], Sequence[Json]],
        wake: Callable[[], None],
    ) -> None:
        self._mirror = mirror
        self._held = held
        self._links = links
        self._pool_of = pool_of
        self._wake = wake
        self.checks_due = True
        self.quota_due = True
        self.postponed = False
        """Whether a quota waits for links that are still coming up."""
        self.started = float("-inf")
        self._lowering: dict[str, float] = {}
        """Since when a queue's quota would go down."""

    def touch(self) -> None:
        self.checks_due = self.quota_due = True

    def writes(self, now: Time, monotonic: float) -> list[Write]:
        found: list[Write] = []
        if self.checks_due:
            self.checks_due = False
            found += self._checks(now)
        if self.quota_due or self.postponed:
            self.quota_due = self.postponed = False
            found += self._quotas(now, monotonic)
        return found

    # --- checks -------------------------------------------------------------------------------------------------------

    def _checks(self, now: Time) -> list[Write]:
        configs, clusters = by_name(self._mirror[MULTIKUEUE_CONFIGS]), by_name(self._mirror[MULTIKUEUE_CLUSTERS])
        known = {key.partition("/")[2]: self._pool_of(key.partition("/")[2]) for key in self._mirror[CLUSTERS]}
        queues = objects(self._mirror[CLUSTER_QUEUES])
        found: list[Write] = []
        for check in objects(self._mirror[CHECKS]):
            name = check["metadata"]["name"]
            using = {q["metadata"]["name"]: pools.marked_pool(q) for q in queues if name in checks.checks_of(q)}
            said = checks.active(check, checks.Surroundings(configs, clusters, known, using))
            if said is None:
                continue
            changed = with_own_status(check)
            generation = int(check["metadata"].get("generation") or 0)
            if set_condition(changed, "Active", *said, render_time(now), generation):
                found.append(Write("updateStatus", CHECKS, changed, self._told(check, said), failed=self._again))
        return found

    def _told(self, check: Json, said: Said) -> list[Note]:
        before = find_condition(check, "Active")
        if said.reason != "CrossesPools" or (before is not None and before.get("message") == said.message):
            return []
        return [Note(check, "Warning", said.reason, said.message, COMPONENT)]

    # --- quotas -------------------------------------------------------------------------------------------------------

    def _quotas(self, now: Time, monotonic: float) -> list[Write]:
        known, configs = by_name(self._mirror[CHECKS]), by_name(self._mirror[MULTIKUEUE_CONFIGS])
        workers, held = self._workers()
        # Nobody tells when that is over: it is looked at again until it is.
        self.postponed = bool(held)
        tenants: dict[str, list[str]] = {}
        for obj in objects(self._mirror[LOCAL_QUEUES]):
            key = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
            tenants.setdefault((obj.get("spec") or {}).get("clusterQueue", ""), []).append(key)
        found: list[Write] = []
        for queue in objects(self._mirror[CLUSTER_QUEUES]):
            fleet = quota.Fleet(known, configs, tenants.get(queue["metadata"]["name"], ()), workers, held)
            verdict = quota.decide(queue, fleet)
            if self._waits(queue, verdict, monotonic, known, configs):
                self.postponed = True
            else:
                found += self._queue(queue, verdict, now)
        return found

    def _waits(
        self,
        queue: Json,
        verdict: quota.Verdict,
        monotonic: float,
        known: dict[str, Json],
        configs: dict[str, Json],
    ) -> bool:
        name = queue["metadata"]["name"]
        if not quota.is_lower(queue, verdict):
            self._lowering.pop(name, None)
            return False
        since = self._lowering.setdefault(name, monotonic)
        if monotonic - self.started < START_SECONDS and self._is_coming_up(queue, known, configs):
            return True
        return monotonic - since < PATIENCE_SECONDS

    def _workers(self) -> tuple[dict[str, quota.Worker], dict[str, Sequence[Json]]]:
        """Clusters in reach, with their queues; and those that are not, with what may still run there."""
        found: dict[str, quota.Worker] = {}
        held: dict[str, Sequence[Json]] = {}
        for name in self._links.names():
            link = self._links.get(name)
            if link is not None and link.connected:
                found[name] = quota.Worker(objects(link.table(LOCAL_QUEUES)), objects(link.table(CLUSTER_QUEUES)))
            elif workloads := self._held(name):
                held[name] = workloads
        return found, held

    def _is_coming_up(self, queue: Json, known: dict[str, Json], configs: dict[str, Json]) -> bool:
        """Whether a link to one of its clusters was not up yet since the start: a restart must not take the quota away."""
        for name in checks.checks_of(queue):
            if name in known and checks.is_ours(known[name]):
                for cluster in checks.clusters_of(checks.config_of(known[name], configs)):
                    link = self._links.get(cluster)
                    there = f"/{cluster}" in self._mirror[MULTIKUEUE_CLUSTERS]
                    if there and (link is None or not link.ever_synced):
                        return True
        return False

    def _queue(self, queue: Json, verdict: quota.Verdict, now: Time) -> list[Write]:
        groups = (queue.get("spec") or {}).get("resourceGroups")
        if verdict.groups is not None and verdict.groups != groups:
            body = {**queue, "spec": {**queue["spec"], "resourceGroups": verdict.groups}}
            # What is said about it is written in the pass that sees the new spec.
            return [Write("update", CLUSTER_QUEUES, body, failed=self._again)]
        changed = with_own_status(queue)
        generation = int(queue["metadata"].get("generation") or 0)
        notes: list[Note] = []
        moved = _settle(changed, quota.AUTOMATION, verdict.automation, now, generation)
        manual = verdict.automation is not None and verdict.automation.reason == "NotRequested"
        if verdict.mismatch is not None:
            was = find_condition(queue, quota.MISMATCH)
            if verdict.mismatch.status == "True" and (was is None or was.get("message") != verdict.mismatch.message):
                notes.append(Note(queue, "Warning", verdict.mismatch.reason, verdict.mismatch.message, COMPONENT))
            # A queue whose quota was never off need not say so.
            said = verdict.mismatch if was is not None or verdict.mismatch.status == "True" else None
            moved = _settle(changed, quota.MISMATCH, said, now, generation) or moved
        elif not manual:
            moved = _settle(changed, quota.MISMATCH, None, now, generation) or moved
        return [Write("updateStatus", CLUSTER_QUEUES, changed, notes, failed=self._again)] if moved else []

    def _again(self, error: ApiError) -> None:
        if error.code == 409:
            self.touch()
            self._wake()


def _settle(obj: Json, kind: str, said: Said | None, now: Time, generation: int) -> bool:
    """Sets a condition, or takes it away. Says whether anything changed."""
    if said is not None:
        return set_condition(obj, kind, *said, render_time(now), generation)
    conditions = obj["status"].get("conditions") or []
    left = [each for each in conditions if each.get("type") != kind]
    if len(left) == len(conditions):
        return False
    obj["status"]["conditions"] = left
    return True
