"""The status of a pod and of its containers."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.claims import VolumeHealthCondition
from fairway.kinds.k8s.core.container import ResourceRequirements
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Time, Type


class PodCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    observed_generation: Opt[Annotated[Int64, F(proto=7)]] = UNSET
    status: Annotated[str, F(proto=2)] = ""
    last_probe_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=5)]] = UNSET
    message: Opt[Annotated[str, F(proto=6)]] = UNSET


class HostIP(Type):
    ip: Annotated[str, F(proto=1)] = ""


class PodIP(Type):
    ip: Annotated[str, F(proto=1)] = ""


class ContainerStateWaiting(Type):
    reason: Opt[Annotated[str, F(proto=1)]] = UNSET
    message: Opt[Annotated[str, F(proto=2)]] = UNSET


class ContainerStateRunning(Type):
    started_at: Opt[Annotated[Time, F(proto=1)]] = UNSET


class ContainerStateTerminated(Type):
    exit_code: Annotated[Int32, F(proto=1)] = 0
    signal: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    reason: Opt[Annotated[str, F(proto=3)]] = UNSET
    message: Opt[Annotated[str, F(proto=4)]] = UNSET
    started_at: Opt[Annotated[Time, F(proto=5)]] = UNSET
    finished_at: Opt[Annotated[Time, F(proto=6)]] = UNSET
    container_id: Opt[Annotated[str, F(proto=7)]] = field(default=UNSET, name="containerID")


class ContainerState(Type):
    waiting: Opt[Annotated[ContainerStateWaiting, F(proto=1)]] = UNSET
    running: Opt[Annotated[ContainerStateRunning, F(proto=2)]] = UNSET
    terminated: Opt[Annotated[ContainerStateTerminated, F(proto=3)]] = UNSET


class ImageVolumeStatus(Type):
    image_ref: Opt[Annotated[str, F(proto=1)]] = UNSET


class VolumeStatus(Type):
    image: Opt[Annotated[ImageVolumeStatus, F(proto=1)]] = UNSET


class VolumeMountStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    mount_path: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    recursive_read_only: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    volume_status: Opt[Annotated[VolumeStatus, F(proto=5)]] = UNSET


class LinuxContainerUser(Type):
    uid: Annotated[Int64, F(proto=1)] = 0
    gid: Annotated[Int64, F(proto=2)] = 0
    supplemental_groups: Opt[Annotated[list[Int64], F(proto=3, list_type="atomic")]] = UNSET


class ContainerUser(Type):
    linux: Opt[Annotated[LinuxContainerUser, F(proto=1)]] = UNSET


class ResourceHealth(Type):
    resource_id: Annotated[str, F(proto=1)] = field(default="", name="resourceID")
    health: Opt[Annotated[str, F(proto=2)]] = UNSET
    message: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET


class ResourceStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    resources: Opt[Annotated[list[ResourceHealth], F(proto=2, keys=("resourceID",))]] = UNSET


class ContainerStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    state: Annotated[ContainerState, F(proto=2)] = field(default_factory=ContainerState)
    last_state: Annotated[ContainerState, F(proto=3)] = field(default_factory=ContainerState)
    ready: Annotated[bool, F(proto=4)] = False
    restart_count: Annotated[Int32, F(proto=5)] = 0
    image: Annotated[str, F(proto=6)] = ""
    image_id: Annotated[str, F(proto=7)] = field(default="", name="imageID")
    container_id: Opt[Annotated[str, F(proto=8)]] = field(default=UNSET, name="containerID")
    started: Opt[Annotated[bool, F(proto=9, zero=True)]] = UNSET
    allocated_resources: Opt[Annotated[dict[str, Quantity], F(proto=10)]] = UNSET
    resources: Opt[Annotated[ResourceRequirements, F(proto=11)]] = UNSET
    volume_mounts: Opt[Annotated[list[VolumeMountStatus], F(proto=12, keys=("mountPath",), merge="mountPath")]] = UNSET
    user: Opt[Annotated[ContainerUser, F(proto=13)]] = UNSET
    allocated_resources_status: Opt[Annotated[list[ResourceStatus], F(proto=14, keys=("name",), merge="name")]] = UNSET
    stop_signal: Opt[Annotated[str, F(proto=15, zero=True)]] = UNSET


class PodResourceClaimStatus(Type):
    name: Annotated[str, F(proto=1)] = ""
    resource_claim_name: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class ContainerExtendedResourceRequest(Type):
    container_name: Annotated[str, F(proto=1)] = ""
    resource_name: Annotated[str, F(proto=2)] = ""
    request_name: Annotated[str, F(proto=3)] = ""


class PodExtendedResourceClaimStatus(Type):
    request_mappings: Annotated[list[ContainerExtendedResourceRequest], F(proto=1, list_type="atomic")] = field(
        default_factory=list
    )
    resource_claim_name: Annotated[str, F(proto=2)] = ""


class NodeAllocatableMappedResources(Type):
    name: Annotated[str, F(proto=1)] = ""
    quantity: Opt[Annotated[Quantity, F(proto=2)]] = UNSET


class NodeAllocatableOverheadResources(Type):
    name: Annotated[str, F(proto=1)] = ""
    per_pod: Opt[Annotated[Quantity, F(proto=2)]] = UNSET
    per_container: Opt[Annotated[Quantity, F(proto=3)]] = UNSET


class NodeAllocatableResourceClaimStatus(Type):
    resource_claim_name: Annotated[str, F(proto=1)] = ""
    containers: Opt[Annotated[list[str], F(proto=2, list_type="set")]] = UNSET
    mapping: Opt[Annotated[list[NodeAllocatableMappedResources], F(proto=4, keys=("name",), merge="name")]] = UNSET
    overhead: Opt[Annotated[list[NodeAllocatableOverheadResources], F(proto=5, keys=("name",), merge="name")]] = UNSET


class PodVolumeHealth(Type):
    name: Annotated[str, F(proto=1)] = ""
    health_conditions: Opt[
        Annotated[
            list[VolumeHealthCondition],
            F(
                proto=2,
                keys=(
                    "status",
                    "reason",
                ),
                merge="status",
            ),
        ]
    ] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET


class PodStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=17)]] = UNSET
    phase: Opt[Annotated[str, F(proto=1)]] = UNSET
    conditions: Opt[Annotated[list[PodCondition], F(proto=2, keys=("type",), merge="type")]] = UNSET
    message: Opt[Annotated[str, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    nominated_node_name: Opt[Annotated[str, F(proto=11)]] = UNSET
    host_ip: Opt[Annotated[str, F(proto=5)]] = field(default=UNSET, name="hostIP")
    host_ips: Opt[Annotated[list[HostIP], F(proto=16, list_type="atomic", merge="ip")]] = field(
        default=UNSET, name="hostIPs"
    )
    pod_ip: Opt[Annotated[str, F(proto=6)]] = field(default=UNSET, name="podIP")
    pod_ips: Opt[Annotated[list[PodIP], F(proto=12, keys=("ip",), merge="ip")]] = field(default=UNSET, name="podIPs")
    start_time: Opt[Annotated[Time, F(proto=7)]] = UNSET
    init_container_statuses: Opt[Annotated[list[ContainerStatus], F(proto=10, list_type="atomic")]] = UNSET
    container_statuses: Opt[Annotated[list[ContainerStatus], F(proto=8, list_type="atomic")]] = UNSET
    qos_class: Opt[Annotated[str, F(proto=9)]] = UNSET
    ephemeral_container_statuses: Opt[Annotated[list[ContainerStatus], F(proto=13, list_type="atomic")]] = UNSET
    resize: Opt[Annotated[str, F(proto=14)]] = UNSET
    resource_claim_statuses: Opt[
        Annotated[list[PodResourceClaimStatus], F(proto=15, keys=("name",), merge="name", retain_keys=True)]
    ] = UNSET
    extended_resource_claim_status: Opt[Annotated[PodExtendedResourceClaimStatus, F(proto=18)]] = UNSET
    allocated_resources: Opt[Annotated[dict[str, Quantity], F(proto=19)]] = UNSET
    resources: Opt[Annotated[ResourceRequirements, F(proto=20)]] = UNSET
    node_allocatable_resource_claim_statuses: Opt[
        Annotated[
            list[NodeAllocatableResourceClaimStatus],
            F(proto=21, keys=("resourceClaimName",), merge="resourceClaimName"),
        ]
    ] = UNSET
    volume_health: Opt[Annotated[list[PodVolumeHealth], F(proto=22, keys=("name",))]] = UNSET
