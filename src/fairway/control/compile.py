"""Kueue's objects (v1beta2, as decoded JSON) to the core's inputs. No I/O, no policy: a field here is a field there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairway.control.conditions import find_condition, is_true
from fairway.control.limits import problem
from fairway.control.pods import NO_RULES, Json, RequestRules, apply_rules, pod_requests
from fairway.control.times import parse_time
from fairway.core.labels import Affinity, Requirement, Selector, Taint, tolerations
from fairway.core.model import (
    UNLIMITED,
    AdmissionCheckRef,
    Backoff,
    Caps,
    Cohort,
    Flavor,
    Fungibility,
    PodSet,
    PodSetUse,
    Preemption,
    PreemptionPolicy,
    Preference,
    Queue,
    Quota,
    Reservation,
    ResourceGroup,
    Settings,
    Shape,
    StopPolicy,
    Strategy,
    TenantQueue,
    Time,
    Traits,
    Workload,
    cell,
)
from fairway.core.quantity import MILLI, NANO, parse
from fairway.core.shapes import Shapes

PREFIX = "kueue.x-k8s.io/"
BOOST = PREFIX + "priority-boost"
ALLOWED_FLAVORS = PREFIX + "workload-allowed-resource-flavors"
REPLACEMENT_FOR = PREFIX + "workload-slice-replacement-for"
VARIANT_PARENT = PREFIX + "concurrent-admission-parent"
ADMISSION_GATED = PREFIX + "admission-gated-by"
_CPU = "cpu"
_AMOUNT_MAX = 2**63 - 1


def amount(resource: str, text: object) -> int:
    """Cpu counts in thousandths, everything else in whole units."""
    return _scale(resource, parse(str(text)).nanos)


def _scale(resource: str, nanos: int) -> int:
    unit = MILLI if resource == _CPU else NANO
    return min(_AMOUNT_MAX, -(-nanos // unit)) if nanos >= 0 else nanos // unit


def flavor(obj: Json, topologies: Mapping[str, tuple[str, ...]] | None = None) -> Flavor:
    """`topologies` are the levels of each, where they are known."""
    spec = obj.get("spec") or {}
    return Flavor(
        name=obj["metadata"]["name"],
        labels=dict(spec.get("nodeLabels") or {}),
        taints=tuple(Taint(t["key"], t["effect"], t.get("value", "")) for t in spec.get("nodeTaints") or ()),
        tolerations=tolerations(spec),
        topology=spec.get("topologyName"),
        levels=(topologies or {}).get(spec.get("topologyName") or ""),
    )


def topology_levels(obj: Json) -> tuple[str, ...]:
    return tuple(level["nodeLabel"] for level in (obj.get("spec") or {}).get("levels") or ())


def cohort(obj: Json) -> Cohort:
    spec = obj.get("spec") or {}
    return Cohort(
        name=obj["metadata"]["name"],
        parent=spec.get("parentName") or None,
        quotas=_quotas(spec.get("resourceGroups")),
        weight=_weight(spec),
    )


def queue(obj: Json) -> Queue:
    spec = obj.get("spec") or {}
    scope = spec.get("admissionScope") or {}
    migration = (spec.get("concurrentAdmissionPolicy") or {}).get("migration") or {}
    return Queue(
        name=obj["metadata"]["name"],
        cohort=spec.get("cohortName") or None,
        groups=tuple(
            ResourceGroup(_covered(group), tuple(f["name"] for f in group.get("flavors") or ()))
            for group in spec.get("resourceGroups") or ()
        ),
        quotas=_quotas(spec.get("resourceGroups")),
        strategy=Strategy(spec.get("queueingStrategy") or "BestEffortFIFO"),
        preemption=_preemption(spec.get("preemption")),
        fungibility=_fungibility(spec.get("flavorFungibility") or {}),
        stop=StopPolicy(spec.get("stopPolicy") or "None"),
        weight=_weight(spec),
        namespaces=selector(spec.get("namespaceSelector")),
        usage_based_order=scope.get("admissionMode") == "UsageBasedAdmissionFairSharing",
        checks=tuple(
            AdmissionCheckRef(check["name"], tuple(check.get("onFlavors") or ()))
            for check in (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
        ),
        last_acceptable_flavor=(migration.get("constraints") or {}).get("lastAcceptableFlavorName"),
        caps=Caps(),
    )


def tenant_queue(obj: Json) -> TenantQueue:
    spec = obj.get("spec") or {}
    return TenantQueue(
        key=key_of(obj),
        queue=spec.get("clusterQueue") or "",
        weight=_weight(spec),
        stop=StopPolicy(spec.get("stopPolicy") or "None"),
    )


def key_of(obj: Json) -> str:
    metadata = obj.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


def selector(obj: Json | None) -> Selector | None:
    """None (nothing) for no selector, everything for an empty one."""
    if obj is None:
        return None
    requirements = [Requirement(k, "In", (v,)) for k, v in sorted((obj.get("matchLabels") or {}).items())]
    requirements += _requirements(obj.get("matchExpressions"))
    return Selector(tuple(requirements))


def base_priority(obj: Json) -> int:
    return int((obj.get("spec") or {}).get("priority") or 0)


def boost(obj: Json, enabled: bool) -> int:
    """What an annotation adds to the priority; text that is no 32-bit integer adds nothing."""
    if not enabled:
        return 0
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(BOOST)
    try:
        value = int(text) if text else 0
    except ValueError:
        return 0
    return value if -(2**31) <= value < 2**31 else 0


def queue_time(obj: Json, settings: Settings) -> Time:
    """Since when the workload counts as waiting: a workload that was put back goes behind, not in front."""
    evicted = find_condition(obj, "Evicted")
    if evicted is not None and evicted.get("status") == "True":
        reason = evicted.get("reason")
        if reason == "AdmissionCheck" or (reason == "PodsReadyTimeout" and settings.eviction_timestamp):
            return parse_time(evicted.get("lastTransitionTime"))
    if not settings.priority_across_queues:
        preempted = find_condition(obj, "Preempted")
        if (
            preempted is not None
            and preempted.get("status") == "True"
            and preempted.get("reason") == "InCohortReclaimWhileBorrowing"
        ):
            return parse_time(preempted.get("lastTransitionTime")) + 1_000_000
    return parse_time((obj.get("metadata") or {}).get("creationTimestamp"))


def pod_sets(obj: Json, rules: RequestRules = NO_RULES, reclaim: bool = True) -> tuple[PodSet, ...]:
    counts = _counts(obj, reclaim)
    return tuple(
        _pod_set(pod_set, counts[pod_set["name"]], rules) for pod_set in (obj.get("spec") or {}).get("podSets") or ()
    )


def workload(
    obj: Json,
    shapes: Shapes,
    settings: Settings,
    queue_name: str = "",
    rules: RequestRules = NO_RULES,
    boosted: bool = False,
    reclaim: bool = True,
    limit_ranges: Iterable[Json] = (),
    known: tuple[Shape, str | None] | None = None,
) -> Workload:
    """known: the shape and what is wrong with it, where an equal workload was compiled before."""
    metadata, spec, status = obj.get("metadata") or {}, obj.get("spec") or {}, obj.get("status") or {}
    annotations = metadata.get("annotations") or {}
    allowed = annotations.get(ALLOWED_FLAVORS) if settings.variants else None
    if known is None:
        shape = shapes.intern(
            base_priority(obj) + boost(obj, boosted),
            pod_sets(obj, rules, reclaim),
            frozenset(part.strip() for part in allowed.split(",")) if allowed is not None else None,
        )
        known = (shape, problem(obj, limit_ranges))
    shape, misconfigured = known
    reserved = reservation(obj, reclaim)
    return Workload(
        key=key_of(obj),
        uid=metadata.get("uid") or "",
        tenant_queue=f"{metadata.get('namespace', '')}/{spec.get('queueName') or ''}",
        queue=reserved.queue if reserved is not None else queue_name,
        shape=shape,
        created=parse_time(metadata.get("creationTimestamp")),
        queued=queue_time(obj, settings),
        reservation=reserved,
        evicted=is_true(obj, "Evicted"),
        backoff=_backoff(obj, status),
        traits=_traits(obj, settings, allowed, misconfigured),
    )


def reservation(obj: Json, reclaim: bool = True) -> Reservation | None:
    """What the workload holds; none without an admission, whatever its conditions say."""
    status = obj.get("status") or {}
    admission = status.get("admission")
    if not admission:
        return None
    counts = _counts(obj, reclaim)
    full = {pod_set["name"]: int(pod_set.get("count") or 0) for pod_set in (obj.get("spec") or {}).get("podSets") or ()}
    uses: list[PodSetUse] = []
    usage: dict[str, int] = {}
    cells: set[str] = set()
    for assignment in admission.get("podSetAssignments") or ():
        name = assignment["name"]
        flavors = dict(assignment.get("flavors") or {})
        count = int(assignment.get("count", full.get(name, 0)))
        amounts = {r: amount(r, text) for r, text in (assignment.get("resourceUsage") or {}).items()}
        left = counts.get(name, 0)
        if left < count:
            amounts = {r: value // count * left for r, value in amounts.items()}
            count = left
        uses.append(PodSetUse(name, flavors, amounts, count))
        cells.update(cell(flavor_name, resource) for resource, flavor_name in flavors.items())
        for resource, value in amounts.items():
            if flavors.get(resource):
                at = cell(flavors[resource], resource)
                usage[at] = usage.get(at, 0) + value
    reserved = find_condition(obj, "QuotaReserved")
    since = parse_time(reserved.get("lastTransitionTime")) if reserved and reserved.get("status") == "True" else -1
    return Reservation(
        queue=admission.get("clusterQueue") or "",
        pod_sets=tuple(uses),
        usage=usage,
        cells=frozenset(cells),
        since=since,
        admitted=is_true(obj, "Admitted"),
    )


def is_admissible(obj: Json) -> bool:
    """Whether a workload may wait in a queue at all."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    quota = find_condition(obj, "QuotaReserved")
    return (
        not (metadata.get("annotations") or {}).get(ADMISSION_GATED)
        and not is_true(obj, "Finished")
        and spec.get("active", True) is not False
        and not (quota is not None and quota.get("status") == "True")
        and not (quota is not None and quota.get("status") == "False" and quota.get("reason") == "OnHold")
        and not is_true(obj, "WaitingForReplacementPods")
    )


def _weight(spec: Json) -> float:
    weight = (spec.get("fairSharing") or {}).get("weight")
    return 1.0 if weight is None else parse(str(weight)).nanos / NANO


def _covered(group: Json) -> tuple[str, ...]:
    covered = group.get("coveredResources")
    if covered:
        return tuple(covered)
    flavors = group.get("flavors") or ()
    return tuple(resource["name"] for resource in flavors[0].get("resources") or ()) if flavors else ()


def _quotas(groups: Iterable[Json] | None) -> dict[str, Quota]:
    quotas: dict[str, Quota] = {}
    for group in groups or ():
        for entry in group.get("flavors") or ():
            for resource in entry.get("resources") or ():
                name = resource["name"]
                quotas[cell(entry["name"], name)] = Quota(
                    _unlimited_if_huge(amount(name, resource.get("nominalQuota", "0"))),
                    _limit(name, resource.get("borrowingLimit")),
                    _limit(name, resource.get("lendingLimit")),
                )
    return quotas


def _unlimited_if_huge(value: int) -> int:
    """What does not fit 64 bits is a way to say that there is no limit."""
    return UNLIMITED if value >= _AMOUNT_MAX else value


def _limit(resource: str, text: object) -> int | None:
    return None if text is None else _unlimited_if_huge(amount(resource, text))


def _preemption(spec: Json | None) -> Preemption:
    if spec is None:
        return Preemption()
    borrow = spec.get("borrowWithinCohort") or {}
    return Preemption(
        within_queue=PreemptionPolicy(spec.get("withinClusterQueue") or ""),
        reclaim=PreemptionPolicy(spec.get("reclaimWithinCohort") or ""),
        borrow_lower_priority=(borrow.get("policy") or "Never") != "Never",
        borrow_priority_threshold=borrow.get("maxPriorityThreshold"),
    )


def _fungibility(spec: Json) -> Fungibility:
    preference = spec.get("preference")
    return Fungibility(
        try_next_when_borrowing=spec.get("whenCanBorrow") == "TryNextFlavor",
        try_next_when_preempting=(spec.get("whenCanPreempt") or "TryNextFlavor") == "TryNextFlavor",
        preference=Preference(preference) if preference else Preference.BORROWING_OVER_PREEMPTION,
    )


def _counts(obj: Json, reclaim: bool) -> dict[str, int]:
    counts = {p["name"]: int(p.get("count") or 0) for p in (obj.get("spec") or {}).get("podSets") or ()}
    if reclaim:
        for entry in (obj.get("status") or {}).get("reclaimablePods") or ():
            name = entry["name"]
            if name in counts:
                counts[name] -= min(int(entry.get("count") or 0), counts[name])
    return counts


def _pod_set(obj: Json, count: int, rules: RequestRules) -> PodSet:
    spec: Json = (obj.get("template") or {}).get("spec") or {}
    topology = obj.get("topologyRequest")
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    terms = tuple(tuple(_requirements(t.get("matchExpressions"))) for t in required.get("nodeSelectorTerms") or ())
    requests = apply_rules(pod_requests(spec), rules)
    return PodSet(
        name=obj["name"],
        count=count,
        requests={name: max(0, _scale(name, nanos)) for name, nanos in requests.items()},
        min_count=obj.get("minCount"),
        spec_count=int(obj.get("count") or 0),
        node_selector=dict(spec.get("nodeSelector") or {}),
        affinity=Affinity(terms) if terms else None,
        tolerations=tolerations(spec),
        group=(topology or {}).get("podSetGroupName"),
        wants_topology=_asks_for_topology(topology or {}),
        topology_levels=_requested_levels(topology or {}),
    )


def _asks_for_topology(request: Json) -> bool:
    return bool(
        request.get("required")
        or request.get("preferred")
        or request.get("unconstrained")
        or request.get("podSetSliceRequiredTopology")
    )


def _requested_levels(request: Json) -> tuple[str, ...]:
    fields = ("required", "preferred", "podSetSliceRequiredTopology")
    return tuple(str(request[field]) for field in fields if request.get(field))


def _requirements(entries: Iterable[Json] | None) -> list[Requirement]:
    return [Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in entries or ()]


def _backoff(obj: Json, status: Json) -> Backoff | None:
    requeued = find_condition(obj, "Requeued")
    if requeued is not None and requeued.get("status") == "False":
        return Backoff(blocked=True)
    at = (status.get("requeueState") or {}).get("requeueAt")
    return Backoff(until=parse_time(at)) if at else None


def _traits(obj: Json, settings: Settings, allowed: Any, misconfigured: str | None) -> Traits | None:
    metadata, status = obj.get("metadata") or {}, obj.get("status") or {}
    traits = Traits(
        gate_closed=settings.preemption_gates and _has_closed_gate(obj),
        failed_checks=any(check.get("state") in ("Retry", "Rejected") for check in status.get("admissionChecks") or ()),
        misconfigured=misconfigured,
        replaces=(metadata.get("annotations") or {}).get(REPLACEMENT_FOR) if settings.slices else None,
        variant_parent=_variant_parent(metadata) if settings.variants else None,
        variant_flavor=allowed or None,
        generation=int(metadata.get("generation") or 0),
    )
    return None if traits == Traits() else traits


def _variant_parent(metadata: Json) -> str | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Workload":
            return str(owner.get("uid") or "") or None
    return None


def _has_closed_gate(obj: Json) -> bool:
    positions = {g["name"]: g.get("position") for g in (obj.get("status") or {}).get("preemptionGates") or ()}
    return any(positions.get(g["name"]) != "Open" for g in (obj.get("spec") or {}).get("preemptionGates") or ())
