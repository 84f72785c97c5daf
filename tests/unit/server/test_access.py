"""Requests of users: what they may, what they may not, and in whose name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.server.harness import RBAC, TOKENS, Harness

from fairway.server.rbac.aggregation import Aggregation

JOBS = "/apis/batch/v1/namespaces/{}/jobs"
CONFIG = "/api/v1/namespaces/{}/configmaps"


async def two_teams() -> Harness:
    harness = await Harness.new()
    for team, user in (("team-a", "alice"), ("team-b", "bob")):
        await harness.ok("admin", "POST", "/api/v1/namespaces", {"metadata": {"name": team}})
        await harness.user(user)
        await harness.bind(user, "edit", team)
    return harness


def test_users_of_a_namespace_cannot_see_anothers() -> None:
    async def body() -> None:
        harness = await two_teams()
        await harness.ok("alice", "POST", CONFIG.format("team-a"), {"metadata": {"name": "mine"}})
        assert len((await harness.ok("alice", "GET", CONFIG.format("team-a")))["items"]) == 1
        assert (
            await harness.refused("bob", "GET", CONFIG.format("team-a") + "/mine")
            == 'configmaps "mine" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "team-a"'
        )
        for method, url in (
            ("GET", CONFIG.format("team-a")),
            ("GET", "/api/v1/configmaps"),
            ("GET", "/api/v1/configmaps?watch=true"),
            ("POST", CONFIG.format("team-a")),
            ("DELETE", CONFIG.format("team-a")),
            ("DELETE", CONFIG.format("team-a") + "/mine"),
            ("GET", "/api/v1/namespaces"),
            ("GET", "/api/v1/namespaces/team-a"),
            ("GET", TOKENS),
            ("POST", TOKENS),
            ("GET", "/metrics"),
        ):
            await harness.refused("bob", method, url, {"metadata": {"name": "x"}} if method == "POST" else None)
        assert (await harness.ok("bob", "GET", "/api/v1/namespaces/team-b"))["metadata"]["name"] == "team-b"
        assert (
            await harness.refused("bob", "GET", "/api/v1/nodes")
            == 'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope'
        )

    asyncio.run(body())


def test_a_role_for_one_name_allows_to_list_and_watch_just_that() -> None:
    async def body() -> None:
        harness = await two_teams()
        await harness.user("carol")
        role = {
            "metadata": {"name": "one"},
            "rules": [
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]}
            ],
        }
        bound = {
            "metadata": {"name": "one"},
            "roleRef": {"kind": "Role", "name": "one"},
            "subjects": [{"kind": "User", "name": "carol"}],
        }
        await harness.ok("admin", "POST", f"{RBAC}/namespaces/team-a/roles", role)
        await harness.ok("admin", "POST", f"{RBAC}/namespaces/team-a/rolebindings", bound)
        for name in ("mine", "other"):
            await harness.ok("alice", "POST", CONFIG.format("team-a"), {"metadata": {"name": name}})
        listed = await harness.ok("carol", "GET", CONFIG.format("team-a") + "?fieldSelector=metadata.name%3Dmine")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["mine"]
        for query in (
            "",
            "?fieldSelector=metadata.name%3Dother",
            "?fieldSelector=metadata.name!%3Dmine",
            "?fieldSelector=%5C",
        ):
            await harness.refused("carol", "GET", CONFIG.format("team-a") + query)

    asyncio.run(body())


@pytest.mark.parametrize("token", ["wrong", "fwt_wrong", "x" * 5000, "\xe4\xf6"])
def test_a_token_that_is_not_valid_is_refused_even_where_nobody_needs_one(token: str) -> None:
    async def body() -> None:
        harness = await Harness.new()
        status, result = await harness.call(token, "GET", "/apis")
        assert (status, result["reason"]) == (401, "Unauthorized")
        assert token not in result["message"]

    asyncio.run(body())


def test_without_a_token_one_is_anonymous() -> None:
    async def body() -> None:
        harness = await Harness.new()
        harness.app.ready = True
        for path in ("/version", "/readyz", "/healthz"):
            await harness.ok("", "GET", path)
        assert await harness.refused("", "GET", "/apis") == 'forbidden: User "system:anonymous" cannot get path "/apis"'
        await harness.refused("", "GET", "/api/v1/namespaces/default/pods")

    asyncio.run(body())


def test_a_revoked_token_is_refused_at_once() -> None:
    async def body() -> None:
        harness = await two_teams()
        await harness.ok("alice", "GET", JOBS.format("team-a"))
        name = next(
            item["metadata"]["name"]
            for item in (await harness.ok("admin", "GET", TOKENS))["items"]
            if item["spec"]["user"] == "alice"
        )
        await harness.ok("admin", "DELETE", f"{TOKENS}/{name}")
        assert (await harness.call("alice", "GET", JOBS.format("team-a")))[0] == 401

    asyncio.run(body())


def test_asking_as_somebody_else() -> None:
    async def body() -> None:
        harness = await two_teams()

        async def who(user: str, **headers: str) -> Any:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            status, result = await harness.call(
                user, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=named
            )
            return result["status"]["userInfo"] if status == 201 else (status, result["message"])

        assert await who("admin", Impersonate_User="alice") == {"username": "alice", "groups": ["system:authenticated"]}
        assert (await who("admin", Impersonate_User="x", Impersonate_Group="devs"))["groups"] == [
            "devs",
            "system:authenticated",
        ]
        assert (await who("alice", Impersonate_User="bob")) == (
            403,
            'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
        )
        assert (await who("alice", Impersonate_User="alice", Impersonate_Group="system:masters"))[0] == 403
        assert (await who("admin", Impersonate_Group="devs"))[0] == 400
        # edit in team-a may act as the service accounts of team-a.
        robot = await who("alice", Impersonate_User="system:serviceaccount:team-a:robot")
        assert robot["groups"] == ["system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"]
        assert (await who("alice", Impersonate_User="system:serviceaccount:team-b:robot"))[0] == 403
        assert (
            await who(
                "alice", Impersonate_User="system:serviceaccount:team-a:robot", Impersonate_Group="system:masters"
            )
        )[0] == 403
        assert (await harness.call("admin", "GET", JOBS.format("team-b"), headers={"Impersonate-User": "alice"}))[
            0
        ] == 403

    asyncio.run(body())


def test_aggregating_roles_show_what_they_add_up_to() -> None:
    async def body() -> None:
        harness = await Harness.new()
        aggregation = Aggregation(harness.space, harness.access.authorizer)
        assert not (await harness.ok("admin", "GET", f"{RBAC}/clusterroles/view")).get("rules")
        await aggregation.step()
        assert len((await harness.ok("admin", "GET", f"{RBAC}/clusterroles/view"))["rules"]) > 5
        assert harness.access.authorizer.aggregated() == {}
        added = {
            "metadata": {"name": "extra", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [{"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}],
        }
        await harness.ok("admin", "POST", f"{RBAC}/clusterroles", added)
        assert set(harness.access.authorizer.aggregated()) == {"view", "edit", "admin"}
        await aggregation.step()
        assert added["rules"][0] in (await harness.ok("admin", "GET", f"{RBAC}/clusterroles/admin"))["rules"]

    asyncio.run(body())


def test_a_patch_that_would_create_needs_the_right_to_create() -> None:
    async def body() -> None:
        harness = await two_teams()
        await harness.user("carol")
        rules = [{"verbs": ["get", "patch"], "apiGroups": [""], "resources": ["configmaps"]}]
        await harness.ok("admin", "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "patcher"}, "rules": rules})
        await harness.bind("carol", "patcher", "team-a")
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
        url, apply = CONFIG.format("team-a") + "/x?fieldManager=me", "application/apply-patch+yaml"
        assert (
            await harness.refused("carol", "PATCH", url, applied, content=apply)
            == 'configmaps "x" is forbidden: User "carol" cannot create resource "configmaps" in API group "" in the namespace "team-a"'
        )
        await harness.ok("alice", "PATCH", url, applied, content=apply)
        await harness.ok(
            "carol", "PATCH", url.partition("?")[0], {"data": {"a": "c"}}, content="application/merge-patch+json"
        )

    asyncio.run(body())


@pytest.mark.parametrize("how", ["revoked", "unbound"])
def test_a_watch_ends_when_its_watcher_may_no_longer_see(how: str) -> None:
    async def body() -> None:
        harness = await two_teams()
        url = CONFIG.format("team-a")
        events, task = await harness.watch("alice", f"{url}?watch=true")
        await harness.ok("admin", "POST", url, {"metadata": {"name": "before"}})
        assert (await events.get())["object"]["metadata"]["name"] == "before"
        if how == "revoked":
            tokens = (await harness.ok("admin", "GET", TOKENS))["items"]
            name = next(item["metadata"]["name"] for item in tokens if item["spec"]["user"] == "alice")
            await harness.ok("admin", "DELETE", f"{TOKENS}/{name}")
        else:
            await harness.ok("admin", "DELETE", f"{RBAC}/namespaces/team-a/rolebindings")
        await harness.ok("admin", "POST", url, {"metadata": {"name": "after"}})
        last = await events.get()
        assert last["type"] == "ERROR"
        assert last["object"]["code"] == (401 if how == "revoked" else 403)
        assert await events.get() is None
        await task

    asyncio.run(body())
