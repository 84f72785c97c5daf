"""What the API knows about each core/v1 kind."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.k8s.core import columns, config_rules, defaults, pod_columns, pod_defaults, pod_rules
from fairway.kinds.k8s.core.config import ConfigMap, Secret, ServiceAccount
from fairway.kinds.k8s.core.event import Event
from fairway.kinds.k8s.core.namespace import Namespace
from fairway.kinds.k8s.core.node import Node
from fairway.kinds.k8s.core.pod import Pod
from fairway.kinds.k8s.opt import flag, text
from fairway.kinds.kind import Kind, Version
from fairway.kinds.types import Opt


def _truth(value: Opt[bool]) -> str:
    return "true" if flag(value) else "false"


NAMESPACE = Kind(
    group="",
    name="Namespace",
    plural="namespaces",
    singular="namespace",
    versions=(Version("v1", Namespace, columns.NAMESPACE_COLUMNS),),
    namespaced=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
    native=True,
    selectable=("status.phase",),
    spec_fields=(),
    prepare=defaults.prepare_namespace,
    validate=config_rules.validate_namespace,
    name_rule=names.dns_label,
)

POD = Kind(
    group="",
    name="Pod",
    plural="pods",
    singular="pod",
    versions=(Version("v1", Pod, pod_columns.POD_COLUMNS),),
    short_names=("po",),
    categories=("all",),
    subresources=("status", "log", "eviction", "binding", "ephemeralcontainers", "resize"),
    native=True,
    selectable=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    selectable_as=(("spec.hostNetwork", lambda pod: _truth(pod.spec.host_network)),),
    default=pod_defaults.default_pod,
    prepare=pod_defaults.prepare_pod,
    validate=pod_rules.validate_pod,
    validate_status=pod_rules.validate_pod_status,
    warn=pod_rules.warn_pod,
    grace=pod_rules.grace_seconds,
)

EVENT = Kind(
    group="",
    name="Event",
    plural="events",
    singular="event",
    versions=(Version("v1", Event, columns.EVENT_COLUMNS),),
    short_names=("ev",),
    native=True,
    volatile=True,
    selectable=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    selectable_as=(("source", lambda event: text(event.source.component) or text(event.reporting_component)),),
    spec_fields=(),
    validate=config_rules.validate_event,
)

SECRET = Kind(
    group="",
    name="Secret",
    plural="secrets",
    singular="secret",
    versions=(Version("v1", Secret, columns.SECRET_COLUMNS),),
    native=True,
    selectable=("type",),
    spec_fields=(),
    default=defaults.default_secret,
    validate=config_rules.validate_secret,
)

CONFIG_MAP = Kind(
    group="",
    name="ConfigMap",
    plural="configmaps",
    singular="configmap",
    versions=(Version("v1", ConfigMap, columns.CONFIG_MAP_COLUMNS),),
    short_names=("cm",),
    native=True,
    spec_fields=(),
    validate=config_rules.validate_config_map,
)

SERVICE_ACCOUNT = Kind(
    group="",
    name="ServiceAccount",
    plural="serviceaccounts",
    singular="serviceaccount",
    versions=(Version("v1", ServiceAccount, columns.SERVICE_ACCOUNT_COLUMNS),),
    short_names=("sa",),
    subresources=("token",),
    native=True,
    spec_fields=(),
)

NODE = Kind(
    group="",
    name="Node",
    plural="nodes",
    singular="node",
    versions=(Version("v1", Node, columns.NODE_COLUMNS),),
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
    native=True,
    selectable=("spec.unschedulable",),
    selectable_as=(("spec.unschedulable", lambda node: _truth(node.spec.unschedulable)),),
    spec_fields=(),
    default=defaults.default_node,
    validate=config_rules.validate_node,
)

KINDS: tuple[Kind, ...] = (NAMESPACE, POD, EVENT, SECRET, CONFIG_MAP, SERVICE_ACCOUNT, NODE)
