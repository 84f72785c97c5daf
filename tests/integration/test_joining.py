"""A cluster joins a hub: what each side gets to do on the other, and what it does not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from tests.integration.inprocess import listening
from tests.integration.support import asynchronous

from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import load
from fairway.api.remote import RemoteClient
from fairway.cli import invitation
from fairway.control.resources import CHECKS
from fairway.fleet import access, joining
from fairway.fleet.home import FOLLOWS, listed
from fairway.fleet.joining import Joining, NameTaken, Way
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS
from fairway.node import Node
from fairway.runtime.clock import SystemClock

PODS = Resource("", "v1", "pods")
CONFIG_MAPS = Resource("", "v1", "configmaps")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
MERGE = "application/merge-patch+json"


def speaking(way: Way) -> RemoteClient:
    return load(joining.kubeconfig("there", way), SystemClock()).connect("test")


@dataclass
class Side:
    """A node, and its administrator."""

    url: str
    admin: RemoteClient

    def as_(self, token: str) -> RemoteClient:
        return speaking(Way(self.url, token=token))


@contextlib.asynccontextmanager
async def side(name: str = "default", *, hub: bool = False) -> AsyncIterator[Side]:
    node = Node(None, (name,), hub=name if hub else "")
    app = await node.start()
    try:
        async with listening(app) as port:
            url = f"http://127.0.0.1:{port}"
            admin = speaking(Way(url, token=await node.admin_token(node.spaces[0], "")))
            try:
                yield Side(url, admin)
            finally:
                await admin.close()
    finally:
        await node.stop()


@contextlib.asynccontextmanager
async def both() -> AsyncIterator[tuple[Side, Side]]:
    async with side("hub", hub=True) as hub, side() as cluster:
        await access.ensure_namespace(hub.admin)
        yield hub, cluster


async def described(cluster: Side, name: str = "east") -> Joining:
    return Joining(name, labels={"zone": "a"}, identity=await joining.identity(cluster.admin))


async def code(call: object) -> int:
    """How a call is answered."""
    try:
        await call  # type: ignore[misc]
    except ApiError as error:
        return error.code
    return 200


async def until(check: object, what: str) -> None:
    for _ in range(400):
        if await check():  # type: ignore[operator]
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"waited in vain until {what}")


@asynchronous
async def test_the_hub_gets_a_way_in_that_can_dispatch_and_nothing_else() -> None:
    async with both() as (hub, cluster):
        await joining.join(hub.admin, cluster.admin, await described(cluster), Way(cluster.url))
        found = (await hub.admin.get(CLUSTERS, "east")).json()
        assert found["spec"]["connection"]["kubeconfig"] == {"secretName": "fairway-cluster-east"}
        assert found["metadata"]["labels"]["zone"] == "a"
        way = await joining.known_way(hub.admin, "east")
        assert way is not None
        assert way.server == cluster.url

        there = speaking(way)

        async def aggregated() -> bool:
            return await code(there.list(WORKLOADS)) == 200

        await until(aggregated, "its role is put together")
        lease = {"metadata": {"name": "fairway-x", "namespace": access.NAMESPACE}, "spec": {}}
        for allowed in (
            there.list(PODS),
            there.create(LEASES, lease),
            there.list(CONFIG_MAPS, Query(access.NAMESPACE)),
        ):
            assert await code(allowed) == 200
        for refused in (
            there.list(SECRETS),
            there.list(CONFIG_MAPS, Query("default")),
            there.list(joining.TOKENS),
            there.create(joining.TOKENS, {"metadata": {"name": "mine"}, "spec": {"user": "me"}}),
            there.create(LEASES, {**lease, "metadata": {"name": "l", "namespace": "default"}}),
            there.delete(access.NAMESPACES, "default"),
            there.list(access.CLUSTER_ROLES),
        ):
            assert await code(refused) == 403
        await there.close()


@asynchronous
async def test_joining_again_renews_the_token_and_revokes_the_one_before() -> None:
    async with both() as (hub, cluster):
        own = await described(cluster)
        await joining.join(hub.admin, cluster.admin, own, Way(cluster.url))
        first = await joining.known_way(hub.admin, "east")
        await hub.admin.patch(CLUSTERS, "east", {"spec": {"state": "Draining"}}, media=MERGE)
        await joining.join(hub.admin, cluster.admin, own, Way(cluster.url))
        second = await joining.known_way(hub.admin, "east")
        assert first is not None
        assert second is not None
        before, after = speaking(first), speaking(second)
        assert await code(joining.identity(before)) == 401
        assert await code(joining.identity(after)) == 200
        kept = (await hub.admin.get(CLUSTERS, "east")).json()
        assert kept["spec"]["state"] == "Draining", "what an administrator said about it stays"
        await before.close()
        await after.close()


@asynchronous
async def test_a_cluster_may_join_with_a_lease_of_its_own() -> None:
    async with both() as (hub, cluster):
        await joining.announce(hub.admin, replace(await described(cluster), lease_s=10))
        await joining.announce(hub.admin, await described(cluster, "usual"))
        leases = [
            (await hub.admin.get(CLUSTERS, name)).json()["spec"]["fencing"]["leaseSeconds"]
            for name in ("east", "usual")
        ]
        assert leases == [10, 60]


@asynchronous
async def test_no_other_cluster_takes_a_name() -> None:
    async with both() as (hub, cluster), side() as other:
        await joining.join(hub.admin, cluster.admin, await described(cluster), Way(cluster.url))
        with pytest.raises(NameTaken):
            await joining.join(hub.admin, other.admin, await described(other), Way(other.url))
        way = await joining.known_way(hub.admin, "east")
        assert way is not None
        assert way.server == cluster.url
        assert await joining.shut_out(other.admin, "any") == [], "nothing was let in there"


@asynchronous
async def test_an_invitation_joins_one_cluster_of_its_name_once_and_can_do_nothing_else() -> None:
    async with both() as (hub, cluster):
        made = await invitation.invite(hub.admin, "east", "1h")
        guest = hub.as_(made.secret)
        for refused in (
            guest.list(SECRETS, Query(access.NAMESPACE)),
            guest.get(SECRETS, "fairway-cluster-west", access.NAMESPACE),
            guest.create(SECRETS, {"metadata": {"name": "x"}}, access.NAMESPACE),
            guest.get(CLUSTERS, "west"),
            guest.list(joining.TOKENS),
            guest.list(PODS),
        ):
            assert await code(refused) == 403
        await joining.join(guest, cluster.admin, await described(cluster), Way(cluster.url))
        assert await joining.known_way(hub.admin, "east") is not None
        await invitation.use_up(guest)
        assert await code(guest.get(CLUSTERS, "east")) == 401

        async def rights_are_gone() -> bool:
            roles = [item.meta.name for item in (await hub.admin.list(access.CLUSTER_ROLES)).items]
            return not any(made.name in role for role in roles)

        await until(rights_are_gone, "its roles went with it")
        await guest.close()


@asynchronous
async def test_the_list_behind_the_default_queue_follows_the_default_pool_until_somebody_takes_it_over() -> None:
    async with side("hub", hub=True) as hub:

        async def clusters() -> list[str]:
            with contextlib.suppress(ApiError):
                return list((await hub.admin.get(MULTIKUEUE_CONFIGS, "fleet")).json()["spec"]["clusters"])
            return []

        async def add(name: str, pool: str = "default") -> None:
            await hub.admin.create(CLUSTERS, {"metadata": {"name": name}, "spec": {"pool": pool}})

        check = (await hub.admin.get(CHECKS, "fleet")).json()
        assert check["spec"]["parameters"]["name"] == "fleet"
        for name in ("cluster-2", "cluster-10"):
            await add(name)
        await add("elsewhere", "other")

        async def is_(*wanted: str) -> None:
            async def same() -> bool:
                return await clusters() == list(wanted)

            await until(same, f"the list is {wanted}")

        await is_("cluster-2", "cluster-10")
        await hub.admin.delete(CLUSTERS, "cluster-2")
        await is_("cluster-10")
        theirs = {"metadata": {"annotations": {FOLLOWS: None}}, "spec": {"clusters": ["mine"]}}
        await hub.admin.patch(MULTIKUEUE_CONFIGS, "fleet", theirs, media=MERGE)
        await add("cluster-3")
        await hub.admin.delete(CLUSTERS, "cluster-10")
        await asyncio.sleep(0.2)
        assert await clusters() == ["mine"]


def test_newcomers_go_last_in_an_order_that_somebody_chose() -> None:
    assert listed(["c", "a", "gone"], ["a", "b", "c"]) == ["c", "a", "b"]


def test_a_kubeconfig_is_read_as_it_was_written_and_anything_else_is_none() -> None:
    way = Way("https://host:1/spaces/x", b"-----BEGIN", "secret", "localhost")
    assert joining.read_kubeconfig(joining.kubeconfig("east", way)) == way
    for text in ("", "[]", "{", "clusters: []", "clusters: [{cluster: 3}]"):
        assert joining.read_kubeconfig(text) is None
