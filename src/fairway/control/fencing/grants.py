"""Whether a pod of leased work may start: its hub's lease is valid, and its workload is still what the hub sent and the cluster admitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.control.conditions import is_true
from fairway.control.fencing import names
from fairway.control.fencing.book import Book
from fairway.control.fencing.files import LeaseFiles
from fairway.control.pods.containers import Problem
from fairway.control.pods.environment import Unprepared
from fairway.control.pods.preparing import Grant
from fairway.control.resources import WORKLOADS

Json = Mapping[str, Any]
WAITING = "LeaseNotValid"
RETRY_S = 1.0


class Grants:
    def __init__(self, client: Client, book: Book, files: LeaseFiles) -> None:
        self._client = client
        self._book = book
        self._files = files

    async def grant(self, pod: Json) -> Grant | None:
        """None for a pod that runs under no lease. Raises Unprepared for one that must wait."""
        notes = pod["metadata"].get("annotations") or {}
        origin = notes.get(names.LEASE, "")
        if not origin:
            return None
        before = self._book.term(origin)
        why = await self._stale(pod, notes)
        # The same term before and after: what was read of the workload holds in it.
        term = self._book.term(origin)
        if before is None or term is None or term.since != before.since:
            why = f'waiting for hub "{origin}" to renew its lease on this cluster'
        if why or term is None:
            raise Unprepared(Problem(WAITING, why, note=WAITING, retry_s=RETRY_S))
        return Grant(self._files.path(origin), term.since)

    async def _stale(self, pod: Json, notes: Mapping[str, str]) -> str:
        name, namespace = notes.get(names.WORKLOAD, ""), pod["metadata"].get("namespace", "")
        try:
            workload = (await self._client.get(WORKLOADS, name, namespace)).json() if name else None
        except ApiError as error:
            if error.code != 404:
                raise
            workload = None
        if workload is None or workload["metadata"]["uid"] != notes.get(names.ADMITTED_AS):
            return f"the workload {name} that it was admitted with is gone"
        active = workload["spec"].get("active", True) is not False and not workload["metadata"].get("deletionTimestamp")
        if not active or is_true(workload, "Evicted") or not is_true(workload, "Admitted"):
            return f"its workload {name} is not admitted any more"
        return ""
