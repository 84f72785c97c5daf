"""Why a job on a hub waits, looked through to the clusters."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.integration.fleet import Fleeting, fleet
from tests.integration.queueing import JOBS, job

from fairway.core.dispatch.nominate import ALL_AT_ONCE, INCREMENTAL, SCORED
from fairway.fleet.resources import CLUSTER_SELECTOR

NOT_ONE = "one has 1 cpu of flavor flavor in all, 2 are asked for"


def run(test: Callable[[Fleeting], Awaitable[None]], quotas: dict[str, str] | None = None, **options: Any) -> None:
    async def go() -> None:
        async with fleet(quotas or {"one": "1", "two": "2"}, **options) as made:
            await test(made)

    asyncio.run(go())


async def why(made: Fleeting, name: str) -> dict[str, Any]:
    assert made.fleet is not None
    workload = await made.workload(name)
    assert workload is not None
    return made.fleet.explanations.explain(f"default/{workload['metadata']['name']}", {"default"})


@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL, SCORED])
def test_what_each_cluster_is_short_of_whichever_way_it_was_asked(dispatcher: str) -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("first", cpu="2")
        await made.submit("second", cpu="2")
        found = await why(made, "second")
        assert found["summary"] == f"reserved on the hub; {NOT_ONE}; two short of 2 cpu of flavor flavor"
        assert [(each["name"], each["state"]) for each in found["clusters"]] == [("one", "short"), ("two", "short")]
        found = await why(made, "first")
        assert (found["cluster"], found["summary"]) == ("two", "reserved on the hub; two has it")

    run(test, dispatcher=dispatcher)


def test_a_copys_own_words_come_along() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("first", cpu="2")
        await made.submit("second", cpu="2")
        found = await why(made, "second")
        assert "insufficient unused quota for cpu in flavor flavor" in found["clusters"][1]["detail"]

    run(test)


def test_a_cluster_out_of_reach_and_one_that_the_job_does_not_want() -> None:
    async def test(made: Fleeting) -> None:
        made.wires["three"].break_off()
        await made.settle_real(0.5)
        body = job("a", "2", "main")
        body["metadata"]["annotations"] = {CLUSTER_SELECTOR: "name in (one, three)"}
        await made.hub.client.create(JOBS, body)
        await made.settle()
        found = await why(made, "a")
        text = re.sub(r"\d\d:\d\d:\d\d", "12:01:00", found["summary"])
        barred = "two does not match the job's cluster selector 'name in (one, three)'"
        assert text == f"reserved on the hub; {NOT_ONE}; {barred}; three unreachable since 12:01:00 UTC"
        assert found["clusters"][2]["detail"] == "cannot be reached"
        assert found["clusters"][2]["since"].endswith("Z")

    run(test, {"one": "1", "two": "4", "three": "4"}, dispatcher=SCORED)


def test_while_the_hub_has_no_quota_for_it_the_clusters_are_shown_all_the_same() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("first", cpu="1")
        await made.submit("second", cpu="2")
        found = await why(made, "second")
        assert found["summary"].startswith("not reserved on the hub: 1 more of cpu needed in flavor flavor")
        assert [each["text"] for each in found["clusters"]] == [
            NOT_ONE.removeprefix("one "),
            "has room and has not been asked yet",
        ]

    run(test, hub_quota="2")


def test_what_no_cluster_can_ever_admit_says_so_after_its_quota_went_back() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("big", cpu="8")
        found = await why(made, "big")
        assert found["summary"] == (
            "not reserved on the hub: it was put back and waits for a sign to try again; one has 1 cpu of flavor flavor "
            "in all, 8 are asked for; two has 2 cpu of flavor flavor in all, 8 are asked for"
        )

    run(test, dispatcher=SCORED)


def test_work_on_a_lost_cluster_says_when_it_may_start_elsewhere() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a", cpu="2")
        await made.play()
        made.wires["two"].break_off()
        await made.settle_real(0.3)
        (found,) = (await why(made, "a"))["clusters"]
        assert re.fullmatch(
            r"unreachable since [\d:]+ UTC; its run there is over by [\d:]+ UTC, and then it may start elsewhere",
            found["text"],
        )
        assert found["until"] > found["since"]

    run(test)


def test_a_job_that_is_over_needs_no_cluster() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a", cpu="2")
        await made.play()
        await made.complete("a", "two")
        assert "clusters" not in await why(made, "a")

    run(test)
