"""Deletion: finalizers, owners, selectors, namespaces."""

from __future__ import annotations

import yaml

from tests.acceptance.objects import Obj, config_map, job
from tests.acceptance.support import Kubectl

LEFT = "--ignore-not-found"


def owned(name: str, owner: Obj, *, blocks: bool = False) -> Obj:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    result = config_map(name)
    result["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": blocks}]
    return result


def test_what_is_deleted_is_gone_and_says_so(kubectl: Kubectl) -> None:
    kubectl.apply(job("a"))
    assert kubectl("delete", "job", "a").out == 'job.batch "a" deleted\n'
    assert kubectl.fails("delete", "job", "a") == 'Error from server (NotFound): jobs.batch "a" not found'
    assert kubectl("delete", "job", "a", LEFT).out == ""


def test_dependents_follow_in_the_background(kubectl: Kubectl) -> None:
    kubectl.apply(job("owner"))
    kubectl.apply(owned("child", kubectl.json("get", "job", "owner")))
    kubectl("delete", "job", "owner")
    kubectl("wait", "--for=delete", "cm/child", "--timeout=10s")
    assert kubectl("get", "cm", "child", LEFT).out == ""


def test_a_foreground_deletion_waits_for_dependents(kubectl: Kubectl) -> None:
    kubectl.apply(job("owner"))
    child = owned("child", kubectl.json("get", "job", "owner"), blocks=True)
    child["metadata"]["finalizers"] = ["example.com/wait"]
    kubectl.apply(child)
    kubectl("delete", "job", "owner", "--cascade=foreground", "--wait=false")
    held = kubectl.json("get", "job", "owner")["metadata"]
    assert held["deletionTimestamp"]
    assert held["finalizers"] == ["foregroundDeletion"]
    kubectl("patch", "cm", "child", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("wait", "--for=delete", "job/owner", "--timeout=10s")


def test_orphans_stay_without_their_owner(kubectl: Kubectl) -> None:
    kubectl.apply(job("owner"))
    kubectl.apply(owned("child", kubectl.json("get", "job", "owner")))
    kubectl("delete", "job", "owner", "--cascade=orphan")
    assert "ownerReferences" not in kubectl.json("get", "cm", "child")["metadata"]


def test_finalizers_hold_an_object_until_they_are_taken_off(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(held)
    said = kubectl.run("delete", "cm", "held", "--timeout=1s")
    assert said.code != 0
    assert "timed out waiting for the condition" in said.err
    assert kubectl.json("get", "cm", "held")["metadata"]["deletionTimestamp"]
    more = '{"metadata":{"finalizers":["example.com/hold","example.com/new"]}}'
    assert "no new finalizers can be added" in kubectl.fails("patch", "cm", "held", "--type=merge", "-p", more)
    kubectl("patch", "cm", "held", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    assert kubectl("get", "cm", "held", LEFT).out == ""


def test_many_are_deleted_by_label_and_all_at_once(kubectl: Kubectl) -> None:
    maps = [config_map(f"c{number}") for number in range(4)]
    for each in maps[:2]:
        each["metadata"]["labels"] = {"old": "yes"}
    kubectl.apply(*maps)
    assert kubectl("delete", "cm", "-l", "old=yes").lines == ['configmap "c0" deleted', 'configmap "c1" deleted']
    assert len(kubectl("delete", "cm", "--all").lines) == 2
    kubectl.apply(*maps)
    assert len(kubectl("delete", "-f", "-", stdin=yaml.safe_dump_all(maps)).lines) == 4


def test_a_namespace_takes_its_contents_with_it_and_takes_nothing_new(cluster: Kubectl) -> None:
    cluster("create", "ns", "doomed")
    kubectl = cluster.with_("-n", "doomed")
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(job("a"), held)
    cluster("delete", "ns", "doomed", "--wait=false")
    kubectl("wait", "--for=delete", "job/a", "--timeout=10s")
    assert cluster("get", "ns", "doomed").rows[0][1] == "Terminating"
    assert kubectl.fails("create", "cm", "late").endswith(
        "unable to create new content in namespace doomed because it is being terminated"
    )
    kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    cluster("wait", "--for=delete", "ns/doomed", "--timeout=10s")
    cluster("create", "ns", "doomed")
    assert kubectl("get", "cm,job", LEFT).out == ""
    cluster("delete", "ns", "doomed")
