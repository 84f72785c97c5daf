"""CustomResourceDefinitions with kubectl: usable at once, honoured in full, gone when deleted; built-in ones are listed."""

from __future__ import annotations

import yaml

from tests.acceptance.objects import Obj
from tests.acceptance.support import Kubectl

SPEC_SCHEMA = {
    "type": "object",
    "required": ["draught"],
    "properties": {
        "draught": {"type": "integer", "minimum": 1, "maximum": 30},
        "flag": {"type": "string", "enum": ["red", "green"], "default": "green"},
        "berths": {"type": "integer", "default": 1},
        "crew": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "rank": {"type": "string", "default": "mate"}},
            },
        },
        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "tonnage": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    },
    "x-kubernetes-validations": [
        {"rule": "self.berths * 2 <= self.draught", "message": "a ship needs two metres of draught per berth"}
    ],
}
STATUS_SCHEMA = {"type": "object", "properties": {"berths": {"type": "integer"}, "phase": {"type": "string"}}}
CRD: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "ships.harbour.example.com"},
    "spec": {
        "group": "harbour.example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Ship",
            "plural": "ships",
            "singular": "ship",
            "shortNames": ["sh"],
            "categories": ["harbour"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A ship that waits for a berth.",
                        "properties": {"spec": SPEC_SCHEMA, "status": STATUS_SCHEMA},
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.berths", "statusReplicasPath": ".status.berths"},
                },
                "additionalPrinterColumns": [
                    {"name": "Draught", "type": "integer", "jsonPath": ".spec.draught"},
                    {"name": "Flag", "type": "string", "jsonPath": ".spec.flag", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}


def ship(name: str, **spec: object) -> Obj:
    return {"apiVersion": "harbour.example.com/v1", "kind": "Ship", "metadata": {"name": name}, "spec": spec}


def test_a_kind_of_ones_own_from_its_first_object_to_its_end(kubectl: Kubectl, cluster: Kubectl) -> None:
    assert cluster.apply(CRD) == ["customresourcedefinition.apiextensions.k8s.io/ships.harbour.example.com created"]
    cluster("wait", "--for=condition=Established", "crd/ships.harbour.example.com", "--timeout=5s")
    assert kubectl.apply(ship("ann", draught=5)) == ["ship.harbour.example.com/ann created"]
    _fills_in_and_shows(kubectl)
    _refuses_what_the_schema_refuses(kubectl)
    _takes_every_kind_of_change(kubectl)
    cluster("delete", "crd", "ships.harbour.example.com", "--timeout=20s")
    # kubectl remembers kinds for a while, and asks for those that are gone.
    assert "the server could not find the requested resource" in cluster.fails("get", "ships", "-A")
    cluster.apply(CRD)
    assert kubectl("get", "ships", "--ignore-not-found").out == ""
    cluster("delete", "crd", "ships.harbour.example.com", "--timeout=20s")


def _fills_in_and_shows(kubectl: Kubectl) -> None:
    assert kubectl.json("get", "ship", "ann")["spec"] == {"draught": 5, "flag": "green", "berths": 1}
    listed = kubectl("get", "sh")
    assert listed.headings == ["NAME", "DRAUGHT", "AGE"]
    assert listed.rows[0][:2] == ["ann", "5"]
    assert kubectl("get", "sh", "-o", "wide").headings == ["NAME", "DRAUGHT", "FLAG", "AGE"]
    assert kubectl("get", "harbour", "-o", "name").lines == ["ship.harbour.example.com/ann"]
    explained = kubectl("explain", "ship.spec").out
    assert "draught\t<integer> -required-" in explained
    assert "enum: red, green" in explained
    assert "Draught:" in kubectl("describe", "ship", "ann").out


def _refuses_what_the_schema_refuses(kubectl: Kubectl) -> None:
    for spec, words in (
        ({"draught": 99}, "spec.draught: Invalid value: 99: must be less than or equal to 30"),
        ({"draught": "deep"}, "spec.draught: Invalid value"),
        ({"draught": 5, "flag": "blue"}, 'spec.flag: Unsupported value: "blue": supported values: "red", "green"'),
        ({}, "spec.draught: Required value"),
        ({"draught": 3, "berths": 2}, "a ship needs two metres of draught per berth"),
        ({"draught": 5, "sails": 3}, 'unknown field "spec.sails"'),
    ):
        assert words in kubectl.fails("create", "-f", "-", stdin=yaml.safe_dump(ship("bad", **spec)))


def _takes_every_kind_of_change(kubectl: Kubectl) -> None:
    kubectl("patch", "ship", "ann", "--type=merge", "-p", '{"spec":{"tonnage":"3k","anything":{"x":{"y":[1]}}}}')
    assert "unknown format" in kubectl.fails("patch", "ship", "ann", "-p", '{"spec":{"draught":6}}')
    crew = ship("ann", crew=[{"name": "bo"}], draught=5)
    kubectl.apply(crew, flags=("--server-side", "--force-conflicts"))
    more = ship("ann", crew=[{"name": "cy", "rank": "cook"}], draught=5)
    kubectl.apply(more, flags=("--server-side", "--field-manager=other"))
    spec = kubectl.json("get", "ship", "ann")["spec"]
    assert spec["crew"] == [{"name": "bo", "rank": "mate"}, {"name": "cy", "rank": "cook"}]
    assert (spec["tonnage"], spec["anything"]) == ("3k", {"x": {"y": [1]}})
    kubectl("scale", "ship", "ann", "--replicas=2")
    assert kubectl.json("get", "ship", "ann")["spec"]["berths"] == 2
    kubectl("patch", "ship", "ann", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Moored"}}')
    kubectl("wait", "--for=jsonpath={.status.phase}=Moored", "ship/ann", "--timeout=5s")


def test_a_definition_can_grow_a_version_and_objects_follow(cluster: Kubectl) -> None:
    name = "buoys.harbour.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    first = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": "harbour.example.com",
            "scope": "Cluster",
            "names": {"kind": "Buoy", "plural": "buoys"},
            "versions": [first],
        },
    }
    cluster.apply(crd)
    cluster.apply(
        {
            "apiVersion": "harbour.example.com/v1alpha1",
            "kind": "Buoy",
            "metadata": {"name": "b"},
            "spec": {"color": "red"},
        }
    )
    crd["spec"] = {**crd["spec"], "versions": [{**first, "storage": False}, {**first, "name": "v1"}]}  # type: ignore[dict-item]
    cluster.apply(crd)
    shown = cluster("get", "--raw", "/apis/harbour.example.com/v1/buoys/b").json()
    assert (shown["apiVersion"], shown["spec"]["color"]) == ("harbour.example.com/v1", "red")
    cluster("delete", "crd", name, "--timeout=20s")


def test_built_in_kinds_are_listed_and_an_upstream_definition_of_one_changes_nothing(cluster: Kubectl) -> None:
    listed = cluster("get", "crds").out
    for plural in ("clusterqueues", "localqueues", "resourceflavors", "workloads"):
        assert f"{plural}.kueue.x-k8s.io" in listed
    assert "clusterresourceplacements.placement.kubernetes-fleet.io" in listed
    foreign = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterqueues.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "scope": "Cluster",
            "names": {"kind": "ClusterQueue", "plural": "clusterqueues"},
            "versions": [
                {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    for flags in (("--server-side",), (), ("--server-side",)):
        cluster.apply(foreign, flags=flags)
        assert "cohortName" in cluster("explain", "clusterqueue.spec").out
        assert "COHORT" in cluster("get", "cq", "-o", "wide").out or cluster("get", "cq").out == ""
