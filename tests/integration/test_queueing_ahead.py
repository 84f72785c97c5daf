"""The next decision is made while the last is being written, and is written only once that one is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.integration.queueing import Cluster

from fairway.api.client import BulkItem, BulkResults, Client
from fairway.api.errors import ApiError
from fairway.control.admission import decider, queueing
from fairway.control.conditions import is_true
from fairway.control.resources import CLUSTER_QUEUES, WORKLOADS

MERGE = "application/merge-patch+json"
QUEUES = [f"queue-{number}" for number in range(6)]


class Slow:
    """A client that takes its time to write admissions, and fails to write one of them."""

    def __init__(self, client: Client, fails: int) -> None:
        self._client = client
        self._fails = fails
        self.here: Cluster | None = None
        self.written = self.under_way = self.most = self.ahead = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        bodies = [item.body for item in items if isinstance(item.body, dict)]
        if not any((body.get("status") or {}).get("admission") for body in bodies):
            return await self._client.bulk(items)
        assert self.here is not None
        assert self.here.queueing is not None
        plan = self.here.queueing.decider.plan
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
            self.ahead += self.here.queueing.decider.plan is not plan
            self.written += 1
            if self.written == self._fails:
                raise ApiError(503, "ServiceUnavailable", "the disk is gone")
            return await self._client.bulk(items)
        finally:
            self.under_way -= 1


@pytest.mark.parametrize("fails", [0, 1, 2, 3])
def test_decisions_are_made_ahead_and_written_one_after_the_other(fails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decider, "_ACTIONS", 1)
    monkeypatch.setattr(queueing, "_RETRY_SECONDS", 0.01)

    async def scenario() -> None:
        here, between = Cluster(), list[Slow]()

        def client(inner: Client) -> Client:
            between.append(Slow(inner, fails))
            return between[0]  # type: ignore[return-value]

        await here.open(client)
        between[0].here = here
        try:
            for name in QUEUES:
                await here.queue(name, "0")
            for name in QUEUES:
                await here.submit(f"job-{name}", "1", name)
            quota = [{"name": "cpu", "nominalQuota": "1"}]
            groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "flavor", "resources": quota}]}]
            change = {"spec": {"resourceGroups": groups}}
            await asyncio.gather(*(here.client.patch(CLUSTER_QUEUES, name, change, media=MERGE) for name in QUEUES))
            await here.settle()
            workloads = await here.all(WORKLOADS)
            assert len(workloads) == len(QUEUES)
            assert all(is_true(each, "Admitted") for each in workloads)
            assert between[0].most == 1
            assert between[0].ahead
        finally:
            await here.close()

    asyncio.run(scenario())
