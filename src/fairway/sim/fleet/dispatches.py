"""What a hub decided and what reached its clusters, remembered through all their lives: the table by which dispatching is judged."""

from __future__ import annotations

from fairway.sim.fleet.chronicle import Chronicle


class Dispatches:
    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self._bound: dict[str, dict[str, None]] = {}
        """By the uid of a workload: the clusters that it was ever bound to."""
        self._epochs: dict[tuple[str, str], int] = {}
        """By cluster and key: the highest epoch seen there."""
        self._copies: dict[str, None] = {}
        """Uids of copies that came."""

    def bound(self, uid: str, cluster: str) -> None:
        self._bound.setdefault(uid, {})[cluster] = None

    def job_came(self, cluster: str, job: str, uid: str) -> None:
        """A job is on a cluster, with the copy of a workload."""
        if cluster not in self._bound.get(uid, ()):
            known = ", ".join(self._bound.get(uid, ())) or "nowhere"
            self._chronicle.breaks("bound-first", f"job {job} is on {cluster}, and its workload was bound to {known}")

    def copy_came(self, cluster: str, key: str, uid: str, epoch: int) -> None:
        """A copy of a workload is on a cluster: created there, or found there by the next life of its node."""
        if uid in self._copies:
            return
        self._copies[uid] = None
        before = self._epochs.get((cluster, key), -1)
        if epoch <= before:
            self._chronicle.breaks("epochs-grow", f"{key} comes to {cluster} with epoch {epoch} after {before}")
        self._epochs[cluster, key] = max(epoch, before)
