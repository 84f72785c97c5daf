"""What the API fills in where a pod, or the template of one, leaves a choice open."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairway.core.quantity import parse
from fairway.kinds.k8s.core.container import (
    Container,
    EphemeralContainer,
    HTTPGetAction,
    LifecycleHandler,
    Probe,
    ResourceRequirements,
)
from fairway.kinds.k8s.core.pod import Pod, PodSpec, PodTemplate
from fairway.kinds.k8s.core.podstatus import PodCondition, PodIP, PodStatus
from fairway.kinds.k8s.core.references import ObjectFieldSelector, ResourceFieldSelector
from fairway.kinds.k8s.core.security import PodSecurityContext
from fairway.kinds.k8s.core.volumes import (
    DownwardAPIVolumeFile,
    EmptyDirVolumeSource,
    ProjectedVolumeSource,
    Volume,
    VolumeSource,
)
from fairway.kinds.k8s.opt import flag, items, number, pairs, text
from fairway.kinds.types import UNSET, Opt, Quantity

FILE_MODE = 0o644
GRACE_SECONDS = 30
TOKEN_SECONDS = 3600
SCHEDULING_GATED = "SchedulingGated"
GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"

_VOLUME_SOURCES = tuple(field.name for field in msgspec.structs.fields(VolumeSource))


def default_pod_spec(spec: PodSpec) -> None:
    """Defaults that hold wherever a pod is described: in a Pod and in the template of a Job."""
    spec.service_account_name = text(spec.service_account_name) or spec.service_account
    if spec.service_account_name:
        spec.service_account = spec.service_account_name
    spec.restart_policy = spec.restart_policy or "Always"
    spec.dns_policy = spec.dns_policy or "ClusterFirst"
    spec.scheduler_name = spec.scheduler_name or "default-scheduler"
    if spec.security_context is UNSET:
        spec.security_context = PodSecurityContext()
    if spec.termination_grace_period_seconds is UNSET:
        spec.termination_grace_period_seconds = GRACE_SECONDS
    for volume in items(spec.volumes):
        _default_volume(volume)
    for container in (*items(spec.init_containers), *spec.containers):
        _default_container(container)
    for ephemeral in items(spec.ephemeral_containers):
        _default_container(ephemeral)


def default_pod(new: Pod, old: Pod | None) -> None:
    if old is None or new.spec is not old.spec:  # the write of a status leaves it alone
        _default_spec(new.spec)
    _pair_addresses(new.status)


def _default_spec(spec: PodSpec) -> None:
    default_pod_spec(spec)
    containers = [*items(spec.init_containers), *spec.containers]
    for container in containers:
        request_limits(container.resources)
    if spec.enable_service_links is UNSET:
        spec.enable_service_links = True
    if flag(spec.host_network):
        for port in (port for container in containers for port in items(container.ports)):
            port.host_port = number(port.host_port) or port.container_port


def default_pod_template(new: PodTemplate, _old: PodTemplate | None) -> None:
    default_pod_spec(new.template.spec)


def prepare_pod(new: Pod, old: Pod | None) -> None:
    """A new pod starts out Pending. (A status that its writer sent along is gone by now; one that says it is scheduled is the API's own.)"""
    if old is not None:
        return
    new.status = PodStatus(phase="Pending", qos_class=qos_class(new.spec), conditions=new.status.conditions)
    if items(new.spec.scheduling_gates):
        new.status.conditions = [
            PodCondition(
                type="PodScheduled",
                status="False",
                reason=SCHEDULING_GATED,
                message=GATED_MESSAGE,
            )
        ]


def request_limits(resources: ResourceRequirements) -> None:
    """Whoever sets a limit and no request asks for the limit."""
    limits = pairs(resources.limits)
    if limits:
        resources.requests = {**limits, **pairs(resources.requests)}


def qos_class(spec: PodSpec) -> str:
    """Guaranteed: every container limits cpu and memory to what it requests. BestEffort: nothing is said. Else Burstable."""
    containers = [*items(spec.init_containers), *spec.containers]
    guaranteed, said = True, False
    for container in containers:
        requests, limits = (_counted(container.resources.requests), _counted(container.resources.limits))
        said = said or bool(requests or limits)
        if len(limits) != 2 or any(requests.get(name, limit) != limit for name, limit in limits.items()):
            guaranteed = False
    if not said:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _counted(amounts: Opt[dict[str, Quantity]]) -> dict[str, int]:
    found = ((name, parse(amount).nanos) for name, amount in pairs(amounts).items() if name in ("cpu", "memory"))
    return {name: nanos for name, nanos in found if nanos > 0}


def pull_policy(image: str) -> str:
    """Always for an image that may change under its name: tagged latest, or with neither tag nor digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2] or ("" if digest or not image else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _default_container(container: Container | EphemeralContainer) -> None:
    container.image_pull_policy = container.image_pull_policy or pull_policy(text(container.image))
    container.termination_message_path = container.termination_message_path or "/dev/termination-log"
    container.termination_message_policy = container.termination_message_policy or "File"
    for port in items(container.ports):
        port.protocol = port.protocol or "TCP"
    for variable in items(container.env):
        source = variable.value_from
        if source is not UNSET:
            _default_selectors(source.field_ref, source.resource_field_ref)
            if source.file_key_ref is not UNSET and source.file_key_ref.optional is UNSET:
                source.file_key_ref.optional = False
    for probe in (container.liveness_probe, container.readiness_probe, container.startup_probe):
        if probe is not UNSET:
            _default_probe(probe)
    if container.lifecycle is not UNSET:
        for handler in (container.lifecycle.post_start, container.lifecycle.pre_stop):
            if handler is not UNSET:
                _default_handler(handler)


def _default_selectors(field: Opt[ObjectFieldSelector], resource: Opt[ResourceFieldSelector]) -> None:
    if field is not UNSET:
        field.api_version = field.api_version or "v1"
    if resource is not UNSET and resource.divisor is UNSET:
        resource.divisor = Quantity("0")


def _default_probe(probe: Probe) -> None:
    probe.timeout_seconds = probe.timeout_seconds or 1
    probe.period_seconds = probe.period_seconds or 10
    probe.success_threshold = probe.success_threshold or 1
    probe.failure_threshold = probe.failure_threshold or 3
    if probe.grpc is not UNSET and probe.grpc.service is UNSET:
        probe.grpc.service = ""
    _default_http(probe.http_get)


def _default_handler(handler: LifecycleHandler) -> None:
    _default_http(handler.http_get)


def _default_http(action: Opt[HTTPGetAction]) -> None:
    if action is not UNSET:
        action.path = action.path or "/"
        action.scheme = action.scheme or "HTTP"


def _default_volume(volume: Volume) -> None:
    if all(getattr(volume, name) is UNSET for name in _VOLUME_SOURCES):
        volume.empty_dir = EmptyDirVolumeSource()
    for source in (volume.secret, volume.config_map, volume.downward_api, volume.projected):
        if source is not UNSET and source.default_mode is UNSET:
            source.default_mode = FILE_MODE
    if volume.host_path is not UNSET and volume.host_path.type is UNSET:
        volume.host_path.type = ""
    if volume.image is not UNSET:
        volume.image.pull_policy = volume.image.pull_policy or pull_policy(text(volume.image.reference))
    if volume.downward_api is not UNSET:
        _default_files(items(volume.downward_api.items))
    if volume.projected is not UNSET:
        _default_projection(volume.projected)
    if volume.ephemeral is not UNSET and volume.ephemeral.volume_claim_template is not UNSET:
        claim = volume.ephemeral.volume_claim_template.spec
        claim.volume_mode = claim.volume_mode or "Filesystem"
    _default_storage(volume)


def _default_storage(volume: Volume) -> None:
    """Defaults of network storage that old manifests still name."""
    if volume.iscsi is not UNSET:
        volume.iscsi.iscsi_interface = volume.iscsi.iscsi_interface or "default"
    if volume.rbd is not UNSET:
        volume.rbd.pool = volume.rbd.pool or "rbd"
        volume.rbd.user = volume.rbd.user or "admin"
        volume.rbd.keyring = volume.rbd.keyring or "/etc/ceph/keyring"
    if volume.scale_io is not UNSET:
        volume.scale_io.storage_mode = volume.scale_io.storage_mode or "ThinProvisioned"
        volume.scale_io.fs_type = volume.scale_io.fs_type or "xfs"
    if volume.azure_disk is not UNSET:
        disk = volume.azure_disk
        disk.caching_mode = disk.caching_mode or "ReadWrite"
        disk.kind = disk.kind or "Shared"
        disk.fs_type = disk.fs_type or "ext4"
        if disk.read_only is UNSET:
            disk.read_only = False


def _default_projection(projected: ProjectedVolumeSource) -> None:
    for source in items(projected.sources):
        token = source.service_account_token
        if token is not UNSET and token.expiration_seconds is UNSET:
            token.expiration_seconds = TOKEN_SECONDS
        if source.downward_api is not UNSET:
            _default_files(items(source.downward_api.items))


def _default_files(files: Iterable[DownwardAPIVolumeFile]) -> None:
    for file in files:
        _default_selectors(file.field_ref, file.resource_field_ref)


def _pair_addresses(status: PodStatus) -> None:
    """podIP and podIPs say the same; podIP wins where they do not."""
    addresses = items(status.pod_ips)
    if status.pod_ip and (not addresses or addresses[0].ip != status.pod_ip):
        status.pod_ips = [PodIP(ip=status.pod_ip)]
    elif addresses and not status.pod_ip:
        status.pod_ip = addresses[0].ip
