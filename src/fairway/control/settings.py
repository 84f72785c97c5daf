"""Kueue's feature gates and component configuration, as the core's settings."""

from __future__ import annotations

from collections.abc import Mapping

from fairway.control.pods import Json, RequestRules, Transformation
from fairway.control.times import parse_duration
from fairway.core.model import SECOND, Settings, ShareStrategy, UsageDecay


def request_rules(config: Json | None) -> RequestRules:
    config = config or {}
    return RequestRules(
        excluded_prefixes=tuple(config.get("excludeResourcePrefixes") or ()),
        transformations={
            entry["input"]: Transformation(
                outputs=dict(entry.get("outputs") or {}),
                replace=entry.get("strategy") == "Replace",
                multiply_by=entry.get("multiplyBy") or None,
            )
            for entry in config.get("transformations") or ()
        },
    )


def usage_decay(config: Json | None) -> UsageDecay | None:
    if config is None:
        return None
    weights = config.get("resourceWeights") or {}
    sampling = config.get("usageSamplingInterval")
    return UsageDecay(
        half_life=parse_duration(config.get("usageHalfLifeTime") or "0s"),
        sampling=parse_duration(sampling) if sampling else 300 * SECOND,
        resource_weights={name: float(value) for name, value in weights.items()},
    )


def settings(gates: Mapping[str, bool], config: Json, exactly_kueue: bool = False) -> Settings:
    """From feature gates (those not named have their default) and the component's configuration.

    Where Kueue's defaults let work starve or preempt in circles, ours differ, unless exactly Kueue's are asked for.
    """
    fair = config.get("fairSharing")
    strategies = tuple(ShareStrategy(name) for name in config.get("preemptionStrategies") or ())
    ordering = (config.get("workloadOrdering") or {}).get("podsReadyRequeuingTimestamp")
    fungible = gates.get("FlavorFungibility", True)
    return Settings(
        fair_sharing=bool(fair),
        share_strategies=strategies or Settings().share_strategies,
        usage_decay=usage_decay(config.get("admissionFairSharing"))
        if gates.get("AdmissionFairSharing", True)
        else None,
        eviction_timestamp=ordering != "Creation",
        ignore_undeclared=config.get("quotaCheckStrategy") == "IgnoreUndeclared"
        and gates.get("QuotaCheckStrategy", True),
        partial_admission=gates.get("PartialAdmission", True),
        recompute_on_overlap=gates.get("RecomputeAssignmentUponPreemptionTargetsOverlap", True),
        fungibility=fungible,
        preserve_scan=gates.get("FlavorFungibilityPreserveScanProgress", True) and fungible,
        priority_across_queues=gates.get("PrioritySortingWithinCohort", True),
        preemptors_first=gates.get("PrioritizePreemptorWorkloads", not exactly_kueue),
        preempt_within_nominal=gates.get("FairSharingPreemptWithinNominal", True),
        non_borrowing_first=gates.get("FairSharingPrioritizeNonBorrowing", True),
        shape_parking=gates.get("SchedulingEquivalenceHashing", True),
        variants=gates.get("ConcurrentAdmission", False),
        preemption_gates=gates.get("MultiKueueOrchestratedPreemption", False)
        or gates.get("ConcurrentAdmission", False),
        slices=gates.get("ElasticJobsViaWorkloadSlices", True),
        topology=gates.get("TopologyAwareScheduling", True),
        rescan=not exactly_kueue,
        recheck_spared=not exactly_kueue,
    )
