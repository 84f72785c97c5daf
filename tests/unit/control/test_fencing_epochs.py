"""What a cluster refuses of a hub: decisions that were overtaken."""

from __future__ import annotations

import asyncio

from tests.unit.control.fencing_world import HUB, admitted, pod_set, refused, run, world

from fairway.api.client import Deletion
from fairway.api.errors import ApiError
from fairway.control.fencing import names
from fairway.control.resources import WORKLOADS
from fairway.store import Store


def stale(error: ApiError) -> str:
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.details["causes"][0]["reason"] == "StaleEpoch"
    return error.message


def test_no_epoch_comes_in_before_the_hub_has_renewed_its_lease_in_this_life_of_the_node() -> None:
    async def scenario() -> None:
        store = Store()
        async with world(store=store) as here:
            error = await refused(here.workload("w", 5))
            assert (error.code, error.retry_after) == (503, 1)
            assert "renew Lease kueue-system/fairway-hub-1 first" in error.message
            last = await here.renew()
            assert (await refused(here.workload("w", 5))).code == 503
            last = await here.renew(last)
            await here.workload("w", 5)
        await asyncio.sleep(1)
        async with world(here.papers, store, here.boot) as again:
            # The stamp that the hub brings is of this boot, and of a life that has forgotten what it let in.
            last = await again.renew(last)
            assert again.valid
            assert (await refused(again.workload("x", 6))).code == 503
            assert last["metadata"]["annotations"][names.RENEW_AGAIN] == "true"
            last = await again.renew(last)
            assert names.RENEW_AGAIN not in last["metadata"]["annotations"]
            await again.workload("x", 6)

    run(scenario())


def test_work_without_an_epoch_is_not_fenced() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.workload("stock", None)
            await here.job("stock", "nowhere", None)
            await here.client.delete(WORKLOADS, "stock", "default")
            await here.workload("stock", None)

    run(scenario())


def test_a_workload_below_the_floor_is_refused_and_one_at_it_comes_in() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased(floor=10)
            assert "no epoch below 10" in stale(await refused(here.workload("w", 9)))
            await here.workload("w", 10)

    run(scenario())


def test_a_renewal_that_was_overtaken_does_not_lower_the_floor() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.leased(floor=10)
            await here.renew(last, floor=3)
            stale(await refused(here.workload("w", 9)))

    run(scenario())


def test_what_was_deleted_does_not_come_back_with_its_own_epoch_or_an_earlier_one() -> None:
    async def scenario() -> None:
        async with world() as here:
            last = await here.leased(floor=1)
            await here.workload("w", 5)
            await here.client.delete(WORKLOADS, "w", "default")
            assert "was deleted here" in stale(await refused(here.workload("w", 5)))
            stale(await refused(here.workload("w", 4)))
            await here.workload("other", 4)
            await here.workload("w", 6)
            # Once the floor is above, it says the same with less to remember.
            await here.client.delete(WORKLOADS, "w", "default")
            await here.renew(last, floor=7)
            assert "no epoch below 7" in stale(await refused(here.workload("w", 6)))

    run(scenario())


def test_a_delete_that_is_only_tried_changes_nothing() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            await here.workload("w", 5)
            gone = await here.read("w")
            error = await refused(here.client.delete(WORKLOADS, "w", "default", Deletion(uid="other")))
            assert error.code == 409
            await here.client.delete(WORKLOADS, "w", "default", Deletion(uid=gone["metadata"]["uid"]))
            stale(await refused(here.workload("w", 5)))

    run(scenario())


def test_an_update_never_lowers_or_removes_the_epoch() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            stored = await here.workload("w", 5)

            async def update(notes: dict[str, str], labels: dict[str, str] | None = None) -> None:
                meta = {**stored["metadata"], "annotations": notes, "labels": labels or stored["metadata"]["labels"]}
                meta.pop("resourceVersion", None)
                await here.client.update(WORKLOADS, {**stored, "metadata": meta})

            assert "is here with epoch 5" in stale(await refused(update({names.EPOCH: "4"})))
            stale(await refused(update({})))
            stale(await refused(update({names.EPOCH: "9"}, {names.ORIGIN: "thief"})))
            await update({names.EPOCH: "5", "more": "said"})
            await update({names.EPOCH: "8"})
            stale(await refused(update({names.EPOCH: "7"})))

    run(scenario())


def test_a_job_comes_in_only_with_the_workload_of_the_same_decision() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            assert "not there any more" in stale(await refused(here.job("j", "w", 5)))
            await here.workload("w", 5, **admitted())
            stale(await refused(here.job("j", "w", 4)))
            stale(await refused(here.job("j", "w", 6)))
            stale(await refused(here.job("j", "w", 5, origin="hub-2")))
            await here.job("j", "w", 5)
            await here.workload("stock", None)
            stale(await refused(here.job("k", "stock", 5)))
            stale(await refused(here.job("k", "", 5)))

    run(scenario())


def test_a_job_does_not_come_in_for_a_workload_that_was_evicted_for_good() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            stored = await here.workload("w", 5)
            await here.client.update(WORKLOADS, {**stored, "spec": {**stored["spec"], "active": False}})
            assert "not active any more" in stale(await refused(here.job("j", "w", 5)))

    run(scenario())


def test_an_epoch_that_is_no_number_is_refused_with_its_place() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased()
            labels, notes = {names.ORIGIN: HUB}, {names.EPOCH: "soon"}
            body = {"metadata": {"name": "w", "labels": labels, "annotations": notes}, "spec": {"podSets": [pod_set()]}}
            error = await refused(here.client.create(WORKLOADS, body, "default"))
            assert error.code == 400
            assert "fairway.dev/epoch" in error.message

    run(scenario())


def test_hubs_do_not_fence_each_other() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.leased(floor=100)
            last = await here.renew(origin="hub-2", floor=1)
            await here.renew(last, origin="hub-2", floor=1)
            await here.workload("w", 1, origin="hub-2")
            stale(await refused(here.workload("x", 1)))

    run(scenario())
