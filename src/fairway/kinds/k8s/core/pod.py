"""core/v1 Pod, PodTemplate and Binding, and the PodSpec whole."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.affinity import Affinity, Toleration, TopologySpreadConstraint
from fairway.kinds.k8s.core.container import Container, EphemeralContainer, ResourceRequirements
from fairway.kinds.k8s.core.podstatus import PodStatus
from fairway.kinds.k8s.core.references import LocalObjectReference, ObjectReference
from fairway.kinds.k8s.core.security import PodSecurityContext
from fairway.kinds.k8s.core.volumes import Volume
from fairway.kinds.meta import Object, ObjectMeta
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Type


class HostAlias(Type):
    ip: Annotated[str, F(proto=1)] = ""
    hostnames: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET


class PodDNSConfigOption(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    value: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class PodDNSConfig(Type):
    nameservers: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET
    searches: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    options: Opt[Annotated[list[PodDNSConfigOption], F(proto=3, list_type="atomic")]] = UNSET


class PodReadinessGate(Type):
    condition_type: Annotated[str, F(proto=1)] = ""


class PodOS(Type):
    name: Annotated[str, F(proto=1)] = ""


class PodSchedulingGate(Type):
    name: Annotated[str, F(proto=1)] = ""


class PodResourceClaim(Type):
    name: Annotated[str, F(proto=1)] = ""
    resource_claim_name: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    resource_claim_template_name: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class PodSchedulingGroup(Type):
    pod_group_name: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET


class EvictionResponder(Type):
    name: Annotated[str, F(proto=1)] = ""
    priority: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET


class PodSpec(Type):
    volumes: Opt[Annotated[list[Volume], F(proto=1, keys=("name",), merge="name", retain_keys=True)]] = UNSET
    init_containers: Opt[Annotated[list[Container], F(proto=20, keys=("name",), merge="name")]] = UNSET
    containers: Annotated[list[Container], F(proto=2, keys=("name",), merge="name")] = field(default_factory=list)
    ephemeral_containers: Opt[Annotated[list[EphemeralContainer], F(proto=34, keys=("name",), merge="name")]] = UNSET
    restart_policy: Opt[Annotated[str, F(proto=3)]] = UNSET
    termination_grace_period_seconds: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET
    active_deadline_seconds: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET
    dns_policy: Opt[Annotated[str, F(proto=6)]] = UNSET
    node_selector: Opt[Annotated[dict[str, str], F(proto=7, atomic=True)]] = UNSET
    service_account_name: Opt[Annotated[str, F(proto=8)]] = UNSET
    service_account: Opt[Annotated[str, F(proto=9)]] = UNSET
    automount_service_account_token: Opt[Annotated[bool, F(proto=21, zero=True)]] = UNSET
    node_name: Opt[Annotated[str, F(proto=10)]] = UNSET
    host_network: Opt[Annotated[bool, F(proto=11)]] = UNSET
    host_pid: Opt[Annotated[bool, F(proto=12)]] = field(default=UNSET, name="hostPID")
    host_ipc: Opt[Annotated[bool, F(proto=13)]] = field(default=UNSET, name="hostIPC")
    share_process_namespace: Opt[Annotated[bool, F(proto=27, zero=True)]] = UNSET
    security_context: Opt[Annotated[PodSecurityContext, F(proto=14)]] = UNSET
    image_pull_secrets: Opt[Annotated[list[LocalObjectReference], F(proto=15, keys=("name",), merge="name")]] = UNSET
    hostname: Opt[Annotated[str, F(proto=16)]] = UNSET
    subdomain: Opt[Annotated[str, F(proto=17)]] = UNSET
    affinity: Opt[Annotated[Affinity, F(proto=18)]] = UNSET
    scheduler_name: Opt[Annotated[str, F(proto=19)]] = UNSET
    tolerations: Opt[Annotated[list[Toleration], F(proto=22, list_type="atomic")]] = UNSET
    host_aliases: Opt[Annotated[list[HostAlias], F(proto=23, keys=("ip",), merge="ip")]] = UNSET
    priority_class_name: Opt[Annotated[str, F(proto=24)]] = UNSET
    priority: Opt[Annotated[Int32, F(proto=25, zero=True)]] = UNSET
    dns_config: Opt[Annotated[PodDNSConfig, F(proto=26)]] = UNSET
    readiness_gates: Opt[Annotated[list[PodReadinessGate], F(proto=28, list_type="atomic")]] = UNSET
    runtime_class_name: Opt[Annotated[str, F(proto=29, zero=True)]] = UNSET
    enable_service_links: Opt[Annotated[bool, F(proto=30, zero=True)]] = UNSET
    preemption_policy: Opt[Annotated[str, F(proto=31, zero=True)]] = UNSET
    overhead: Opt[Annotated[dict[str, Quantity], F(proto=32)]] = UNSET
    topology_spread_constraints: Opt[
        Annotated[
            list[TopologySpreadConstraint],
            F(
                proto=33,
                keys=(
                    "topologyKey",
                    "whenUnsatisfiable",
                ),
                merge="topologyKey",
            ),
        ]
    ] = UNSET
    set_hostname_as_fqdn: Opt[Annotated[bool, F(proto=35, zero=True)]] = field(default=UNSET, name="setHostnameAsFQDN")
    os: Opt[Annotated[PodOS, F(proto=36)]] = UNSET
    host_users: Opt[Annotated[bool, F(proto=37, zero=True)]] = UNSET
    scheduling_gates: Opt[Annotated[list[PodSchedulingGate], F(proto=38, keys=("name",), merge="name")]] = UNSET
    resource_claims: Opt[
        Annotated[list[PodResourceClaim], F(proto=39, keys=("name",), merge="name", retain_keys=True)]
    ] = UNSET
    resources: Opt[Annotated[ResourceRequirements, F(proto=40)]] = UNSET
    hostname_override: Opt[Annotated[str, F(proto=41, zero=True)]] = UNSET
    scheduling_group: Opt[Annotated[PodSchedulingGroup, F(proto=43)]] = UNSET
    eviction_responders: Opt[Annotated[list[EvictionResponder], F(proto=44, keys=("name",), merge="name")]] = UNSET


class PodTemplateSpec(Type):
    metadata: Annotated[ObjectMeta, F(proto=1)] = field(default_factory=ObjectMeta)
    spec: Annotated[PodSpec, F(proto=2)] = field(default_factory=PodSpec)


class Pod(Object):
    """Containers that run together on one node: what a Job starts."""

    spec: Annotated[PodSpec, F(proto=2)] = field(default_factory=PodSpec)
    status: Annotated[PodStatus, F(proto=3)] = field(default_factory=PodStatus)


class PodTemplate(Object):
    """A stored recipe for pods. Kept as written."""

    template: Annotated[PodTemplateSpec, F(proto=2)] = field(default_factory=PodTemplateSpec)


class Binding(Object):
    """Assigns a pod to a node."""

    target: Annotated[ObjectReference, F(proto=2, atomic=True)] = field(default_factory=ObjectReference)
