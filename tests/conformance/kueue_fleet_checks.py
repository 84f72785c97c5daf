"""Suite F, a hub's own objects: whether its MultiKueue checks are active, and quotas that follow the clusters'."""

from __future__ import annotations

from fairway.fleet.clusters import checks, quota
from fairway.fleet.clusters.ports import Said
from tests.conformance.kueue_world import Json, check, same_quantity
from tests.conformance.runner import adapter


def _named(vector: Json, kind: str) -> dict[str, Json]:
    return {obj["metadata"]["name"]: obj for obj in vector["objects"] if obj["kind"] == kind}


def _said(condition: Json | None) -> Said | None:
    return None if condition is None else Said(condition["status"], condition["reason"], condition["message"])


@adapter("multiKueueAdmissionCheckReconcile", suites="F")
def admission_check(vector: Json) -> None:
    found = _named(vector, "AdmissionCheck").get(vector["input"]["reconcile"])
    if found is None:
        check(vector["expect"]["admissionChecks"], [], "checks")
        return
    around = checks.Surroundings(_named(vector, "MultiKueueConfig"), _named(vector, "MultiKueueCluster"))
    (want,) = vector["expect"]["admissionChecks"]
    conditions = (want.get("status") or {}).get("conditions") or [None]
    check(checks.active(found, around), _said(conditions[0]), "the Active condition")


@adapter("multiKueueClusterQueueQuota", suites="F")
def cluster_queue_quota(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    queue = _named(vector, "ClusterQueue")[given["clusterQueue"]]
    tenants = [
        f"{obj['metadata']['namespace']}/{name}"
        for name, obj in _named(vector, "LocalQueue").items()
        if obj["spec"]["clusterQueue"] == given["clusterQueue"]
    ]
    workers = {
        name: quota.Worker(worker.get("lqs") or [], worker.get("cqs") or [])
        for name, worker in (given.get("workers") or {}).items()
        if not worker.get("inactive")
    }
    fleet = quota.Fleet(_named(vector, "AdmissionCheck"), _named(vector, "MultiKueueConfig"), tenants, workers)
    verdict = quota.decide(queue, fleet)
    check(verdict.automation, _said(want["condition"]), "the condition")
    check(verdict.groups is not None, want["quotaAutomated"], "whether the quota is automated")
    if want["nominalQuotas"] is not None:
        assert verdict.groups is not None
        resources = verdict.groups[0]["flavors"][0]["resources"]
        check(sorted(each["name"] for each in resources), sorted(want["nominalQuotas"]), "resources")
        for each in resources:
            amount = want["nominalQuotas"][each["name"]]
            assert same_quantity(each["nominalQuota"], amount), f"{each['name']}: {each['nominalQuota']}, not {amount}"
