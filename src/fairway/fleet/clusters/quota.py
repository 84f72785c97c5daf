"""The hub's quota from the quotas of its clusters: followed where that is asked for, compared where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairway.control.adapters import Json
from fairway.control.default_queue import FOLLOWS
from fairway.core.quantity import parse
from fairway.fleet.clusters import checks
from fairway.fleet.clusters.capacity import Sums, quotas
from fairway.fleet.clusters.ports import Said

AUTOMATION = "MultiKueueManagerQuotaAutomation"
MISMATCH = "fairway.dev/QuotaMismatch"
"""Condition of a ClusterQueue whose manual quota has little to do with what its clusters have."""
_AUTOMATED = Said("True", "QuotaAutomated", "ClusterQueue quota is automatically managed based on MultiKueue workers.")
_NOT_ASKED = Said("False", "NotRequested", "MultiKueue manager quota automation has not been requested.")
_NO_CONFIG = "The referenced MultiKueueConfig was not found."
_ONE_FLAVOR = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"
FAR_OFF = 2
"""More than this many times, or less than one in this many, is far off."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The queues of a cluster that is connected."""

    local_queues: Sequence[Json]
    cluster_queues: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a ClusterQueue."""

    automation: Said | None = None
    """The condition that says so; none for a queue without a MultiKueue check."""
    groups: list[Json] | None = None
    """Its resourceGroups, where they follow the clusters'."""
    mismatch: Said | None = None
    """Set for manual quotas once all clusters are known."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a ClusterQueue's quota is worked out from."""

    checks: Mapping[str, Json]
    configs: Mapping[str, Json]
    local_queues: Iterable[str]
    """Keys of the hub's LocalQueues that lead to the queue."""
    workers: Mapping[str, Worker] = field(default_factory=dict)
    """Clusters that are connected, by name."""
    held: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    """By cluster that is out of reach: workloads here that may still run there."""


def decide(queue: Json, fleet: Fleet) -> Verdict:
    check = _check_of(queue, fleet.checks)
    if check is None:
        return Verdict()
    try:
        config = checks.config_of(check, fleet.configs)
    except checks.NoSuchConfig:
        return Verdict(_unsupported(_NO_CONFIG))
    except checks.BadParameters as error:
        return Verdict(_unsupported(f"Cannot load the AdmissionChecks parameters: {error}"))
    names = checks.clusters_of(config)
    total = offered((fleet.workers[name] for name in names if name in fleet.workers), set(fleet.local_queues))
    if (config.get("spec") or {}).get("quotaManagement", "Manual") == "Manual":
        known = all(name in fleet.workers for name in names)
        return Verdict(_NOT_ASKED, mismatch=_compared(queue, total) if known else None)
    groups = (queue.get("spec") or {}).get("resourceGroups") or []
    if len(groups) != 1 or len(groups[0].get("flavors") or ()) != 1:
        return Verdict(_unsupported(_ONE_FLAVOR))
    group, covered = groups[0], list(groups[0].get("coveredResources") or ())
    for name in names:
        add_held(total, fleet.held.get(name, ()), queue["metadata"]["name"])
    missing = sorted(set(total) - set(covered))
    if missing and follows(queue):
        group = {**group, "coveredResources": [*covered, *missing]}
    elif missing:
        said = f"manager-side coveredResources is missing resources configured on workers: [{' '.join(missing)}]"
        return Verdict(_unsupported(said))
    return Verdict(_AUTOMATED, [_followed(group, total)])


def is_lower(queue: Json, verdict: Verdict) -> bool:
    """Whether a quota that follows would go down for any resource."""
    if verdict.groups is None:
        return False
    before, after = Sums(), Sums()
    for sums, groups in ((before, (queue.get("spec") or {}).get("resourceGroups")), (after, verdict.groups)):
        for name, amount in quotas({"spec": {"resourceGroups": groups}}):
            sums.add(name, amount)
    return any(after.nanos(name) < before.nanos(name) for name in before)


def follows(obj: Json) -> str:
    """The pool that a queue follows: it covers whatever the clusters there have queues for. Empty if it stands for itself."""
    return str((obj["metadata"].get("annotations") or {}).get(FOLLOWS) or "")


def offered(workers: Iterable[Worker], tenants: set[str]) -> Sums:
    """Nominal quotas of the clusters' queues that the hub's LocalQueues lead to by their names; each queue counts once."""
    total = Sums()
    for worker in workers:
        reached = {each["spec"].get("clusterQueue") for each in worker.local_queues if _key(each) in tenants}
        for queue in worker.cluster_queues:
            if queue["metadata"]["name"] in reached:
                for name, amount in quotas(queue):
                    total.add(name, amount)
    return total


def add_held(total: Sums, workloads: Iterable[Json], queue: str) -> None:
    """What runs on a cluster that is out of reach still has its quota here: without its cluster's share, that would be taken from the
    others, which would stand idle until it is over."""
    for workload in workloads:
        admission = (workload.get("status") or {}).get("admission") or {}
        if admission.get("clusterQueue") == queue:
            for pod_set in admission.get("podSetAssignments") or ():
                for name, amount in (pod_set.get("resourceUsage") or {}).items():
                    total.add(name, str(amount))


def _check_of(queue: Json, known: Mapping[str, Json]) -> Json | None:
    named = sorted(checks.checks_of(queue))
    return next((known[name] for name in named if name in known and checks.is_ours(known[name])), None)


def _followed(group: Json, total: Sums) -> Json:
    flavor = group["flavors"][0]
    before = {each["name"]: each for each in flavor.get("resources") or ()}
    resources = [_resource(before.get(name) or {}, name, total) for name in group.get("coveredResources") or ()]
    return {**group, "flavors": [{**flavor, "resources": resources}]}


def _resource(before: Json, name: str, total: Sums) -> Json:
    """An amount that is the same keeps its spelling, and a limit its place, as far as it still makes sense."""
    same = "nominalQuota" in before and parse(str(before["nominalQuota"])).nanos == total.nanos(name)
    made = {**before, "name": name, "nominalQuota": before["nominalQuota"] if same else total.render(name)}
    if "lendingLimit" in made and parse(str(made["lendingLimit"])).nanos > total.nanos(name):
        made["lendingLimit"] = made["nominalQuota"]
    return made


def _compared(queue: Json, total: Sums) -> Said:
    here = Sums()
    for name, amount in quotas(queue):
        here.add(name, amount)
    off = [name for name in sorted(here) if _is_far_off(here.nanos(name), total.nanos(name))]
    if not off:
        return Said("False", "QuotaMatches", "The quota is about what the clusters have.")
    said = "; ".join(f"{name}: {here.render(name)} here, {total.render(name)} on the clusters" for name in off)
    return Said(
        "True",
        "QuotaFarOff",
        f"{said}. With more here than there, work is handed out that waits on the clusters; with less, clusters stay idle. "
        "Set the quota, or quotaManagement: Automated in the MultiKueueConfig.",
    )


def _is_far_off(here: int, there: int) -> bool:
    return here > FAR_OFF * there or here * FAR_OFF < there


def _unsupported(message: str) -> Said:
    return Said("False", "UnsupportedConfiguration", message)


def _key(obj: Json) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
