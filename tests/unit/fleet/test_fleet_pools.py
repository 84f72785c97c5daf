"""Pools: membership, drift from the data plane, and what must not cross from one to another."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.fleet.clusters import checks, pools
from fairway.fleet.clusters.ports import Said

Json = dict[str, Any]


def cluster(name: str, pool: str = "default") -> Json:
    return {"metadata": {"name": name}, "spec": {"pool": pool}}


def config(*names: str) -> Json:
    return {"metadata": {"name": "fleet"}, "spec": {"clusters": list(names)}}


def connection(name: str, active: bool = True) -> Json:
    value = "True" if active else "False"
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Active", "status": value}]}}


def check(**parameters: str) -> Json:
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "fleet", **parameters}
    spec = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": reference}
    return {"metadata": {"name": "fleet"}, "spec": spec}


def judged(names: list[str], pool_of: dict[str, str], queues: dict[str, str] | None = None) -> Said:
    around = checks.Surroundings(
        {"fleet": config(*names)}, {name: connection(name) for name in names}, pool_of, queues or {}
    )
    said = checks.active(check(), around)
    assert said is not None
    return said


def test_clusters_are_listed_by_their_pool() -> None:
    found = pools.members([cluster("b"), cluster("a"), cluster("x", "prod"), {"metadata": {"name": "c"}}])
    assert found == {"default": ["a", "b", "c"], "prod": ["x"]}


def test_a_label_says_the_pool_of_a_queue_and_wins_over_an_annotation() -> None:
    assert pools.marked_pool({"metadata": {}}) == "default"
    assert pools.marked_pool({"metadata": {"annotations": {pools.POOL: "a"}}}) == "a"
    assert pools.marked_pool({"metadata": {"labels": {pools.POOL: "b"}, "annotations": {pools.POOL: "a"}}}) == "b"


def plane(**data: str) -> Json | None:
    return pools.reported_plane({"data": {key.replace("__", "."): value for key, value in data.items()}})


def test_a_cluster_that_reports_nothing_follows_its_pool() -> None:
    assert pools.reported_plane(None) is None
    assert pools.drift({"spec": {"registry": {"locator": "r"}}}, None) == []


def test_what_the_pool_leaves_open_is_no_drift_but_for_the_registry() -> None:
    open_pool: Json = {"spec": {}}
    assert pools.drift(open_pool, plane(objectStore__uri="s3://a", secretStore__type="vault")) == []
    assert pools.drift(open_pool, plane(registry__locator="r")) == [
        "registry.locator is r on the cluster and not set in its pool"
    ]


def test_drift_names_both_values() -> None:
    pool = {"spec": {"objectStore": {"uri": "s3://pool/"}, "registry": {"locator": "r"}}}
    assert pools.drift(pool, plane(objectStore__uri="s3://pool", registry__locator="r")) == []
    assert pools.drift(pool, plane(objectStore__uri="s3://mine", registry__locator="r")) == [
        "objectStore.uri is s3://mine on the cluster and s3://pool in its pool"
    ]
    assert len(pools.drift(pool, plane())) == 2


def test_a_check_whose_clusters_are_in_two_pools_is_inactive_and_says_which() -> None:
    said = judged(["a", "b"], {"a": "default", "b": "prod"})
    assert said[:2] == ("False", "CrossesPools")
    assert "default: a" in said.message
    assert "prod: b" in said.message


def test_a_check_whose_queue_is_in_another_pool_is_inactive_and_names_the_queue() -> None:
    said = judged(["a"], {"a": "prod"}, {"research": "default"})
    assert said[:2] == ("False", "CrossesPools")
    assert '"research" is in pool default' in said.message
    assert judged(["a"], {"a": "prod"}, {"research": "prod"}) == checks.ACTIVE


def test_a_cluster_that_is_not_there_is_in_no_pool() -> None:
    around = checks.Surroundings({"fleet": config("a", "gone")}, {"a": connection("a")}, {"a": "prod"}, {"q": "prod"})
    assert checks.active(check(), around) == Said("True", "SomeActiveClusters", "Missing clusters: [gone]")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": ""}, "empty name: bad parameters reference"),
        ({"apiGroup": "x"}, 'wrong group "x", expecting "kueue.x-k8s.io": bad parameters reference'),
        ({"kind": "X"}, 'wrong kind "X", expecting "MultiKueueConfig": bad parameters reference'),
        ({"name": "other"}, 'multikueueconfigs.kueue.x-k8s.io "other" not found'),
    ],
)
def test_a_check_without_a_configuration_says_what_is_wrong_with_its_parameters(
    parameters: dict[str, str], message: str
) -> None:
    said = checks.active(check(**parameters), checks.Surroundings({}, {}))
    assert said == Said("False", "BadConfig", f"Cannot load the AdmissionChecks parameters: {message}")


def test_a_check_without_parameters_is_bad_and_one_of_others_is_none_of_ours() -> None:
    bare = {"metadata": {"name": "c"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}
    said = checks.active(bare, checks.Surroundings({}, {}))
    assert said is not None
    assert said.message.endswith("missing parameters reference")
    assert checks.active({"spec": {"controllerName": "other"}}, checks.Surroundings({}, {})) is None


def test_clusters_that_are_all_out_of_reach_make_the_check_inactive() -> None:
    around = checks.Surroundings({"fleet": config("a", "b")}, {n: connection(n, False) for n in "ab"})
    assert checks.active(check(), around) == Said("False", "NoUsableClusters", "Inactive clusters: [a b]")
