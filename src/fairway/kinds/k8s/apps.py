"""apps/v1: kinds that upstream manifests carry; accepted, typed and kept, with nothing behind them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.columns import field as column
from fairway.kinds.errors import FieldError, invalid, not_supported, required
from fairway.kinds.k8s.columns import NONE, containers, count, selects
from fairway.kinds.k8s.core.claims import PersistentVolumeClaim
from fairway.kinds.k8s.core.pod import PodTemplateSpec
from fairway.kinds.k8s.core.pod_defaults import default_pod_spec
from fairway.kinds.k8s.core.pod_rules import pod_template
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.k8s.opt import items, pairs, text
from fairway.kinds.k8s.rules import immutable, label_selector, matches, not_negative, warn_kept
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, IntOrString, Json, Opt, Time, Type


class RollingUpdateStatefulSetStrategy(Type):
    partition: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    max_unavailable: Opt[Annotated[IntOrString, F(proto=2)]] = UNSET


class StatefulSetUpdateStrategy(Type):
    type: Opt[Annotated[str, F(proto=1)]] = UNSET
    rolling_update: Opt[Annotated[RollingUpdateStatefulSetStrategy, F(proto=2)]] = UNSET


class StatefulSetPersistentVolumeClaimRetentionPolicy(Type):
    when_deleted: Opt[Annotated[str, F(proto=1)]] = UNSET
    when_scaled: Opt[Annotated[str, F(proto=2)]] = UNSET


class StatefulSetOrdinals(Type):
    start: Annotated[Int32, F(proto=1)] = 0


class StatefulSetSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    template: Annotated[PodTemplateSpec, F(proto=3)] = field(default_factory=PodTemplateSpec)
    volume_claim_templates: Opt[Annotated[list[PersistentVolumeClaim], F(proto=4, list_type="atomic")]] = UNSET
    service_name: Annotated[str, F(proto=5)] = ""
    pod_management_policy: Opt[Annotated[str, F(proto=6)]] = UNSET
    update_strategy: Annotated[StatefulSetUpdateStrategy, F(proto=7)] = field(default_factory=StatefulSetUpdateStrategy)
    revision_history_limit: Opt[Annotated[Int32, F(proto=8, zero=True)]] = UNSET
    min_ready_seconds: Opt[Annotated[Int32, F(proto=9)]] = UNSET
    persistent_volume_claim_retention_policy: Opt[
        Annotated[StatefulSetPersistentVolumeClaimRetentionPolicy, F(proto=10)]
    ] = UNSET
    ordinals: Opt[Annotated[StatefulSetOrdinals, F(proto=11)]] = UNSET


class StatefulSetCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class StatefulSetStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=1)]] = UNSET
    replicas: Annotated[Int32, F(proto=2)] = 0
    ready_replicas: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    current_replicas: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    updated_replicas: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    current_revision: Opt[Annotated[str, F(proto=6)]] = UNSET
    update_revision: Opt[Annotated[str, F(proto=7)]] = UNSET
    collision_count: Opt[Annotated[Int32, F(proto=9, zero=True)]] = UNSET
    conditions: Opt[Annotated[list[StatefulSetCondition], F(proto=10, keys=("type",), merge="type")]] = UNSET
    available_replicas: Annotated[Int32, F(proto=11)] = 0


class StatefulSet(Object):
    """Pods with stable names and storage. Kept as written."""

    spec: Annotated[StatefulSetSpec, F(proto=2)] = field(default_factory=StatefulSetSpec)
    status: Annotated[StatefulSetStatus, F(proto=3)] = field(default_factory=StatefulSetStatus)


class RollingUpdateDeployment(Type):
    max_unavailable: Opt[Annotated[IntOrString, F(proto=1)]] = UNSET
    max_surge: Opt[Annotated[IntOrString, F(proto=2)]] = UNSET


class DeploymentStrategy(Type):
    type: Opt[Annotated[str, F(proto=1)]] = UNSET
    rolling_update: Opt[Annotated[RollingUpdateDeployment, F(proto=2)]] = UNSET


class DeploymentSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    template: Annotated[PodTemplateSpec, F(proto=3)] = field(default_factory=PodTemplateSpec)
    strategy: Annotated[DeploymentStrategy, F(proto=4, retain_keys=True)] = field(default_factory=DeploymentStrategy)
    min_ready_seconds: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    revision_history_limit: Opt[Annotated[Int32, F(proto=6, zero=True)]] = UNSET
    paused: Opt[Annotated[bool, F(proto=7)]] = UNSET
    progress_deadline_seconds: Opt[Annotated[Int32, F(proto=9, zero=True)]] = UNSET


class DeploymentCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_update_time: Opt[Annotated[Time, F(proto=6)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=7)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class DeploymentStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=1)]] = UNSET
    replicas: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    updated_replicas: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    ready_replicas: Opt[Annotated[Int32, F(proto=7)]] = UNSET
    available_replicas: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    unavailable_replicas: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    terminating_replicas: Opt[Annotated[Int32, F(proto=9, zero=True)]] = UNSET
    conditions: Opt[Annotated[list[DeploymentCondition], F(proto=6, keys=("type",), merge="type")]] = UNSET
    collision_count: Opt[Annotated[Int32, F(proto=8, zero=True)]] = UNSET


class Deployment(Object):
    """Equal pods that are rolled over gradually. Kept as written."""

    spec: Annotated[DeploymentSpec, F(proto=2)] = field(default_factory=DeploymentSpec)
    status: Annotated[DeploymentStatus, F(proto=3)] = field(default_factory=DeploymentStatus)


class RollingUpdateDaemonSet(Type):
    max_unavailable: Opt[Annotated[IntOrString, F(proto=1)]] = UNSET
    max_surge: Opt[Annotated[IntOrString, F(proto=2)]] = UNSET


class DaemonSetUpdateStrategy(Type):
    type: Opt[Annotated[str, F(proto=1)]] = UNSET
    rolling_update: Opt[Annotated[RollingUpdateDaemonSet, F(proto=2)]] = UNSET


class DaemonSetSpec(Type):
    selector: Opt[Annotated[LabelSelector, F(proto=1, atomic=True)]] = UNSET
    template: Annotated[PodTemplateSpec, F(proto=2)] = field(default_factory=PodTemplateSpec)
    update_strategy: Annotated[DaemonSetUpdateStrategy, F(proto=3)] = field(default_factory=DaemonSetUpdateStrategy)
    min_ready_seconds: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    revision_history_limit: Opt[Annotated[Int32, F(proto=6, zero=True)]] = UNSET


class DaemonSetCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class DaemonSetStatus(Type):
    current_number_scheduled: Annotated[Int32, F(proto=1)] = 0
    number_misscheduled: Annotated[Int32, F(proto=2)] = 0
    desired_number_scheduled: Annotated[Int32, F(proto=3)] = 0
    number_ready: Annotated[Int32, F(proto=4)] = 0
    observed_generation: Opt[Annotated[Int64, F(proto=5)]] = UNSET
    updated_number_scheduled: Opt[Annotated[Int32, F(proto=6)]] = UNSET
    number_available: Opt[Annotated[Int32, F(proto=7)]] = UNSET
    number_unavailable: Opt[Annotated[Int32, F(proto=8)]] = UNSET
    collision_count: Opt[Annotated[Int32, F(proto=9, zero=True)]] = UNSET
    conditions: Opt[Annotated[list[DaemonSetCondition], F(proto=10, keys=("type",), merge="type")]] = UNSET


class DaemonSet(Object):
    """One pod on each node. Kept as written."""

    spec: Annotated[DaemonSetSpec, F(proto=2)] = field(default_factory=DaemonSetSpec)
    status: Annotated[DaemonSetStatus, F(proto=3)] = field(default_factory=DaemonSetStatus)


class ReplicaSetSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    min_ready_seconds: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    template: Annotated[PodTemplateSpec, F(proto=3)] = field(default_factory=PodTemplateSpec)


class ReplicaSetCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class ReplicaSetStatus(Type):
    replicas: Annotated[Int32, F(proto=1)] = 0
    fully_labeled_replicas: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    ready_replicas: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    available_replicas: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    terminating_replicas: Opt[Annotated[Int32, F(proto=7, zero=True)]] = UNSET
    observed_generation: Opt[Annotated[Int64, F(proto=3)]] = UNSET
    conditions: Opt[Annotated[list[ReplicaSetCondition], F(proto=6, keys=("type",), merge="type")]] = UNSET


class ReplicaSet(Object):
    """A fixed number of equal pods. Kept as written."""

    spec: Annotated[ReplicaSetSpec, F(proto=2)] = field(default_factory=ReplicaSetSpec)
    status: Annotated[ReplicaSetStatus, F(proto=3)] = field(default_factory=ReplicaSetStatus)


class ControllerRevision(Object):
    """A snapshot of a controller's state. Kept as written."""

    data: Opt[Annotated[Json, F(proto=2)]] = UNSET
    revision: Annotated[Int64, F(proto=3)] = 0


def _default_deployment(new: Deployment, _old: Deployment | None) -> None:
    spec = new.spec
    spec.replicas = 1 if spec.replicas is UNSET else spec.replicas
    spec.strategy.type = spec.strategy.type or "RollingUpdate"
    if spec.strategy.type == "RollingUpdate":
        if spec.strategy.rolling_update is UNSET:
            spec.strategy.rolling_update = RollingUpdateDeployment()
        rolling = spec.strategy.rolling_update
        rolling.max_unavailable = "25%" if rolling.max_unavailable is UNSET else rolling.max_unavailable
        rolling.max_surge = "25%" if rolling.max_surge is UNSET else rolling.max_surge
    if spec.revision_history_limit is UNSET:
        spec.revision_history_limit = 10
    if spec.progress_deadline_seconds is UNSET:
        spec.progress_deadline_seconds = 600
    default_pod_spec(spec.template.spec)


def _default_stateful_set(new: StatefulSet, _old: StatefulSet | None) -> None:
    spec = new.spec
    spec.replicas = 1 if spec.replicas is UNSET else spec.replicas
    spec.pod_management_policy = spec.pod_management_policy or "OrderedReady"
    spec.update_strategy.type = spec.update_strategy.type or "RollingUpdate"
    if spec.update_strategy.type == "RollingUpdate":
        if spec.update_strategy.rolling_update is UNSET:
            spec.update_strategy.rolling_update = RollingUpdateStatefulSetStrategy()
        if spec.update_strategy.rolling_update.partition is UNSET:
            spec.update_strategy.rolling_update.partition = 0
    if spec.persistent_volume_claim_retention_policy is UNSET:
        spec.persistent_volume_claim_retention_policy = StatefulSetPersistentVolumeClaimRetentionPolicy()
    retention = spec.persistent_volume_claim_retention_policy
    retention.when_deleted = retention.when_deleted or "Retain"
    retention.when_scaled = retention.when_scaled or "Retain"
    if spec.revision_history_limit is UNSET:
        spec.revision_history_limit = 10
    default_pod_spec(spec.template.spec)


def _default_daemon_set(new: DaemonSet, _old: DaemonSet | None) -> None:
    spec = new.spec
    spec.update_strategy.type = spec.update_strategy.type or "RollingUpdate"
    if spec.update_strategy.type == "RollingUpdate":
        if spec.update_strategy.rolling_update is UNSET:
            spec.update_strategy.rolling_update = RollingUpdateDaemonSet()
        rolling = spec.update_strategy.rolling_update
        rolling.max_unavailable = 1 if rolling.max_unavailable is UNSET else rolling.max_unavailable
        rolling.max_surge = 0 if rolling.max_surge is UNSET else rolling.max_surge
    if spec.revision_history_limit is UNSET:
        spec.revision_history_limit = 10
    default_pod_spec(spec.template.spec)


def _default_replica_set(new: ReplicaSet, _old: ReplicaSet | None) -> None:
    new.spec.replicas = 1 if new.spec.replicas is UNSET else new.spec.replicas
    default_pod_spec(new.spec.template.spec)


def _validate(
    new: Deployment | StatefulSet | DaemonSet | ReplicaSet,
    old: Deployment | StatefulSet | DaemonSet | ReplicaSet | None,
) -> list[FieldError]:
    """Pods must be selected by the labels that they get, and by the same ones for ever."""
    spec, path = new.spec, "spec.selector"
    errors: list[FieldError] = []
    labels = pairs(spec.template.metadata.labels)
    if spec.selector is UNSET:
        errors.append(required(path))
    else:
        errors += label_selector(path, spec.selector)
        if not pairs(spec.selector.match_labels) and not items(spec.selector.match_expressions):
            errors.append(invalid(path, spec.selector, f"empty selector is invalid for {type(new).__name__.lower()}"))
        elif not matches(spec.selector, labels):
            errors.append(
                invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
            )
    errors += pod_template("spec.template", spec.template)
    policy = text(spec.template.spec.restart_policy)
    if policy != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if not isinstance(spec, DaemonSetSpec):
        errors += not_negative("spec.replicas", spec.replicas)
    return errors if old is None else errors + immutable(path, spec.selector, old.spec.selector)


def _ready(obj: Mapping[str, Any], _moment: Moment) -> str:
    return f"{at(obj, 'status.readyReplicas') or 0}/{at(obj, 'spec.replicas') or 0}"


def _controller(obj: Mapping[str, Any], _moment: Moment) -> str:
    for owner in at(obj, "metadata.ownerReferences") or ():
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0].partition(".")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return NONE


_kind = partial(Kind, group="apps", native=True)

DEPLOYMENT = _kind(
    name="Deployment",
    plural="deployments",
    singular="deployment",
    versions=(
        Version(
            "v1",
            Deployment,
            (
                NAME,
                Column("Ready", _ready),
                count("Up-to-date", "status.updatedReplicas", type="string"),
                count("Available", "status.availableReplicas", type="string"),
                AGE,
                *containers(),
                selects(),
            ),
        ),
    ),
    short_names=("deploy",),
    categories=("all",),
    subresources=("status", "scale"),
    default=_default_deployment,
    validate=_validate,
    warn=warn_kept,
)

STATEFUL_SET = _kind(
    name="StatefulSet",
    plural="statefulsets",
    singular="statefulset",
    versions=(Version("v1", StatefulSet, (NAME, Column("Ready", _ready), AGE, *containers())),),
    short_names=("sts",),
    categories=("all",),
    subresources=("status", "scale"),
    default=_default_stateful_set,
    validate=_validate,
    warn=warn_kept,
)

DAEMON_SET = _kind(
    name="DaemonSet",
    plural="daemonsets",
    singular="daemonset",
    versions=(
        Version(
            "v1",
            DaemonSet,
            (
                NAME,
                count("Desired", "status.desiredNumberScheduled"),
                count("Current", "status.currentNumberScheduled"),
                count("Ready", "status.numberReady"),
                count("Up-to-date", "status.updatedNumberScheduled"),
                count("Available", "status.numberAvailable"),
                selects("spec.template.spec.nodeSelector", "Node Selector", wide=False),
                AGE,
                *containers(),
                selects(),
            ),
        ),
    ),
    short_names=("ds",),
    categories=("all",),
    subresources=("status",),
    default=_default_daemon_set,
    validate=_validate,
    warn=warn_kept,
)

REPLICA_SET = _kind(
    name="ReplicaSet",
    plural="replicasets",
    singular="replicaset",
    versions=(
        Version(
            "v1",
            ReplicaSet,
            (
                NAME,
                count("Desired", "spec.replicas"),
                count("Current", "status.replicas"),
                count("Ready", "status.readyReplicas"),
                AGE,
                *containers(),
                selects(),
            ),
        ),
    ),
    short_names=("rs",),
    categories=("all",),
    subresources=("status", "scale"),
    selectable=("status.replicas",),
    default=_default_replica_set,
    validate=_validate,
    warn=warn_kept,
)

CONTROLLER_REVISION = _kind(
    name="ControllerRevision",
    plural="controllerrevisions",
    singular="controllerrevision",
    versions=(
        Version(
            "v1", ControllerRevision, (NAME, Column("Controller", _controller), column("Revision", "revision"), AGE)
        ),
    ),
    spec_fields=(),
)

KINDS: tuple[Kind, ...] = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, REPLICA_SET, CONTROLLER_REVISION)
