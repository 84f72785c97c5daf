"""core/v1 Node."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.affinity import Taint
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Time, Type


class ConfigMapNodeConfigSource(Type):
    namespace: Annotated[str, F(proto=1)] = ""
    name: Annotated[str, F(proto=2)] = ""
    uid: Opt[Annotated[str, F(proto=3)]] = UNSET
    resource_version: Opt[Annotated[str, F(proto=4)]] = UNSET
    kubelet_config_key: Annotated[str, F(proto=5)] = ""


class NodeConfigSource(Type):
    config_map: Opt[Annotated[ConfigMapNodeConfigSource, F(proto=2)]] = UNSET


class NodePodPreemptionPolicy(Type):
    disable_resize_preemption: Opt[Annotated[list[str], F(proto=1, list_type="set")]] = UNSET


class NodeSpec(Type):
    pod_cidr: Opt[Annotated[str, F(proto=1)]] = field(default=UNSET, name="podCIDR")
    pod_cidrs: Opt[Annotated[list[str], F(proto=7, list_type="set", merge="")]] = field(default=UNSET, name="podCIDRs")
    provider_id: Opt[Annotated[str, F(proto=3)]] = field(default=UNSET, name="providerID")
    unschedulable: Opt[Annotated[bool, F(proto=4)]] = UNSET
    taints: Opt[Annotated[list[Taint], F(proto=5, list_type="atomic")]] = UNSET
    config_source: Opt[Annotated[NodeConfigSource, F(proto=6)]] = UNSET
    external_id: Opt[Annotated[str, F(proto=2)]] = field(default=UNSET, name="externalID")
    pod_preemption_policy: Opt[Annotated[NodePodPreemptionPolicy, F(proto=8)]] = UNSET


class NodeCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_heartbeat_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=5)]] = UNSET
    message: Opt[Annotated[str, F(proto=6)]] = UNSET


class NodeAddress(Type):
    type: Annotated[str, F(proto=1)] = ""
    address: Annotated[str, F(proto=2)] = ""


class DaemonEndpoint(Type):
    port: Annotated[Int32, F(proto=1)] = field(default=0, name="Port")


class NodeDaemonEndpoints(Type):
    kubelet_endpoint: Annotated[DaemonEndpoint, F(proto=1)] = field(default_factory=DaemonEndpoint)


class NodeSwapStatus(Type):
    capacity: Opt[Annotated[Int64, F(proto=1, zero=True)]] = UNSET


class NodeSystemInfo(Type):
    machine_id: Annotated[str, F(proto=1)] = field(default="", name="machineID")
    system_uuid: Annotated[str, F(proto=2)] = field(default="", name="systemUUID")
    boot_id: Annotated[str, F(proto=3)] = field(default="", name="bootID")
    kernel_version: Annotated[str, F(proto=4)] = ""
    os_image: Annotated[str, F(proto=5)] = ""
    container_runtime_version: Annotated[str, F(proto=6)] = ""
    kubelet_version: Annotated[str, F(proto=7)] = ""
    kube_proxy_version: Annotated[str, F(proto=8)] = ""
    operating_system: Annotated[str, F(proto=9)] = ""
    architecture: Annotated[str, F(proto=10)] = ""
    swap: Opt[Annotated[NodeSwapStatus, F(proto=11)]] = UNSET


class ContainerImage(Type):
    names: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    size_bytes: Opt[Annotated[Int64, F(proto=2)]] = UNSET


class AttachedVolume(Type):
    name: Annotated[str, F(proto=1)] = ""
    device_path: Annotated[str, F(proto=2)] = ""


class NodeConfigStatus(Type):
    assigned: Opt[Annotated[NodeConfigSource, F(proto=1)]] = UNSET
    active: Opt[Annotated[NodeConfigSource, F(proto=2)]] = UNSET
    last_known_good: Opt[Annotated[NodeConfigSource, F(proto=3)]] = UNSET
    error: Opt[Annotated[str, F(proto=4)]] = UNSET


class NodeRuntimeHandlerFeatures(Type):
    recursive_read_only_mounts: Opt[Annotated[bool, F(proto=1, zero=True)]] = UNSET
    user_namespaces: Opt[Annotated[bool, F(proto=2, zero=True)]] = UNSET


class NodeRuntimeHandler(Type):
    name: Annotated[str, F(proto=1)] = ""
    features: Opt[Annotated[NodeRuntimeHandlerFeatures, F(proto=2)]] = UNSET


class NodeFeatures(Type):
    supplemental_groups_policy: Opt[Annotated[bool, F(proto=1, zero=True)]] = UNSET


class NodeStatus(Type):
    capacity: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    allocatable: Opt[Annotated[dict[str, Quantity], F(proto=2)]] = UNSET
    phase: Opt[Annotated[str, F(proto=3)]] = UNSET
    conditions: Opt[Annotated[list[NodeCondition], F(proto=4, keys=("type",), merge="type")]] = UNSET
    addresses: Opt[Annotated[list[NodeAddress], F(proto=5, keys=("type",), merge="type")]] = UNSET
    daemon_endpoints: Annotated[NodeDaemonEndpoints, F(proto=6)] = field(default_factory=NodeDaemonEndpoints)
    node_info: Annotated[NodeSystemInfo, F(proto=7)] = field(default_factory=NodeSystemInfo)
    images: Opt[Annotated[list[ContainerImage], F(proto=8, list_type="atomic")]] = UNSET
    volumes_in_use: Opt[Annotated[list[str], F(proto=9, list_type="atomic")]] = UNSET
    volumes_attached: Opt[Annotated[list[AttachedVolume], F(proto=10, list_type="atomic")]] = UNSET
    config: Opt[Annotated[NodeConfigStatus, F(proto=11)]] = UNSET
    runtime_handlers: Opt[Annotated[list[NodeRuntimeHandler], F(proto=12, list_type="atomic")]] = UNSET
    features: Opt[Annotated[NodeFeatures, F(proto=13)]] = UNSET
    declared_features: Opt[Annotated[list[str], F(proto=14, list_type="atomic")]] = UNSET


class Node(Object):
    """A machine of the cluster, with what it offers and how it is."""

    spec: Annotated[NodeSpec, F(proto=2)] = field(default_factory=NodeSpec)
    status: Annotated[NodeStatus, F(proto=3)] = field(default_factory=NodeStatus)
