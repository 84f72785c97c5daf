"""The Job controller on a real space, with a kubelet that only pretends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.control.cluster import JOBS, PODS, cluster, condition, reason
from tests.unit.control.virtual import run

from fairway.api.client import BulkItem, BulkResults, Client, Deletion, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.jobs import controller
from fairway.control.jobs.plan import Plan
from fairway.control.jobs.pods import pod_name
from fairway.control.jobs.view import FINALIZER
from fairway.kinds.k8s.batch.types import Job

INDEX = "batch.kubernetes.io/job-completion-index"


def test_a_job_runs_to_completion_and_lets_its_pod_go() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            await c.submit()
            job = await c.until(condition("Complete"))
            assert reason(job, "Complete") == "CompletionsReached"
            status = job["status"]
            assert (status["succeeded"], status["ready"], status["terminating"]) == (1, 0, 0)
            assert status["uncountedTerminatedPods"] == {}
            await c.rest()
            (pod,) = await c.pods()
            assert "finalizers" not in pod["metadata"]
            assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"
            assert pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            assert c.notes.reasons("j") == ["SuccessfulCreate", "Completed"]

    run(scenario())


def test_an_indexed_job_tells_each_pod_its_index() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            await c.submit(completionMode="Indexed", completions=5, parallelism=2)
            job = await c.until(condition("Complete"))
            assert job["status"]["completedIndexes"] == "0-4"
            pods = {pod["metadata"]["annotations"][INDEX]: pod for pod in await c.pods()}
            assert sorted(pods) == ["0", "1", "2", "3", "4"]
            three = pods["3"]
            assert three["metadata"]["labels"][INDEX] == "3"
            assert three["spec"]["hostname"] == "j-3"
            assert three["metadata"]["name"].startswith("j-3-")
            env = three["spec"]["containers"][0]["env"]
            assert env[0]["name"] == "JOB_COMPLETION_INDEX"
            assert env[0]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
            assert c.kubelet.most == 2

    run(scenario())


def test_failed_pods_are_tried_again_with_growing_pauses_until_the_limit() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.code = lambda _pod: 3
            await c.submit(backoffLimit=2)
            job = await c.until(condition("Failed"))
            assert reason(job, "Failed") == "BackoffLimitExceeded"
            assert job["status"]["failed"] == 3
            created = sorted(pod["metadata"]["creationTimestamp"] for pod in await c.pods())
            starts = [int(at[17:19]) + 60 * int(at[14:16]) for at in created]
            assert starts[1] - starts[0] >= 10
            assert starts[2] - starts[1] >= 20
            assert len(c.kubelet.started) == 3

    run(scenario())


def test_the_deadline_ends_a_job_and_its_pods() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            await c.submit(activeDeadlineSeconds=30, parallelism=2, completions=2)
            job = await c.until(condition("Failed"))
            assert reason(job, "Failed") == "DeadlineExceeded"
            await c.rest()
            assert not c.kubelet.running
            assert 30 <= c.clock.monotonic < 40

    run(scenario())


def test_a_suspended_job_has_no_pods_and_a_resumed_one_starts_again() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            await c.submit(parallelism=2, completions=2)
            await c.until(lambda job: job["status"].get("ready") == 2)
            await c.change(JOBS, "j", {"spec": {"suspend": True}})
            job = await c.until(lambda job: condition("Suspended")(job) and not job["status"].get("terminating"))
            assert "active" not in job["status"]
            assert "startTime" not in job["status"]
            assert await c.pods() == []
            c.kubelet.hold = lambda _pod: False
            await c.change(JOBS, "j", {"spec": {"suspend": False}})
            job = await c.until(condition("Complete"))
            assert "failed" not in job["status"]
            assert [note for note in c.notes.reasons("j") if note in ("Suspended", "Resumed", "Completed")] == [
                "Suspended",
                "Resumed",
                "Completed",
            ]

    run(scenario())


def test_a_job_that_was_suspended_while_it_ran_is_not_held_back_for_it_when_it_resumes() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", "nodeName": "n"}
            await c.submit(template={"spec": pod})
            await c.until(lambda job: job["status"].get("ready") == 1)
            await c.change(JOBS, "j", {"spec": {"suspend": True}})
            await c.until(lambda job: condition("Suspended")(job) and not job["status"].get("terminating"))
            c.kubelet.hold = lambda _pod: False
            resumed = c.clock.monotonic
            await c.change(JOBS, "j", {"spec": {"suspend": False}})
            await c.until(condition("Complete"))
            assert c.clock.monotonic - resumed < 5

    run(scenario())


def test_a_finished_job_goes_with_its_pods_when_its_time_to_live_is_over() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            await c.submit(ttlSecondsAfterFinished=60)
            await c.until(condition("Complete"))
            await c.rest(50)
            assert await c.job()
            await c.rest(30)
            assert (await c.client.list(JOBS)).items == []
            assert await c.pods() == []

    run(scenario())


def test_deleting_a_job_frees_its_pods() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            await c.submit(parallelism=3, completions=3)
            await c.until(lambda job: job["status"].get("ready") == 3)
            await c.client.delete(JOBS, "j", "default")
            await c.rest()
            assert await c.pods() == []
            assert not c.kubelet.running

    run(scenario())


def test_a_job_that_another_controller_manages_is_not_touched() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            await c.submit(managedBy="example.com/other")
            await c.rest()
            assert await c.pods() == []
            assert (await c.job())["status"] == {}

    run(scenario())


def test_a_pod_that_someone_deletes_is_replaced() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            await c.submit()
            await c.until(lambda job: job["status"].get("ready") == 1)
            (pod,) = await c.pods()
            await c.client.delete(PODS, pod["metadata"]["name"], "default")
            c.kubelet.hold = lambda _pod: False
            job = await c.until(condition("Complete"))
            assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)

    run(scenario())


def test_a_job_that_selects_by_hand_adopts_pods_that_nobody_controls() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            c.kubelet.hold = lambda _pod: True
            pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
            stray = {"metadata": {"name": "stray", "labels": {"mine": "yes"}}, "spec": pod}
            await c.client.create(PODS, stray, "default")
            template = {"metadata": {"labels": {"mine": "yes"}}, "spec": pod}
            selector = {"matchLabels": {"mine": "yes"}}
            job = await c.submit(manualSelector=True, selector=selector, template=template)
            await c.until(lambda job: job["status"].get("active") == 1)
            await c.rest()
            (adopted,) = await c.pods()
            assert adopted["metadata"]["name"] == "stray"
            assert adopted["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            assert FINALIZER in adopted["metadata"]["finalizers"]

    run(scenario())


def test_a_strangers_pod_in_the_way_of_a_name_is_left_alone() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False) as c:
            job = await c.submit()
            taken = pod_name("j", job["metadata"]["uid"], -1, 0)
            spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
            await c.client.create(PODS, {"metadata": {"name": taken}, "spec": spec}, "default")
            c.add(c.jobs())
            await c.until(condition("Complete"))
            names = {pod["metadata"]["name"] for pod in await c.pods()}
            assert names == {taken, pod_name("j", job["metadata"]["uid"], -1, 1)}

    run(scenario())


class Dying:
    """A client whose process dies at the n-th write: before it, or after it and before the answer."""

    def __init__(self, inner: LocalClient, after: int, *, answered: bool) -> None:
        self._inner = inner
        self._left = after
        self._late = answered
        self.dead = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        done: BulkResults = []
        for item in items:
            await self._die(self._late)
            done += await self._inner.bulk([item])
            await self._die(not self._late)
        return done

    async def delete(self, resource: Resource, name: str, namespace: str = "", how: Deletion = Deletion()) -> None:
        await self._die(self._late)
        await self._inner.delete(resource, name, namespace, how)

    async def _die(self, uncounted: bool) -> None:
        if uncounted:
            return
        self._left -= 1
        if self._left < 0:
            self.dead.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize("answered", [False, True], ids=["before the write", "after it"])
def test_a_controller_that_dies_at_any_write_counts_each_pod_once_and_starts_none_twice(answered: bool) -> None:
    async def scenario(after: int) -> bool:
        async with cluster(jobs=False) as c:
            failing = {"0"}

            def code(pod: dict[str, Any]) -> int:
                index = pod["metadata"]["annotations"][INDEX]
                once = index in failing
                failing.discard(index)
                return 1 if once else 0

            c.kubelet.code = code
            dying = Dying(LocalClient(c.space, "job-controller"), after, answered=answered)
            client: Client = dying  # type: ignore[assignment]
            first = c.jobs(client)
            first.start()
            await c.submit(completionMode="Indexed", completions=3, parallelism=2, backoffLimitPerIndex=2)
            wait = asyncio.create_task(dying.dead.wait())
            await asyncio.wait([wait], timeout=120)
            died = wait.done()
            wait.cancel()
            await first.stop()
            c.add(c.jobs())
            job = await c.until(condition("Complete"))
            await c.rest()
            assert (job["status"]["succeeded"], job["status"].get("failed", 0)) == (3, 1)
            assert sorted(name.split("-")[1] for name in c.kubelet.started) == ["0", "0", "1", "2"]
            assert not any(pod["metadata"].get("finalizers") for pod in await c.pods())
            assert c.kubelet.most <= 2
            return died

    after = 0
    while run(scenario(after)):
        after += 1
    assert after > 10


class Lagging:
    """A client whose watches of pods are an hour late: the controller lives on the answers to its own writes."""

    def __init__(self, inner: LocalClient) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def watch(self, resource: Resource, *args: Any, **options: Any) -> Any:
        async for event in self._inner.watch(resource, *args, **options):
            if resource.plural == "pods":
                await asyncio.sleep(3600)
            yield event


def test_a_watch_that_lags_never_leads_to_a_pod_too_many() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False) as c:
            c.kubelet.hold = lambda _pod: True
            client: Client = Lagging(LocalClient(c.space))  # type: ignore[assignment]
            c.add(c.jobs(client))
            await c.submit(parallelism=3, completions=9)
            for number in range(5):
                await c.change(JOBS, "j", {"metadata": {"annotations": {"touched": str(number)}}})
                await c.rest()
            assert len(await c.pods()) == 3

    run(scenario())


def test_the_cost_of_an_event_does_not_grow_with_other_jobs() -> None:
    async def scenario() -> None:
        async with cluster(kubelet=False) as c:
            await asyncio.gather(*(c.submit(f"other-{number}") for number in range(300)))
            await c.rest()
            seen: list[str] = []
            jobs = c.keepers[-1]
            decide = jobs._decide  # type: ignore[attr-defined]
            jobs._decide = lambda uid: (seen.append(uid), decide(uid))[1]  # type: ignore[attr-defined]
            job = await c.submit("one")
            await c.rest()
            assert set(seen) == {job["metadata"]["uid"]}
            assert len(seen) <= 4

    run(scenario())


def test_a_job_that_the_rules_cannot_deal_with_does_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = controller.decide

    def decide(job: Job, *rest: Any) -> Plan:
        if job.metadata.name == "odd":
            raise ZeroDivisionError
        return rules(job, *rest)

    monkeypatch.setattr(controller, "decide", decide)

    async def scenario() -> None:
        async with cluster() as c:
            await asyncio.gather(c.submit("odd"), c.submit("even"))
            await c.until(condition("Complete"), "even")
            assert (await c.job("odd"))["status"] == {}

    run(scenario())


class Contended:
    """A client to whose first updates of pods somebody else is always faster."""

    def __init__(self, inner: LocalClient, times: int) -> None:
        self._inner = inner
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        results: BulkResults = []
        for item in items:
            if item.verb == "update" and item.resource == PODS and self._times > 0:
                self._times -= 1
                results.append(ApiError(409, "Conflict", "the object has been modified"))
            else:
                results += await self._inner.bulk([item])
        return results


def test_a_pod_that_changes_while_its_job_is_suspended_is_not_counted_as_failed() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False) as c:
            c.kubelet.hold = lambda _pod: True
            client: Client = Contended(LocalClient(c.space), 3)  # type: ignore[assignment]
            c.add(c.jobs(client))
            await c.submit(parallelism=2, completions=2)
            await c.until(lambda job: job["status"].get("ready") == 2)
            await c.change(JOBS, "j", {"spec": {"suspend": True}})
            await c.rest(5)
            assert await c.pods() == []
            job = await c.job()
            assert "failed" not in job["status"]
            assert job["status"]["terminating"] == 0

    run(scenario())


def test_creating_a_pod_that_the_api_refuses_is_reported_and_tried_ever_more_slowly() -> None:
    class Refusing:
        def __init__(self, inner: LocalClient) -> None:
            self._inner = inner
            self.tries = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
            results: BulkResults = []
            for item in items:
                if item.verb == "create":
                    self.tries += 1
                    results.append(ApiError(403, "Forbidden", "no pods today"))
                else:
                    results += await self._inner.bulk([item])
            return results

    async def scenario() -> None:
        async with cluster(jobs=False) as c:
            refusing = Refusing(LocalClient(c.space))
            client: Client = refusing  # type: ignore[assignment]
            c.add(c.jobs(client))
            await c.submit()
            await c.rest(100)
            assert 5 < refusing.tries < 20
            assert "FailedCreate" in c.notes.reasons("j")

    run(scenario())
