"""What a hub decided and what reached its clusters, remembered through all their lives: the table by which dispatching is judged."""

from __future__ import annotations

from collections.abc import Callable

from fairway.sim.fleet.chronicle import Chronicle


class Dispatches:
    def __init__(self, chronicle: Chronicle, time: Callable[[], float]) -> None:
        self._chronicle = chronicle
        self._time = time
        self._bound: dict[str, dict[str, None]] = {}
        """By the uid of a workload: the clusters that it was ever bound to."""
        self._epochs: dict[tuple[str, str], int] = {}
        """By cluster and key: the highest epoch seen there."""
        self._copies: dict[str, None] = {}
        """Uids of copies that came."""
        self._jobs: dict[tuple[str, str], tuple[str, float]] = {}
        """By cluster and name: the uid of the last job that came, and when it did."""

    def bound(self, uid: str, cluster: str) -> None:
        self._bound.setdefault(uid, {})[cluster] = None

    def job_came(self, cluster: str, job: str, job_uid: str, uid: str) -> None:
        """A job is on a cluster, with the copy of a workload, whose original's uid is the last."""
        if self._jobs.get((cluster, job), ("", 0.0))[0] != job_uid:
            self._jobs[cluster, job] = (job_uid, self._time())
        if cluster not in self._bound.get(uid, ()):
            known = ", ".join(self._bound.get(uid, ())) or "nowhere"
            self._chronicle.breaks("bound-first", f"job {job} is on {cluster}, and its workload was bound to {known}")

    def came_at(self, cluster: str, job: str) -> float | None:
        """When the last job of a name came to a cluster. None: no hub sent one."""
        known = self._jobs.get((cluster, job))
        return None if known is None else known[1]

    def copy_came(self, cluster: str, key: str, uid: str, epoch: int) -> None:
        """A copy of a workload is on a cluster: created there, or found there by the next life of its node."""
        if uid in self._copies:
            return
        self._copies[uid] = None
        before = self._epochs.get((cluster, key), -1)
        if epoch <= before:
            self._chronicle.breaks("epochs-grow", f"{key} comes to {cluster} with epoch {epoch} after {before}")
        self._epochs[cluster, key] = max(epoch, before)
