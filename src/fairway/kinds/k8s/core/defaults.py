"""What the API fills in for the core kinds, beside pods."""

from __future__ import annotations

import base64

from fairway.kinds.k8s.core.claims import PersistentVolumeClaim
from fairway.kinds.k8s.core.config import Secret
from fairway.kinds.k8s.core.controller import ReplicationController
from fairway.kinds.k8s.core.namespace import Namespace, NamespaceStatus
from fairway.kinds.k8s.core.node import Node
from fairway.kinds.k8s.core.persistent import PersistentVolume
from fairway.kinds.k8s.core.pod_defaults import default_pod_spec
from fairway.kinds.k8s.core.quota import LimitRange
from fairway.kinds.k8s.core.service import Endpoints, Service
from fairway.kinds.k8s.opt import items, pairs
from fairway.kinds.types import UNSET, Base64

NAME_LABEL = "kubernetes.io/metadata.name"
NAMESPACE_FINALIZER = "kubernetes"


def prepare_namespace(new: Namespace, old: Namespace | None) -> None:
    """A namespace carries its name as a label, and a finalizer that holds it until it is empty."""
    if new.metadata.name:
        new.metadata.labels = {**pairs(new.metadata.labels), NAME_LABEL: new.metadata.name}
    if old is None:
        new.status = NamespaceStatus(phase="Active")
        if NAMESPACE_FINALIZER not in items(new.spec.finalizers):
            new.spec.finalizers = [*items(new.spec.finalizers), NAMESPACE_FINALIZER]


def default_secret(new: Secret, _old: Secret | None) -> None:
    """stringData is only for writing: it is folded into data, and wins there."""
    new.type = new.type or "Opaque"
    written = pairs(new.string_data)
    if written:
        encoded = {name: Base64(base64.b64encode(value.encode()).decode()) for name, value in written.items()}
        new.data = {**pairs(new.data), **encoded}
    new.string_data = UNSET


def default_node(new: Node, _old: Node | None) -> None:
    if new.status.allocatable is UNSET and new.status.capacity is not UNSET:
        new.status.allocatable = dict(new.status.capacity)


def default_service(new: Service, _old: Service | None) -> None:
    """What a Service says of itself. No address is given out: nothing would answer there."""
    spec = new.spec
    spec.session_affinity = spec.session_affinity or "None"
    spec.type = spec.type or "ClusterIP"
    for port in items(spec.ports):
        port.protocol = port.protocol or "TCP"
        port.target_port = port.target_port or port.port
    if spec.type != "ExternalName" and spec.internal_traffic_policy is UNSET:
        spec.internal_traffic_policy = "Cluster"
    if spec.type in ("NodePort", "LoadBalancer"):
        spec.external_traffic_policy = spec.external_traffic_policy or "Cluster"
    if spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is UNSET:
        spec.allocate_load_balancer_node_ports = True


def default_endpoints(new: Endpoints, _old: Endpoints | None) -> None:
    for subset in items(new.subsets):
        for port in items(subset.ports):
            port.protocol = port.protocol or "TCP"


def default_persistent_volume(new: PersistentVolume, _old: PersistentVolume | None) -> None:
    new.status.phase = new.status.phase or "Pending"
    new.spec.persistent_volume_reclaim_policy = new.spec.persistent_volume_reclaim_policy or "Retain"
    new.spec.volume_mode = new.spec.volume_mode or "Filesystem"


def default_claim(new: PersistentVolumeClaim, _old: PersistentVolumeClaim | None) -> None:
    new.status.phase = new.status.phase or "Pending"
    new.spec.volume_mode = new.spec.volume_mode or "Filesystem"


def default_replication_controller(new: ReplicationController, _old: ReplicationController | None) -> None:
    spec = new.spec
    spec.replicas = 1 if spec.replicas is UNSET else spec.replicas
    if spec.template is UNSET:
        return
    default_pod_spec(spec.template.spec)
    labels = pairs(spec.template.metadata.labels)
    if labels:
        spec.selector = pairs(spec.selector) or dict(labels)
        new.metadata.labels = pairs(new.metadata.labels) or dict(labels)


def default_limit_range(new: LimitRange, _old: LimitRange | None) -> None:
    """Limits of containers fall back on the maximum, requests on limits and then on the minimum."""
    for item in new.spec.limits:
        if item.type == "Container":
            item.default = {**pairs(item.max), **pairs(item.default)}
            item.default_request = {**pairs(item.min), **item.default, **pairs(item.default_request)}
