"""autoscaling/v2: HorizontalPodAutoscaler; and autoscaling/v1 Scale, which is sent and shown but never stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.k8s.columns import NONE, UNKNOWN, count
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Time, Type


class ScaleSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET


class ScaleStatus(Type):
    replicas: Annotated[Int32, F(proto=1)] = 0
    selector: Opt[Annotated[str, F(proto=2)]] = UNSET


class Scale(Object):
    spec: Annotated[ScaleSpec, F(proto=2)] = field(default_factory=ScaleSpec)
    status: Annotated[ScaleStatus, F(proto=3)] = field(default_factory=ScaleStatus)


SCALE = Kind("autoscaling", "Scale", "scales", (Version("v1", Scale),), native=True)


class CrossVersionObjectReference(Type):
    kind: Annotated[str, F(proto=1)] = ""
    name: Annotated[str, F(proto=2)] = ""
    api_version: Opt[Annotated[str, F(proto=3)]] = UNSET


class HPAScalingPolicy(Type):
    type: Annotated[str, F(proto=1)] = ""
    value: Annotated[Int32, F(proto=2)] = 0
    period_seconds: Annotated[Int32, F(proto=3)] = 0


class HPAScalingRules(Type):
    stabilization_window_seconds: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    select_policy: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    policies: Opt[Annotated[list[HPAScalingPolicy], F(proto=2, list_type="atomic")]] = UNSET
    tolerance: Opt[Annotated[Quantity, F(proto=4)]] = UNSET


class HorizontalPodAutoscalerBehavior(Type):
    scale_up: Opt[Annotated[HPAScalingRules, F(proto=1)]] = UNSET
    scale_down: Opt[Annotated[HPAScalingRules, F(proto=2)]] = UNSET


class MetricIdentifier(Type):
    name: Annotated[str, F(proto=1)] = ""
    selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET


class MetricTarget(Type):
    type: Annotated[str, F(proto=1)] = ""
    value: Opt[Annotated[Quantity, F(proto=2)]] = UNSET
    average_value: Opt[Annotated[Quantity, F(proto=3)]] = UNSET
    average_utilization: Opt[Annotated[Int32, F(proto=4, zero=True)]] = UNSET


class ObjectMetricSource(Type):
    described_object: Annotated[CrossVersionObjectReference, F(proto=1)] = field(
        default_factory=CrossVersionObjectReference
    )
    target: Annotated[MetricTarget, F(proto=2)] = field(default_factory=MetricTarget)
    metric: Annotated[MetricIdentifier, F(proto=3)] = field(default_factory=MetricIdentifier)


class PodsMetricSource(Type):
    metric: Annotated[MetricIdentifier, F(proto=1)] = field(default_factory=MetricIdentifier)
    target: Annotated[MetricTarget, F(proto=2)] = field(default_factory=MetricTarget)


class ResourceMetricSource(Type):
    name: Annotated[str, F(proto=1)] = ""
    target: Annotated[MetricTarget, F(proto=2)] = field(default_factory=MetricTarget)


class ContainerResourceMetricSource(Type):
    name: Annotated[str, F(proto=1)] = ""
    target: Annotated[MetricTarget, F(proto=2)] = field(default_factory=MetricTarget)
    container: Annotated[str, F(proto=3)] = ""


class ExternalMetricSource(Type):
    metric: Annotated[MetricIdentifier, F(proto=1)] = field(default_factory=MetricIdentifier)
    target: Annotated[MetricTarget, F(proto=2)] = field(default_factory=MetricTarget)


class MetricSpec(Type):
    type: Annotated[str, F(proto=1)] = ""
    object: Opt[Annotated[ObjectMetricSource, F(proto=2)]] = UNSET
    pods: Opt[Annotated[PodsMetricSource, F(proto=3)]] = UNSET
    resource: Opt[Annotated[ResourceMetricSource, F(proto=4)]] = UNSET
    container_resource: Opt[Annotated[ContainerResourceMetricSource, F(proto=7)]] = UNSET
    external: Opt[Annotated[ExternalMetricSource, F(proto=5)]] = UNSET


class HorizontalPodAutoscalerSpec(Type):
    scale_target_ref: Annotated[CrossVersionObjectReference, F(proto=1)] = field(
        default_factory=CrossVersionObjectReference
    )
    min_replicas: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    max_replicas: Annotated[Int32, F(proto=3)] = 0
    metrics: Opt[Annotated[list[MetricSpec], F(proto=4, list_type="atomic")]] = UNSET
    behavior: Opt[Annotated[HorizontalPodAutoscalerBehavior, F(proto=5)]] = UNSET


class HorizontalPodAutoscalerCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET
    observed_generation: Opt[Annotated[Int64, F(proto=6, zero=True)]] = UNSET


class MetricValueStatus(Type):
    value: Opt[Annotated[Quantity, F(proto=1)]] = UNSET
    average_value: Opt[Annotated[Quantity, F(proto=2)]] = UNSET
    average_utilization: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET


class ObjectMetricStatus(Type):
    metric: Annotated[MetricIdentifier, F(proto=1)] = field(default_factory=MetricIdentifier)
    current: Annotated[MetricValueStatus, F(proto=2)] = field(default_factory=MetricValueStatus)
    described_object: Annotated[CrossVersionObjectReference, F(proto=3)] = field(
        default_factory=CrossVersionObjectReference
    )


class PodsMetricStatus(Type):
    metric: Annotated[MetricIdentifier, F(proto=1)] = field(default_factory=MetricIdentifier)
    current: Annotated[MetricValueStatus, F(proto=2)] = field(default_factory=MetricValueStatus)


class ResourceMetricStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    current: Annotated[MetricValueStatus, F(proto=2)] = field(default_factory=MetricValueStatus)


class ContainerResourceMetricStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    current: Annotated[MetricValueStatus, F(proto=2)] = field(default_factory=MetricValueStatus)
    container: Annotated[str, F(proto=3)] = ""


class ExternalMetricStatus(Type):
    metric: Annotated[MetricIdentifier, F(proto=1)] = field(default_factory=MetricIdentifier)
    current: Annotated[MetricValueStatus, F(proto=2)] = field(default_factory=MetricValueStatus)


class MetricStatus(Type):
    type: Annotated[str, F(proto=1)] = ""
    object: Opt[Annotated[ObjectMetricStatus, F(proto=2)]] = UNSET
    pods: Opt[Annotated[PodsMetricStatus, F(proto=3)]] = UNSET
    resource: Opt[Annotated[ResourceMetricStatus, F(proto=4)]] = UNSET
    container_resource: Opt[Annotated[ContainerResourceMetricStatus, F(proto=7)]] = UNSET
    external: Opt[Annotated[ExternalMetricStatus, F(proto=5)]] = UNSET


class HorizontalPodAutoscalerStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=1, zero=True)]] = UNSET
    last_scale_time: Opt[Annotated[Time, F(proto=2)]] = UNSET
    current_replicas: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    desired_replicas: Annotated[Int32, F(proto=4)] = 0
    current_metrics: Annotated[list[MetricStatus], F(proto=5, list_type="atomic")] = field(default_factory=list)
    conditions: Opt[Annotated[list[HorizontalPodAutoscalerCondition], F(proto=6, keys=("type",), merge="type")]] = UNSET


class HorizontalPodAutoscaler(Object):
    """Scales a workload by metrics. Kept as written."""

    spec: Annotated[HorizontalPodAutoscalerSpec, F(proto=2)] = field(default_factory=HorizontalPodAutoscalerSpec)
    status: Annotated[HorizontalPodAutoscalerStatus, F(proto=3)] = field(default_factory=HorizontalPodAutoscalerStatus)


METRICS_SHOWN = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _default(new: HorizontalPodAutoscaler, _old: HorizontalPodAutoscaler | None) -> None:
    spec = new.spec
    if spec.min_replicas is UNSET:
        spec.min_replicas = 1
    if not spec.metrics:
        target = MetricTarget(type="Utilization", average_utilization=80)
        spec.metrics = [MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=target))]


def _targets(obj: Mapping[str, Any], _moment: Moment) -> str:
    metrics, statuses = at(obj, "spec.metrics") or (), at(obj, "status.currentMetrics") or ()
    shown = [_target(metric, statuses[index] if index < len(statuses) else {}) for index, metric in enumerate(metrics)]
    more = f" + {len(shown) - METRICS_SHOWN} more..." if len(shown) > METRICS_SHOWN else ""
    return (", ".join(shown[:METRICS_SHOWN]) or NONE) + more


def _target(metric: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    source = _SOURCES.get(str(metric.get("type")))
    if source is None:
        return "<unknown type>"
    wanted, current = at(metric, f"{source}.target") or {}, at(status, f"{source}.current") or {}
    by_resource = source in ("resource", "containerResource")
    name = f"{at(metric, f'{source}.name')}: " if by_resource else ""
    if "averageValue" in wanted:
        suffix = " (avg)" if source in ("external", "object") else ""
        return f"{name}{current.get('averageValue', UNKNOWN)}/{wanted['averageValue']}{suffix}"
    if by_resource:
        used, aim = current.get("averageUtilization"), wanted.get("averageUtilization")
        return f"{name}{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if aim is None else f'{aim}%'}"
    return f"{current.get('value', UNKNOWN)}/{wanted.get('value', UNKNOWN)}"


def _reference(obj: Mapping[str, Any], _moment: Moment) -> str:
    return f"{at(obj, 'spec.scaleTargetRef.kind')}/{at(obj, 'spec.scaleTargetRef.name')}"


def _least(obj: Mapping[str, Any], _moment: Moment) -> str:
    least = at(obj, "spec.minReplicas")
    return "<unset>" if least is None else str(least)


HORIZONTAL_POD_AUTOSCALER = Kind(
    group="autoscaling",
    name="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    singular="horizontalpodautoscaler",
    versions=(
        Version(
            "v2",
            HorizontalPodAutoscaler,
            (
                NAME,
                Column("Reference", _reference),
                Column("Targets", _targets),
                Column("MinPods", _least),
                count("MaxPods", "spec.maxReplicas", type="string"),
                count("Replicas", "status.currentReplicas", type="string"),
                AGE,
            ),
        ),
    ),
    short_names=("hpa",),
    categories=("all",),
    subresources=("status",),
    native=True,
    spec_fields=(),
    default=_default,
)

KINDS: tuple[Kind, ...] = (HORIZONTAL_POD_AUTOSCALER,)
