"""autoscaling/v2: HorizontalPodAutoscaler."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Time, Type


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
