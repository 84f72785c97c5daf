"""Which node takes which pod, in which order, and what those that fit nowhere are told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from fairway.control.pods.requests import pod_requests
from fairway.control.pods.room import Bind, Room, Unfit, node_of


def node(name: str = "n1", cpu: str = "4", pods: str = "110", **more: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    status = {
        "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods, **more.pop("extra", {})},
        **more.pop("status", {}),
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": more, "status": status}


def pod(
    cpu: str = "1", *, created: str = "2026-01-01T00:00:00Z", more: Mapping[str, str] | None = None, **spec: Any
) -> Any:
    requests = {"cpu": cpu, **(more or {})}
    return {
        "metadata": {"creationTimestamp": created},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
    }


def room(*nodes: Any) -> Room:
    made = Room()
    for one in nodes or (node(),):
        made.set_node(node_of(one))
    return made


def bound(room: Room) -> list[str]:
    return [one.uid for one in room.step() if isinstance(one, Bind)]


def told(room: Room) -> list[str]:
    return [one.message for one in room.step() if isinstance(one, Unfit)]


def test_pods_are_bound_until_the_node_is_full_and_go_on_when_one_ends() -> None:
    here = room()
    for number in range(6):
        here.wait(f"p{number}", pod(created=f"2026-01-01T00:00:0{number}Z"))
    assert bound(here) == ["p0", "p1", "p2", "p3"]
    assert bound(here) == []
    here.release("p1")
    assert bound(here) == ["p4"]


def test_priority_comes_before_age() -> None:
    here = room(node(cpu="2"))
    here.wait("old", pod(created="2026-01-01T00:00:00Z"))
    here.wait("urgent", pod(created="2026-01-01T00:00:09Z", priority=10))
    here.wait("new", pod(created="2026-01-01T00:00:01Z"))
    assert bound(here) == ["urgent", "old"]


def test_a_small_pod_passes_a_large_one_that_does_not_fit() -> None:
    here = room(node(cpu="2"))
    here.wait("large", pod("3", priority=5))
    here.wait("small", pod("1"))
    decisions = here.step()
    assert [type(one).__name__ for one in decisions] == ["Unfit", "Bind"]


@pytest.mark.parametrize(
    ("there", "asks", "message"),
    [
        (node(cpu="500m"), pod(), "0/1 nodes are available: 1 Insufficient cpu."),
        (node(), pod(more={"nvidia.com/gpu": "1"}), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
        (
            node(cpu="1"),
            pod("2", more={"memory": "9Gi"}),
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
        ),
        (node(pods="0"), pod(), "0/1 nodes are available: 1 Too many pods."),
        (node(unschedulable=True), pod(), "0/1 nodes are available: 1 node(s) were unschedulable."),
        (
            node(taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
            pod(),
            "0/1 nodes are available: 1 node(s) had untolerated taint {k: v}.",
        ),
        (
            node(status={"conditions": [{"type": "Ready", "status": "False"}]}),
            pod(),
            "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.",
        ),
        (
            node(),
            pod(nodeSelector={"disk": "ssd"}),
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        ),
    ],
)
def test_a_pod_that_fits_nowhere_is_told_why(there: Any, asks: Any, message: str) -> None:
    here = room(there)
    here.wait("p", asks)
    assert [one.partition(" (")[0] for one in told(here)] == [message]
    assert told(here) == [], "once is enough"


def test_it_is_said_how_much_is_missing_where() -> None:
    here = room(node(cpu="4"))
    here.hold("other", "n1", pod_requests(pod("2500m")["spec"]))
    here.wait("p", pod("2"))
    assert told(here) == [
        "0/1 nodes are available: 1 Insufficient cpu. (node n1 has 1500m of 4 cpu free and 2 is requested)"
    ]


def test_without_nodes_nothing_is_bound() -> None:
    here = Room()
    here.wait("p", pod())
    assert told(here) == ["no nodes available to schedule pods"]
    here.set_node(node_of(node()))
    assert bound(here) == ["p"]


def affinity(*terms: Any) -> Any:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        (affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}), "n2"),
        (affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}), "n2"),
        (affinity({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, {"matchExpressions": []}), None),
        ({"nodeSelector": {"zone": "b"}}, "n2"),
        ({"nodeSelector": {"zone": "c"}}, None),
    ],
)
def test_a_pod_goes_only_where_it_may(spec: Any, where: str | None) -> None:
    here = room(node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"}))
    here.wait("p", pod(**spec))
    assert [one.node for one in here.step() if isinstance(one, Bind)] == ([where] if where else [])


def test_a_toleration_lets_a_pod_onto_a_tainted_node() -> None:
    here = room(node(taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    here.wait("p", pod(tolerations=[{"key": "gpu", "operator": "Exists"}]))
    assert bound(here) == ["p"]


def test_pods_are_spread_over_nodes() -> None:
    here = room(node("n1"), node("n2"))
    for number in range(4):
        here.wait(f"p{number}", pod())
    assert sorted(one.node for one in here.step() if isinstance(one, Bind)) == ["n1", "n1", "n2", "n2"]


def test_a_pod_that_no_longer_waits_is_passed_over() -> None:
    here = room()
    here.wait("gone", pod())
    here.forget("gone")
    assert here.step() == []
    here.wait("p", pod())
    assert bound(here) == ["p"]


def test_pods_that_name_a_node_before_it_is_there_count_on_it() -> None:
    here = Room()
    here.hold("early", "n1", pod_requests(pod("3")["spec"]))
    here.set_node(node_of(node()))
    here.wait("p", pod("2"))
    assert bound(here) == []


def test_many_that_do_not_fit_cost_no_more_than_one() -> None:
    """Counted in looks at a node, not in time."""
    here = room(node(cpu="1"))
    for number in range(2000):
        here.wait(f"p{number}", pod())
    here.step()
    looks = 0
    real = here._choose

    def counted(wish: Any) -> str | None:
        nonlocal looks
        looks += 1
        return real(wish)

    here._choose = counted  # type: ignore[method-assign]
    here.release("p0")
    assert bound(here) == ["p1"]
    assert looks == 2


@pytest.mark.parametrize("seed", range(20))
def test_what_is_used_is_always_the_sum_of_what_is_held(seed: int) -> None:
    chance = random.Random(seed)
    here = room(node("n1"), node("n2", cpu="2"))
    sizes: dict[str, int] = {}
    on: dict[str, str] = {}
    for number in range(200):
        if chance.random() < 0.6:
            uid = f"p{number}"
            sizes[uid] = chance.randint(1, 3)
            here.wait(uid, pod(str(sizes[uid]), priority=chance.randint(0, 2)))
        elif on:
            uid = chance.choice(sorted(on))
            here.release(uid)
            del on[uid]
        on.update({one.uid: one.node for one in here.step(3) if isinstance(one, Bind)})
        for name in ("n1", "n2"):
            held = sum(sizes[uid] for uid, where in on.items() if where == name)
            assert here.nodes[name].used.get("cpu", 0) == held * 10**9
            assert here.nodes[name].free("cpu") >= 0
