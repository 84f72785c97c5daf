"""One queue over several clusters: hub and clusters in memory, every write by the production code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.integration.fleet import ORIGIN, Fleeting, fleet
from tests.integration.queueing import conditions

from fairway.core.dispatch.nominate import SCORED
from fairway.fleet.resources import CLUSTER_SELECTOR, EPOCH


def run(test: Callable[[Fleeting], Awaitable[None]], quotas: dict[str, str], **options: Any) -> None:
    async def go() -> None:
        async with fleet(quotas, **options) as made:
            await test(made)

    asyncio.run(go())


def test_a_job_runs_on_the_cluster_that_admits_it_first_and_finishes_on_the_hub() -> None:
    async def test(made: Fleeting) -> None:
        job = await made.submit("a", cpu="2")
        assert job["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"]["clusterName"] == "two"
        assert conditions(workload)["Admitted"][0] == "True"
        state = workload["status"]["admissionChecks"][0]
        assert (state["state"], state["message"]) == ("Ready", 'The workload was admitted on "two"')
        assert await made.workload("a", "one") is None
        remote = await made.job("a", "two")
        assert remote is not None
        assert remote["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == ORIGIN
        assert remote["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] == workload["metadata"]["name"]
        copy = await made.workload("a", "two")
        assert copy is not None
        assert remote["metadata"]["annotations"][EPOCH] == copy["metadata"]["annotations"][EPOCH]
        assert "managedBy" not in remote["spec"]
        assert remote["spec"]["suspend"] is False
        await made.play()
        here = await made.job("a")
        assert here is not None
        assert here["status"]["active"] == 1
        await made.complete("a", "two")
        here, workload = await made.job("a"), await made.workload("a")
        assert here is not None
        assert workload is not None
        assert conditions(here)["Complete"][0] == "True"
        assert conditions(workload)["Finished"][:2] == ("True", "Succeeded")
        assert await made.job("a", "two") is None
        assert await made.workload("a", "two") is None

    run(test, {"one": "1", "two": "4"})


def test_more_jobs_than_one_cluster_takes_are_spread_over_all() -> None:
    async def test(made: Fleeting) -> None:
        for name in "abcdef":
            await made.submit(name)
        placed = [(await made.workload(name) or {})["status"].get("clusterName") for name in "abcdef"]
        assert sorted(filter(None, placed)) == ["one", "one", "two", "two"]

    run(test, {"one": "2", "two": "2"})


def test_a_deleted_job_leaves_no_cluster_with_a_copy() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a")
        await made.play()
        await made.hub.client.delete(made_jobs(), "a", "default")
        await made.settle()
        await made.play()
        for cluster in ("one", "two"):
            assert await made.job("a", cluster) is None
            assert await made.workload("a", cluster) is None

    run(test, {"one": "2", "two": "2"})


def test_the_scored_dispatcher_asks_one_cluster_and_keeps_count_of_what_it_promised() -> None:
    async def test(made: Fleeting) -> None:
        jobs = [made.hub.client.create(made_jobs(), body) for body in bodies("abcdef")]
        await asyncio.gather(*jobs)
        await made.settle()
        placed = [(await made.workload(name) or {})["status"].get("clusterName") for name in "abcdef"]
        assert sorted(filter(None, placed)) == ["one", "one", "two", "two", "two", "two"]
        creates = sum(
            len([each for each in wire.calls if each.startswith(("create workloads", "create jobs", "bulk"))])
            for wire in made.wires.values()
        )
        assert creates <= 12

    run(test, {"one": "2", "two": "4"}, dispatcher=SCORED, hub_quota="6")


def test_a_workload_that_no_cluster_can_ever_admit_gives_its_quota_back_and_says_why() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("big", cpu="8")
        workload = await made.workload("big")
        assert workload is not None
        assert "admission" not in workload["status"]
        text = str(workload["status"])
        assert "one: has 2 cpu of flavor flavor in all, 8 are asked for" in conditions(workload)["Evicted"][2] + text

    run(test, {"one": "2", "two": "4"}, dispatcher=SCORED, hub_quota="10")


def test_a_job_may_say_which_clusters_it_wants() -> None:
    async def test(made: Fleeting) -> None:
        body = bodies("a")[0]
        body["metadata"]["annotations"] = {CLUSTER_SELECTOR: "name=two"}
        await made.hub.client.create(made_jobs(), body)
        await made.settle()
        assert (await made.workload("a") or {})["status"]["clusterName"] == "two"

    run(test, {"one": "20", "two": "4"}, dispatcher=SCORED)


def made_jobs() -> Any:
    from tests.integration.queueing import JOBS

    return JOBS


def bodies(names: str) -> list[dict[str, Any]]:
    from tests.integration.queueing import job

    return [job(name, "1", "main") for name in names]
