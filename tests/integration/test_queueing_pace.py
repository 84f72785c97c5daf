"""What can wait does not hold up what flows: those in line hear why they wait when nothing else is decided."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import JOBS, Cluster, conditions, job

from fairway.control.admission.queueing import Pace
from fairway.control.resources import WORKLOADS
from fairway.store import Store

PACE = Pace(status_seconds=0.0)


async def told(here: Cluster) -> int:
    return sum("QuotaReserved" in conditions(each) for each in await here.all(WORKLOADS))


async def turns(here: Cluster) -> None:
    """The clock stands still, so that nothing is idle while somebody is still to be told."""
    here.queueing.wake()  # type: ignore[union-attr]
    for _ in range(400):
        await asyncio.sleep(0)


def test_those_who_wait_are_told_why_once_nothing_was_decided_for_a_while() -> None:
    async def scenario() -> None:
        here = Cluster(Store())
        here.pace = PACE
        await here.open()
        try:
            await here.queue(cpu="1")
            for number in range(6):
                await here.client.create(JOBS, job(f"job-{number}", "1", "main"))
            await turns(here)
            # One was admitted, and one was tried in vain; the others are like it.
            assert await told(here) < 6
            here.clock.move(PACE.quiet_seconds + 0.1)
            await turns(here)
            assert await told(here) == 6
        finally:
            await here.close()

    asyncio.run(scenario())
