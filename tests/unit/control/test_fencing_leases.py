"""Leases on the cluster: when they are valid, what is handed on, what becomes of work that lost its lease."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.control.fencing_world import HUB, LEASES, Json, LoopBoot, World, admitted, condition, run, world

from fairway.control.fencing import names
from fairway.control.fencing.boot import Stamp, parse_stamp
from fairway.control.pods.environment import Unprepared
from fairway.control.resources import EVENTS, WORKLOADS
from fairway.store import Store


def pod(workload: Json) -> Json:
    notes = {names.LEASE: HUB, names.WORKLOAD: "w", names.ADMITTED_AS: workload["metadata"]["uid"]}
    return {"metadata": {"name": "p", "namespace": "default", "uid": "u", "annotations": notes}}


async def waits(here: World, workload: Json) -> str:
    with pytest.raises(Unprepared) as caught:
        await here.fencing.grant(pod(workload))
    assert not caught.value.problem.final
    return caught.value.problem.message


def test_a_stamp_reads_as_it_was_written() -> None:
    stamp = Stamp("boot/with-slash", 1234.5678901234)
    assert parse_stamp(stamp.text) == stamp
    assert parse_stamp("") is None
    assert parse_stamp("boot/soon") is None


def test_a_lease_is_valid_from_its_second_write_for_its_length_after_the_first() -> None:
    async def scenario() -> None:
        async with world() as here:
            first = await here.renew()
            assert not here.valid
            assert first["metadata"]["annotations"][names.RENEW_AGAIN] == "true"
            stamp = parse_stamp(first["metadata"]["annotations"][names.STAMP])
            assert stamp is not None
            await asyncio.sleep(4)
            second = await here.renew(first)
            assert here.valid
            assert here.papers.handed[HUB].until == stamp.at + 15
            assert second["metadata"]["annotations"][names.STAMP] != stamp.text

    run(scenario())


def test_a_renewal_that_took_longer_than_the_lease_gives_nothing_but_a_stamp() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.renew()
            await asyncio.sleep(15)
            last = await here.renew(last)
            assert not here.valid
            await here.renew(last)
            assert here.valid

    run(scenario())


def test_a_stamp_of_another_boot_or_of_the_future_counts_for_nothing() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.renew()
            for forged in ("boot-b/1000.0", "boot-a/5000.0", "boot-a/-1", "boot-a/nan", "boot-a/inf", "nonsense"):
                last["metadata"]["annotations"][names.STAMP] = forged
                last = await here.renew(last)
                assert not here.valid, forged
                last["metadata"]["annotations"][names.STAMP] = forged

    run(scenario())


def test_a_renewal_that_is_only_tried_changes_nothing() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.renew()
            last.pop("kind", None)
            await here.client.update(LEASES, last, dry_run=True)
            await here.breathe()
            assert not here.valid

    run(scenario())


def test_leases_of_others_are_left_alone() -> None:
    async def scenario() -> None:
        async with world() as here:
            for name, namespace in (("fairway-x", "default"), ("leader", names.LEASE_NAMESPACE)):
                made = (await here.client.create(LEASES, {"metadata": {"name": name}}, namespace)).json()
                assert "annotations" not in made["metadata"]

    run(scenario())


def test_renewals_prolong_the_term_and_are_handed_on() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.leased()
            since = here.papers.handed[HUB].since
            for _ in range(5):
                await asyncio.sleep(5)
                last = await here.renew(last)
            assert {lease.since for lease in here.papers.history} == {since}
            untils = [lease.until for lease in here.papers.history]
            assert untils == sorted(untils)
            assert here.papers.handed[HUB].until == here.boot.now + 10

    run(scenario())


def test_admitted_work_is_evicted_a_little_before_its_lease_ends_and_stays_inactive() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            await here.workload("w", 5, **admitted())
            await here.workload("waits", 6)
            await here.workload("stock", None, **admitted())
            await asyncio.sleep(13.9)
            assert not condition(await here.read("w"), "Evicted")
            await asyncio.sleep(0.2)
            await here.breathe()
            evicted = await here.read("w")
            assert evicted["spec"]["active"] is False
            said = condition(evicted, "Evicted")
            assert (said["status"], said["reason"]) == ("True", "LeaseExpired")
            assert 'Hub "hub-1" did not renew its lease on this cluster since 2026-01-01T00:00:00Z' in said["message"]
            assert not here.valid
            for name in ("waits", "stock"):
                untouched = await here.read(name)
                assert untouched["spec"].get("active", True) is True
                assert not condition(untouched, "Evicted")
            await here.fencing.stop()
            events = (await here.client.list(EVENTS)).items
            assert [event.json()["reason"] for event in events] == ["EvictedDueToLeaseExpired"]

    run(scenario())


def test_work_that_was_admitted_once_is_evicted_too_for_its_job_may_be_here() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            at = "2026-01-01T00:00:00Z"
            before = {
                "type": "Evicted",
                "status": "True",
                "reason": "Preempted",
                "message": "",
                "lastTransitionTime": at,
            }
            await here.workload("w", 5, conditions=[before])
            await asyncio.sleep(16)
            evicted = await here.read("w")
            assert evicted["spec"]["active"] is False
            assert condition(evicted, "Evicted")["reason"] == "LeaseExpired"

    run(scenario())


def test_finished_work_stays_as_it_is() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            status = admitted()
            done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
            status["conditions"].append({**done, "lastTransitionTime": "2026-01-01T00:00:00Z"})
            await here.workload("w", 5, **status)
            await asyncio.sleep(20)
            assert (await here.read("w"))["spec"].get("active", True) is True

    run(scenario())


def test_a_lease_that_comes_back_finds_the_old_work_evicted_and_is_a_new_term() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.leased()
            term = here.papers.handed[HUB]
            await here.workload("w", 5, **admitted())
            await asyncio.sleep(60)
            await here.workload("late", 6, **admitted())
            last = await here.renew(last)
            await here.renew(last)
            assert here.valid
            assert here.papers.handed[HUB].since > term.until
            for name in ("w", "late"):
                assert (await here.read(name))["spec"]["active"] is False

    run(scenario())


def test_a_node_that_slept_through_the_end_of_a_lease_does_not_go_on_with_it() -> None:
    """As after SIGSTOP: a renewal is the first thing that it hears."""

    async def scenario() -> None:
        async with world() as here:
            last = await here.leased()
            last = await here.renew(last)
            since = here.papers.handed[HUB].since
            made = await here.workload("w", 5, **admitted())
            here.boot._ahead += 60
            last = await here.renew(last)
            assert "renew its lease" in await waits(here, made)
            await here.renew(last)
            assert here.valid
            assert here.papers.handed[HUB].since > since
            assert (await here.read("w"))["spec"]["active"] is False
            assert "not admitted any more" in await waits(here, made)

    run(scenario())


def test_a_lease_goes_on_over_a_restart_of_the_node() -> None:
    async def scenario() -> None:
        store = Store()
        async with world(store=store) as here:
            await here.leased()
            made = await here.workload("w", 5, **admitted())
        await asyncio.sleep(1)
        async with world(here.papers, store, here.boot) as again:
            grant = await again.fencing.grant(pod(made))
            assert grant is not None
            assert grant.since == here.papers.handed[HUB].since
            last = await again.renew(await again.lease())
            await again.renew(last)
            assert (await again.read("w"))["spec"].get("active", True) is True
            assert again.papers.handed[HUB].since == grant.since

    run(scenario())


@pytest.mark.parametrize("boot", ["boot-a", "boot-b"])
def test_work_whose_lease_ended_while_the_node_was_down_is_evicted_when_it_is_back(boot: str) -> None:
    async def scenario() -> None:
        store = Store()
        async with world(store=store) as here:
            await here.leased()
            made = await here.workload("w", 5, **admitted())
        papers = here.papers
        if boot == "boot-b":
            papers.handed.clear()  # what is of another boot is not read
        else:
            await asyncio.sleep(100)
        async with world(papers, store, LoopBoot(boot)) as again:
            evicted = await again.read("w")
            assert evicted["spec"]["active"] is False
            assert "since before this node started" in condition(evicted, "Evicted")["message"]
            await waits(again, made)

    run(scenario())


def test_a_pod_starts_only_with_a_valid_lease_and_the_very_workload_that_it_was_admitted_with() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            made = await here.workload("w", 5, **admitted())
            grant = await here.fencing.grant(pod(made))
            assert grant == ("leases/hub-1", here.papers.handed[HUB].since)
            assert await here.fencing.grant({"metadata": {"name": "p", "uid": "u"}}) is None
            other = {**made, "metadata": {**made["metadata"], "uid": "another"}}
            assert "is gone" in await waits(here, other)
            await here.client.delete(WORKLOADS, "w", "default")
            assert "is gone" in await waits(here, made)
            again = await here.workload("w", 6)
            assert "not admitted" in await waits(here, again)

    run(scenario())


def test_a_term_does_not_begin_before_its_file_is_written() -> None:
    async def scenario() -> None:
        async with world() as here:
            here.papers.broken = True
            last = await here.leased()
            assert not here.valid
            here.papers.broken = False
            await here.renew(last)
            assert here.valid

    run(scenario())
