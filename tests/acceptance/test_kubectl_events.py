"""Events: created through the API, shown by get, events and describe."""

from __future__ import annotations

from tests.acceptance.objects import cluster_queue, config_map, event
from tests.acceptance.support import Kubectl


def test_events_of_an_object_are_shown_everywhere(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(config_map("a"), config_map("b"))
    about = kubectl.json("get", "cm", "a")
    kubectl.apply(event("e", about, reason="Queued", message="waiting for quota", namespace=namespace))
    listed = kubectl("get", "events")
    assert listed.headings == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert listed.rows[0][1:] == ["Normal", "Queued", "configmap/a", "waiting for quota"]
    assert "harbour-master" in kubectl("get", "events", "-o", "wide").out
    assert "waiting for quota" in kubectl("events", "--for", "configmap/a").out
    assert "waiting for quota" not in kubectl.run("events", "--for", "configmap/b").out
    assert "waiting for quota" in kubectl("get", "events", "--field-selector=involvedObject.name=a,reason=Queued").out
    described = kubectl("describe", "cm", "a").out.split("Events:")[1]
    assert "Queued" in described
    assert "harbour-master" in described
    assert "<none>" in kubectl("describe", "cm", "b").out.split("Events:")[1]
    newer = kubectl.json("get", "events.events.k8s.io", "e")
    assert (newer["apiVersion"], newer["note"]) == ("events.k8s.io/v1", "waiting for quota")
    assert newer["regarding"]["name"] == "a"


def test_events_of_a_queue_are_described_with_it(cluster: Kubectl) -> None:
    cluster.apply(cluster_queue("eventful"))
    about = cluster.json("get", "cq", "eventful")
    cluster.apply(event("eventful.1", about, reason="Opened", message="may admit now", namespace="default"))
    assert "may admit now" in cluster("describe", "cq", "eventful").out
    assert "may admit now" in cluster("events", "-A").out
    cluster("delete", "event", "eventful.1", "-n", "default")
    cluster("delete", "cq", "eventful")
