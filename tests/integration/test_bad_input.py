"""Whatever is sent, the answer is a Status that says what is wrong, nothing half-written remains, and the node goes on."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.inprocess import (
    APPLY,
    CONFIGMAPS,
    JOBS,
    JSON,
    JSON_PATCH,
    MERGE,
    PATIENCE_S,
    STRATEGIC,
    TABLE,
    Answer,
    Client,
    Running,
    configmap,
    job,
    running,
)

from fairway.server import app as server_app
from fairway.server.tokens import issue_token
from fairway.store.sqlite import SqliteLog

YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MEDIA = (MERGE, JSON_PATCH, STRATEGIC, APPLY)
BULK = "/apis/fairway.dev/v1/bulk"
TOO_LARGE = "the request body is larger than 3 MiB"


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running(names=("default", "other")) as node:
        node.call("POST", CONFIGMAPS, configmap("kept", a="b")).ok
        yield node


@pytest.fixture(autouse=True)
def no_surprises(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """An error that the server did not expect is logged, even if the client is told nothing about it."""
    yield
    surprises = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not surprises, [record.getMessage() for record in surprises]


def refused(node: Running, answer: Answer, *statuses: int) -> str:
    """The message of a refusal that changed nothing and harmed nobody."""
    assert answer.status in statuses, (answer.status, answer.body[:500])
    message = answer.refused(answer.status)
    assert node.get(f"{CONFIGMAPS}/kept").ok["data"] == {"a": "b"}
    return message


def nested(depth: int, around: bytes = b"%s") -> bytes:
    return around % (b'{"a":' * depth + b"1" + b"}" * depth)


# --- bodies ------------------------------------------------------------------------------------------------------


def big() -> bytes:
    return b'{"metadata":{"name":"big"},"data":{"x":"' + b"a" * 10_000_000 + b'"}}'


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_body_of_10_mb_is_refused_before_it_is_read(node: Running, method: str) -> None:
    url = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/kept"
    headers = {"content-length": "10000052"}
    answer = node.call(method, url, b"{", headers=headers, content=MERGE if method == "PATCH" else JSON)
    assert refused(node, answer, 413).startswith(TOO_LARGE)


def test_a_body_of_10_mb_in_chunks_is_refused_once_it_is_too_large(node: Running) -> None:
    data = big()
    chunks = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    assert refused(node, node.call("POST", CONFIGMAPS, chunks=chunks), 413).startswith(TOO_LARGE)
    assert refused(node, node.call("POST", BULK, chunks=chunks), 413).startswith(TOO_LARGE)


def test_a_body_that_breaks_off_writes_nothing(node: Running) -> None:
    whole = msgspec.json.encode(configmap("half"))
    answer = node.call("POST", CONFIGMAPS, chunks=[whole[:20], whole[20:]])
    assert "the request ended before its body did" in refused(node, answer, 400)
    node.get(f"{CONFIGMAPS}/half").refused(404)


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b"[" * 100_000, JSON),
        (nested(5000), JSON),
        (nested(900, b'{"metadata":{"name":"x"},"data":%s}'), JSON),
        (b"a: " + b"[" * 3000 + b"]" * 3000, YAML),
        (b"{a: " * 3000 + b"1" + b"}" * 3000, YAML),
    ],
    ids=["list", "object", "field", "yaml list", "yaml object"],
)
def test_deep_nesting_is_refused(node: Running, body: bytes, content: str) -> None:
    assert len(refused(node, node.call("POST", CONFIGMAPS, body, content=content), 400)) > 20


@pytest.mark.parametrize("media", MEDIA)
def test_deeply_nested_patches_are_refused(node: Running, media: str) -> None:
    for body in (nested(3000), nested(900, b'{"data":%s}'), nested(900, b'[{"op":"add","path":"/data/x","value":%s}]')):
        refused(node, node.call("PATCH", f"{CONFIGMAPS}/kept?fieldManager=m", body, content=media), 400, 422)


def test_a_custom_object_may_not_be_nested_without_bound(node: Running) -> None:
    """Where a schema keeps what it does not know, depth is still bounded: no walk over it may run out of stack."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": "deep.example",
        "scope": "Namespaced",
        "names": {"plural": "wells", "kind": "Well"},
        "versions": [version],
    }
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    node.call("POST", crds, {"metadata": {"name": "wells.deep.example"}, "spec": spec}).ok
    url = "/apis/deep.example/v1/namespaces/default/wells"
    head = b'{"apiVersion":"deep.example/v1","kind":"Well","metadata":{"name":"w"},"spec":%s}'
    for depth in (90, 400, 900, 5000):
        answer = node.call("POST", url, nested(depth, head))
        if answer.status == 201:
            node.get(url, accept=TABLE).ok
            patch = node.call("PATCH", f"{url}/w?fieldManager=m", nested(depth, head), content=APPLY)
            assert patch.status in (200, 400, 409)
            node.call("DELETE", f"{url}/w").ok
        else:
            refused(node, answer, 400, 422)
    node.call("DELETE", f"{crds}/wells.deep.example").ok


WRONG_BODIES = [
    b"null",
    b"1",
    b'"x"',
    b"[]",
    b"true",
    b"",
    b"   ",
    b"{",
    b"\x00",
    b"\xff\xfe",
    b'{"metadata":{"name":"\xff"}}',
    b'{"metadata":{"name":"x"},"data":{"a":"\xc3("}}',
    b'{"metadata":{"name":"sur\\ud800"}}',
    b'{"metadata":{"name":"x"}} trailing',
    b'{"metadata":{"name":"x"},"data":{"a":NaN}}',
    b'{"kind":1}',
    b'{"apiVersion":{}}',
    b'{"metadata":[]}',
    b'{"metadata":{"name":1}}',
    b'{"metadata":{"name":"x","labels":{"a":1}}}',
    b'{"metadata":{"name":"x","labels":["a"]}}',
    b'{"metadata":{"name":"x"},"data":{"a":1}}',
    b'{"metadata":{"name":"x"},"data":[]}',
    b'{"metadata":{"name":"x","selfLink":5}}',
    b'{"metadata":{"name":"x","ownerReferences":"a"}}',
    b'{"metadata":{"name":"x","namespace":"other"}}',
    b'{"metadata":{"name":"x","resourceVersion":"5"}}',
]
INVALID_BODIES = [
    b"{}",
    b'{"metadata":null}',
    b'{"metadata":{"name":"a\\u0000b"}}',
    b'{"metadata":{"name":"x","creationTimestamp":"garbage"}}',
    b'{"metadata":{"name":"x","ownerReferences":[{}]}}',
    b'{"metadata":{"name":"x","finalizers":[""]}}',
    b'{"metadata":{"name":"%s"}}' % (b"x" * 300),
    b'{"metadata":{"name":"a/b"}}',
    b'{"metadata":{"name":".."}}',
    b'{"metadata":{"name":"x","labels":{"a b":"c"}}}',
    b'{"metadata":{"name":"x","labels":{"a":"b c"}}}',
    b'{"metadata":{"name":"x","annotations":{"%s":"v"}}}' % (b"k" * 400),
    b'{"metadata":{"name":"x","annotations":{"k":"%s"}}}' % (b"v" * 300_000),
]


@pytest.mark.parametrize("body", [*WRONG_BODIES, *INVALID_BODIES], ids=lambda body: repr(body[:50]))
def test_a_body_that_is_no_such_object_is_refused(node: Running, body: bytes) -> None:
    answer = node.call("POST", CONFIGMAPS, body)
    message = refused(node, answer, 422 if body in INVALID_BODIES else 400)
    assert not re.search(r"NoneType|<class|Error\(|\bdict\b|\bstr\b", message), message
    if answer.status == 422:
        assert all(cause["field"].startswith("metadata") for cause in answer.json["details"]["causes"])
    node.get(f"{CONFIGMAPS}/x").refused(404)


def test_a_name_given_twice_is_refused_where_the_client_asks_to_be_strict(node: Running) -> None:
    body = b'{"metadata":{"name":"d1","name":"d2"},"data":{"a":"1","b":"2","a":"3"}}'
    message = refused(node, node.call("POST", f"{CONFIGMAPS}?fieldValidation=Strict", body), 400)
    assert message.endswith('strict decoding error: duplicate field "metadata.name", duplicate field "data.a"')
    in_list = b'{"metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"a","name":"b"}]}}}}'
    message = refused(node, node.call("POST", f"{JOBS}?fieldValidation=Strict", in_list), 400)
    assert message.endswith('duplicate field "spec.template.spec.containers[0].name"')
    assert node.call("POST", f"{CONFIGMAPS}?dryRun=All", body).ok["metadata"]["name"] == "d2"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("1e400", "Number out of range"),
        ("99999999999999999999", "must be less than or equal to 2147483647"),
        ("2147483648", "must be less than or equal to 2147483647"),
        ("1.5", "must be an integer"),
        ('"1"', "must be an integer, not a string"),
        ("true", "must be an integer, not a boolean"),
        ("[]", "must be an integer, not an array"),
        ("9" * 5000, ""),
    ],
)
def test_a_number_that_is_none_or_too_large_is_refused(node: Running, value: str, what: str) -> None:
    text = msgspec.json.encode(job("num", parallelism=77)).replace(b"77", value.encode())
    answer = node.call("POST", JOBS, text)
    assert what in refused(node, answer, 400, 422)


@pytest.mark.parametrize(
    "value", ["abc", "1 Gi", "1e400", "1e99999999999", "", "9" * 5000, "0." + "0" * 5000 + "1", True, {}, [], "1.5.5"]
)
def test_a_quantity_that_is_none_is_refused_with_its_place(node: Running, value: Any) -> None:
    body = job("quantity")
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": value}}
    message = refused(node, node.call("POST", JOBS, body), 400, 422)
    assert "spec.template.spec.containers[0].resources.limits" in message


def bomb() -> bytes:
    lines = [b'a: &a ["x","x","x","x","x","x","x","x","x"]']
    for letter in b"bcdefghi":
        lines.append(b"%c: &%c [%s]" % (letter, letter, b",".join([b"*%c" % (letter - 1)] * 9)))
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (bomb(), "anchors and aliases are not accepted"),
        (b"metadata: {name: &a x, namespace: *a}", "anchors and aliases are not accepted"),
        (b"---", "one YAML document with an object"),
        (b"- a", "one YAML document with an object"),
        (b"a: 1\n---\nb: 2\n", "not valid YAML"),
        (b"metadata: {name: !!python/object:os.system x}", "not valid YAML"),
        (b"metadata: {? [1] : 2}", "not valid YAML"),
        (b"metadata: {name: x, name: y}", "the key 'name' is given twice"),
        (b"metadata: {name: y}\ndata: {a: !!binary aGVsbG8=}", "type bytes"),
        (b"metadata: {name: y}\ndata: {a: 0x10}", "data.a"),
        (b"\t bad", "not valid YAML"),
        (b"\xff\xfe\x00", "not valid YAML"),
        (b"!!set {a, b}", "type set"),
        (b"metadata: {name: x}\nspec: " + b"9" * 5000, "not valid YAML"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_yaml_that_is_no_object_is_refused(node: Running, body: bytes, what: str) -> None:
    assert what in refused(node, node.call("POST", CONFIGMAPS, body, content=YAML), 400)


def test_broken_protobuf_is_refused_whatever_is_broken(node: Running) -> None:
    """A real message, cut at every length and with bytes changed at random."""
    meta = b"\x0a\x02pb"
    inner = b"\x0a" + bytes([len(meta)]) + meta + b"\x12\x06\x0a\x01k\x12\x01v"
    whole = b"k8s\x00" + b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap" + b"\x12" + bytes([len(inner)]) + inner
    url = f"{CONFIGMAPS}?dryRun=All"
    created = node.call("POST", url, whole, content=PROTOBUF).ok
    assert (created["metadata"]["name"], created["data"]) == ("pb", {"k": "v"})
    chance = random.Random(1)
    broken = [whole[:length] for length in range(1, len(whole))]
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        broken.append(bytes(data))
    for data in broken:
        answer = node.call("POST", url, data, content=PROTOBUF)
        assert answer.status in (201, 400, 422), (data, answer.body)
        assert answer.json["kind"] in ("ConfigMap", "Status")


# --- patches, deletes, bulk --------------------------------------------------------------------------------------

PATCHES = [
    b"null",
    b"1",
    b'"x"',
    b"[1]",
    b"[{}]",
    b'[{"op":"nope","path":"/a"}]',
    b'[{"op":"add"}]',
    b'[{"op":"add","path":5}]',
    b'[{"op":"replace","path":"","value":1}]',
    b'[{"op":"replace","path":"/metadata/name","value":"zz"}]',
    b'[{"op":"add","path":"/data/~","value":"1"}]',
    b'[{"op":"copy","from":"/data","path":"/data/a/b/c"}]',
    b'[{"op":"move","from":"/data","path":"/data/x"}]',
    b'{"data":5}',
    b'{"data":{"a":5}}',
    b'{"kind":"Pod"}',
    b'{"apiVersion":"v2"}',
    b'{"metadata":{"resourceVersion":"abc"}}',
    b'{"metadata":{"managedFields":5}}',
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":5}}',
    b'{"data":{"a":"\xff"}}',
    b"\xff",
    b"",
]


@pytest.mark.parametrize("media", MEDIA)
@pytest.mark.parametrize("body", PATCHES, ids=lambda body: repr(body[:40]))
def test_a_patch_that_does_not_apply_is_refused(node: Running, media: str, body: bytes) -> None:
    refused(node, node.call("PATCH", f"{CONFIGMAPS}/kept?fieldManager=m", body, content=media), 400, 409, 415, 422)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"1",
        b"[]",
        b"{bad",
        b'{"preconditions":5}',
        b'{"preconditions":{"uid":5}}',
        b'{"gracePeriodSeconds":"x"}',
        b'{"gracePeriodSeconds":-1}',
        b'{"gracePeriodSeconds":9999999999999999999999}',
        b'{"propagationPolicy":"x"}',
        b'{"propagationPolicy":5}',
        b'{"dryRun":"All"}',
        b'{"dryRun":["x"]}',
        b'{"orphanDependents":true,"propagationPolicy":"Orphan"}',
        b'{"preconditions":{"resourceVersion":"abc"}}',
    ],
)
def test_a_delete_whose_options_mean_nothing_deletes_nothing(node: Running, body: bytes) -> None:
    refused(node, node.call("DELETE", f"{CONFIGMAPS}/kept", body), 400, 409, 422)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"items":null}',
        b'{"items":[null]}',
        b'{"items":[{"verb":"drop"}]}',
        b'{"items":"\xff"}',
    ],
)
def test_a_bulk_call_that_is_none_is_refused(node: Running, body: bytes) -> None:
    refused(node, node.call("POST", BULK, body), 400)


def test_a_bad_item_of_a_bulk_call_is_refused_and_the_others_go_through(node: Running) -> None:
    def items(*objects: Any, verb: str = "create") -> list[dict[str, Any]]:
        return [{"verb": verb, "object": each} for each in objects]

    body = {
        "items": items(configmap("bulk-good"), None, {"apiVersion": "v1"}, {"apiVersion": "no/v1", "kind": "X"})
        + items(configmap("absent"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": 5}, verb="update")
        + items(configmap("kept"), verb="updateStatus")
    }
    results = node.call("POST", BULK, body).ok["items"]
    assert [result["code"] for result in results] == [201, 400, 400, 404, 404, 400, 404]
    assert all(result["object"]["kind"] == "Status" for result in results[1:])
    node.call("DELETE", f"{CONFIGMAPS}/bulk-good").ok


# --- addresses, headers, methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/../../etc/passwd",
        "/api/v1/namespaces/default/configmaps/../secrets",
        "/api/v1/namespaces/default/configmaps/..",
        "/api/v1/namespaces//pods",
        "/api//v1/pods",
        "/api/v1/namespaces/default/configmaps/a\x00b",
        "/api/v1/" + "y" * 50_000,
        "/" + "x" * 50_000,
        "/api/v1/namespaces/default/configmaps/" + "z" * 50_000,
        "/api/v1/namespaces/a/b/c/d/e/f",
        "/apis/batch/v1/jobs/a/b/c",
        "/api/v1/namespaces/default/nodes",
        "/openapi/v3/../..",
        "/spaces/",
        "/spaces/nope/api/v1/pods",
        "/spaces/../api",
    ],
    ids=lambda path: repr(path[:50]),
)
def test_a_path_that_leads_nowhere_is_not_found(node: Running, path: str) -> None:
    answer = node.get(path)
    assert answer.status == 404
    assert answer.text == "404 page not found\n" or answer.refused(404)


def test_an_unknown_space_is_named_with_those_that_are_served(node: Running) -> None:
    message = node.get("/spaces/nope/api").refused(404, "NotFound")
    assert "'/spaces/nope'" in message
    assert "/spaces/default, /spaces/other" in message


def test_a_token_of_one_space_says_nothing_in_another(node: Running) -> None:
    node.get("/spaces/other/api/v1/configmaps").refused(401, "Unauthorized")
    assert node.get("/spaces/default/api/v1/configmaps").status == 200


@pytest.mark.parametrize(
    "query",
    [
        "limit=99999999999999999999999",
        "limit=1.5",
        "limit=-1",
        "limit=%00",
        "limit=²",
        "watch=true&timeoutSeconds=abc",
        "watch=true&timeoutSeconds=-5",
        "watch=true&timeoutSeconds=99999999999999999999",
        "labelSelector=%00",
        "labelSelector=(((",
        "labelSelector=a%20in%20(",
        "fieldSelector=%ff",
        "fieldSelector=a",
        "continue=%00",
        "continue=" + "A" * 9999,
        "continue=eyJ2IjoieCIsInJ2IjotNSwic3RhcnQiOiJcdTAwMDAifQ",
        "resourceVersion=99999999999999999999999999",
        "resourceVersion=٣",
    ],
)
def test_a_query_that_means_nothing_is_refused(node: Running, query: str) -> None:
    refused(node, node.get(f"{CONFIGMAPS}?{query}"), 400)


def test_a_continue_token_of_another_time_is_expired(node: Running) -> None:
    """Say, of a server whose data was restored from a backup: listing anew is all that helps."""
    forged = "eyJ2IjoiZmFpcndheS92MSIsInJ2Ijo5OTk5OTk5OTk5OTk5OTk5OTksInN0YXJ0IjoiIn0"
    assert "start again" in refused(node, node.get(f"{CONFIGMAPS}?continue={forged}"), 410)


@pytest.mark.parametrize(
    "accept", ["\xff", ",", ";;;===", "application/json;as=Table;v=v9;g=meta.k8s.io", "x" * 60_000]
)
def test_an_accept_header_that_nobody_can_serve_is_refused(node: Running, accept: str) -> None:
    refused(node, node.get(CONFIGMAPS, accept=accept), 406)


def test_strange_headers_do_no_harm(node: Running) -> None:
    for headers in ({"user-agent": "\xff\x01"}, {"user-agent": "a\tb"}, {"accept": "application/json;q=nan"}):
        assert node.get(CONFIGMAPS, headers=headers).status == 200
        assert node.call("POST", f"{CONFIGMAPS}?dryRun=All", configmap("ua"), headers=headers).status == 201
    for headers in ({"impersonate-user": ""}, {"impersonate-group": "x"}):
        refused(node, node.get(CONFIGMAPS, headers=headers), 400)


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT", "FOO", "get"])
def test_a_method_that_is_none_is_refused(node: Running, method: str) -> None:
    for url in (CONFIGMAPS, f"{CONFIGMAPS}/kept", "/apis", "/openapi/v3"):
        refused(node, node.call(method, url), 405)


def test_head_is_get_without_a_body_and_never_a_stream(node: Running) -> None:
    for url in (CONFIGMAPS, f"{CONFIGMAPS}/kept", "/apis", "/version", f"{CONFIGMAPS}?watch=true"):
        get = node.get(url.partition("?")[0])
        head = node.call("HEAD", url)
        assert (head.status, head.body) == (200, b"")
        assert head.header("content-length") == get.header("content-length")
    missing = node.call("HEAD", f"{CONFIGMAPS}/absent")
    assert (missing.status, missing.body) == (404, b"")


def test_made_up_names_do_not_fill_the_metrics(node: Running) -> None:
    for number in range(50):
        node.get(f"/api/v1/made-up-{number}").refused(404)
        node.call(f"VERB{number}", CONFIGMAPS).refused(405)
    text = node.get("/metrics").text
    assert "made-up" not in text
    assert "verb1" not in text.lower()
    assert 'resource="other"' in text


# --- tokens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer garbage",
        "Basic Zm9vOmJhcg==",
        "Bearer " + "x" * 40_000,
        "Bearer \xff\x00",
        "\xff",
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_token_that_is_none_is_refused_without_saying_why(node: Running, authorization: str) -> None:
    for url in (CONFIGMAPS, "/apis", f"{CONFIGMAPS}?watch=true"):
        answer = node.get(url, headers={"authorization": authorization})
        message = answer.refused(401, "Unauthorized")
        assert "fairway token create" in message
        assert answer.header("www-authenticate").startswith("Bearer")


def test_a_token_ends_when_it_is_revoked_or_expires(node: Running) -> None:
    async def issue() -> tuple[str, str]:
        return await issue_token(node.space.objects, "temp", ("system:masters",))

    name, secret = node.run(issue())
    holder = Client(node.app, secret)
    assert node.run(holder.request("GET", CONFIGMAPS)).status == 200
    node.call("DELETE", f"/apis/fairway.dev/v1/tokens/{name}").ok
    node.run(holder.request("GET", CONFIGMAPS)).refused(401)

    body = {"metadata": {"generateName": "t-"}, "spec": {"user": "temp", "expirationTimestamp": "2001-01-01T00:00:00Z"}}
    answer = node.call("POST", "/apis/fairway.dev/v1/tokens", body)
    secret = answer.ok["status"]["token"]
    node.run(Client(node.app, secret).request("GET", CONFIGMAPS)).refused(401)


def test_a_workload_without_anything_in_it_does_not_hold_up_the_queue(node: Running) -> None:
    workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
    assert node.call("POST", workloads, {"metadata": {"name": "empty"}}).status in (201, 422)

    async def passes() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await node.node.queueing["default"].idle.wait()

    node.run(passes())
    assert node.call("DELETE", f"{workloads}/empty").status in (200, 404)


# --- too much at once --------------------------------------------------------------------------------------------


def test_too_many_requests_at_once_are_told_when_to_come_again(node: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "IN_FLIGHT_MAX", 2)

    async def body() -> list[Answer]:
        held = asyncio.Event()

        async def slow(scope: Any) -> None:
            async def receive() -> dict[str, Any]:
                await held.wait()
                return {"type": "http.disconnect"}

            async def send(_message: Any) -> None:
                return None

            await node.app(scope, receive, send)

        scope = node.admin._scope("POST", CONFIGMAPS, {"content-type": JSON, "content-length": "100"})
        waiting = [asyncio.ensure_future(slow(scope)) for _ in range(2)]
        await asyncio.sleep(0)
        answers = [await node.admin.request("GET", CONFIGMAPS) for _ in range(3)]
        answers.append(await node.admin.request("GET", "/readyz"))
        held.set()
        await asyncio.gather(*waiting)
        answers.append(await node.admin.request("GET", CONFIGMAPS))
        return answers

    *many, ready, after = node.run(body())
    for answer in many:
        assert "try again" in answer.refused(429, "TooManyRequests")
        assert answer.header("retry-after") == "1"
        assert answer.json["details"]["retryAfterSeconds"] == 1
    assert (ready.status, after.status) == (200, 200)
    assert "apiserver_current_inflight_requests 0.0" in node.get("/metrics").text


def test_too_many_watches_are_told_when_to_come_again(node: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "WATCHES_MAX", 1)
    url = f"{CONFIGMAPS}?watch=true"

    async def body() -> None:
        async with node.admin.stream(url) as stream:
            await stream.next()
            answer = await node.admin.request("GET", url)
            answer.refused(429, "TooManyRequests")
            assert answer.header("retry-after") == "5"
        async with node.admin.stream(url) as stream:
            await stream.next()

    node.run(body())
    assert "apiserver_longrunning_requests 0.0" in node.get("/metrics").text


# --- the disk ----------------------------------------------------------------------------------------------------


def log_of(node: Running) -> SqliteLog:
    log = node.space.store._log
    assert isinstance(log, SqliteLog)
    return log


def on_disk(node: Running, work: Any) -> Any:
    """On the disk's own thread, between two commits."""

    async def run() -> Any:
        return await node.space.store._disk.run(work)

    return node.run(run())


def test_a_full_disk_refuses_writes_and_nothing_else_and_is_over_when_there_is_room(tmp_path: Path) -> None:
    with running(tmp_path) as node:
        node.call("POST", CONFIGMAPS, configmap("before", a="1")).ok
        db = log_of(node)._connection
        pages = on_disk(node, lambda: db.execute("PRAGMA page_count").fetchone()[0])
        on_disk(node, lambda: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())

        large = configmap("large", x="y" * 500_000)
        answer = node.call("POST", CONFIGMAPS, large)
        message = answer.refused(507, "InsufficientStorage")
        assert "free some disk space" in message
        assert "nothing of this write was kept" in message
        node.get(f"{CONFIGMAPS}/large").refused(404)
        assert node.get(f"{CONFIGMAPS}/before").ok["data"] == {"a": "1"}
        bulk = node.call("POST", BULK, {"items": [{"verb": "create", "object": large}]})
        bulk.refused(507, "InsufficientStorage")
        assert node.get("/readyz").status == 200

        on_disk(node, lambda: db.execute("PRAGMA max_page_count = 1000000").fetchone())
        assert node.call("POST", CONFIGMAPS, large).status == 201
        revision = node.get(f"{CONFIGMAPS}/large").ok["metadata"]["resourceVersion"]
    with running(tmp_path) as node:
        assert node.get(f"{CONFIGMAPS}/large").ok["metadata"]["resourceVersion"] == revision
        assert node.get(f"{CONFIGMAPS}/before").status == 200


def test_a_broken_store_is_not_ready_still_reads_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairway.store.store._REOPEN_SECONDS", 0.01)
    with running(tmp_path) as node:
        node.call("POST", CONFIGMAPS, configmap("before")).ok
        log = log_of(node)
        working = log._connect
        repaired = asyncio.Event()

        def failing() -> sqlite3.Connection:
            if not repaired.is_set():
                raise sqlite3.OperationalError("disk I/O error")
            return working()

        def break_it() -> None:
            log.close()
            log._connect = failing  # type: ignore[method-assign]

        on_disk(node, break_it)

        async def body() -> None:
            writing = asyncio.ensure_future(node.admin.request("POST", CONFIGMAPS, configmap("during")))
            while not node.space.store.broken:  # noqa: ASYNC110 - the store tells nobody, and it is a matter of milliseconds
                await asyncio.sleep(0.005)
            ready = await node.admin.request("GET", "/readyz")
            assert ready.status == 503
            assert b"disk I/O error" in ready.body
            assert (await node.admin.request("GET", "/livez")).status == 200
            assert (await node.admin.request("GET", f"{CONFIGMAPS}/before")).status == 200
            refusal = await node.admin.request("POST", CONFIGMAPS, configmap("refused"))
            refusal.refused(503, "ServiceUnavailable")
            assert refusal.header("retry-after") == "1"
            repaired.set()
            answer = await writing
            assert answer.status in (201, 503)
            expected = 200 if answer.status == 201 else 404
            assert (await node.admin.request("GET", f"{CONFIGMAPS}/during")).status == expected
            assert (await node.admin.request("GET", "/readyz")).status == 200

        node.run(body())
        assert node.call("POST", CONFIGMAPS, configmap("after")).status == 201
        node.get(f"{CONFIGMAPS}/refused").refused(404)
