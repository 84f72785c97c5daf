"""May I, may they, who am I, whose is this."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.server.harness import REVIEWS, Harness

from fairway.kinds.k8s.reviews import SELF_SUBJECT_ACCESS_REVIEW

AUTHENTICATION = "/apis/authentication.k8s.io/v1"


async def with_alice() -> Harness:
    harness = await Harness.new()
    await harness.ok("admin", "POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}})
    await harness.user("alice", "devs")
    await harness.bind("alice", "view", "team-a")
    return harness


def resource(verb: str, group: str, name: str, namespace: str) -> dict[str, Any]:
    return {"resourceAttributes": {"verb": verb, "group": group, "resource": name, "namespace": namespace}}


def test_may_i() -> None:
    async def body() -> None:
        harness = await with_alice()

        async def may(user: str, spec: dict[str, Any]) -> dict[str, Any]:
            answer = await harness.ok(user, "POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec})
            assert answer["kind"] == "SelfSubjectAccessReview"
            assert answer["spec"] == spec
            status: dict[str, Any] = answer["status"]
            return status

        assert await may("alice", resource("list", "batch", "jobs", "team-a")) == {
            "allowed": True,
            "reason": (await may("alice", resource("list", "batch", "jobs", "team-a")))["reason"],
        }
        assert (await may("alice", resource("list", "batch", "jobs", "team-a")))["reason"].startswith(
            'RBAC: allowed by RoleBinding "b-'
        )
        assert await may("alice", resource("create", "batch", "jobs", "team-a")) == {"allowed": False}
        assert await may("alice", resource("list", "batch", "jobs", "")) == {"allowed": False}
        assert (await may("alice", {"nonResourceAttributes": {"verb": "get", "path": "/apis"}}))["allowed"]
        assert not (await may("alice", {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}))["allowed"]
        assert (await may("admin", resource("*", "*", "*", "")))["allowed"]
        assert not (await may("alice", resource("*", "*", "*", "team-a")))["allowed"]

    asyncio.run(body())


@pytest.mark.parametrize(
    "spec", [{}, {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get", "path": "/x"}}]
)
def test_a_review_asks_about_exactly_one_thing(spec: dict[str, Any]) -> None:
    async def body() -> None:
        harness = await with_alice()
        status, result = await harness.call("alice", "POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec})
        assert status == 422
        assert "exactly one of nonResourceAttributes or resourceAttributes must be specified" in result["message"]

    asyncio.run(body())


def test_may_they() -> None:
    async def body() -> None:
        harness = await with_alice()
        spec = {**resource("get", "", "pods", "team-a"), "user": "alice", "groups": ["x"]}
        url = f"{REVIEWS}/subjectaccessreviews"
        assert (await harness.ok("admin", "POST", url, {"spec": spec}))["status"]["allowed"]
        assert not (await harness.ok("admin", "POST", url, {"spec": {**spec, "user": "bob"}}))["status"]["allowed"]
        assert (await harness.call("admin", "POST", url, {"spec": resource("get", "", "pods", "team-a")}))[0] == 422
        await harness.refused("alice", "POST", url, {"spec": spec})
        local = f"{REVIEWS}/namespaces/team-a/localsubjectaccessreviews"
        assert (await harness.ok("admin", "POST", local, {"spec": spec}))["status"]["allowed"]
        elsewhere = {**spec, **resource("get", "", "pods", "team-b")}
        assert (await harness.call("admin", "POST", local, {"spec": elsewhere}))[0] == 422
        no_resource = {"user": "alice", "nonResourceAttributes": {"verb": "get", "path": "/"}}
        assert (await harness.call("admin", "POST", local, {"spec": no_resource}))[0] == 422

    asyncio.run(body())


def test_what_may_i() -> None:
    async def body() -> None:
        harness = await with_alice()
        url = f"{REVIEWS}/selfsubjectrulesreviews"
        status = (await harness.ok("alice", "POST", url, {"spec": {"namespace": "team-a"}}))["status"]
        assert status["incomplete"] is False
        jobs = [rule for rule in status["resourceRules"] if "jobs" in rule["resources"]]
        assert [rule["verbs"] for rule in jobs] == [["get", "list", "watch"]]
        assert any("/apis/*" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
        elsewhere = (await harness.ok("alice", "POST", url, {"spec": {"namespace": "default"}}))["status"]
        assert not [rule for rule in elsewhere["resourceRules"] if "jobs" in rule["resources"]]
        everything = (await harness.ok("admin", "POST", url, {"spec": {"namespace": "x"}}))["status"]["resourceRules"]
        assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in everything
        assert (await harness.call("alice", "POST", url, {"spec": {}}))[0] == 400

    asyncio.run(body())


def test_who_am_i() -> None:
    async def body() -> None:
        harness = await with_alice()
        answer = await harness.ok("alice", "POST", f"{AUTHENTICATION}/selfsubjectreviews", {})
        assert answer["status"]["userInfo"] == {"username": "alice", "groups": ["devs", "system:authenticated"]}

    asyncio.run(body())


def test_whose_token_is_this() -> None:
    async def body() -> None:
        harness = await with_alice()
        url = f"{AUTHENTICATION}/tokenreviews"
        secret = harness.tokens["alice"]
        answer = await harness.ok("admin", "POST", url, {"spec": {"token": secret}})
        assert answer["status"]["authenticated"] is True
        assert answer["status"]["user"] == {"username": "alice", "groups": ["devs", "system:authenticated"]}
        assert secret not in str(answer)
        unknown = await harness.ok("admin", "POST", url, {"spec": {"token": secret[:-1]}})
        assert unknown["status"]["error"] == "the token is unknown, expired or revoked"
        assert not unknown["status"].get("authenticated")
        other = await harness.ok("admin", "POST", url, {"spec": {"token": secret, "audiences": ["vault"]}})
        assert not other["status"].get("authenticated")
        assert (await harness.call("admin", "POST", url, {"spec": {}}))[0] == 400
        await harness.refused("alice", "POST", url, {"spec": {"token": secret}})

    asyncio.run(body())


@pytest.mark.parametrize(
    ("method", "url", "body", "code"),
    [
        ("POST", f"{REVIEWS}/selfsubjectaccessreviews", b"{", 400),
        ("POST", f"{REVIEWS}/selfsubjectaccessreviews", b"", 400),
        ("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": []}}, 400),
        ("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"kind": "Pod", "apiVersion": "v1"}, 400),
        ("GET", f"{REVIEWS}/selfsubjectaccessreviews", None, 405),
        ("POST", "/apis/authorization.k8s.io/v9/selfsubjectaccessreviews", {}, 404),
        ("POST", f"{REVIEWS}/namespaces/x/selfsubjectaccessreviews", {}, 404),
        ("POST", f"{REVIEWS}/localsubjectaccessreviews", {}, 404),
    ],
)
def test_bad_reviews(method: str, url: str, body: Any, code: int) -> None:
    async def run() -> None:
        harness = await Harness.new()
        status, result = await harness.call("admin", method, url, body)
        assert status == code, result

    asyncio.run(run())


def test_a_review_comes_as_protobuf_too() -> None:
    # kubectl from 1.32 on sends: can-i list jobs.batch
    text = bytes.fromhex("12150a13") + b"\x12\x04list\x1a\x05batch*\x04jobs"
    head = b"\x0a\x2f\x0a\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview"
    head = b"\x0a" + bytes([len(head) - 2]) + head[2:]
    message = b"k8s\x00" + head + b"\x12" + bytes([len(text)]) + text

    async def body() -> None:
        harness = await with_alice()
        url = f"{REVIEWS}/{SELF_SUBJECT_ACCESS_REVIEW.plural}"
        answer = await harness.ok("admin", "POST", url, message, content="application/vnd.kubernetes.protobuf")
        assert answer["spec"] == {"resourceAttributes": {"verb": "list", "group": "batch", "resource": "jobs"}}
        assert answer["status"]["allowed"]

    asyncio.run(body())
