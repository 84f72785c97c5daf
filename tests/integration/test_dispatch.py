"""One queue over several clusters: hub and clusters in memory, every write by the production code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.integration.fleet import ORIGIN, Fleeting, fleet
from tests.integration.queueing import EVENTS, JOBS, conditions
from tests.integration.queueing import job as make_job

from fairway.api.errors import ApiError
from fairway.api.patching import MERGE_PATCH
from fairway.api.request import Admission
from fairway.control.resources import PRIORITY_CLASSES, WORKLOADS
from fairway.core.dispatch.nominate import SCORED
from fairway.fleet.resources import CLUSTER_SELECTOR, CLUSTERS, EPOCH


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


def test_a_job_that_asks_for_nothing_is_dispatched_like_any_other() -> None:
    async def test(made: Fleeting) -> None:
        body = bodies("a")[0]
        del body["spec"]["template"]["spec"]["containers"][0]["resources"]
        await made.hub.client.create(JOBS, body)
        await made.settle()
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"]["clusterName"] == "one"
        assert await made.job("a", "one") is not None

    run(test, {"one": "1"}, dispatcher=SCORED)


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
        await made.hub.client.delete(JOBS, "a", "default")
        await made.settle()
        await made.play()
        for cluster in ("one", "two"):
            assert await made.job("a", cluster) is None
            assert await made.workload("a", cluster) is None

    run(test, {"one": "2", "two": "2"})


def test_the_scored_dispatcher_asks_one_cluster_and_keeps_count_of_what_it_promised() -> None:
    async def test(made: Fleeting) -> None:
        jobs = [made.hub.client.create(JOBS, body) for body in bodies("abcdef")]
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
        await made.hub.client.create(JOBS, body)
        await made.settle()
        assert (await made.workload("a") or {})["status"]["clusterName"] == "two"

    run(test, {"one": "20", "two": "4"}, dispatcher=SCORED)


def bodies(names: str) -> list[dict[str, Any]]:
    return [make_job(name, "1", "main") for name in names]


def test_a_tainted_cluster_gets_only_work_that_tolerates_it() -> None:
    async def test(made: Fleeting) -> None:
        await made.hub.patch(CLUSTERS, "one", {"spec": {"taints": [{"key": "team", "value": "vision"}]}}, "")
        first, second = bodies("ab")
        toleration = {"key": "team", "value": "vision", "operator": "Equal", "effect": "NoSchedule"}
        second["spec"]["template"]["spec"]["tolerations"] = [toleration]
        for body in (first, second):
            await made.hub.client.create(JOBS, body)
        await made.settle()
        assert (await made.workload("a") or {})["status"]["clusterName"] == "two"
        assert (await made.workload("b") or {})["status"]["clusterName"] == "one"

    run(test, {"one": "20", "two": "4"}, dispatcher=SCORED)


def test_work_of_a_lost_cluster_moves_only_when_nothing_of_it_can_still_run_there() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a", cpu="3")
        await made.play()
        made.wires["two"].break_off()
        await made.settle_real(0.3)
        await made.move(60)
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"]["clusterName"] == "two"
        assert conditions(workload)["Admitted"][0] == "True"
        await made.clusters["one"].patch(cluster_queues(), "main", quota("8"), "")
        await made.move(1000)
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"].get("clusterName") == "one"
        assert await made.job("a", "one") is not None
        made.wires["two"].cut = False
        await made.settle_real(6)
        await made.play()
        assert await made.job("a", "two") is None
        assert await made.workload("a", "two") is None

    run(test, {"one": "1", "two": "4"})


def test_a_cluster_that_comes_back_in_time_keeps_its_work() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a")
        await made.play()
        before = await made.workload("a")
        made.wires["one"].break_off()
        await made.settle_real(0.3)
        await made.move(60)
        made.wires["one"].cut = False
        await made.settle_real(3)
        await made.complete("a", "one")
        after = await made.workload("a")
        assert before is not None
        assert after is not None
        assert conditions(after)["Finished"][:2] == ("True", "Succeeded")
        assert "Evicted" not in conditions(after)

    run(test, {"one": "1"})


def test_what_a_cluster_evicts_is_dispatched_again() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a")
        await made.play()
        first = ((await made.workload("a")) or {})["status"]["clusterName"]
        other = {"one": "two", "two": "one"}[first]
        await made.clusters[first].patch(cluster_queues(), "main", {"spec": {"stopPolicy": "HoldAndDrain"}}, "")
        for _ in range(4):
            await made.settle()
            await made.play()
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"].get("clusterName") == other, workload["status"]
        assert await made.job("a", first) is None
        assert await made.job("a", other) is not None

    run(test, {"one": "1", "two": "1"})


def test_an_eviction_on_the_hub_ends_the_run_on_the_cluster_before_its_quota_is_free() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a")
        await made.play()
        await made.hub.patch(cluster_queues(), "main", {"spec": {"stopPolicy": "HoldAndDrain"}}, "")
        await made.settle()
        workload = await made.workload("a")
        assert workload is not None
        assert conditions(workload)["Evicted"][0] == "True"
        assert "admission" in workload["status"]
        for _ in range(3):
            await made.play()
        workload = await made.workload("a")
        assert workload is not None
        assert "admission" not in workload["status"]
        assert await made.job("a", "one") is None

    run(test, {"one": "1"})


def test_an_object_of_somebody_else_with_the_same_name_is_never_touched() -> None:
    async def test(made: Fleeting) -> None:
        theirs = bodies("a")[0]
        theirs["metadata"]["labels"] = {}
        await made.clusters["one"].client.create(JOBS, theirs)
        await made.submit("a")
        await made.play()
        job = await made.job("a", "one")
        assert job is not None
        assert "kueue.x-k8s.io/multikueue-origin" not in job["metadata"].get("labels", {})
        await made.hub.client.delete(JOBS, "a", "default")
        await made.settle()
        assert await made.job("a", "one") is not None

    run(test, {"one": "1"})


def cluster_queues() -> Any:
    from fairway.control.resources import CLUSTER_QUEUES

    return CLUSTER_QUEUES


def quota(cpu: str) -> dict[str, Any]:
    flavor = {"name": "flavor", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    return {"spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}}


def test_a_job_whose_creation_nobody_confirmed_may_run_until_its_cluster_is_known_to_be_safe() -> None:
    async def test(made: Fleeting) -> None:
        for name, wire in made.wires.items():
            client, wire_of = made.clusters[name].client, wire

            async def bulk_and_break(items: Any, client: Any = client, wire: Any = wire_of) -> Any:
                results = await client.bulk(items)
                return _cut(wire, items[0].resource, results)

            async def create_and_break(
                resource: Any, *rest: Any, client: Any = client, wire: Any = wire_of, **named: Any
            ) -> Any:
                return _cut(wire, resource, await client.create(resource, *rest, **named))

            wire.bulk, wire.create = bulk_and_break, create_and_break
        await made.submit("a")
        (lost,) = [name for name in made.wires if made.wires[name].cut]
        (other,) = [name for name in made.wires if name != lost]
        assert await made.job("a", lost) is not None
        for policy in ("HoldAndDrain", "None"):
            await made.hub.patch(cluster_queues(), "main", {"spec": {"stopPolicy": policy}}, "")
            await made.settle()
        workload = await made.workload("a")
        assert workload is not None
        assert conditions(workload)["QuotaReserved"][0] == "True"
        assert await made.workload("a", other) is None

    def _cut(wire: Any, resource: Any, answer: Any) -> Any:
        if resource.plural == "jobs":
            wire.break_off()
            raise ApiError(0, "Unreachable", "the connection was closed before an answer came")
        return answer

    run(test, {"one": "1", "two": "1"})


def test_what_the_hub_itself_refuses_is_tried_again_later_and_not_without_end() -> None:
    async def test(made: Fleeting) -> None:
        refused = []

        def refuse(admission: Admission) -> None:
            if admission.target.subresource == "status" and admission.target.kind.plural == "jobs":
                refused.append(admission.operation)
                raise ApiError(422, "Invalid", "no such status here")

        await made.submit("a")
        made.hub.space.objects.hooks.append(refuse)
        await made.play()
        await made.settle()
        assert 1 <= len(refused) <= 3
        made.hub.space.objects.hooks.remove(refuse)
        await made.move(60)
        here = await made.job("a")
        assert here is not None
        assert here["status"]["active"] == 1

    run(test, {"one": "4"})


def test_a_cluster_that_does_not_take_the_job_is_told_of() -> None:
    async def test(made: Fleeting) -> None:
        there = made.clusters["one"]
        await there.client.create(JOBS, make_job("a", "1", ""))
        await made.submit("a")
        await made.settle_real(1.5)
        events = [each["message"] for each in await made.hub.all(EVENTS) if each["type"] == "Warning"]
        assert any('"one" does not take it' in each and "already exists" in each for each in events), events

    run(test, {"one": "4"})


def test_a_job_that_was_sent_and_never_arrived_may_yet_arrive_until_its_copy_is_gone() -> None:
    async def test(made: Fleeting) -> None:
        first = made.wires["one"]

        async def create(resource: Any, *rest: Any, **named: Any) -> Any:
            if resource.plural == "jobs":
                raise ApiError(0, "Unreachable", "the connection was closed before an answer came")
            return await first.__getattr__("create")(resource, *rest, **named)

        async def delete(*_arguments: Any, **_named: Any) -> Any:
            raise ApiError(503, "ServiceUnavailable", "not now")

        first.create, first.delete = create, delete
        await made.submit("a", cpu="2")
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"]["clusterName"] == "one"
        await made.clusters["two"].patch(cluster_queues(), "main", quota("2"), "")
        for policy in ("HoldAndDrain", "None"):
            await made.hub.patch(cluster_queues(), "main", {"spec": {"stopPolicy": policy}}, "")
            await made.settle()
        assert await made.workload("a", "one") is not None
        assert await made.workload("a", "two") is None, "what was sent to the first could start there yet"
        del first.delete
        await made.move(60)
        assert await made.workload("a", "two") is not None

    run(test, {"one": "2", "two": "1"})


def test_a_running_job_may_change_its_priority_class_and_its_copy_follows() -> None:
    async def test(made: Fleeting) -> None:
        for name, value in (("low", 1), ("high", 100)):
            body = {"metadata": {"name": name}, "value": value}
            await made.hub.client.create(PRIORITY_CLASSES, body)
        label = "kueue.x-k8s.io/priority-class"
        await made.submit("a", labels={label: "low"})
        await made.play()
        await made.hub.patch(JOBS, "a", {"metadata": {"labels": {label: "high"}}})
        await made.settle()
        for where in ("", "one"):
            workload = await made.workload("a", where)
            assert workload is not None
            assert (workload["spec"]["priority"], workload["spec"]["priorityClassRef"]["name"]) == (100, "high")
            assert conditions(workload)["Admitted"][0] == "True"
        await made.hub.patch(JOBS, "a", {"metadata": {"labels": {label: "nobody-knows-it"}}})
        await made.settle()
        workload = await made.workload("a")
        assert workload is not None
        assert workload["spec"]["priority"] == 100

    run(test, {"one": "4"})


def test_a_job_that_begins_anew_elsewhere_needs_room_for_all_its_pods_again() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a", cpu="1", parallelism=2, completions=2, completionMode="Indexed")
        await made.play()
        here = await made.job("a")
        assert here is not None
        status = {**here["status"], "active": 1, "ready": 1, "succeeded": 1, "completedIndexes": "0"}
        await made.hub.client.update(JOBS, {**here, "status": status}, subresource="status")
        await made.settle()
        workload = await made.workload("a")
        assert workload is not None
        assert workload["status"]["reclaimablePods"] == [{"name": "main", "count": 1}]
        bound = workload["status"]["clusterName"]
        await made.hub.client.patch(
            WORKLOADS, workload["metadata"]["name"], {"spec": {"active": False}}, "default", media=MERGE_PATCH
        )
        await made.settle()
        await made.play()
        workload = await made.workload("a")
        assert workload is not None
        assert (bound, workload["status"].get("clusterName")) == ("one", None)
        assert "reclaimablePods" not in workload["status"]

    run(test, {"one": "4"})
