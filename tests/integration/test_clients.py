"""One Client, in process and over HTTP: the same tests over both, the second through a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.inprocess import (
    APPLY,
    JSON_PATCH,
    MERGE,
    PATIENCE_S,
    STRATEGIC,
    Running,
    configmap,
    job,
    listening,
    running,
)

from fairway.api.client import BulkItem, Client, Deletion, Item, Query, Resource, WatchEvent
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import load_file
from fairway.api.local import LocalClient
from fairway.api.remote import BULK_PATH, RemoteClient
from fairway.cli import serving
from fairway.cli.contexts import SpaceContext, write_kubeconfig
from fairway.kinds.k8s.core.config import ConfigMap
from fairway.kinds.meta import ObjectMeta
from fairway.runtime import certificates
from fairway.runtime.clock import SystemClock
from fairway.runtime.http_transport import HttpTransport

CONFIGMAPS = Resource("", "v1", "configmaps")
JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
FLAVORS = Resource("kueue.x-k8s.io", "v1beta1", "resourceflavors", namespaced=False)
NOTHING = Resource("nope.example", "v1", "things")


class Reached:
    """A client of a node, with a namespace of its own, and the loop to use it in."""

    def __init__(self, node: Running, client: Client, namespace: str) -> None:
        self.node = node
        self.client = client
        self.namespace = namespace
        self.here = Query(namespace)

    def run(self, body: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENCE_S):
                await body()

        self.node.run(bounded())

    def configmap(self, name: str, **data: str) -> dict[str, Any]:
        body = configmap(name, **data)
        body["metadata"]["namespace"] = self.namespace
        return body

    async def create(self, name: str, **data: str) -> Item:
        return await self.client.create(CONFIGMAPS, self.configmap(name, **data))

    async def refused(self, call: Awaitable[Any]) -> ApiError:
        with pytest.raises(ApiError) as refusal:
            await call
        return refusal.value


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running() as node:
        for name in ("local", "remote"):
            node.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).ok
        yield node


@pytest.fixture(scope="module")
def port(node: Running) -> Iterator[int]:
    context = listening(node.app)
    yield node.run(context.__aenter__())
    node.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def remote(node: Running, port: int) -> Iterator[RemoteClient]:
    client = RemoteClient(HttpTransport(f"http://127.0.0.1:{port}"), lambda: node.admin.token, "tests")
    yield client
    node.run(client.close())


@pytest.fixture(params=["local", "remote"])
def reached(request: pytest.FixtureRequest, node: Running, remote: RemoteClient) -> Reached:
    local = LocalClient(node.space, "tests")
    return Reached(node, local if request.param == "local" else remote, request.param)


# --- read --------------------------------------------------------------------------------------------------------


def test_an_object_is_the_same_however_it_is_given_and_read(reached: Reached) -> None:
    async def body() -> None:
        typed = ConfigMap(metadata=ObjectMeta(name="typed", namespace=reached.namespace), data={"a": "1"})
        text = b'{"metadata":{"name":"text","namespace":"%s"},"data":{"a":"1"}}' % reached.namespace.encode()
        plain = reached.configmap("plain", a="1")
        for sent in (typed, text, plain):
            made = await reached.client.create(CONFIGMAPS, sent)
            found = await reached.client.get(CONFIGMAPS, made.meta.name, reached.namespace)
            assert found.value == made.value
            assert found.json()["data"] == {"a": "1"}
            assert found.to(ConfigMap).data == {"a": "1"}
            assert found.meta.uid
            await reached.client.delete(CONFIGMAPS, made.meta.name, reached.namespace)

    reached.run(body)


def test_an_object_without_a_namespace_goes_to_default(reached: Reached) -> None:
    async def body() -> None:
        made = await reached.client.create(CONFIGMAPS, configmap(f"nowhere-{reached.namespace}"))
        assert made.meta.namespace == "default"
        named = await reached.client.create(CONFIGMAPS, configmap("elsewhere"), reached.namespace)
        assert named.meta.namespace == reached.namespace
        await reached.client.delete(CONFIGMAPS, "elsewhere", reached.namespace)

    reached.run(body)


def test_pages_put_together_are_the_whole_list(reached: Reached) -> None:
    async def body() -> None:
        names = [f"page-{number:02}" for number in range(7)]
        for name in names:
            await reached.create(name)
        whole = await reached.client.list(CONFIGMAPS, reached.here)
        found: list[str] = []
        resume, pages = "", 0
        while True:
            page = await reached.client.list(CONFIGMAPS, reached.here, limit=3, resume=resume)
            assert page.revision == whole.revision
            found += [item.meta.name for item in page.items]
            resume, pages = page.resume, pages + 1
            if not resume:
                break
        assert found == [item.meta.name for item in whole.items] == names
        assert pages == 3
        for name in names:
            await reached.client.delete(CONFIGMAPS, name, reached.namespace)

    reached.run(body)


def test_labels_and_fields_select(reached: Reached) -> None:
    async def body() -> None:
        for name, color in (("r", "red"), ("g", "green")):
            body = reached.configmap(name)
            body["metadata"]["labels"] = {"color": color}
            await reached.client.create(CONFIGMAPS, body)

        async def names(**query: str) -> list[str]:
            listing = await reached.client.list(CONFIGMAPS, Query(reached.namespace, **query))
            return [item.meta.name for item in listing.items]

        assert await names(labels="color=red") == ["r"]
        assert await names(labels="color in (red, green),color!=red") == ["g"]
        assert await names(fields="metadata.name=g") == ["g"]
        for name in "rg":
            await reached.client.delete(CONFIGMAPS, name, reached.namespace)

    reached.run(body)


# --- watch -------------------------------------------------------------------------------------------------------


async def take(stream: AsyncIterator[WatchEvent], count: int) -> list[tuple[str, str]]:
    """Types and names of the next events, bookmarks left out."""
    found: list[tuple[str, str]] = []
    while len(found) < count:
        event = await anext(stream)
        if event.type != "BOOKMARK":
            found.append((event.type, event.item.meta.name))
    return found


def test_a_watch_from_a_list_tells_all_that_came_after_it_in_order(reached: Reached) -> None:
    async def body() -> None:
        await reached.create("before")
        start = (await reached.client.list(CONFIGMAPS, reached.here)).revision
        stream = reached.client.watch(CONFIGMAPS, reached.here, revision=start)
        await reached.create("w1")
        changed = reached.configmap("w1", a="2")
        await reached.client.update(CONFIGMAPS, changed)
        await reached.client.delete(CONFIGMAPS, "w1", reached.namespace)
        await reached.client.delete(CONFIGMAPS, "before", reached.namespace)
        assert await take(stream, 4) == [("ADDED", "w1"), ("MODIFIED", "w1"), ("DELETED", "w1"), ("DELETED", "before")]
        await stream.aclose()  # type: ignore[attr-defined]

    reached.run(body)


def test_a_watch_from_nowhere_begins_with_what_is_there(reached: Reached) -> None:
    async def body() -> None:
        await reached.create("there")
        for revision in ("", "0"):
            stream = reached.client.watch(CONFIGMAPS, reached.here, revision=revision)
            assert await take(stream, 1) == [("ADDED", "there")]
            await stream.aclose()  # type: ignore[attr-defined]
        await reached.client.delete(CONFIGMAPS, "there", reached.namespace)

    reached.run(body)


def test_an_object_that_ceases_to_match_is_deleted_for_the_watcher(reached: Reached) -> None:
    async def body() -> None:
        start = (await reached.client.list(CONFIGMAPS, reached.here)).revision
        stream = reached.client.watch(CONFIGMAPS, Query(reached.namespace, "on=yes"), revision=start)
        await reached.create("lamp")
        for value in ("yes", "no"):
            change = {"metadata": {"labels": {"on": value}}}
            await reached.client.patch(CONFIGMAPS, "lamp", change, reached.namespace, media=MERGE)
        assert await take(stream, 2) == [("ADDED", "lamp"), ("DELETED", "lamp")]
        await stream.aclose()  # type: ignore[attr-defined]
        await reached.client.delete(CONFIGMAPS, "lamp", reached.namespace)

    reached.run(body)


def test_a_watch_ends_when_its_time_is_up(reached: Reached) -> None:
    async def body() -> None:
        start = (await reached.client.list(CONFIGMAPS, reached.here)).revision
        events = [event async for event in reached.client.watch(CONFIGMAPS, reached.here, revision=start, seconds=1)]
        assert [event.type for event in events] in ([], ["BOOKMARK"])

    reached.run(body)


def test_a_watch_from_the_future_or_from_nonsense_is_refused(reached: Reached) -> None:
    async def body() -> None:
        for revision, code in (("99999999", 504), ("abc", 400)):
            stream = reached.client.watch(CONFIGMAPS, reached.here, revision=revision)
            assert (await reached.refused(anext(stream))).code == code

    reached.run(body)


def test_a_watch_from_a_forgotten_revision_is_told_410(reached: Reached) -> None:
    async def body() -> None:
        reached.node.space.store.bucket("secrets").floor = reached.node.space.store.revision
        stream = reached.client.watch(Resource("", "v1", "secrets"), revision="1")
        try:
            event = await anext(stream)
        except ApiError as error:
            code = error.code
        else:
            assert event.type == "ERROR"
            code = event.item.json()["code"]
        assert code == 410

    reached.run(body)


# --- write -------------------------------------------------------------------------------------------------------


def test_an_update_needs_the_newest_revision_if_it_names_one(reached: Reached) -> None:
    async def body() -> None:
        made = (await reached.create("u", a="1")).json()
        made["data"] = {"a": "2"}
        newer = await reached.client.update(CONFIGMAPS, made)
        assert newer.json()["data"] == {"a": "2"}
        error = await reached.refused(reached.client.update(CONFIGMAPS, made))
        assert (error.code, error.reason) == (409, "Conflict")
        await reached.client.delete(CONFIGMAPS, "u", reached.namespace)

    reached.run(body)


def test_status_and_the_rest_are_written_apart(reached: Reached) -> None:
    async def body() -> None:
        wanted = job("s", suspend=True)
        made = (await reached.client.create(JOBS, wanted, reached.namespace)).json()
        made["status"] = {"active": 3, "ready": 1}
        made["metadata"]["labels"] = {"ignored": "here"}
        after = (await reached.client.update(JOBS, made, subresource="status")).json()
        assert after["status"]["ready"] == 1
        assert "ignored" not in after["metadata"]["labels"]
        change = {"status": {"ready": 2}}
        patched = await reached.client.patch(JOBS, "s", change, reached.namespace, media=MERGE, subresource="status")
        assert patched.json()["status"]["ready"] == 2
        unchanged = await reached.client.patch(JOBS, "s", {"status": {"ready": 9}}, reached.namespace, media=MERGE)
        assert unchanged.json()["status"]["ready"] == 2
        await reached.client.delete(JOBS, "s", reached.namespace)

    reached.run(body)


def test_patches_of_every_type_apply(reached: Reached) -> None:
    async def body() -> None:
        await reached.create("p", a="1", b="2")

        async def patch(change: Any, media: str, **more: Any) -> Any:
            item = await reached.client.patch(CONFIGMAPS, "p", change, reached.namespace, media=media, **more)
            return item.json()["data"]

        assert await patch({"data": {"a": None, "c": "3"}}, MERGE) == {"b": "2", "c": "3"}
        assert await patch([{"op": "remove", "path": "/data/b"}], JSON_PATCH) == {"c": "3"}
        assert await patch({"data": {"d": "4"}}, STRATEGIC) == {"c": "3", "d": "4"}
        assert await patch({"data": {"e": "5"}}, MERGE, dry_run=True) == {"c": "3", "d": "4", "e": "5"}
        found = await reached.client.get(CONFIGMAPS, "p", reached.namespace)
        assert found.json()["data"] == {"c": "3", "d": "4"}
        await reached.client.delete(CONFIGMAPS, "p", reached.namespace)

    reached.run(body)


def test_an_apply_creates_owns_and_asks_before_it_takes(reached: Reached) -> None:
    async def body() -> None:
        wanted = configmap("ssa", a="1")
        made = await reached.client.patch(CONFIGMAPS, "ssa", wanted, reached.namespace, media=APPLY)
        (entry,) = made.json()["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("tests", "Apply")
        other = LocalClient(reached.node.space, "other")
        change = {"data": {"a": "2"}}
        await other.patch(CONFIGMAPS, "ssa", change, reached.namespace, media=MERGE)
        refusal = await reached.refused(reached.client.patch(CONFIGMAPS, "ssa", wanted, reached.namespace, media=APPLY))
        assert (refusal.code, refusal.details["causes"][0]["field"]) == (409, ".data.a")
        forced = await reached.client.patch(CONFIGMAPS, "ssa", wanted, reached.namespace, media=APPLY, force=True)
        assert forced.json()["data"] == {"a": "1"}
        await reached.client.delete(CONFIGMAPS, "ssa", reached.namespace)

    reached.run(body)


def test_a_dry_run_answers_and_changes_nothing(reached: Reached) -> None:
    async def body() -> None:
        made = await reached.client.create(CONFIGMAPS, reached.configmap("dry"), dry_run=True)
        assert made.meta.name == "dry"
        assert (await reached.refused(reached.client.get(CONFIGMAPS, "dry", reached.namespace))).code == 404
        await reached.create("wet", a="1")
        shown = await reached.client.update(CONFIGMAPS, reached.configmap("wet", a="2"), dry_run=True)
        assert shown.json()["data"] == {"a": "2"}
        assert (await reached.client.get(CONFIGMAPS, "wet", reached.namespace)).json()["data"] == {"a": "1"}
        await reached.client.delete(CONFIGMAPS, "wet", reached.namespace)

    reached.run(body)


def test_a_delete_keeps_to_its_preconditions(reached: Reached) -> None:
    async def body() -> None:
        first = await reached.create("d")
        for how in (Deletion(uid="other"), Deletion(resource_version="1")):
            error = await reached.refused(reached.client.delete(CONFIGMAPS, "d", reached.namespace, how))
            assert (error.code, error.reason) == (409, "Conflict")
        await reached.client.delete(CONFIGMAPS, "d", reached.namespace, Deletion(uid=first.meta.uid))
        assert (await reached.refused(reached.client.delete(CONFIGMAPS, "d", reached.namespace))).code == 404

    reached.run(body)


def test_a_foreground_delete_waits_for_what_it_owns(reached: Reached) -> None:
    async def body() -> None:
        owner = await reached.create("owner")
        child = reached.configmap("child")
        child["metadata"]["finalizers"] = ["example.com/hold"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.meta.uid}
        child["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
        await reached.client.create(CONFIGMAPS, child)
        await reached.client.delete(CONFIGMAPS, "owner", reached.namespace, Deletion("Foreground"))
        waiting = await reached.client.get(CONFIGMAPS, "owner", reached.namespace)
        assert waiting.meta.deletion_timestamp
        by_name = Query(reached.namespace, fields="metadata.name=owner")
        start = (await reached.client.list(CONFIGMAPS, by_name)).revision
        stream = reached.client.watch(CONFIGMAPS, by_name, revision=start)
        change = [{"op": "remove", "path": "/metadata/finalizers"}]
        await reached.client.patch(CONFIGMAPS, "child", change, reached.namespace, media=JSON_PATCH)
        while (await take(stream, 1))[0][0] != "DELETED":
            pass
        await stream.aclose()  # type: ignore[attr-defined]

    reached.run(body)


def test_what_is_sent_to_a_subresource_arrives_there(reached: Reached) -> None:
    async def body() -> None:
        spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        await reached.client.create(PODS, {"metadata": {"name": "bound"}, "spec": spec}, reached.namespace)
        binding = {"target": {"kind": "Node", "name": "here"}}
        await reached.client.post(PODS, "bound", "binding", binding, reached.namespace)
        pod = await reached.client.get(PODS, "bound", reached.namespace)
        assert pod.json()["spec"]["nodeName"] == "here"
        again = await reached.refused(reached.client.post(PODS, "bound", "binding", binding, reached.namespace))
        assert (again.code, again.reason) == (409, "Conflict")
        nothing = await reached.refused(reached.client.post(PODS, "bound", "nothing", {}, reached.namespace))
        assert nothing.code in (404, 405)
        await reached.client.delete(PODS, "bound", reached.namespace)

    reached.run(body)


def test_many_writes_at_once_have_a_result_each(reached: Reached) -> None:
    async def body() -> None:
        await reached.create("there", a="1")
        results = await reached.client.bulk(
            [
                BulkItem("create", CONFIGMAPS, reached.configmap("b1")),
                BulkItem("create", CONFIGMAPS, reached.configmap("there")),
                BulkItem("update", CONFIGMAPS, reached.configmap("there", a="2")),
                BulkItem("update", CONFIGMAPS, reached.configmap("absent")),
                BulkItem("updateStatus", CONFIGMAPS, reached.configmap("there")),
                BulkItem("create", CONFIGMAPS, {"metadata": {"name": "B_", "namespace": reached.namespace}} | TYPE),
            ]
        )
        assert [result.code if isinstance(result, ApiError) else result.meta.name for result in results] == [
            "b1",
            409,
            "there",
            404,
            404,
            422,
        ]
        for name in ("b1", "there"):
            await reached.client.delete(CONFIGMAPS, name, reached.namespace)

    reached.run(body)


TYPE = {"apiVersion": "v1", "kind": "ConfigMap"}


def test_many_deletes_at_once_have_a_result_each_and_name_what_they_mean(reached: Reached) -> None:
    async def body() -> None:
        first, second = await reached.create("d1"), await reached.create("d2")
        other = Deletion(uid=second.meta.uid)
        results = await reached.client.bulk(
            [
                BulkItem("delete", CONFIGMAPS, reached.configmap("d1"), how=other),
                BulkItem("delete", CONFIGMAPS, reached.configmap("absent")),
                BulkItem("delete", CONFIGMAPS, reached.configmap("d1"), how=Deletion(uid=first.meta.uid)),
                BulkItem("delete", CONFIGMAPS, reached.configmap("d2"), how=Deletion("Foreground")),
                BulkItem("delete", CONFIGMAPS, {"metadata": {"namespace": reached.namespace}} | TYPE),
            ]
        )
        assert [each.code if isinstance(each, ApiError) else each.meta.name for each in results] == [
            409,
            404,
            "d1",
            "d2",
            400,
        ]
        assert (await reached.refused(reached.client.get(CONFIGMAPS, "d1", reached.namespace))).code == 404

    reached.run(body)


def test_more_than_one_call_can_hold_is_written_all_the_same(reached: Reached) -> None:
    async def body() -> None:
        count = 25
        large = "x" * 100_000
        items = [BulkItem("create", CONFIGMAPS, reached.configmap(f"l-{n}", x=large)) for n in range(count)]
        results = await reached.client.bulk(items)
        assert [result.meta.name for result in results if isinstance(result, Item)] == [f"l-{n}" for n in range(count)]
        for n in range(count):
            await reached.client.delete(CONFIGMAPS, f"l-{n}", reached.namespace)

    reached.run(body)


# --- refusals ----------------------------------------------------------------------------------------------------

REFUSALS: dict[str, Callable[[Reached], Awaitable[Any]]] = {
    "absent": lambda on: on.client.get(CONFIGMAPS, "absent", on.namespace),
    "absent everywhere": lambda on: on.client.get(NAMESPACES, "absent"),
    "no name to get": lambda on: on.client.get(CONFIGMAPS, "", on.namespace),
    "no name to delete": lambda on: on.client.delete(CONFIGMAPS, "", on.namespace),
    "no name to patch": lambda on: on.client.patch(CONFIGMAPS, "", {}, on.namespace, media=MERGE),
    "no name to update": lambda on: on.client.update(CONFIGMAPS, {**TYPE, "metadata": {"namespace": "default"}}),
    "strange name": lambda on: on.client.get(CONFIGMAPS, "secrets?x=y#z%41", on.namespace),
    "two dots": lambda on: on.client.delete(CONFIGMAPS, "..", on.namespace),
    "exists": lambda on: on.client.create(NAMESPACES, {"metadata": {"name": "default"}}),
    "invalid": lambda on: on.client.create(CONFIGMAPS, {"metadata": {"name": "A_b"}}, on.namespace),
    "wrong type": lambda on: on.client.create(CONFIGMAPS, {"metadata": {"name": "x"}, "data": 5}, on.namespace),
    "no namespace": lambda on: on.client.create(CONFIGMAPS, configmap("x"), "absent"),
    "selector": lambda on: on.client.list(CONFIGMAPS, Query(labels="a b")),
    "field": lambda on: on.client.list(JOBS, Query(fields="spec.foo=1")),
    "revision": lambda on: on.client.list(CONFIGMAPS, revision="abc"),
    "continue": lambda on: on.client.list(CONFIGMAPS, resume="abc"),
    "patch": lambda on: on.client.patch(FLAVORS, "f", [{"op": "x"}], media=JSON_PATCH),
    "media": lambda on: on.client.patch(FLAVORS, "f", {}, media=STRATEGIC),
    "kind": lambda on: on.client.create(CONFIGMAPS, {**TYPE, "kind": "Secret", "metadata": {"name": "x"}}, "default"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_is_word_for_word_the_same_both_ways(node: Running, remote: RemoteClient, what: str) -> None:
    async def body() -> None:
        flavor = {"metadata": {"name": "f"}}
        local = LocalClient(node.space, "tests")
        if what in ("patch", "media"):
            await local.patch(FLAVORS, "f", {**flavor, **FLAVOR}, media=APPLY)
        errors = []
        for client in (local, remote):
            on = Reached(node, client, "remote")
            errors.append(await on.refused(REFUSALS[what](on)))
        first, second = errors
        assert (first.code, first.reason, first.message) == (second.code, second.reason, second.message)
        assert first.details == second.details
        assert 400 <= first.code < 500

    node.run(body())


FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor"}


def test_a_kind_that_is_not_served_is_not_found(reached: Reached) -> None:
    async def body() -> None:
        for call in (
            reached.client.get(NOTHING, "x"),
            reached.client.list(NOTHING),
            reached.client.create(NOTHING, {"metadata": {"name": "x"}}),
            reached.client.delete(NOTHING, "x"),
        ):
            assert (await reached.refused(call)).code == 404

    reached.run(body)


# --- only over HTTP ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [404, 403])
def test_a_server_without_bulk_calls_is_written_to_one_by_one(node: Running, answer: int) -> None:
    """A real Kubernetes has none: it says 404 to those who may ask for any path, and 403 to all others."""
    asked = []

    async def without_bulk(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != BULK_PATH:
            await node.app(scope, receive, send)
            return
        asked.append(scope["path"])
        status = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d}' % answer
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(status))]
        await send({"type": "http.response.start", "status": answer, "headers": headers})
        await send({"type": "http.response.body", "body": status})

    async def body() -> None:
        async with listening(without_bulk) as port:  # type: ignore[arg-type]
            client = RemoteClient(HttpTransport(f"http://127.0.0.1:{port}"), lambda: node.admin.token, "tests")
            on = Reached(node, client, "remote")
            results = await client.bulk(
                [
                    BulkItem("create", CONFIGMAPS, on.configmap("one")),
                    BulkItem("update", CONFIGMAPS, on.configmap("absent")),
                ]
            )
            assert isinstance(results[0], Item)
            assert isinstance(results[1], ApiError)
            assert results[1].code == 404
            deleted = await client.bulk(
                [
                    BulkItem("delete", CONFIGMAPS, on.configmap("one")),
                    BulkItem("delete", CONFIGMAPS, on.configmap("absent")),
                ]
            )
            assert [each.code if isinstance(each, ApiError) else each.meta.name for each in deleted] == ["one", 404]
            assert len(asked) == 1, "it is asked once"
            await client.close()

    node.run(body())


def test_what_is_no_api_is_told_apart_from_a_refusal(node: Running) -> None:
    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        body = b"<html>\xff welcome to the proxy</html>"
        headers = [(b"content-type", b"text/html"), (b"content-length", b"%d" % len(body))]
        status = 503 if b"status" in scope["query_string"] or scope["method"] == "POST" else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def body() -> None:
        async with listening(proxy) as port:  # type: ignore[arg-type]
            client = RemoteClient(HttpTransport(f"http://127.0.0.1:{port}"), lambda: "", "tests")
            on = Reached(node, client, "default")
            listed = await on.refused(client.list(CONFIGMAPS))
            assert (listed.code, listed.reason) == (502, "BadGateway")
            watched = await on.refused(anext(client.watch(CONFIGMAPS)))
            assert watched.code in (0, 502)
            created = await on.refused(client.create(CONFIGMAPS, configmap("x")))
            assert created.code == 503
            assert "welcome to the proxy" in created.message
        for why in ("cannot be reached", "closed by this side"):
            gone = await on.refused(client.get(CONFIGMAPS, "x", "default"))
            assert (gone.code, gone.reason, why in gone.message) == (0, "Unreachable", True)
            await client.close()

    node.run(body())


def test_the_kubeconfig_of_a_node_leads_to_each_of_its_spaces(tmp_path: Path) -> None:
    """Over TLS, with the authority and the tokens that it carries, and to nobody else."""
    tls = certificates.ensure(tmp_path / "tls")
    other = certificates.ensure(tmp_path / "other")

    async def body(node: Running) -> None:
        async with listening(node.app, serving.Certificate(tls.server, tls.server)) as port:
            url = f"https://127.0.0.1:{port}"
            tokens = [await node.node.admin_token(space, "") for space in node.node.spaces]
            contexts = [
                SpaceContext("fairway", url, tls.authority_pem, tokens[0]),
                SpaceContext("fairway-member", f"{url}/spaces/member", tls.authority_pem, tokens[1]),
                SpaceContext("impostor", url, other.authority_pem, tokens[0]),
            ]
            write_kubeconfig(tmp_path / "kubeconfig", contexts)
            for name, marker in (("", "in-default"), ("fairway-member", "in-member")):
                client = load_file(tmp_path / "kubeconfig", SystemClock(), context=name).connect("tests")
                await client.create(CONFIGMAPS, configmap(marker))
                assert [item.meta.name for item in (await client.list(CONFIGMAPS, Query("default"))).items] == [marker]
                await client.close()
            impostor = load_file(tmp_path / "kubeconfig", SystemClock(), context="impostor").connect("tests")
            refusal = await Reached(node, impostor, "default").refused(impostor.list(CONFIGMAPS))
            assert (refusal.code, refusal.reason) == (0, "Unreachable")
            assert "certificate" in refusal.message
            await impostor.close()

    with running(names=("default", "member")) as node:
        node.run(body(node))
