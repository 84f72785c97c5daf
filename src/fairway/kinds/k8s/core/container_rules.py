"""Checks of the containers of a pod: names, images, environment, ports, mounts, probes, resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required
from fairway.kinds.k8s.core import resource_rules
from fairway.kinds.k8s.core.container import (
    Container,
    ContainerPort,
    EnvFromSource,
    EnvVar,
    EphemeralContainer,
    HTTPGetAction,
    Lifecycle,
    Probe,
    ProbeHandler,
    TCPSocketAction,
    VolumeMount,
)
from fairway.kinds.k8s.core.security import SecurityContext
from fairway.kinds.k8s.core.volumes import Volume
from fairway.kinds.k8s.opt import flag, items, number, text
from fairway.kinds.k8s.rules import INT32_MAX, between, choice, named, not_negative, required_name
from fairway.kinds.types import UNSET, IntOrString, Opt

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
SCHEMES = ("HTTP", "HTTPS")
PORT_MAX = 65535
NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"
_FIELD_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)

AnyContainer: TypeAlias = Container | EphemeralContainer


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the containers of a pod may refer to."""

    volumes: Mapping[str, Volume]
    claims: frozenset[str]


def containers(path: str, given: list[Container], around: Surroundings) -> list[FieldError]:
    if not given:
        return [required(path)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, container in enumerate(given):
        at = f"{path}[{index}]"
        errors += _common(at, container, around)
        if container.name in seen:
            errors.append(duplicate(f"{at}.name", container.name))
        seen.add(container.name)
        errors += _care(at, container)
        if container.restart_policy is not UNSET:
            errors += choice(f"{at}.restartPolicy", container.restart_policy, RESTART_POLICIES)
    return errors + _host_ports(path, given)


def init_containers(
    path: str, given: list[Container], regular: Iterable[Container], around: Surroundings
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = {container.name for container in regular}
    for index, container in enumerate(given):
        at = f"{path}[{index}]"
        errors += _common(at, container, around)
        if container.restart_policy is not UNSET:
            errors += choice(f"{at}.restartPolicy", container.restart_policy, RESTART_POLICIES)
        if container.name in seen:
            errors.append(duplicate(f"{at}.name", container.name))
        elif container.name:
            seen.add(container.name)
        if container.restart_policy == "Always":
            errors += _care(at, container)
        else:
            errors += [
                forbidden(f"{at}.{name}", NOT_FOR_INIT)
                for name, value in (
                    ("lifecycle", container.lifecycle),
                    ("livenessProbe", container.liveness_probe),
                    ("readinessProbe", container.readiness_probe),
                    ("startupProbe", container.startup_probe),
                )
                if value is not UNSET
            ]
    return errors


def ephemeral_containers(
    path: str, given: list[EphemeralContainer], others: Iterable[Container], around: Surroundings
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = {container.name for container in others}
    for index, container in enumerate(given):
        errors += _common(f"{path}[{index}]", container, around)
        if container.name in seen:
            errors.append(duplicate(f"{path}[{index}].name", container.name))
        seen.add(container.name)
    return errors


def _common(path: str, container: AnyContainer, around: Surroundings) -> list[FieldError]:
    errors = required_name(f"{path}.name", container.name, names.dns_label)
    if not container.image:
        errors.append(required(f"{path}.image"))
    errors += choice(f"{path}.terminationMessagePolicy", container.termination_message_policy, MESSAGE_POLICIES)
    errors += _ports(f"{path}.ports", items(container.ports))
    for index, variable in enumerate(items(container.env)):
        errors += _variable(f"{path}.env[{index}]", variable)
    for index, source in enumerate(items(container.env_from)):
        errors += _variables_from(f"{path}.envFrom[{index}]", source)
    errors += _mounts(f"{path}.volumeMounts", items(container.volume_mounts), around)
    for index, device in enumerate(items(container.volume_devices)):
        if device.name not in around.volumes:
            errors.append(not_found(f"{path}.volumeDevices[{index}].name", device.name))
        if not device.device_path:
            errors.append(required(f"{path}.volumeDevices[{index}].devicePath"))
    errors += choice(f"{path}.imagePullPolicy", container.image_pull_policy, PULL_POLICIES)
    errors += resource_rules.requirements(f"{path}.resources", container.resources, around.claims)
    if container.security_context is not UNSET:
        errors += _security(f"{path}.securityContext", container.security_context)
    return errors


def _ports(path: str, ports: list[ContainerPort]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            wrong = named(f"{at}.name", port.name, names.port_name)
            if not wrong and port.name in seen:
                wrong.append(duplicate(f"{at}.name", port.name))
            seen.add(port.name)
            errors += wrong
        if not port.container_port:
            errors.append(required(f"{at}.containerPort"))
        else:
            errors += between(f"{at}.containerPort", port.container_port, 1, PORT_MAX)
        if port.host_port:
            errors += between(f"{at}.hostPort", port.host_port, 1, PORT_MAX)
        errors += choice(f"{at}.protocol", port.protocol, PROTOCOLS)
    return errors


def _host_ports(path: str, given: list[Container]) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(given):
        for place, port in enumerate(items(container.ports)):
            if not port.host_port:
                continue
            key = f"{text(port.protocol)}/{text(port.host_ip)}/{port.host_port}"
            if key in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{place}].hostPort", key))
            taken.add(key)
    return errors


def _variable(path: str, variable: EnvVar) -> list[FieldError]:
    errors = required_name(f"{path}.name", variable.name, names.env_name)
    source = variable.value_from
    if source is UNSET:
        return errors
    at = f"{path}.valueFrom"
    given = 0
    if source.field_ref is not UNSET:
        given += 1
        errors += _field_path(f"{at}.fieldRef", source.field_ref.field_path)
    if source.resource_field_ref is not UNSET:
        given += 1
        if not source.resource_field_ref.resource:
            errors.append(required(f"{at}.resourceFieldRef.resource"))
    for name, reference in (("configMapKeyRef", source.config_map_key_ref), ("secretKeyRef", source.secret_key_ref)):
        if reference is not UNSET:
            given += 1
            if not reference.name:
                errors.append(required(f"{at}.{name}.name"))
            errors += required_name(f"{at}.{name}.key", reference.key, names.config_key)
    if source.file_key_ref is not UNSET:
        given += 1
    if not given:
        one_of = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        errors.append(invalid(at, "", f"must specify one of: {one_of}"))
    elif variable.value:
        errors.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif given > 1:
        errors.append(invalid(at, "", "may not have more than one field specified at a time"))
    return errors


def _field_path(path: str, field_path: str) -> list[FieldError]:
    if not field_path:
        return [required(f"{path}.fieldPath")]
    name, bracket, key = field_path.partition("['")
    if bracket and key.endswith("']"):
        if name in ("metadata.labels", "metadata.annotations"):
            return named(path, key[:-2].lower() if name.endswith("annotations") else key[:-2], names.qualified_name)
        return [invalid(path, name, "does not support subscript")]
    return [] if field_path in _FIELD_PATHS else [not_supported(f"{path}.fieldPath", field_path, _FIELD_PATHS)]


def _variables_from(path: str, source: EnvFromSource) -> list[FieldError]:
    errors: list[FieldError] = []
    if source.prefix:
        errors += named(f"{path}.prefix", source.prefix, names.env_name)
    given = [
        (name, reference)
        for name, reference in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref))
        if reference is not UNSET
    ]
    errors += [required(f"{path}.{name}.name") for name, reference in given if not reference.name]
    if not given:
        errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif len(given) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _mounts(path: str, mounts: list[VolumeMount], around: Surroundings) -> list[FieldError]:
    errors: list[FieldError] = []
    points: set[str] = set()
    for index, mount in enumerate(mounts):
        at = f"{path}[{index}]"
        if not mount.name:
            errors.append(required(f"{at}.name"))
        if mount.name not in around.volumes:
            errors.append(not_found(f"{at}.name", mount.name))
        if not mount.mount_path:
            errors.append(required(f"{at}.mountPath"))
        if mount.mount_path in points:
            errors.append(invalid(f"{at}.mountPath", mount.mount_path, "must be unique"))
        points.add(mount.mount_path)
        for name, value in (("subPath", text(mount.sub_path)), ("subPathExpr", text(mount.sub_path_expr))):
            if value.startswith("/"):
                errors.append(invalid(f"{path}.{name}", value, "must be a relative path"))
            if ".." in value.split("/"):
                errors.append(invalid(f"{path}.{name}", value, "must not contain '..'"))
        if mount.sub_path and mount.sub_path_expr:
            errors.append(
                invalid(f"{at}.subPathExpr", mount.sub_path_expr, "subPathExpr and subPath are mutually exclusive")
            )
    return errors


def _security(path: str, security: SecurityContext) -> list[FieldError]:
    errors: list[FieldError] = []
    if security.run_as_user is not UNSET:
        errors += between(f"{path}.runAsUser", security.run_as_user, 0, INT32_MAX)
    if security.run_as_group is not UNSET:
        errors += between(f"{path}.runAsGroup", security.run_as_group, 0, INT32_MAX)
    if security.allow_privilege_escalation is False and flag(security.privileged):
        errors.append(
            invalid(path, security, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
        )
    return errors


def _care(path: str, container: Container) -> list[FieldError]:
    """Probes and hooks of a container that runs on."""
    errors = _hooks(f"{path}.lifecycle", container.lifecycle)
    probes = (
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    )
    for name, probe in probes:
        if probe is UNSET:
            continue
        errors += _probe(f"{path}.{name}", probe)
        if name != "readinessProbe" and number(probe.success_threshold) != 1:
            errors.append(invalid(f"{path}.{name}.successThreshold", probe.success_threshold, "must be 1"))
    return errors


def _hooks(path: str, lifecycle: Opt[Lifecycle]) -> list[FieldError]:
    errors: list[FieldError] = []
    if lifecycle is UNSET:
        return errors
    for name, hook in (("postStart", lifecycle.post_start), ("preStop", lifecycle.pre_stop)):
        if hook is UNSET:
            continue
        at = f"{path}.{name}"
        given = [
            kind
            for kind, handler in (
                ("exec", hook.exec),
                ("httpGet", hook.http_get),
                ("tcpSocket", hook.tcp_socket),
                ("sleep", hook.sleep),
            )
            if handler is not UNSET
        ]
        errors += _one_handler(at, given)
        if hook.exec is not UNSET and not items(hook.exec.command):
            errors.append(required(f"{at}.exec.command"))
        errors += _reached(at, hook.http_get, hook.tcp_socket)
    return errors


def _probe(path: str, probe: Probe) -> list[FieldError]:
    errors = _handler(path, probe)
    for name, value in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        errors += not_negative(f"{path}.{name}", value)
    grace = probe.termination_grace_period_seconds
    if grace is not UNSET and grace <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return errors


def _handler(path: str, handler: ProbeHandler) -> list[FieldError]:
    given = [
        kind
        for kind, value in (
            ("exec", handler.exec),
            ("httpGet", handler.http_get),
            ("tcpSocket", handler.tcp_socket),
            ("grpc", handler.grpc),
        )
        if value is not UNSET
    ]
    errors = _one_handler(path, given)
    if handler.exec is not UNSET and not items(handler.exec.command):
        errors.append(required(f"{path}.exec.command"))
    if handler.grpc is not UNSET:
        errors += between(f"{path}.grpc.port", handler.grpc.port, 1, PORT_MAX)
    return errors + _reached(path, handler.http_get, handler.tcp_socket)


def _one_handler(path: str, given: list[str]) -> list[FieldError]:
    if not given:
        return [required(path, "must specify a handler type")]
    return [forbidden(f"{path}.{kind}", "may not specify more than 1 handler type") for kind in given[1:]]


def _reached(path: str, http: Opt[HTTPGetAction], tcp: Opt[TCPSocketAction]) -> list[FieldError]:
    errors: list[FieldError] = []
    if http is not UNSET:
        if not http.path:
            errors.append(required(f"{path}.httpGet.path"))
        errors += _port(f"{path}.httpGet.port", http.port)
        errors += choice(f"{path}.httpGet.scheme", http.scheme, SCHEMES)
    if tcp is not UNSET:
        errors += _port(f"{path}.tcpSocket.port", tcp.port)
    return errors


def _port(path: str, port: Opt[IntOrString]) -> list[FieldError]:
    if isinstance(port, str):
        return named(path, port, names.port_name)
    return between(path, 0 if port is UNSET else port, 1, PORT_MAX)
