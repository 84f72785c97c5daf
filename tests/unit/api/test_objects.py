"""What create, update, patch, delete, list and watch mean, on a space in memory, through the Client that everybody uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap, patching
from fairway.api.client import BulkItem, Deletion, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.garbage import GarbageCollector
from fairway.api.local import LocalClient
from fairway.api.namespaces import NamespaceController
from fairway.api.request import Admission
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

JOBS = Resource("batch", "v1", "jobs")
CONFIGMAPS = Resource("", "v1", "configmaps")
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
QUEUES_OLD = Resource("kueue.x-k8s.io", "v1beta1", "clusterqueues", namespaced=False)
QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", namespaced=False)


class StoppedClock:
    now = 1_767_225_600.0
    monotonic = 0.0


class World:
    """A space with its keepers, and a client."""

    def __init__(self) -> None:
        self.space = Space("test", Store(), KINDS, StoppedClock(), SeededIds(1))
        self.client = LocalClient(self.space, "tester")
        self.garbage = GarbageCollector(self.space)
        self.namespaces = NamespaceController(self.space)

    async def __aenter__(self) -> World:
        await self.space.store.open()
        await bootstrap.ensure(self.space, bootstrap.namespaces())
        self.garbage.start()
        self.namespaces.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.garbage.stop()
        await self.namespaces.stop()
        await self.space.store.close()

    async def gone(self, resource: Resource, name: str, namespace: str = "default") -> None:
        """Wait until an object is not there any more, told by a watch."""
        query = Query(namespace if resource.namespaced else "", fields=f"metadata.name={name}")
        async for event in self.client.watch(resource, query):
            if event.type == "DELETED":
                return


def run(body: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        async with World() as world, asyncio.timeout(20):
            await body(world)

    asyncio.run(main())


def job(name: str = "", **meta: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **meta} if name else {"namespace": "default", **meta}
    container = {"name": "main", "image": "busybox:1"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def owned(name: str, owner: dict[str, Any], *, block: bool = False) -> dict[str, Any]:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    if block:
        reference["blockOwnerDeletion"] = True
    obj = config(name)
    obj["metadata"]["ownerReferences"] = [reference]
    return obj


def test_a_new_object_gets_identity_defaults_and_a_revision() -> None:
    async def body(world: World) -> None:
        created = (await world.client.create(JOBS, job("a"))).json()
        meta = created["metadata"]
        assert meta["generation"] == 1
        assert meta["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert meta["labels"]["batch.kubernetes.io/controller-uid"] == meta["uid"]
        assert created["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": meta["uid"]}
        assert created["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
        assert created == (await world.client.get(JOBS, "a", "default")).json()
        with pytest.raises(ApiError, match='jobs.batch "a" already exists') as caught:
            await world.client.create(JOBS, job("a"))
        assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")

    run(body)


def test_a_new_pod_is_pending_whatever_its_writer_says() -> None:
    async def body(world: World) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running"},
        }
        created = (await world.client.create(Resource("", "v1", "pods"), pod)).json()
        assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}

    run(body)


def test_generated_names_are_new_every_time() -> None:
    async def body(world: World) -> None:
        names = {(await world.client.create(JOBS, job(generateName="run-"))).meta.name for _ in range(50)}
        assert len(names) == 50
        assert all(name.startswith("run-") and len(name) == 9 for name in names)

    run(body)


def test_only_a_change_of_the_spec_raises_the_generation_and_no_change_writes_nothing() -> None:
    async def body(world: World) -> None:
        first = (await world.client.create(JOBS, job("a"))).json()
        same = (await world.client.update(JOBS, first)).json()
        assert same == first
        labelled = {**first, "metadata": {**first["metadata"], "labels": {**first["metadata"]["labels"], "x": "y"}}}
        second = (await world.client.update(JOBS, labelled)).json()
        assert second["metadata"]["generation"] == 1
        assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
        third = (await world.client.update(JOBS, {**second, "spec": {**second["spec"], "parallelism": 3}})).json()
        assert third["metadata"]["generation"] == 2

    run(body)


def test_a_stale_update_is_refused_and_one_without_a_version_is_not() -> None:
    async def body(world: World) -> None:
        first = (await world.client.create(CONFIGMAPS, config("a", k="1"))).json()
        await world.client.update(CONFIGMAPS, {**first, "data": {"k": "2"}})
        with pytest.raises(ApiError, match="the object has been modified") as caught:
            await world.client.update(CONFIGMAPS, {**first, "data": {"k": "3"}})
        assert (caught.value.code, caught.value.reason) == (409, "Conflict")
        assert (await world.client.update(CONFIGMAPS, config("a", k="4"))).json()["data"] == {"k": "4"}
        with pytest.raises(ApiError, match='configmaps "nope" not found'):
            await world.client.update(CONFIGMAPS, config("nope"))

    run(body)


def test_status_and_the_rest_are_written_apart() -> None:
    async def body(world: World) -> None:
        first = (await world.client.create(JOBS, {**job("a"), "status": {"active": 7}})).json()
        assert not first.get("status", {}).get("active")
        changed = {**first, "status": {"active": 2}, "spec": {**first["spec"], "parallelism": 9}}
        written = (await world.client.update(JOBS, changed, subresource="status")).json()
        assert written["status"]["active"] == 2
        assert written["spec"]["parallelism"] == 1
        kept = (await world.client.update(JOBS, {**written, "status": {"active": 5}})).json()
        assert kept["status"]["active"] == 2

    run(body)


def test_an_object_with_finalizers_stays_until_the_last_is_taken_off() -> None:
    async def body(world: World) -> None:
        await world.client.create(
            CONFIGMAPS, {**config("a"), "metadata": {**config("a")["metadata"], "finalizers": ["x.io/y"]}}
        )
        await world.client.delete(CONFIGMAPS, "a", "default")
        marked = (await world.client.get(CONFIGMAPS, "a", "default")).json()
        assert marked["metadata"]["deletionTimestamp"]
        more = {**marked["metadata"], "finalizers": ["x.io/y", "z.io/w"]}
        with pytest.raises(ApiError, match="no new finalizers can be added"):
            await world.client.update(CONFIGMAPS, {**marked, "metadata": more})
        await world.client.update(CONFIGMAPS, {**marked, "metadata": {**marked["metadata"], "finalizers": []}})
        with pytest.raises(ApiError, match="not found"):
            await world.client.get(CONFIGMAPS, "a", "default")

    run(body)


def test_what_belongs_to_a_deleted_owner_goes_too_and_so_on_down() -> None:
    async def body(world: World) -> None:
        top = (await world.client.create(CONFIGMAPS, config("top"))).json()
        middle = (await world.client.create(CONFIGMAPS, owned("middle", top))).json()
        await world.client.create(CONFIGMAPS, owned("bottom", middle))
        waiting = asyncio.create_task(world.gone(CONFIGMAPS, "bottom"))
        await asyncio.sleep(0)
        await world.client.delete(CONFIGMAPS, "top", "default")
        await waiting
        assert (await world.client.list(CONFIGMAPS)).items == []

    run(body)


def test_a_dependent_of_an_owner_that_never_was_is_collected() -> None:
    async def body(world: World) -> None:
        ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
        waiting = asyncio.create_task(world.gone(CONFIGMAPS, "orphaned"))
        await asyncio.sleep(0)
        await world.client.create(CONFIGMAPS, owned("orphaned", ghost))
        await waiting

    run(body)


def test_a_foreground_deletion_waits_for_blocking_dependents() -> None:
    async def body(world: World) -> None:
        top = (await world.client.create(CONFIGMAPS, config("top"))).json()
        held = owned("held", top, block=True)
        held["metadata"]["finalizers"] = ["x.io/hold"]
        await world.client.create(CONFIGMAPS, held)
        await world.client.delete(CONFIGMAPS, "top", "default", Deletion("Foreground"))
        async for event in world.client.watch(CONFIGMAPS, Query("default", fields="metadata.name=held")):
            if event.item.meta.deletion_timestamp:
                break
        assert (await world.client.get(CONFIGMAPS, "top", "default")).meta.deletion_timestamp
        waiting = asyncio.create_task(world.gone(CONFIGMAPS, "top"))
        await asyncio.sleep(0)
        change = [{"op": "remove", "path": "/metadata/finalizers"}]
        await world.client.patch(CONFIGMAPS, "held", change, "default", media=patching.JSON_PATCH)
        await waiting
        assert (await world.client.list(CONFIGMAPS)).items == []

    run(body)


def test_orphaned_dependents_stay_without_their_owner() -> None:
    async def body(world: World) -> None:
        top = (await world.client.create(CONFIGMAPS, config("top"))).json()
        await world.client.create(CONFIGMAPS, owned("child", top))
        waiting = asyncio.create_task(world.gone(CONFIGMAPS, "top"))
        await asyncio.sleep(0)
        await world.client.delete(CONFIGMAPS, "top", "default", Deletion("Orphan"))
        await waiting
        child = (await world.client.get(CONFIGMAPS, "child", "default")).json()
        assert "ownerReferences" not in child["metadata"]

    run(body)


def test_what_lost_its_owner_while_no_collector_ran_goes_at_the_next_start() -> None:
    async def body(world: World) -> None:
        owners = [(await world.client.create(CONFIGMAPS, config(name))).json() for name in ("gone", "there")]
        await world.client.create(CONFIGMAPS, owned("lost", owners[0]))
        await world.client.create(CONFIGMAPS, owned("kept", owners[1]))
        await world.garbage.stop()
        world.space.store._listeners.clear()
        await world.client.delete(CONFIGMAPS, "gone", "default")
        waiting = asyncio.create_task(world.gone(CONFIGMAPS, "lost"))
        await asyncio.sleep(0)
        world.garbage = GarbageCollector(world.space)
        world.garbage.start()
        await waiting
        assert {item.meta.name for item in (await world.client.list(CONFIGMAPS)).items} == {"there", "kept"}

    run(body)


@pytest.mark.parametrize("name", ["a", "z"])
def test_an_owner_that_is_deleted_while_the_collector_still_reads_takes_its_dependents_along(name: str) -> None:
    async def body(world: World) -> None:
        await world.garbage.stop()
        world.space.store._listeners.clear()
        owner = (await world.client.create(CONFIGMAPS, config(name))).json()
        for number in range(250):  # more than it reads in one turn
            await world.client.create(CONFIGMAPS, owned(f"m-{number}", owner))
        world.garbage = GarbageCollector(world.space)
        world.garbage.start()
        waiting = [asyncio.create_task(world.gone(CONFIGMAPS, f"m-{number}")) for number in (0, 249)]
        await asyncio.sleep(0)
        assert not world.garbage._complete
        assert not world.garbage._awaited
        await world.client.delete(CONFIGMAPS, name, "default", Deletion("Foreground"))
        assert world.garbage._awaited
        await asyncio.gather(*waiting, world.gone(CONFIGMAPS, name))
        assert (await world.client.list(CONFIGMAPS)).items == []

    run(body)


def test_a_namespace_takes_its_contents_with_it_and_accepts_nothing_new() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        inside = {**config("a"), "metadata": {"name": "a", "namespace": "team", "finalizers": ["x.io/y"]}}
        await world.client.create(CONFIGMAPS, inside)
        await world.client.create(CONFIGMAPS, {**config("b"), "metadata": {"name": "b", "namespace": "team"}})
        await world.client.delete(NAMESPACES, "team")
        with pytest.raises(ApiError, match="being terminated") as caught:
            await world.client.create(CONFIGMAPS, {**config("c"), "metadata": {"name": "c", "namespace": "team"}})
        assert caught.value.code == 403
        assert (await world.client.get(NAMESPACES, "team")).json()["status"]["phase"] == "Terminating"
        waiting = asyncio.create_task(world.gone(NAMESPACES, "team"))
        async for event in world.client.watch(CONFIGMAPS, Query("team", fields="metadata.name=a")):
            if event.item.meta.deletion_timestamp:
                break
        change = {"metadata": {"finalizers": None}}
        await world.client.patch(CONFIGMAPS, "a", change, "team", media=patching.MERGE_PATCH)
        await waiting
        with pytest.raises(ApiError, match='namespaces "team" not found'):
            await world.client.create(CONFIGMAPS, {**config("c"), "metadata": {"name": "c", "namespace": "team"}})

    run(body)


def test_pages_of_a_list_carry_the_revision_of_the_first_and_miss_nothing() -> None:
    async def body(world: World) -> None:
        for number in range(25):
            await world.client.create(CONFIGMAPS, config(f"c{number:02d}"))
        first = await world.client.list(CONFIGMAPS, limit=10)
        await world.client.create(CONFIGMAPS, config("c00a"))
        names, resume = [item.meta.name for item in first.items], first.resume
        while resume:
            page = await world.client.list(CONFIGMAPS, limit=10, resume=resume)
            assert page.revision == first.revision
            names += [item.meta.name for item in page.items]
            resume = page.resume
        assert names == [f"c{number:02d}" for number in range(25)]
        async for event in world.client.watch(CONFIGMAPS, revision=first.revision):
            assert event.item.meta.name == "c00a"
            break
        with pytest.raises(ApiError, match="invalid continue token"):
            await world.client.list(CONFIGMAPS, resume="nonsense!")

    run(body)


def test_a_watch_with_a_selector_sees_objects_come_and_go_by_their_labels() -> None:
    async def body(world: World) -> None:
        start = (await world.client.list(CONFIGMAPS)).revision
        obj = (await world.client.create(CONFIGMAPS, config("a"))).json()

        async def label(value: str | None, data: str) -> None:
            change = {"metadata": {"labels": {"app": value}}, "data": {"k": data}}
            await world.client.patch(CONFIGMAPS, "a", change, "default", media=patching.MERGE_PATCH)

        await label("web", "1")
        await label("web", "2")
        await label(None, "3")
        await label("web", "4")
        await world.client.delete(CONFIGMAPS, "a", "default")
        seen = []
        async for event in world.client.watch(CONFIGMAPS, Query(labels="app=web"), revision=start):
            seen.append((event.type, event.item.json()["data"]["k"]))
            if len(seen) == 5:
                break
        assert obj["metadata"]["name"] == "a"
        assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2"), ("ADDED", "4"), ("DELETED", "4")]

    run(body)


def test_bulk_gives_a_result_for_each_item_in_order() -> None:
    async def body(world: World) -> None:
        await world.client.create(CONFIGMAPS, config("b"))
        results = await world.client.bulk(
            [
                BulkItem("create", CONFIGMAPS, config("a")),
                BulkItem("create", CONFIGMAPS, config("b")),
                BulkItem("create", CONFIGMAPS, config("Not_A_Name")),
                BulkItem("update", CONFIGMAPS, config("b", k="v")),
                BulkItem("update", CONFIGMAPS, config("missing")),
            ]
        )
        codes = [result.code if isinstance(result, ApiError) else 200 for result in results]
        assert codes == [200, 409, 422, 200, 404]
        assert [item.meta.name for item in (await world.client.list(CONFIGMAPS)).items] == ["a", "b"]

    run(body)


def test_a_large_bulk_keeps_nobody_waiting() -> None:
    async def body(world: World) -> None:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        waiting = asyncio.ensure_future(others())
        results = await world.client.bulk([BulkItem("create", CONFIGMAPS, config(f"c-{n}")) for n in range(1000)])
        waiting.cancel()
        assert turns >= 10
        names = [result.meta.name for result in results if not isinstance(result, ApiError)]
        assert names == [f"c-{n}" for n in range(1000)]

    run(body)


def test_a_dry_run_answers_as_if_and_changes_nothing() -> None:
    async def body(world: World) -> None:
        shown = (await world.client.create(CONFIGMAPS, config("a"), dry_run=True)).json()
        assert shown["metadata"]["uid"]
        with pytest.raises(ApiError, match="not found"):
            await world.client.get(CONFIGMAPS, "a", "default")

    run(body)


def test_both_versions_of_a_kind_show_the_same_object() -> None:
    async def body(world: World) -> None:
        old = {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "ClusterQueue",
            "metadata": {"name": "q"},
            "spec": {"cohort": "team", "namespaceSelector": {}, "flavorFungibility": {"whenCanBorrow": "Borrow"}},
        }
        await world.client.create(QUEUES_OLD, old)
        new = (await world.client.get(QUEUES, "q")).json()
        assert new["apiVersion"] == "kueue.x-k8s.io/v1beta2"
        assert new["spec"]["cohortName"] == "team"
        assert new["spec"]["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
        again = (await world.client.get(QUEUES_OLD, "q")).json()
        assert again["spec"]["cohort"] == "team"
        change = {"spec": {"cohort": "other"}}
        await world.client.patch(QUEUES_OLD, "q", change, media=patching.MERGE_PATCH)
        assert (await world.client.get(QUEUES, "q")).json()["spec"]["cohortName"] == "other"

    run(body)


def test_an_update_in_either_version_that_changes_nothing_writes_nothing() -> None:
    async def body(world: World) -> None:
        flavors = {name: Resource("kueue.x-k8s.io", name, "resourceflavors", False) for name in ("v1beta1", "v1beta2")}
        made = await world.client.create(flavors["v1beta2"], {"metadata": {"name": "f"}, "spec": {}})
        for name, resource in flavors.items():
            sent = {**made.json(), "apiVersion": f"kueue.x-k8s.io/{name}"}
            again = (await world.client.update(resource, sent)).json()
            assert again["metadata"] == made.json()["metadata"]

    run(body)


def test_server_side_apply_owns_what_it_applies_and_names_whom_it_conflicts_with() -> None:
    async def body(world: World) -> None:
        await world.client.create(CONFIGMAPS, config("a", mine="1", theirs="1"))
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"mine": "2"}}
        other = LocalClient(world.space, "other")
        with pytest.raises(ApiError, match='conflict with "tester" using v1: .data.mine') as caught:
            await other.patch(CONFIGMAPS, "a", applied, "default", media=patching.APPLY_PATCH)
        assert caught.value.reason == "Conflict"
        forced = (await other.patch(CONFIGMAPS, "a", applied, "default", media=patching.APPLY_PATCH, force=True)).json()
        assert forced["data"] == {"mine": "2", "theirs": "1"}
        assert {entry["manager"] for entry in forced["metadata"]["managedFields"]} == {"tester", "other"}
        again = (await other.patch(CONFIGMAPS, "a", applied, "default", media=patching.APPLY_PATCH)).json()
        assert again == forced
        dropped = {**applied, "data": {}}
        left = (await other.patch(CONFIGMAPS, "a", dropped, "default", media=patching.APPLY_PATCH)).json()
        assert left["data"] == {"theirs": "1"}
        new = {**applied, "metadata": {"name": "new"}}
        made = (await other.patch(CONFIGMAPS, "new", new, "default", media=patching.APPLY_PATCH)).json()
        assert made["metadata"]["managedFields"][0]["operation"] == "Apply"

    run(body)


def test_applying_the_same_again_later_writes_nothing_even_where_the_server_fills_in_list_items() -> None:
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "f"},
        "spec": None,
    }
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "n"}
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {"resourceSelectors": [selector]},
    }
    placements = Resource("placement.kubernetes-fleet.io", "v1beta1", "clusterresourceplacements", namespaced=False)
    flavors = Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", namespaced=False)

    async def body(world: World) -> None:
        for resource, obj in ((flavors, flavor), (placements, placement)):
            name = obj["metadata"]["name"]
            world.space.clock.now = StoppedClock.now
            first = (await world.client.patch(resource, name, obj, media=patching.APPLY_PATCH)).json()
            world.space.clock.now += 60
            again = (await world.client.patch(resource, name, obj, media=patching.APPLY_PATCH)).json()
            assert again == first

    run(body)


def test_an_admission_hook_may_change_or_refuse() -> None:
    async def body(world: World) -> None:
        def hook(admission: Admission) -> None:
            if admission.operation == "CREATE" and admission.target.kind.name == "ConfigMap":
                if admission.new.metadata.name == "bad":
                    raise ApiError(403, "Forbidden", "not this one")
                admission.new.data = {**(admission.new.data or {}), "hooked": "yes"}

        world.space.objects.hooks.append(hook)
        assert (await world.client.create(CONFIGMAPS, config("a", k="v"))).json()["data"] == {"k": "v", "hooked": "yes"}
        with pytest.raises(ApiError, match="not this one"):
            await world.client.create(CONFIGMAPS, config("bad"))

    run(body)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", 400, "not valid JSON"),
        (b"[]", 400, "must be an object"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (
            b'{"metadata":{"name":"x","namespace":"default"},"data":{"a":1}}',
            400,
            "data.a: Invalid value: 1: must be a string",
        ),
        (b'{"metadata":{"name":"x"},"kind":"Secret"}', 400, "Secret in version"),
        (b'{"metadata":{"name":"x"},"apiVersion":"v2"}', 400, "does not match the expected API version"),
        (b'{"metadata":{"name":"x"},"dta":{}}', 400, 'unknown field "dta"'),
        (b'{"metadata":{"name":"../x"}}', 422, "metadata.name"),
        (b'{"metadata":{}}', 422, "name or generateName is required"),
        (b'{"metadata":{"name":"x","labels":{"a b":"c"}}}', 422, "metadata.labels"),
        (b'{"metadata":{"name":"x","resourceVersion":"5"}}', 400, "resourceVersion should not be set"),
    ],
)
def test_bad_input_is_refused_with_what_and_where(body: bytes, code: int, message: str) -> None:
    async def attempt(world: World) -> None:
        with pytest.raises(ApiError) as caught:
            await world.client.create(CONFIGMAPS, body, "default")
        assert caught.value.code == code
        assert message in caught.value.message
        assert (await world.client.list(CONFIGMAPS)).items == []

    run(attempt)
