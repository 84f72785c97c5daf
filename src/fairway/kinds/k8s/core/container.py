"""A container and what it is made of: environment, probes, ports, mounts, resources."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.k8s.core.references import (
    ConfigMapKeySelector,
    FileKeySelector,
    LocalObjectReference,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretKeySelector,
)
from fairway.kinds.k8s.core.security import SecurityContext
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, IntOrString, Opt, Quantity, Type


class ContainerPort(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    host_port: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    container_port: Annotated[Int32, F(proto=3)] = 0
    protocol: Opt[Annotated[str, F(proto=4, default="TCP")]] = UNSET
    host_ip: Opt[Annotated[str, F(proto=5)]] = field(default=UNSET, name="hostIP")


class ConfigMapEnvSource(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    optional: Opt[Annotated[bool, F(proto=2, zero=True)]] = UNSET


class SecretEnvSource(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    optional: Opt[Annotated[bool, F(proto=2, zero=True)]] = UNSET


class EnvFromSource(Type):
    prefix: Opt[Annotated[str, F(proto=1)]] = UNSET
    config_map_ref: Opt[Annotated[ConfigMapEnvSource, F(proto=2)]] = UNSET
    secret_ref: Opt[Annotated[SecretEnvSource, F(proto=3)]] = UNSET


class EnvVarSource(Type):
    field_ref: Opt[Annotated[ObjectFieldSelector, F(proto=1, atomic=True)]] = UNSET
    resource_field_ref: Opt[Annotated[ResourceFieldSelector, F(proto=2, atomic=True)]] = UNSET
    config_map_key_ref: Opt[Annotated[ConfigMapKeySelector, F(proto=3, atomic=True)]] = UNSET
    secret_key_ref: Opt[Annotated[SecretKeySelector, F(proto=4, atomic=True)]] = UNSET
    file_key_ref: Opt[Annotated[FileKeySelector, F(proto=5, atomic=True)]] = UNSET


class EnvVar(Type):
    name: Annotated[str, F(proto=1)] = ""
    value: Opt[Annotated[str, F(proto=2)]] = UNSET
    value_from: Opt[Annotated[EnvVarSource, F(proto=3)]] = UNSET


class ResourceClaim(Type):
    name: Annotated[str, F(proto=1)] = ""
    request: Opt[Annotated[str, F(proto=2)]] = UNSET


class ResourceRequirements(Type):
    limits: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    requests: Opt[Annotated[dict[str, Quantity], F(proto=2)]] = UNSET
    claims: Opt[Annotated[list[ResourceClaim], F(proto=3, keys=("name",))]] = UNSET


class ContainerResizePolicy(Type):
    resource_name: Annotated[str, F(proto=1)] = ""
    restart_policy: Annotated[str, F(proto=2)] = ""


class ContainerRestartRuleOnExitCodes(Type):
    operator: Opt[Annotated[str, F(proto=1)]] = UNSET
    values: Opt[Annotated[list[Int32], F(proto=2, list_type="set")]] = UNSET


class ContainerRestartRule(Type):
    action: Opt[Annotated[str, F(proto=1)]] = UNSET
    exit_codes: Opt[Annotated[ContainerRestartRuleOnExitCodes, F(proto=2)]] = UNSET


class VolumeMount(Type):
    name: Annotated[str, F(proto=1)] = ""
    read_only: Opt[Annotated[bool, F(proto=2)]] = UNSET
    recursive_read_only: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET
    mount_path: Annotated[str, F(proto=3)] = ""
    sub_path: Opt[Annotated[str, F(proto=4)]] = UNSET
    mount_propagation: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET
    sub_path_expr: Opt[Annotated[str, F(proto=6)]] = UNSET
    bind_mount_options: Opt[Annotated[list[str], F(proto=8, list_type="set")]] = UNSET


class VolumeDevice(Type):
    name: Annotated[str, F(proto=1)] = ""
    device_path: Annotated[str, F(proto=2)] = ""


class ExecAction(Type):
    command: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET


class HTTPHeader(Type):
    name: Annotated[str, F(proto=1)] = ""
    value: Annotated[str, F(proto=2)] = ""


class HTTPGetAction(Type):
    path: Opt[Annotated[str, F(proto=1)]] = UNSET
    port: Opt[Annotated[IntOrString, F(proto=2)]] = UNSET
    host: Opt[Annotated[str, F(proto=3)]] = UNSET
    scheme: Opt[Annotated[str, F(proto=4)]] = UNSET
    http_headers: Opt[Annotated[list[HTTPHeader], F(proto=5, list_type="atomic")]] = UNSET
    protocol: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET


class TCPSocketAction(Type):
    port: Opt[Annotated[IntOrString, F(proto=1)]] = UNSET
    host: Opt[Annotated[str, F(proto=2)]] = UNSET


class GRPCAction(Type):
    port: Annotated[Int32, F(proto=1)] = 0
    service: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET
    mode: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET


class SleepAction(Type):
    seconds: Annotated[Int64, F(proto=1)] = 0


class ProbeHandler(Type):
    exec: Opt[Annotated[ExecAction, F(proto=1)]] = UNSET
    http_get: Opt[Annotated[HTTPGetAction, F(proto=2)]] = UNSET
    tcp_socket: Opt[Annotated[TCPSocketAction, F(proto=3)]] = UNSET
    grpc: Opt[Annotated[GRPCAction, F(proto=4)]] = UNSET


class Probe(ProbeHandler):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: ProbeHandler}

    initial_delay_seconds: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    timeout_seconds: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    period_seconds: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    success_threshold: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    failure_threshold: Opt[Annotated[Int32, F(proto=6)]] = UNSET
    termination_grace_period_seconds: Opt[Annotated[Int64, F(proto=7, zero=True)]] = UNSET


class LifecycleHandler(Type):
    exec: Opt[Annotated[ExecAction, F(proto=1)]] = UNSET
    http_get: Opt[Annotated[HTTPGetAction, F(proto=2)]] = UNSET
    tcp_socket: Opt[Annotated[TCPSocketAction, F(proto=3)]] = UNSET
    sleep: Opt[Annotated[SleepAction, F(proto=4)]] = UNSET


class Lifecycle(Type):
    post_start: Opt[Annotated[LifecycleHandler, F(proto=1)]] = UNSET
    pre_stop: Opt[Annotated[LifecycleHandler, F(proto=2)]] = UNSET
    stop_signal: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET


class Container(Type):
    name: Annotated[str, F(proto=1)] = ""
    image: Opt[Annotated[str, F(proto=2)]] = UNSET
    command: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    args: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET
    working_dir: Opt[Annotated[str, F(proto=5)]] = UNSET
    ports: Opt[
        Annotated[
            list[ContainerPort],
            F(
                proto=6,
                keys=(
                    "containerPort",
                    "protocol",
                ),
                merge="containerPort",
            ),
        ]
    ] = UNSET
    env_from: Opt[Annotated[list[EnvFromSource], F(proto=19, list_type="atomic")]] = UNSET
    env: Opt[Annotated[list[EnvVar], F(proto=7, keys=("name",), merge="name")]] = UNSET
    resources: Annotated[ResourceRequirements, F(proto=8)] = field(default_factory=ResourceRequirements)
    resize_policy: Opt[Annotated[list[ContainerResizePolicy], F(proto=23, list_type="atomic")]] = UNSET
    restart_policy: Opt[Annotated[str, F(proto=24, zero=True)]] = UNSET
    restart_policy_rules: Opt[Annotated[list[ContainerRestartRule], F(proto=25, list_type="atomic")]] = UNSET
    volume_mounts: Opt[Annotated[list[VolumeMount], F(proto=9, keys=("mountPath",), merge="mountPath")]] = UNSET
    volume_devices: Opt[Annotated[list[VolumeDevice], F(proto=21, keys=("devicePath",), merge="devicePath")]] = UNSET
    liveness_probe: Opt[Annotated[Probe, F(proto=10)]] = UNSET
    readiness_probe: Opt[Annotated[Probe, F(proto=11)]] = UNSET
    startup_probe: Opt[Annotated[Probe, F(proto=22)]] = UNSET
    lifecycle: Opt[Annotated[Lifecycle, F(proto=12)]] = UNSET
    termination_message_path: Opt[Annotated[str, F(proto=13)]] = UNSET
    termination_message_policy: Opt[Annotated[str, F(proto=20)]] = UNSET
    image_pull_policy: Opt[Annotated[str, F(proto=14)]] = UNSET
    security_context: Opt[Annotated[SecurityContext, F(proto=15)]] = UNSET
    stdin: Opt[Annotated[bool, F(proto=16)]] = UNSET
    stdin_once: Opt[Annotated[bool, F(proto=17)]] = UNSET
    tty: Opt[Annotated[bool, F(proto=18)]] = UNSET


class EphemeralContainerCommon(Type):
    name: Annotated[str, F(proto=1)] = ""
    image: Opt[Annotated[str, F(proto=2)]] = UNSET
    command: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    args: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET
    working_dir: Opt[Annotated[str, F(proto=5)]] = UNSET
    ports: Opt[
        Annotated[
            list[ContainerPort],
            F(
                proto=6,
                keys=(
                    "containerPort",
                    "protocol",
                ),
                merge="containerPort",
            ),
        ]
    ] = UNSET
    env_from: Opt[Annotated[list[EnvFromSource], F(proto=19, list_type="atomic")]] = UNSET
    env: Opt[Annotated[list[EnvVar], F(proto=7, keys=("name",), merge="name")]] = UNSET
    resources: Annotated[ResourceRequirements, F(proto=8)] = field(default_factory=ResourceRequirements)
    resize_policy: Opt[Annotated[list[ContainerResizePolicy], F(proto=23, list_type="atomic")]] = UNSET
    restart_policy: Opt[Annotated[str, F(proto=24, zero=True)]] = UNSET
    restart_policy_rules: Opt[Annotated[list[ContainerRestartRule], F(proto=25, list_type="atomic")]] = UNSET
    volume_mounts: Opt[Annotated[list[VolumeMount], F(proto=9, keys=("mountPath",), merge="mountPath")]] = UNSET
    volume_devices: Opt[Annotated[list[VolumeDevice], F(proto=21, keys=("devicePath",), merge="devicePath")]] = UNSET
    liveness_probe: Opt[Annotated[Probe, F(proto=10)]] = UNSET
    readiness_probe: Opt[Annotated[Probe, F(proto=11)]] = UNSET
    startup_probe: Opt[Annotated[Probe, F(proto=22)]] = UNSET
    lifecycle: Opt[Annotated[Lifecycle, F(proto=12)]] = UNSET
    termination_message_path: Opt[Annotated[str, F(proto=13)]] = UNSET
    termination_message_policy: Opt[Annotated[str, F(proto=20)]] = UNSET
    image_pull_policy: Opt[Annotated[str, F(proto=14)]] = UNSET
    security_context: Opt[Annotated[SecurityContext, F(proto=15)]] = UNSET
    stdin: Opt[Annotated[bool, F(proto=16)]] = UNSET
    stdin_once: Opt[Annotated[bool, F(proto=17)]] = UNSET
    tty: Opt[Annotated[bool, F(proto=18)]] = UNSET


class EphemeralContainer(EphemeralContainerCommon):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: EphemeralContainerCommon}

    target_container_name: Opt[Annotated[str, F(proto=2)]] = UNSET
