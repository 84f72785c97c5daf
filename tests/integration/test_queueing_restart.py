"""Queueing begins anew with much that waits: it is in the same order, and whatever happened meanwhile is noticed in time."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import JOBS, Cluster, job

from fairway.control.resources import WORKLOADS
from fairway.control.workloads.jobs import FOUND_MAX

WAIT = 2 * FOUND_MAX + 20


def _order(here: Cluster) -> list[str]:
    assert here.queueing is not None
    return [workload.key for workload in here.queueing.observer.state.lines.by_queue["main"].ordered()]


async def _filled(here: Cluster) -> None:
    """Three run, many wait: of two kinds, some from the same second, in an order that is not that of their names."""
    await here.queue("main", "3")
    for number in range(WAIT):
        await here.client.create(JOBS, job(f"job-{number * 37 % 101}-{number}", "1" if number % 3 else "2", "main"))
        if number % 7 == 0:
            await here.move(1)
    await here.settle()
    await here.play_jobs()


def test_after_a_restart_all_that_waits_is_in_the_order_it_was_in_and_nothing_is_written_for_it() -> None:
    async def body() -> None:
        here = Cluster()
        await here.open()
        await _filled(here)
        before, revision = _order(here), here.space.store.revision
        assert len(before) > FOUND_MAX
        assert here.queueing is not None
        await here.queueing.stop()
        here.start()
        await here.settle()
        assert _order(here) == before
        assert here.space.store.revision == revision
        await here.close()

    asyncio.run(body())


def test_what_changed_while_nobody_looked_is_noticed_though_news_keep_coming() -> None:
    async def body() -> None:
        here = Cluster()
        await here.open()
        await _filled(here)
        waiting = _order(here)
        last = (await here.get(WORKLOADS, waiting[-1].partition("/")[2]))["metadata"]["ownerReferences"][0]["name"]
        assert here.queueing is not None
        await here.queueing.stop()
        media = "application/merge-patch+json"
        pods = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}
        await here.client.patch(JOBS, last, pods, "default", media=media)
        await here.client.create(JOBS, job("meanwhile", "1", "main"))
        here.start()
        for number in range(50):
            await here.client.create(JOBS, job(f"news-{number}", "1", "main"))
        await here.settle()
        await here.workload_of("meanwhile")
        found = (await here.workload_of(last))["spec"]["podSets"][0]["template"]["spec"]
        assert found["nodeSelector"] == {"disk": "ssd"}
        await here.close()

    asyncio.run(body())
