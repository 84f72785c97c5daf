"""What the API knows about the core/v1 kinds that it accepts and keeps, with nothing behind them."""

from __future__ import annotations

from functools import partial

from fairway.kinds.k8s.core import defaults, inert_columns, pod_defaults, pod_rules
from fairway.kinds.k8s.core.claims import PersistentVolumeClaim
from fairway.kinds.k8s.core.controller import ReplicationController
from fairway.kinds.k8s.core.persistent import PersistentVolume
from fairway.kinds.k8s.core.pod import PodTemplate
from fairway.kinds.k8s.core.quota import LimitRange, ResourceQuota
from fairway.kinds.k8s.core.service import Endpoints, Service
from fairway.kinds.kind import Kind, Version
from fairway.kinds.names import dns_1035_label

_kind = partial(Kind, group="", native=True)

SERVICE = _kind(
    name="Service",
    plural="services",
    singular="service",
    versions=(Version("v1", Service, inert_columns.SERVICE_COLUMNS),),
    short_names=("svc",),
    categories=("all",),
    subresources=("status",),
    selectable=("spec.clusterIP", "spec.type"),
    spec_fields=(),
    default=defaults.default_service,
    name_rule=dns_1035_label,
)

ENDPOINTS = _kind(
    name="Endpoints",
    plural="endpoints",
    singular="endpoints",
    versions=(Version("v1", Endpoints, inert_columns.ENDPOINTS_COLUMNS),),
    short_names=("ep",),
    spec_fields=(),
    default=defaults.default_endpoints,
)

PERSISTENT_VOLUME = _kind(
    name="PersistentVolume",
    plural="persistentvolumes",
    singular="persistentvolume",
    versions=(Version("v1", PersistentVolume, inert_columns.PERSISTENT_VOLUME_COLUMNS),),
    namespaced=False,
    short_names=("pv",),
    subresources=("status",),
    spec_fields=(),
    default=defaults.default_persistent_volume,
)

PERSISTENT_VOLUME_CLAIM = _kind(
    name="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    singular="persistentvolumeclaim",
    versions=(Version("v1", PersistentVolumeClaim, inert_columns.PERSISTENT_VOLUME_CLAIM_COLUMNS),),
    short_names=("pvc",),
    subresources=("status",),
    spec_fields=(),
    default=defaults.default_claim,
)

REPLICATION_CONTROLLER = _kind(
    name="ReplicationController",
    plural="replicationcontrollers",
    singular="replicationcontroller",
    versions=(Version("v1", ReplicationController, inert_columns.REPLICATION_CONTROLLER_COLUMNS),),
    short_names=("rc",),
    categories=("all",),
    subresources=("status", "scale"),
    selectable=("status.replicas",),
    default=defaults.default_replication_controller,
)

RESOURCE_QUOTA = _kind(
    name="ResourceQuota",
    plural="resourcequotas",
    singular="resourcequota",
    versions=(Version("v1", ResourceQuota, inert_columns.RESOURCE_QUOTA_COLUMNS),),
    short_names=("quota",),
    subresources=("status",),
    spec_fields=(),
)

LIMIT_RANGE = _kind(
    name="LimitRange",
    plural="limitranges",
    singular="limitrange",
    versions=(Version("v1", LimitRange, inert_columns.LIMIT_RANGE_COLUMNS),),
    short_names=("limits",),
    spec_fields=(),
    default=defaults.default_limit_range,
)

POD_TEMPLATE = _kind(
    name="PodTemplate",
    plural="podtemplates",
    singular="podtemplate",
    versions=(Version("v1", PodTemplate, inert_columns.POD_TEMPLATE_COLUMNS),),
    spec_fields=("template",),
    default=pod_defaults.default_pod_template,
    validate=pod_rules.validate_pod_template,
)

KINDS: tuple[Kind, ...] = (
    SERVICE,
    ENDPOINTS,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    REPLICATION_CONTROLLER,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    POD_TEMPLATE,
)
