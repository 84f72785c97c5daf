"""What the API fills in for the core kinds, beside pods."""

from __future__ import annotations

import base64

from fairway.kinds.k8s.core.config import Secret
from fairway.kinds.k8s.core.namespace import Namespace, NamespaceStatus
from fairway.kinds.k8s.core.node import Node
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
