"""Two tenants: what one may do, the other cannot even see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.acceptance.objects import config_map, job
from tests.acceptance.support import Kubectl, Node


@pytest.fixture(scope="module")
def tenants(shared_node: Node, kubectl_program: object) -> Iterator[tuple[Kubectl, Kubectl]]:
    """kubectl as the administrator, and as alice, who may edit team-a. In both namespaces there is something to see."""
    admin = shared_node.kubectl()
    for team in ("team-a", "team-b"):
        admin("create", "namespace", team)
        admin.with_("-n", team).apply(config_map("plans", owner=team), job("work"))
    alice = admin.with_("--token", shared_node.token("alice", "--namespace", "team-a", "--role", "edit"))
    yield admin, alice
    admin("delete", "namespace", "team-a", "team-b", "--wait=false")


def forbidden(verb: str, resource: str, namespace: str = "team-b", group: str = "") -> str:
    where = f'in API group "{group}" in the namespace "{namespace}"'
    return f'User "alice" cannot {verb} resource "{resource}" {where}'


def test_alice_works_in_her_namespace(tenants: tuple[Kubectl, Kubectl]) -> None:
    _, alice = tenants
    here = alice.with_("-n", "team-a")
    here.apply(job("mine"), config_map("notes", a="1"))
    here("patch", "job", "mine", "-p", '{"spec":{"parallelism":2}}')
    assert "plans" in here("get", "cm").out
    here("describe", "job", "mine")
    here("delete", "job", "mine")
    assert "alice" in alice("auth", "whoami").out
    assert here("auth", "can-i", "create", "jobs").out == "yes\n"
    assert here("auth", "can-i", "create", "workloads.kueue.x-k8s.io").code == 0
    rules = here("auth", "can-i", "--list").out
    assert "jobs.batch" in rules


def test_alice_sees_nothing_of_the_other_namespace(tenants: tuple[Kubectl, Kubectl]) -> None:
    _, alice = tenants
    there = alice.with_("-n", "team-b")
    assert forbidden("list", "configmaps") in there.fails("get", "cm")
    assert forbidden("get", "configmaps") in there.fails("get", "cm", "plans")
    assert forbidden("list", "jobs", group="batch") in there.fails("get", "jobs")
    assert forbidden("watch", "configmaps") in there.fails(
        "get", "--raw", "/api/v1/namespaces/team-b/configmaps?watch=true"
    )
    assert forbidden("list", "events") in there.fails("get", "events")
    everywhere = alice.fails("get", "cm", "-A")
    assert 'cannot list resource "configmaps" in API group "" at the cluster scope' in everywhere
    assert alice.run("auth", "can-i", "get", "jobs", "-n", "team-b").out == "no\n"
    assert alice.run("auth", "can-i", "list", "nodes").out.startswith("no")
    # What is forbidden reads the same whether it exists or not.
    assert there.fails("get", "cm", "plans").replace("plans", "nope") == there.fails("get", "cm", "nope")


def test_alice_changes_nothing_of_the_other_namespace(tenants: tuple[Kubectl, Kubectl]) -> None:
    admin, alice = tenants
    there = alice.with_("-n", "team-b")
    before = admin.json("get", "cm", "plans", "-n", "team-b")
    assert forbidden("create", "configmaps") in there.fails("create", "cm", "x")
    assert "cannot" in there.fails("patch", "cm", "plans", "--type=merge", "-p", '{"data":{"a":"b"}}')
    assert forbidden("delete", "configmaps") in there.fails("delete", "cm", "plans")
    assert "cannot" in there.fails("delete", "cm", "--all")
    assert "cannot" in there.fails("apply", "-f", "-", stdin=yaml.safe_dump(config_map("plans", a="b")))
    assert 'cannot create resource "clusterqueues"' in alice.fails("create", "-f", "-", stdin=_queue())
    assert 'cannot delete resource "namespaces"' in alice.fails("delete", "ns", "team-b")
    assert admin.json("get", "cm", "plans", "-n", "team-b") == before


def test_alice_cannot_give_herself_more(tenants: tuple[Kubectl, Kubectl]) -> None:
    admin, alice = tenants
    here = alice.with_("-n", "team-a")
    assert "cannot" in here.fails("create", "rolebinding", "more", "--clusterrole=admin", "--user=alice")
    assert "cannot" in alice.fails(
        "create", "clusterrolebinding", "more", "--clusterrole=cluster-admin", "--user=alice"
    )
    assert "cannot" in alice.fails("get", "cm", "-n", "team-b", "--as=system:admin")
    assert "cannot" in alice.fails("get", "tokens.fairway.dev")
    assert "cannot" in alice.fails("create", "-f", "-", stdin=_token())
    admin("create", "rolebinding", "keeper", "-n", "team-a", "--clusterrole=admin", "--user=alice")
    said = here.fails("create", "role", "everything", "--verb=*", "--resource=nodes")
    assert "attempting to grant RBAC permissions not currently held" in said
    said = here.fails("create", "rolebinding", "more", "--clusterrole=cluster-admin", "--user=alice")
    assert "attempting to grant RBAC permissions not currently held" in said
    here("create", "rolebinding", "less", "--clusterrole=view", "--user=bob")
    admin("delete", "rolebinding", "keeper", "-n", "team-a")


def test_a_revoked_token_is_refused_at_once(shared_node: Node, tenants: tuple[Kubectl, Kubectl]) -> None:
    admin, _ = tenants
    made = shared_node.fairway("token", "create", "carl", "-o", "json").json()
    carl = admin.with_("--token", made["token"])
    assert "carl" in carl("auth", "whoami").out
    shared_node.fairway("token", "revoke", made["name"])
    assert "Unauthorized" in carl.fails("get", "ns") or "logged in" in carl.fails("get", "ns")
    assert made["token"] not in shared_node.log()


def _queue() -> str:
    return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: alices}\nspec: {}\n"


def _token() -> str:
    return (
        "apiVersion: fairway.dev/v1\nkind: Token\nmetadata: {name: t}\nspec: {user: root, groups: ['system:masters']}\n"
    )
