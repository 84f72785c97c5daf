"""Messages that come twice, late, in another order, or on connections that nobody knows any more; and credentials that change."""

from __future__ import annotations

import asyncio
import random
from typing import Literal

import pytest

from fairway.api.client import Query
from fairway.fleet import joining
from fairway.fleet.joining import TOKENS
from tests.chaos.points import POINTS
from tests.chaos.stage import Stage
from tests.chaos.test_steps import beyond
from tests.chaos.wire import Message


def words(stage: Stage, *jobs: str) -> list[str]:
    return [entry.word for name in jobs for entry in stage.diary(name)]


@pytest.mark.parametrize("answer", ["first", "second"])
def test_writes_that_arrive_twice_are_done_once(patient: Stage, answer: Literal["first", "second"]) -> None:
    async def go() -> None:
        for proxy in patient.proxies.values():
            proxy.twice = answer
        jobs = [await patient.submit(0.2) for _ in range(4)]
        await patient.check(*jobs)
        assert words(patient, *jobs) == ["start", "end"] * 4
        assert all(proxy.counts["twice"] for proxy in patient.proxies.values())

    with patient.used():
        try:
            patient.run(go())
        finally:
            for proxy in patient.proxies.values():
                proxy.twice = ""


def test_messages_that_take_their_time_and_overtake_each_other_change_nothing(patient: Stage) -> None:
    chance = random.Random(1)

    async def go() -> None:
        for proxy in patient.proxies.values():
            proxy.delay = lambda: chance.uniform(0, 0.2)
        jobs = [await patient.submit(0.2) for _ in range(4)]
        await patient.check(*jobs)
        assert words(patient, *jobs) == ["start", "end"] * 4

    with patient.used():
        try:
            patient.run(go())
        finally:
            for proxy in patient.proxies.values():
                proxy.delay = lambda: 0.0


def _is_about(request: Message, name: str) -> bool:
    return name.encode() in request.raw and b"/leases" not in request.raw.partition(b"\r\n")[0]


def test_what_was_sent_for_an_attempt_before_is_refused_when_it_arrives_during_the_next(hasty: Stage) -> None:
    """Whichever step the next attempt, on the same cluster, has come to: nothing of it is there, its copy is, all of it is."""

    async def go() -> None:
        name = await hasty.submit(-1, "deaf", on="cluster-1")
        await hasty.started(name)
        proxy = hasty.proxies["cluster-1"]
        stale = [request for request in proxy.requests if _is_about(request, name) and request.method == "POST"][-2:]
        proxy.cut()
        await asyncio.sleep(beyond(hasty))
        for point in ("before the copy is made", "when it is bound"):
            arrives, call_off = hasty.hold(POINTS[point])
            proxy.heal()
            held = await arrives
            call_off()
            answers = [await proxy.send_again(request) for request in (*stale, *stale[::-1])]
            assert {answer.status for answer in answers} == {409}
            assert any(b"StaleEpoch" in answer.body for answer in answers), answers
            held.go_on.set()
        await hasty.started(name, times=2)
        later = [request for request in proxy.requests if _is_about(request, name)]
        answers = [await proxy.send_again(request) for request in later]
        assert {answer.status for answer in answers} <= {404, 409}, answers
        hasty.let_end(name)
        await hasty.check(name)
        assert len(hasty.diary(name, "start")) >= 2

    with hasty.used():
        hasty.run(go())


def test_all_that_was_sent_for_a_job_is_refused_when_the_job_is_over(patient: Stage) -> None:
    async def go() -> None:
        seen = {name: len(proxy.requests) for name, proxy in patient.proxies.items()}
        name = await patient.submit(0)
        await patient.check(name)
        for cluster, proxy in patient.proxies.items():
            for request in [each for each in proxy.requests[seen[cluster] :] if _is_about(each, name)][::-1]:
                answer = await proxy.send_again(request)
                assert answer.status in (404, 409), answer
        assert words(patient, name) == ["start", "end"]
        assert await patient.is_clean()

    with patient.used():
        patient.run(go())


@pytest.mark.parametrize("point", ["when the job is created", "when the payload runs", "when the payload has ended"])
def test_connections_that_went_silent_are_noticed_and_made_anew(hasty: Stage, point: str) -> None:
    """Whether the lease is lost over it or not."""

    async def go() -> None:
        arrives, call_off = hasty.hold(POINTS[point])
        name = await hasty.submit(0.5)
        held = await arrives
        call_off()
        hasty.proxies[held.passing.cluster].forget()
        held.go_on.set()
        await hasty.check(name)

    with hasty.used():
        hasty.run(go())


def test_a_new_token_is_used_while_work_goes_on(patient: Stage) -> None:
    async def go() -> None:
        jobs = [await patient.submit() for _ in range(4)]
        for name in jobs:
            await patient.started(name)
        for cluster in patient.clusters:
            await patient.join(cluster)
        for name in jobs:
            patient.let_end(name)
        await patient.check(*jobs)
        assert words(patient, *jobs) == ["start", "end"] * 4

    with patient.used():
        patient.run(go())


def test_a_hub_whose_token_was_revoked_finds_its_work_again_with_the_next_one(patient: Stage) -> None:
    async def go() -> None:
        name = await patient.submit()
        await patient.started(name)
        cluster = (await patient.workload(name))["status"]["clusterName"]
        node = patient.clusters[cluster].client
        origin = joining.origin(await joining.identity(patient.hub.client))
        for item in (await node.list(TOKENS, Query(labels=f"{joining.HUB_LABEL}={origin}"))).items:
            await node.delete(TOKENS, item.meta.name)
        patient.proxies[cluster].cut()  # watches that are open are not asked for a token again
        patient.proxies[cluster].heal()
        await patient.until(lambda: _is_lost(patient, cluster), f"{cluster} is lost")
        patient.let_end(name)
        await patient.join(cluster)
        await patient.check(name)
        assert words(patient, name) == ["start", "end"]

    with patient.used():
        patient.run(go())


async def _is_lost(stage: Stage, cluster: str) -> bool:
    return not await stage.is_healthy(cluster)
