"""The hub's side of leases, against a cluster's API with fencing on it and against one without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.control.fencing_world import LEASES, World, admitted, condition, run, world

from fairway.api import bootstrap
from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.fencing import names
from fairway.control.resources import NAMESPACES
from fairway.core.model import SECOND
from fairway.fleet.lease import LeaseKeeper, Leases, Outstanding, Terms
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

ORIGIN = "hub-1"
SHORT = Terms(lease_s=15)


class Line:
    """A client whose server can fall silent, refuse, or be gone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.silent = False
        self.refusal: ApiError | None = None
        self.twice = False
        """Every write comes twice, and the second answer is heard."""
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        async def through(*arguments: Any, **named: Any) -> Any:
            if self.refusal is not None:
                raise self.refusal
            if self.silent:
                await asyncio.Event().wait()
            self.writes += name in ("create", "update")
            if self.twice and name in ("create", "update"):
                await call(*arguments, **named)
            return await call(*arguments, **named)

        return through


class Hub:
    def __init__(self, client: Client, here: World | None = None, terms: Terms | None = None) -> None:
        self.line = Line(client)
        self.revision = 100
        assert here is not None
        self.clock = here.clock
        self.terms = terms or SHORT
        self.leases = Leases(ORIGIN, self.clock, lambda: self.revision, lambda _cluster: self.terms)
        self.keeper: LeaseKeeper = self.leases.guard("c", self.line)  # type: ignore[arg-type]
        self.reports: list[ApiError | None] = []
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.keeper.run(self.reports.append))

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def hub_and_cluster(terms: Terms | None = None) -> AsyncIterator[tuple[Hub, World]]:
    async with world() as here:
        hub = Hub(here.client, here, terms)
        hub.start()
        await here.breathe()
        try:
            yield hub, here
        finally:
            await hub.stop()


def test_connecting_makes_the_lease_valid_at_once_and_renewing_keeps_it_so() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            assert hub.reports == [None]
            assert hub.keeper.fenced is True
            assert here.valid
            term = here.fencing.book.term(ORIGIN)
            assert term is not None
            await here.workload("w", 100, **admitted())
            await asyncio.sleep(300)
            assert set(hub.reports) == {None}
            assert not condition(await here.read("w"), "Evicted")
            later = here.fencing.book.term(ORIGIN)
            assert later is not None
            assert later.since == term.since
            assert hub.line.writes <= 2 + 300 / 3 + 1

    run(scenario())


def test_the_namespace_is_made_where_it_is_missing() -> None:
    async def scenario() -> None:
        async with world() as here:
            space = Space("bare", Store(), KINDS, here.clock, SeededIds(1))
            await space.store.open()
            await bootstrap.ensure(space, bootstrap.namespaces())
            client = LocalClient(space)
            hub = Hub(client, here)
            hub.start()
            await here.breathe()
            assert (await client.get(NAMESPACES, names.LEASE_NAMESPACE)).meta.name == names.LEASE_NAMESPACE
            assert hub.keeper.fenced is False
            # It goes on renewing all the same: that the cluster answers is worth knowing.
            assert hub.reports == [None]
            hub.line.silent = True
            await asyncio.sleep(10)
            assert hub.reports[-1] is not None
            assert hub.keeper.safe_at(0) is None
            await hub.stop()

    run(scenario())


def test_a_cluster_that_falls_silent_is_noticed_and_held_until_its_work_must_have_ended() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            await here.workload("w", 100, **admitted())
            await asyncio.sleep(20.5)
            hub.line.silent = True
            lost = here.clock.monotonic
            await asyncio.sleep(8)
            trouble = hub.reports[-1]
            assert trouble is not None
            assert "did not answer" in trouble.message
            held = hub.keeper.held_until()
            assert held is not None
            assert lost + 15 < held <= lost + 25
            now = int(here.clock.now * SECOND)
            safe = hub.keeper.safe_at(now)
            assert safe is not None
            assert abs((safe - now) / SECOND - (held - here.clock.monotonic)) < 0.001
            await asyncio.sleep(60)
            assert hub.keeper.held_until() == held
            assert not here.valid
            assert condition(await here.read("w"), "Evicted")["reason"] == "LeaseExpired"
            end = here.papers.handed[ORIGIN].until - here.boot.now + here.clock.monotonic
            assert end + hub.terms.grace_s < held
            hub.line.silent = False
            await asyncio.sleep(5)
            assert hub.reports[-1] is None
            assert here.valid

    run(scenario())


def test_one_renewal_that_is_lost_does_no_harm() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            await here.workload("w", 100, **admitted())
            await asyncio.sleep(8.9)
            hub.line.silent = True
            await asyncio.sleep(1)
            hub.line.silent = False
            await asyncio.sleep(100)
            assert [report for report in hub.reports if report is not None]
            assert hub.reports[-1] is None
            assert not condition(await here.read("w"), "Evicted")

    run(scenario())


@pytest.mark.parametrize("at", [20 + 0.25 * step for step in range(13)])
def test_a_pause_of_two_fifths_of_a_lease_does_no_harm_whenever_it_comes(at: float) -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            await here.workload("w", 100, **admitted())
            await asyncio.sleep(at)
            hub.line.silent = True
            await asyncio.sleep(6)
            hub.line.silent = False
            await asyncio.sleep(100)
            assert [report for report in hub.reports if report is not None]
            assert not condition(await here.read("w"), "Evicted")

    run(scenario())


@pytest.mark.parametrize("pause", [5, 8, 10, 12, 14, 17, 30])
def test_what_comes_after_a_pause_has_a_whole_lease(pause: float) -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            await here.workload("before", 100, **admitted())
            await asyncio.sleep(20.5)
            hub.line.silent = True
            await asyncio.sleep(pause)
            hub.line.silent = False
            await asyncio.sleep(3.1)
            assert hub.reports[-1] is None
            hub.revision += 1
            await here.workload("after", hub.revision, **admitted())
            await asyncio.sleep(100)
            assert not condition(await here.read("after"), "Evicted")

    run(scenario())


def test_an_answer_that_is_lost_or_a_writer_between_us_only_costs_another_look() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            lease = await here.lease()
            lease["metadata"]["annotations"]["somebody"] = "else"
            await here.client.update(LEASES, lease)
            await asyncio.sleep(11)
            assert set(hub.reports) == {None}
            assert (await here.lease())["metadata"]["annotations"]["somebody"] == "else"
            await here.client.delete(LEASES, names.lease_name(ORIGIN), names.LEASE_NAMESPACE)
            await asyncio.sleep(30)
            assert set(hub.reports) == {None}
            assert here.valid

    run(scenario())


def test_renewals_that_come_twice_are_renewals() -> None:
    async def scenario() -> None:
        async with world() as here:
            hub = Hub(here.client, here)
            hub.line.twice = True
            hub.start()
            await here.breathe()
            await here.workload("w", 100, **admitted())
            await asyncio.sleep(100)
            assert set(hub.reports) == {None}
            assert hub.keeper.fenced is True
            assert not condition(await here.read("w"), "Evicted")
            await hub.stop()

    run(scenario())


def test_a_cluster_that_refuses_leases_is_connected_and_not_fenced() -> None:
    async def scenario() -> None:
        async with world() as here:
            hub = Hub(here.client, here)
            hub.line.refusal = ApiError(403, "Forbidden", "leases are not yours to write")
            hub.start()
            await here.breathe()
            assert hub.reports == [None]
            assert hub.keeper.fenced is False
            assert hub.keeper.held_until() is None
            await asyncio.sleep(59)
            assert hub.reports == [None]
            hub.line.refusal = None
            await asyncio.sleep(2)
            assert hub.keeper.fenced is True
            # Of one that is known to fence, a refusal is trouble: the lease runs out.
            hub.line.refusal = ApiError(403, "Forbidden", "the token was revoked")
            await asyncio.sleep(10)
            assert hub.keeper.fenced is True
            assert hub.reports[-1] is hub.line.refusal
            await hub.stop()

    run(scenario())


def test_a_new_connection_remembers_what_the_old_one_held() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):
            await asyncio.sleep(20)
            held = hub.keeper.held_until()
            await hub.stop()
            dead = Line(here.client)
            dead.silent = True
            again = hub.leases.guard("c", dead)  # type: ignore[arg-type]
            assert again.fenced is True
            assert again.held_until() == held
            assert hub.leases.fenced("c") is True
            now = int(here.clock.now * SECOND)
            assert hub.leases.safe_at("c", now) == again.safe_at(now)
            assert hub.leases.safe_at("other", now) is not None, "an earlier life of the hub may have known it"
            assert hub.leases.fenced("other") is None

    run(scenario())


def test_a_hub_that_was_told_so_before_holds_a_cluster_that_it_never_reached() -> None:
    async def scenario() -> None:
        async with world() as here:
            leases = Leases(ORIGIN, here.clock, lambda: 1, fenced=lambda _cluster: True)
            born = here.clock.monotonic
            await asyncio.sleep(3)
            assert leases.guard("c", here.client).held_until() == born + Terms().hold_s

    run(scenario())


def test_a_hub_waits_for_what_an_earlier_life_agreed_on_though_the_terms_were_made_shorter_since() -> None:
    async def scenario() -> None:
        async with hub_and_cluster(Terms(60)) as (hub, here):
            assert hub.leases.hold_s("c") == 70
            hub.terms = Terms(10, grace_s=2, margin_s=1)
            noted = hub.leases.hold_s("c")
            assert noted == 70
            held = hub.keeper.held_until()
            assert held is not None
            await asyncio.sleep(3)
            later = Leases(ORIGIN, here.clock, lambda: 1, lambda _cluster: hub.terms, lambda _c: True, lambda _c: noted)
            until = later.guard("c", here.client).held_until()
            assert until is not None
            assert until >= held
            await asyncio.sleep(70)
            assert hub.leases.hold_s("c") == 13, "the longer lease is over"
            assert hub.leases.hold_s("other") is None

    run(scenario())


def test_a_cluster_that_is_gone_since_an_earlier_life_of_the_hub_is_held_for_the_usual_time() -> None:
    async def scenario() -> None:
        async with world() as here:
            leases = Leases(ORIGIN, here.clock, lambda: 1)
            assert leases.safe_at("gone", 100 * SECOND) == 170 * SECOND
            await asyncio.sleep(20)
            assert leases.safe_at("gone", 100 * SECOND) == 150 * SECOND

    run(scenario())


def test_clusters_that_left_the_fleet_are_held_until_their_lease_is_over_and_so_is_whoever_left_before() -> None:
    async def scenario() -> None:
        async with world() as here:
            leases = Leases(ORIGIN, here.clock, lambda: 1, fenced=lambda _cluster: True)
            await asyncio.sleep(3)
            leases.guard("c", here.client)
            assert leases.departed(("c",), 0) == {"": 67 * SECOND}
            assert leases.departed((), 0) == {"c": 67 * SECOND, "": 67 * SECOND}
            await asyncio.sleep(67)
            assert leases.departed((), 0) == {}

    run(scenario())


def test_a_renewal_that_somebody_waits_for_does_not_wait_for_its_time() -> None:
    async def scenario() -> None:
        async with hub_and_cluster(Terms(60)) as (hub, _here):
            await asyncio.sleep(1)
            reports = len(hub.reports)
            await asyncio.sleep(1)
            assert len(hub.reports) == reports
            hub.keeper.hurry()
            await asyncio.sleep(0.1)
            assert len(hub.reports) == reports + 1
            await asyncio.sleep(5)
            assert len(hub.reports) == reports + 2

    run(scenario())


def test_the_floor_is_below_everything_on_its_way() -> None:
    async def scenario() -> None:
        async with hub_and_cluster() as (hub, here):

            async def told() -> int:
                return int((await here.lease())["metadata"]["annotations"][names.EPOCH_FLOOR])

            assert await told() == 100
            hub.revision = 200
            with hub.keeper.sending(150), hub.keeper.sending(160):
                await asyncio.sleep(6)
                assert await told() == 150
            await asyncio.sleep(6)
            assert await told() == 200

    run(scenario())


def test_the_same_epoch_may_be_on_its_way_more_than_once() -> None:
    outstanding = Outstanding(lambda: 9)
    with outstanding.sending(5):
        with outstanding.sending(5):
            assert outstanding.floor() == 5
        assert outstanding.floor() == 5
    assert outstanding.floor() == 9


def test_the_grace_of_the_hub_reaches_the_runs() -> None:
    async def scenario() -> None:
        async with hub_and_cluster(Terms(10, grace_s=2)) as (_hub, here):
            assert here.papers.handed[ORIGIN].grace_s == 2

    run(scenario())
