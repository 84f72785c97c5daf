"""Quotas of a hub beyond the vectors: limits that stay, and manual quotas that are far off."""

from __future__ import annotations

from typing import Any

from fairway.control.default_queue import FOLLOWS
from fairway.fleet.clusters import quota
from fairway.fleet.clusters.quota import Fleet, Verdict, Worker, decide

Json = dict[str, Any]
CHECK: Json = {
    "metadata": {"name": "fleet"},
    "spec": {
        "controllerName": "kueue.x-k8s.io/multikueue",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "fleet"},
    },
}


def queue(*amounts: Json, check: bool = True) -> Json:
    covered = [each["name"] for each in amounts]
    flavor = {"name": "f", "resources": list(amounts)}
    spec: Json = {"resourceGroups": [{"coveredResources": covered, "flavors": [flavor]}]}
    if check:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": "fleet"}]}
    return {"metadata": {"name": "default"}, "spec": spec}


def cpu(amount: str, **limits: str) -> Json:
    return {"name": "cpu", "nominalQuota": amount, **limits}


def worker(amount: str) -> Worker:
    tenant = {"metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterQueue": "default"}}
    return Worker([tenant], [queue(cpu(amount), check=False)])


def decided(ours: Json, mode: str, held: dict[str, list[Json]] | None = None, **workers: Worker) -> Verdict:
    config = {"metadata": {"name": "fleet"}, "spec": {"clusters": ["a", "b"], "quotaManagement": mode}}
    return decide(ours, Fleet({"fleet": CHECK}, {"fleet": config}, ["default/default"], workers, held or {}))


def resources(verdict: Verdict) -> list[Json]:
    assert verdict.groups is not None
    found: list[Json] = verdict.groups[0]["flavors"][0]["resources"]
    return found


def test_a_quota_that_is_already_right_keeps_its_spelling() -> None:
    ours = queue(cpu("3000m"))
    verdict = decided(ours, "Automated", a=worker("1"), b=worker("2"))
    assert verdict.groups == ours["spec"]["resourceGroups"]


def test_what_still_runs_on_a_cluster_out_of_reach_is_not_taken_from_the_others() -> None:
    def using(amount: str, name: str = "default") -> Json:
        return {
            "metadata": {},
            "status": {"admission": {"clusterQueue": name, "podSetAssignments": [{"resourceUsage": {"cpu": amount}}]}},
        }

    lost = {"b": [using("3"), using("500m"), using("7", "another")], "elsewhere": [using("9")]}
    assert resources(decided(queue(cpu("9")), "Automated", lost, a=worker("2"))) == [cpu("5500m")]


def test_limits_stay_and_lending_never_exceeds_the_quota() -> None:
    verdict = decided(queue(cpu("9", borrowingLimit="1", lendingLimit="8")), "Automated", a=worker("2"))
    assert resources(verdict) == [cpu("2", borrowingLimit="1", lendingLimit="2")]


def test_no_cluster_within_reach_is_no_quota() -> None:
    assert resources(decided(queue(cpu("9")), "Automated")) == [cpu("0")]


def test_manual_quotas_that_are_far_off_are_told_with_both_numbers() -> None:
    for ours, far in (("6", False), ("12", False), ("13", True), ("3", False), ("2", True)):
        verdict = decided(queue(cpu(ours)), "Manual", a=worker("2"), b=worker("4"))
        assert verdict.mismatch is not None
        assert (verdict.mismatch.status == "True") is far, ours
        assert verdict.groups is None
    verdict = decided(queue(cpu("100")), "Manual", a=worker("2"), b=worker("4"))
    assert verdict.mismatch is not None
    assert verdict.mismatch.reason == "QuotaFarOff"
    assert verdict.mismatch.message.startswith("cpu: 100 here, 6 on the clusters.")


def test_nothing_is_compared_while_a_cluster_is_out_of_reach() -> None:
    assert decided(queue(cpu("100")), "Manual", a=worker("2")).mismatch is None


def test_a_queue_without_a_check_of_ours_is_left_alone() -> None:
    assert decided(queue(cpu("1"), check=False), "Automated", a=worker("2")) == Verdict()


def test_more_than_one_flavor_cannot_be_automated() -> None:
    ours = queue(cpu("1"))
    ours["spec"]["resourceGroups"][0]["flavors"].append({"name": "g", "resources": [cpu("1")]})
    verdict = decided(ours, "Automated", a=worker("2"))
    assert verdict.groups is None
    assert verdict.automation is not None
    assert verdict.automation.reason == "UnsupportedConfiguration"
    assert verdict.automation.message.endswith("exactly one ResourceFlavor")


def test_a_queue_of_a_cluster_counts_once_however_many_lead_to_it() -> None:
    twice = worker("2")
    other = {"metadata": {"name": "more", "namespace": "default"}, "spec": {"clusterQueue": "default"}}
    both = Worker([*twice.local_queues, other], twice.cluster_queues)
    assert quota.offered([both], {"default/default", "default/more"}).render("cpu") == "2"


def test_a_queue_that_follows_its_pool_covers_whatever_the_clusters_offer() -> None:
    ours = queue(cpu("1"))
    gpus = {"name": "nvidia.com/gpu", "nominalQuota": "4"}
    big = Worker(worker("2").local_queues, [queue(cpu("2"), gpus, check=False)])
    verdict = decided(ours, "Automated", a=big)
    assert verdict.automation is not None
    assert verdict.automation.reason == "UnsupportedConfiguration"
    ours["metadata"]["annotations"] = {FOLLOWS: "default"}
    verdict = decided(ours, "Automated", a=big)
    assert resources(verdict) == [cpu("2"), gpus]
    assert verdict.groups is not None
    assert verdict.groups[0]["coveredResources"] == ["cpu", "nvidia.com/gpu"]
