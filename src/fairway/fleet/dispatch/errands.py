"""What is on its way to clusters, and what became of it: sent, answered, refused, or answered by nobody.

All of it may be forgotten: a hub that starts anew finds out by asking again. Only of a job that may have been created, though nobody said so, is
there no telling until its copy is gone; a hub that forgot that waits for the lease instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from fairway.api.client import Item
from fairway.api.errors import ApiError
from fairway.control.apply import Note
from fairway.control.resources import WORKLOADS
from fairway.core.model import SECOND, Time
from fairway.fleet.dispatch.knowledge import Knowledge
from fairway.fleet.dispatch.outbox import Outbox
from fairway.fleet.dispatch.writes import COMPONENT, EVENT, Op
from fairway.fleet.link.link import Link
from fairway.fleet.link.links import Links

log = logging.getLogger("fairway.fleet")
_RETRY_FIRST: Time = SECOND
_RETRY_LONGEST: Time = 30 * SECOND


class Errands:
    def __init__(
        self,
        links: Links,
        known: Knowledge,
        epoch: Callable[[], int],
        record: Callable[[Note], None],
        now: Callable[[], Time],
        look_again: Callable[[str, Time | None], None],
    ) -> None:
        """epoch: the next one. look_again: at a workload, at once or at a time."""
        self._links = links
        self._known = known
        self._epoch = epoch
        self._record = record
        self._now = now
        self._look_again = look_again
        self._boxes: dict[str, Outbox] = {}
        self._leaving: dict[str, dict[str, str]] = {}
        """By workload: clusters on which its removal was asked for, with the uid of what is to go."""
        self._unsure: dict[str, set[str]] = {}
        """By cluster: workloads whose job may have been created there though nobody said so, or may yet be: what was sent can arrive late,
        until the copy that it belongs to is gone."""
        self._failures: dict[tuple[str, str], tuple[int, Time]] = {}
        self.refusals: dict[tuple[str, str], str] = {}
        """By workload and cluster: what the cluster said when it would not take it."""

    # --- clusters come and go ---------------------------------------------------------------------------------------

    def open(self, link: Link) -> None:
        box = self._boxes[link.name] = Outbox(link, self._epoch, self._answered)
        box.start()

    def close(self, cluster: str) -> None:
        box = self._boxes.pop(cluster, None)
        if box is not None:
            asyncio.get_running_loop().create_task(box.stop(), name=f"outbox-{cluster}-stops")

    async def stop(self) -> None:
        for box in self._boxes.values():
            await box.stop()

    # --- what is asked ----------------------------------------------------------------------------------------------

    @property
    def rest(self) -> bool:
        """Whether something waits that nobody waits for."""
        return any(box.rests for box in self._boxes.values())

    def busy(self, key: str, cluster: str = "") -> bool:
        """Whether something of the workload is on its way; its answer makes us look again."""
        boxes = self._boxes.values() if not cluster else (self._boxes[cluster],)
        return any(box.busy(key) for box in boxes)

    def may_try(self, key: str, cluster: str) -> bool:
        """Whether it was not refused a moment ago."""
        failures = self._failures.get((key, cluster))
        return failures is None or failures[1] <= self._now()

    def leaving(self, key: str) -> frozenset[str]:
        """Clusters on which the very copy that is known there was asked to go: not one that came after it."""
        found = set()
        for cluster, uid in self._leaving.get(key, {}).items():
            link = self._links.get(cluster)
            item = link.table(WORKLOADS).item(key) if link is not None else None
            if item is not None and (item.uid or item.meta.uid) == uid:
                found.add(cluster)
        return frozenset(found)

    def may_have_job(self, key: str, cluster: str) -> bool:
        """Though nobody said so."""
        return key in self._unsure.get(cluster, ())

    # --- what is known ----------------------------------------------------------------------------------------------

    def sure(self, key: str, cluster: str) -> None:
        """It is known by now whether the workload's job is there."""
        self._unsure.get(cluster, set()).discard(key)

    def forget(self, key: str) -> None:
        for unsure in self._unsure.values():
            unsure.discard(key)

    def saw(self, key: str, cluster: str, *, gone: bool) -> None:
        """Something changed about the copy."""
        leaving = self._leaving.get(key)
        if gone and leaving is not None:
            leaving.pop(cluster, None)
            if not leaving:
                del self._leaving[key]
        self.refusals.pop((key, cluster), None)

    # --- sending ----------------------------------------------------------------------------------------------------

    def send(self, key: str, ops: Sequence[Op]) -> None:
        """The workload was written here as it is to be."""
        self._failures.pop((key, ""), None)
        by_cluster: dict[str, list[Op]] = {}
        for op in ops:
            by_cluster.setdefault(op.cluster, []).append(op)
        for cluster, some in by_cluster.items():
            box = self._boxes.get(cluster)
            if box is not None:
                box.put(key, some)

    def put_off(self, key: str, cluster: str = "") -> None:
        """It is tried again later, and ever more rarely. cluster: nothing for the hub itself."""
        count = self._failures.get((key, cluster), (0, 0))[0] + 1
        at = self._now() + min(_RETRY_LONGEST, _RETRY_FIRST << min(count - 1, 10))
        self._failures[key, cluster] = (count, at)
        self._look_again(key, at)

    def _answered(self, cluster: str, key: str, op: Op, result: Item | ApiError | None) -> None:
        link = self._links.get(cluster)
        removal = op.resource == WORKLOADS and op.verb == "delete"
        if isinstance(result, ApiError):
            self._refused(cluster, key, op, result)
        else:
            self._failures.pop((key, cluster), None)
            if removal:
                self._leaving.setdefault(key, {})[cluster] = op.body["metadata"].get("uid", "")
            if result is not None and link is not None and link.has(op.resource):
                link.table(op.resource).put(result)
        if removal and link is not None and key not in link.table(WORKLOADS):
            self._leaving.get(key, {}).pop(cluster, None)
        self._look_again(key, None)

    def _refused(self, cluster: str, key: str, op: Op, error: ApiError) -> None:
        unknown = error.code == 0 or error.code >= 500  # 0: nobody answered, which says nothing about what was done
        if unknown and op.verb == "create" and op.resource != WORKLOADS:
            self._unsure.setdefault(cluster, set()).add(key)
        if not unknown and error.code not in (404, 409):
            log.warning("cluster %s refuses %s of %s: %s", cluster, op.verb, key, error.message)
        if not unknown:
            self.refusals[key, cluster] = error.message
            self._tell_of_refusal(cluster, key, op, error)
        self.put_off(key, cluster)

    def _tell_of_refusal(self, cluster: str, key: str, op: Op, error: ApiError) -> None:
        """It is bound to the cluster and cannot start there: somebody has to know."""
        workload = self._known.hub[WORKLOADS].get(key)
        if workload is not None and op.verb == "create" and op.resource != WORKLOADS:
            self._record(Note(workload, "Warning", EVENT, f'"{cluster}" does not take it: {error.message}', COMPONENT))
