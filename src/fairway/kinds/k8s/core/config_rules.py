"""Checks of the core kinds beside pods: ConfigMap, Secret, Event, Namespace, Node."""

from __future__ import annotations

import base64

import msgspec

from fairway.core.quantity import parse
from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, required, too_long
from fairway.kinds.k8s.core import placing_rules
from fairway.kinds.k8s.core.config import ConfigMap, Secret
from fairway.kinds.k8s.core.event import Event
from fairway.kinds.k8s.core.namespace import Namespace
from fairway.kinds.k8s.core.node import Node
from fairway.kinds.k8s.opt import flag, items, pairs, text
from fairway.kinds.k8s.rules import immutable, named
from fairway.kinds.types import UNSET, Base64

DATA_MAX = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"
_TEXT_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_NOTE_MAX = 1024
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def validate_config_map(new: ConfigMap, old: ConfigMap | None) -> list[FieldError]:
    errors: list[FieldError] = []
    data, binary = pairs(new.data), pairs(new.binary_data)
    if old is not None and flag(old.immutable):
        errors += _frozen(flag(new.immutable), ("data", data, pairs(old.data)))
        if binary != pairs(old.binary_data):
            errors.append(forbidden("binaryData", FROZEN))
    for key in sorted(data):
        errors += named(f"data[{key}]", key, names.config_key)
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in sorted(binary):
        errors += named(f"binaryData[{key}]", key, names.config_key)
    if sum(len(value.encode()) for value in data.values()) + _bytes(binary) > DATA_MAX:
        errors.append(too_long("", DATA_MAX))
    return errors


def validate_secret(new: Secret, old: Secret | None) -> list[FieldError]:
    errors: list[FieldError] = []
    data = pairs(new.data)
    if old is not None:
        errors += immutable("type", new.type, old.type)
        if flag(old.immutable):
            errors += _frozen(flag(new.immutable), ("data", data, pairs(old.data)))
    for key in sorted(data):
        errors += named(f"data[{key}]", key, names.config_key)
    if _bytes(data) > DATA_MAX:
        errors.append(too_long("data", DATA_MAX))
    return errors + _secret_type(new, data)


def _secret_type(secret: Secret, data: dict[str, Base64]) -> list[FieldError]:
    kind = text(secret.type)
    errors = [required(f"data[{key}]") for key in _NEEDED_KEYS.get(kind, ()) if key not in data]
    if kind.startswith("kubernetes.io/dockerc") and not errors:
        key = _NEEDED_KEYS[kind][0]
        try:
            msgspec.json.decode(base64.b64decode(data[key]), type=dict)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            errors.append(invalid(f"data[{key}]", "<secret contents redacted>", str(error)))
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        errors += [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/service-account-token" and not pairs(secret.metadata.annotations).get(_ACCOUNT):
        errors.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    return errors


def _frozen(still: bool, data: tuple[str, object, object]) -> list[FieldError]:
    errors = [] if still else [forbidden("immutable", FROZEN)]
    name, after, before = data
    return errors if after == before else [*errors, forbidden(name, FROZEN)]


def _bytes(data: dict[str, Base64]) -> int:
    return sum(len(value) * 3 // 4 - value[-2:].count("=") for value in data.values())


def validate_event(new: Event, _old: Event | None) -> list[FieldError]:
    """An Event lives beside what it is about; one of the newer shape also says who reports what."""
    path, where = "involvedObject.namespace", text(new.metadata.namespace)
    about = text(new.involved_object.namespace)
    mismatch = [invalid(path, about, "does not match event.namespace")]
    if new.event_time is UNSET:
        if about:
            return mismatch if about != where else []
        return mismatch if where not in ("", "default") else []
    errors = mismatch if not about and where not in ("default", "kube-system") else []
    if not new.reporting_component:
        errors.append(required("reportingComponent"))
    errors += named("reportingComponent", new.reporting_component, names.qualified_name)
    said = {"reportingInstance": new.reporting_instance, "action": text(new.action), "reason": text(new.reason)}
    for name, limit in _TEXT_LIMITS:
        if not said[name]:
            errors.append(required(name))
        elif len(said[name]) > limit:
            errors.append(invalid(name, "", f"can have at most {limit} characters"))
    if len(text(new.message)) > _NOTE_MAX:
        errors.append(invalid("message", "", f"can have at most {_NOTE_MAX} characters"))
    return errors


def validate_namespace(new: Namespace, _old: Namespace | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for finalizer in items(new.spec.finalizers):
        errors += named("spec.finalizers", finalizer, names.qualified_name)
    return errors


def validate_node(new: Node, old: Node | None) -> list[FieldError]:
    errors = placing_rules.taints("metadata.taints", items(new.spec.taints))
    for side, amounts in (("capacity", new.status.capacity), ("allocatable", new.status.allocatable)):
        for name, amount in sorted(pairs(amounts).items()):
            if parse(amount).nanos < 0:
                errors.append(invalid(f"status.{side}.{name}", amount, "must be greater than or equal to 0"))
    if old is None:
        return errors
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(items(new.status.addresses)):
        if (address.type, address.address) in seen:
            errors.append(duplicate(f"status.addresses[{index}]", address))
        seen.add((address.type, address.address))
    if items(old.spec.pod_cidrs) and items(new.spec.pod_cidrs) != items(old.spec.pod_cidrs):
        errors.append(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
    if old.spec.provider_id and new.spec.provider_id != old.spec.provider_id:
        why = "field cannot be modified once set" if new.spec.provider_id else "field cannot be cleared once set"
        errors.append(invalid("spec.providerID", None, why))
    return errors
