"""Nobody gives what they do not hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.server.harness import RBAC, TOKENS, Harness
from tests.unit.server.rbac_objects import rule, urls

from fairway.server.rbac.rules import PARTS_MAX, Rule, TooManyParts, describe, missing

MERGE = "application/merge-patch+json"
ROLES, BINDINGS = f"{RBAC}/namespaces/team-a/roles", f"{RBAC}/namespaces/team-a/rolebindings"


def made(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def bound(to: str, user: str = "bob") -> dict[str, Any]:
    kind, _slash, name = to.partition("/")
    return {
        "metadata": {"generateName": "b-"},
        "roleRef": {"kind": kind, "name": name},
        "subjects": [{"kind": "User", "name": user}],
    }


async def with_admin_of_team_a() -> Harness:
    harness = await Harness.new()
    await harness.ok("admin", "POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}})
    await harness.user("alice", "devs")
    await harness.bind("alice", "admin", "team-a")
    return harness


def test_a_role_with_what_one_holds_is_fine_and_with_more_is_refused_by_name() -> None:
    async def body() -> None:
        harness = await with_admin_of_team_a()
        await harness.ok(
            "alice", "POST", ROLES, made("fine", rule("get list", "core", "pods"), rule("get", "batch", "jobs"))
        )
        message = await harness.refused(
            "alice", "POST", ROLES, made("more", rule("get delete", "core", "pods nodes"), rule("*", "batch", "jobs"))
        )
        assert message == (
            'roles.rbac.authorization.k8s.io "more" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) is '
            "attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "delete"]}\n'
            '{APIGroups:["batch"], Resources:["jobs"], Verbs:["*"]}'
        )
        patch = {"rules": [rule("get", "core", "nodes")]}
        await harness.refused("alice", "PATCH", f"{ROLES}/fine", patch, content=MERGE)
        await harness.ok("alice", "PATCH", f"{ROLES}/fine", {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
        await harness.ok("admin", "POST", ROLES, made("strong", rule("*", "*", "*")))
        await harness.ok("alice", "PATCH", f"{ROLES}/strong", {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
        await harness.ok("alice", "DELETE", f"{ROLES}/strong")

    asyncio.run(body())


def test_a_binding_needs_the_rules_of_its_role() -> None:
    async def body() -> None:
        harness = await with_admin_of_team_a()
        await harness.ok("alice", "POST", BINDINGS, bound("ClusterRole/edit"))
        await harness.ok("alice", "POST", BINDINGS, bound("ClusterRole/admin"))
        message = await harness.refused("alice", "POST", BINDINGS, bound("ClusterRole/cluster-admin", "alice"))
        assert '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in message
        status, result = await harness.call("alice", "POST", BINDINGS, bound("ClusterRole/missing"))
        assert (status, result["message"]) == (404, 'clusterroles.rbac.authorization.k8s.io "missing" not found')
        await harness.ok("admin", "POST", BINDINGS, bound("ClusterRole/missing"))
        strong = await harness.ok("admin", "POST", BINDINGS, bound("ClusterRole/cluster-admin", "carol"))
        url = f"{BINDINGS}/{strong['metadata']['name']}"
        await harness.refused("alice", "PATCH", url, {"subjects": bound("x", "alice")["subjects"]}, content=MERGE)
        await harness.ok("alice", "PATCH", url, {"metadata": {"labels": {"a": "b"}}}, content=MERGE)

    asyncio.run(body())


def test_escalate_and_bind_are_the_ways_around() -> None:
    async def body() -> None:
        harness = await with_admin_of_team_a()
        trusted = made(
            "trusted",
            rule("escalate", "rbac.authorization.k8s.io", "roles"),
            rule("bind", "rbac.authorization.k8s.io", "clusterroles", "cluster-admin"),
        )
        await harness.ok("admin", "POST", f"{RBAC}/clusterroles", trusted)
        await harness.bind("alice", "trusted", "team-a")
        await harness.ok("alice", "POST", ROLES, made("more", rule("*", "*", "*")))
        await harness.ok("alice", "POST", BINDINGS, bound("ClusterRole/cluster-admin"))
        await harness.refused("alice", "POST", BINDINGS, bound("ClusterRole/system:monitoring"))

    asyncio.run(body())


def test_cluster_roles_are_checked_where_they_would_count() -> None:
    async def body() -> None:
        harness = await with_admin_of_team_a()
        await harness.ok(
            "admin",
            "POST",
            f"{RBAC}/clusterroles",
            made("writer", rule("get create patch", "rbac.authorization.k8s.io", "clusterroles")),
        )
        await harness.bind("alice", "writer")
        # Held in team-a only, so not to be given everywhere.
        await harness.refused("alice", "POST", f"{RBAC}/clusterroles", made("pods", rule("get", "core", "pods")))
        own = rule("get", "rbac.authorization.k8s.io", "clusterroles")
        await harness.ok("alice", "POST", f"{RBAC}/clusterroles", made("own", own))
        anything = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        await harness.refused("alice", "POST", f"{RBAC}/clusterroles", made("sum", aggregationRule=anything))
        await harness.refused("alice", "POST", f"{RBAC}/clusterroles", made("url", urls("get", "/metrics")))
        # Rules that one does not hold do not flow into other roles by a label either.
        label = {"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}
        await harness.ok("admin", "POST", f"{RBAC}/clusterroles", made("strong", rule("*", "*", "*")))
        await harness.refused("alice", "PATCH", f"{RBAC}/clusterroles/strong", label, content=MERGE)
        await harness.ok("alice", "PATCH", f"{RBAC}/clusterroles/own", label, content=MERGE)

    asyncio.run(body())


def test_a_token_for_others_needs_the_right_to_be_them() -> None:
    async def body() -> None:
        harness = await with_admin_of_team_a()
        await harness.ok(
            "admin", "POST", f"{RBAC}/clusterroles", made("maker", rule("create", "fairway.dev", "tokens"))
        )
        await harness.bind("alice", "maker")

        def token(user: str, *groups: str) -> dict[str, Any]:
            return {"metadata": {"generateName": "t-"}, "spec": {"user": user, "groups": list(groups)}}

        await harness.ok("alice", "POST", TOKENS, token("alice"))
        await harness.ok("alice", "POST", TOKENS, token("alice", "devs"))
        message = await harness.refused("alice", "POST", TOKENS, token("bob", "system:masters"))
        assert 'may not create a token for user "bob", group "system:masters"' in message
        await harness.refused("alice", "POST", TOKENS, token("alice", "system:masters"))
        await harness.refused("alice", "POST", TOKENS, token("bob", "devs"))
        await harness.ok(
            "admin", "POST", f"{RBAC}/clusterroles", made("bob", rule("impersonate", "core", "users", "bob"))
        )
        await harness.bind("alice", "bob")
        await harness.ok("alice", "POST", TOKENS, token("bob"))

    asyncio.run(body())


HELD = [
    Rule(("get", "list"), ("", "apps"), ("pods", "deployments")),
    Rule(("*",), ("batch",), ("jobs", "*/status")),
    Rule(("get",), ("",), ("secrets",), ("a", "b")),
    Rule(("get",), non_resource_urls=("/api/*", "/version")),
]


@pytest.mark.parametrize(
    ("wanted", "lacking"),
    [
        (Rule(("get",), ("",), ("pods",)), []),
        (Rule(("get", "list"), ("", "apps"), ("pods", "deployments")), []),
        (Rule(("get",), ("", "batch"), ("pods",)), [Rule(("get",), ("batch",), ("pods",))]),
        (Rule(("get", "delete"), ("batch",), ("jobs",)), []),
        (Rule(("*",), ("batch",), ("jobs",)), []),
        (Rule(("*",), ("",), ("pods",)), [Rule(("*",), ("",), ("pods",))]),
        (Rule(("get",), ("*",), ("pods",)), [Rule(("get",), ("*",), ("pods",))]),
        (Rule(("get",), ("batch",), ("*",)), [Rule(("get",), ("batch",), ("*",))]),
        (Rule(("get",), ("batch",), ("cronjobs/status",)), []),
        (Rule(("get",), ("batch",), ("*/status",)), []),
        (Rule(("get",), ("batch",), ("*/scale",)), [Rule(("get",), ("batch",), ("*/scale",))]),
        (Rule(("get",), ("",), ("secrets",), ("a",)), []),
        (Rule(("get",), ("",), ("secrets",), ("a", "c")), [Rule(("get",), ("",), ("secrets",), ("c",))]),
        (Rule(("get",), ("",), ("secrets",)), [Rule(("get",), ("",), ("secrets",))]),
        (Rule(("get",), ("",), ("pods",), ("x",)), []),
        (Rule(("get",), non_resource_urls=("/api/v1", "/version", "/api/*")), []),
        (Rule(("get",), non_resource_urls=("/api", "*")), [Rule(("get",), non_resource_urls=("/api",)), Rule(("get",), non_resource_urls=("*",))]),
        (Rule(("post",), non_resource_urls=("/version",)), [Rule(("post",), non_resource_urls=("/version",))]),
        (Rule(("get", "watch"), ("",), ("pods",)), [Rule(("watch",), ("",), ("pods",))]),
    ],
    ids=lambda value: describe(value) if isinstance(value, Rule) else "",
)  # fmt: skip
def test_what_is_held_covers(wanted: Rule, lacking: list[Rule]) -> None:
    assert missing(HELD, [wanted]) == lacking


def test_a_rule_that_names_too_much_at_once_is_refused_quickly() -> None:
    many = tuple(str(number) for number in range(200))
    with pytest.raises(TooManyParts, match=str(PARTS_MAX)):
        missing(HELD, [Rule(many, many, many)])
    assert missing([Rule(("*",), ("*",), ("*",))], [Rule(many, many, many)]) == []
