"""What is made from a Cluster, what becomes of a MultiKueueCluster that a user writes, and how they follow each other."""

from __future__ import annotations

from typing import Any

from fairway.fleet.clusters import projection
from fairway.fleet.clusters.projection import ADOPTED, CLUSTER, MEMBER_CLUSTERS, writes
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS

Json = dict[str, Any]


def cluster(connection: Json | None = None, **metadata: Any) -> Json:
    spec: Json = {"pool": "default", "taints": [{"key": "gpu"}]}
    if connection is not None:
        spec["connection"] = {"kubeconfig": connection}
    return {"metadata": {"name": "c1", "uid": "cluster-uid", "labels": {"zone": "a"}, **metadata}, "spec": spec}


def stored(obj: Json, uid: str) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "uid": uid, "resourceVersion": "7"}}


def users_connection(**metadata: Any) -> Json:
    spec = {"clusterSource": {"kubeConfig": {"location": "s", "locationType": "Secret"}}}
    return {"metadata": {"name": "c1", "uid": "mk-uid", **metadata}, "spec": spec}


def verbs(found: list[Any]) -> list[tuple[str, str]]:
    return [(write.verb, write.resource.plural) for write in found]


def test_a_cluster_with_a_connection_gets_both_projections_and_owns_them() -> None:
    connection, member = writes("c1", cluster({"secretName": "s"}), None, None)
    assert (connection.verb, connection.resource) == ("create", MULTIKUEUE_CLUSTERS)
    assert connection.body["spec"] == {"clusterSource": {"kubeConfig": {"location": "s", "locationType": "Secret"}}}
    assert connection.body["metadata"]["labels"] == {CLUSTER: "c1"}
    assert (member.verb, member.resource) == ("create", MEMBER_CLUSTERS)
    assert member.body["metadata"]["labels"] == {"zone": "a", CLUSTER: "c1", "fairway.dev/pool": "default"}
    assert member.body["spec"]["taints"] == [{"effect": "NoSchedule", "key": "gpu"}]
    for made in (connection.body, member.body):
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Cluster", "cluster-uid", True)


def test_projections_that_are_in_step_are_left_alone_and_follow_every_change() -> None:
    ours = cluster({"path": "/k"})
    made = [stored(write.body, "x") for write in writes("c1", ours, None, None)]
    assert writes("c1", ours, *made) == []
    moved = cluster({"path": "/other"}, labels={"zone": "b"})
    connection, member = writes("c1", moved, *made)
    assert (connection.verb, member.verb) == ("update", "update")
    assert connection.body["spec"]["clusterSource"]["kubeConfig"]["location"] == "/other"
    assert member.body["metadata"]["labels"]["zone"] == "b"
    tampered = [{**made[0], "spec": {"clusterSource": {}}}, made[1]]
    assert verbs(writes("c1", ours, *tampered)) == [("update", "multikueueclusters")]


def test_what_others_write_on_a_projected_connection_stays() -> None:
    ours = cluster({"path": "/k"})
    made = [stored(write.body, "x") for write in writes("c1", ours, None, None)]
    made[0]["metadata"]["labels"]["team"] = "x"
    assert writes("c1", ours, *made) == []


def test_without_a_connection_there_are_no_projections() -> None:
    assert writes("c1", cluster(), None, None) == []
    made = [stored(write.body, "x") for write in writes("c1", cluster({"path": "/k"}), None, None)]
    assert verbs(writes("c1", cluster(), *made)) == [("delete", "multikueueclusters"), ("delete", "memberclusters")]


def test_a_connection_that_a_user_wrote_is_adopted_and_stays_as_it_is() -> None:
    wrote = users_connection(labels={"zone": "a", "fairway.dev/pool": "prod"})
    (write,) = writes("c1", None, wrote, None)
    assert (write.verb, write.resource) == ("create", CLUSTERS)
    made = write.body
    assert made["spec"] == {"pool": "prod", "engine": "kubernetes"}
    assert made["metadata"]["annotations"] == {ADOPTED: "MultiKueueCluster"}
    assert made["metadata"]["labels"] == {"zone": "a"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "mk-uid"
    assert verbs(writes("c1", stored(made, "cluster-uid"), wrote, None)) == [("create", "memberclusters")]


def test_a_connection_whose_cluster_was_just_deleted_is_not_adopted() -> None:
    made = [stored(write.body, "x") for write in writes("c1", cluster({"path": "/k"}), None, None)]
    assert writes("c1", None, *made) == []


def test_an_adopted_cluster_that_gets_a_connection_of_its_own_takes_over() -> None:
    wrote = users_connection()
    made = stored(projection.adopted(wrote), "cluster-uid")
    made["spec"]["connection"] = {"kubeconfig": {"path": "/k"}}
    found = writes("c1", made, wrote, None)
    assert verbs(found) == [("update", "clusters"), ("update", "multikueueclusters"), ("create", "memberclusters")]
    assert found[0].body["metadata"]["annotations"] == {}
    assert found[0].body["metadata"]["ownerReferences"] == []
    assert found[1].body["metadata"]["ownerReferences"][0]["uid"] == "cluster-uid"


def test_a_cluster_without_a_connection_beside_a_users_one_is_marked_as_adopted() -> None:
    found = writes("c1", cluster(), users_connection(), None)
    assert verbs(found) == [("update", "clusters"), ("create", "memberclusters")]
    assert found[0].body["metadata"]["annotations"] == {ADOPTED: "MultiKueueCluster"}
    assert "ownerReferences" not in found[0].body["metadata"]


def test_a_member_cluster_of_somebody_else_is_not_touched() -> None:
    theirs = {"metadata": {"name": "c1", "uid": "m"}, "spec": {"identity": {"kind": "User", "name": "agent"}}}
    assert verbs(writes("c1", cluster({"path": "/k"}), None, theirs)) == [("create", "multikueueclusters")]
    assert writes("c1", cluster(), None, theirs) == []


def test_what_is_being_deleted_is_left_to_its_end() -> None:
    assert writes("c1", cluster({"path": "/k"}, deletionTimestamp="t"), None, None) == []
    assert writes("c1", None, users_connection(deletionTimestamp="t"), None) == []


def test_a_name_that_is_too_long_for_a_member_cluster_gets_none() -> None:
    long = cluster({"path": "/k"}, name="c" * 70)
    (write,) = writes("c" * 70, long, None, None)
    assert write.resource is MULTIKUEUE_CLUSTERS
    assert "labels" not in write.body["metadata"]
