"""Tokens from the outside: made once, shown once, never kept."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from tests.unit.server.harness import TOKENS, Harness

from fairway.kinds.own.token import TOKEN
from fairway.server.authn import hash_of
from fairway.server.tokens import TokenKeeper, issue_token

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def token(user: str = "alice", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"generateName": "t-"}, "spec": {"user": user, **spec}}


def test_the_answer_to_a_create_is_the_only_place_with_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        caplog.set_level(logging.DEBUG)
        harness = await Harness.new()
        made = await harness.ok("admin", "POST", TOKENS, token(groups=["devs"], description="ci"))
        secret, name = made["status"]["token"], made["metadata"]["name"]
        assert len(secret) >= 43
        assert made["status"] == {"hash": hash_of(secret), "prefix": secret[:10], "token": secret}
        assert harness.access.authenticator.authenticate(secret).groups == ("devs", "system:authenticated")  # type: ignore[union-attr]
        shown = await harness.ok("admin", "GET", f"{TOKENS}/{name}")
        assert shown["status"] == {"hash": hash_of(secret), "prefix": secret[:10]}
        table = await harness.ok(
            "admin", "GET", TOKENS, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        )
        assert [column["name"] for column in table["columnDefinitions"]] == [
            "Name",
            "User",
            "Groups",
            "Prefix",
            "Expires",
            "Age",
        ]
        row = next(row["cells"] for row in table["rows"] if row["cells"][0] == name)
        assert row[1:5] == ["alice", "devs", secret[:10], "never"]
        for bucket in harness.store.buckets():
            for record in harness.store.records(bucket):
                assert secret[10:].encode() not in record.value
        issued_repr = repr(await issue_token(harness.space.objects, "bob"))
        assert secret not in issued_repr
        assert secret[10:] not in caplog.text

    asyncio.run(body())


def test_nobody_chooses_a_hash() -> None:
    async def body() -> None:
        harness = await Harness.new()
        chosen = {"hash": hash_of("known"), "prefix": "known"}
        made = await harness.ok("admin", "POST", TOKENS, {**token(), "status": chosen})
        assert made["status"]["hash"] != chosen["hash"]
        name = made["metadata"]["name"]
        for change in (chosen, {"token": "known"}):
            patch = {"status": change}
            for url in (f"{TOKENS}/{name}/status", f"{TOKENS}/{name}"):
                await harness.call("admin", "PATCH", url, patch, content="application/merge-patch+json")
        stored = await harness.ok("admin", "GET", f"{TOKENS}/{name}")
        assert stored["status"] == {"hash": made["status"]["hash"], "prefix": made["status"]["prefix"]}
        assert harness.access.authenticator.authenticate("known") is None

    asyncio.run(body())


def test_a_token_that_was_not_issued_is_worth_nothing_and_says_so() -> None:
    async def body() -> None:
        harness = await Harness.new()
        applied = {
            "apiVersion": "fairway.dev/v1",
            "kind": "Token",
            "metadata": {"name": "x"},
            "spec": {"user": "alice"},
        }
        url = f"{TOKENS}/x?fieldManager=me"
        made = await harness.ok("admin", "PATCH", url, applied, content="application/apply-patch+yaml")
        assert "status" not in made
        assert any("has no secret" in text for text in TOKEN.warn(made, None))

    asyncio.run(body())


def test_a_dry_run_makes_no_secret() -> None:
    async def body() -> None:
        harness = await Harness.new()
        made = await harness.ok("admin", "POST", f"{TOKENS}?dryRun=All", token())
        assert "status" not in made
        assert len((await harness.ok("admin", "GET", TOKENS))["items"]) == 1

    asyncio.run(body())


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"user": ""}, "spec.user"),
        ({"groups": [""]}, "spec.groups[0]"),
        ({"user": "system:serviceaccount:default:robot"}, "spec.user"),
        ({"serviceAccount": {"namespace": "a", "name": "b", "uid": "c"}}, "spec.user"),
        ({"expirationTimestamp": "tomorrow"}, "spec.expirationTimestamp"),
    ],
)
def test_bad_tokens_are_refused_with_the_field(spec: dict[str, Any], where: str) -> None:
    async def body() -> None:
        harness = await Harness.new()
        status, result = await harness.call("admin", "POST", TOKENS, token(**{"user": "alice", **spec}))
        assert status == 422, result
        assert result["details"]["causes"][0]["field"] == where

    asyncio.run(body())


def test_a_token_speaks_for_one_user_for_good() -> None:
    async def body() -> None:
        harness = await Harness.new()
        made = await harness.ok("admin", "POST", TOKENS, token())
        url = f"{TOKENS}/{made['metadata']['name']}"
        merge = "application/merge-patch+json"
        status, result = await harness.call("admin", "PATCH", url, {"spec": {"user": "bob"}}, content=merge)
        assert status == 422
        assert "revoke it and create another" in result["message"]
        await harness.ok(
            "admin", "PATCH", url, {"spec": {"expirationTimestamp": "2027-01-15T09:00:00Z"}}, content=merge
        )
        harness.clock.now += 3600
        assert (await harness.call(made["status"]["token"], "GET", "/apis"))[0] == 401

    asyncio.run(body())


def test_service_accounts_get_tokens_that_expire_and_end_with_them() -> None:
    async def body() -> None:
        harness = await Harness.new()
        await harness.ok("admin", "POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        answer = await harness.ok("admin", "POST", f"{ACCOUNTS}/robot/token", {"spec": {"expirationSeconds": 7200}})
        secret = answer["status"]["token"]
        assert answer["kind"] == "TokenRequest"
        assert answer["spec"]["expirationSeconds"] == 7200
        assert answer["status"]["expirationTimestamp"] == "2027-01-15T10:00:00Z"
        caller = harness.access.authenticator.authenticate(secret)
        assert caller is not None
        assert caller.user == "system:serviceaccount:default:robot"
        assert caller.groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
        harness.clock.now += 7200
        assert harness.access.authenticator.authenticate(secret) is None
        harness.clock.now -= 7200
        await harness.ok("admin", "DELETE", f"{ACCOUNTS}/robot")
        await harness.ok("admin", "POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        assert harness.access.authenticator.authenticate(secret) is None

    asyncio.run(body())


@pytest.mark.parametrize(
    ("name", "spec", "code", "where"),
    [
        ("nobody", {}, 404, None),
        ("robot", {"expirationSeconds": 60}, 422, "spec.expirationSeconds"),
        ("robot", {"expirationSeconds": 1 << 40}, 422, "spec.expirationSeconds"),
        ("robot", {"audiences": ["vault"]}, 422, "spec.audiences[0]"),
        ("robot", {"boundObjectRef": {"kind": "Pod", "name": "x"}}, 422, "spec.boundObjectRef"),
        ("robot", {"audiences": "x"}, 400, None),
    ],
)
def test_bad_token_requests(name: str, spec: dict[str, Any], code: int, where: str | None) -> None:
    async def body() -> None:
        harness = await Harness.new()
        await harness.ok("admin", "POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        status, result = await harness.call("admin", "POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})
        assert status == code, result
        if where is not None:
            assert result["details"]["causes"][0]["field"] == where
        assert (await harness.call("admin", "GET", f"{ACCOUNTS}/robot/token"))[0] == 405

    asyncio.run(body())


def test_the_keeper_notes_use_and_clears_away_what_nobody_can_use() -> None:
    async def body() -> None:
        harness = await Harness.new()
        keeper = TokenKeeper(harness.space, harness.access.authenticator)
        await harness.ok("admin", "POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        await harness.ok("admin", "POST", f"{ACCOUNTS}/robot/token", {"spec": {}})
        await issue_token(harness.space.objects, "old", name="old", expires=harness.clock.now + 60)
        await issue_token(harness.space.objects, "unused", name="unused")

        async def names() -> dict[str, Any]:
            items = (await harness.ok("admin", "GET", TOKENS))["items"]
            return {item["spec"]["user"]: item["status"].get("lastUsed") for item in items}

        await keeper.step()
        assert await names() == {
            "admin": "2027-01-15T08:00:00Z",
            "old": None,
            "unused": None,
            "system:serviceaccount:default:robot": None,
        }
        harness.clock.now += 300
        await names()
        await keeper.step()
        assert (await names())["admin"] == "2027-01-15T08:00:00Z"
        await harness.ok("admin", "DELETE", f"{ACCOUNTS}/robot")
        harness.clock.now += 3600
        await keeper.step()
        assert set(await names()) == {"admin", "old", "unused"}
        harness.clock.now += 86_400
        await keeper.step()
        assert set(await names()) == {"admin", "unused"}

    asyncio.run(body())
