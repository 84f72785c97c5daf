"""core/v1 PersistentVolume."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.k8s.core.affinity import NodeSelector
from fairway.kinds.k8s.core.references import ObjectReference, SecretReference
from fairway.kinds.k8s.core.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    HostPathVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Quantity, Time, Type


class GlusterfsPersistentVolumeSource(Type):
    endpoints: Annotated[str, F(proto=1)] = ""
    path: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    endpoints_namespace: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class RBDPersistentVolumeSource(Type):
    monitors: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    image: Annotated[str, F(proto=2)] = ""
    fs_type: Opt[Annotated[str, F(proto=3)]] = UNSET
    pool: Opt[Annotated[str, F(proto=4)]] = UNSET
    user: Opt[Annotated[str, F(proto=5)]] = UNSET
    keyring: Opt[Annotated[str, F(proto=6)]] = UNSET
    secret_ref: Opt[Annotated[SecretReference, F(proto=7, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=8)]] = UNSET


class ISCSIPersistentVolumeSource(Type):
    target_portal: Annotated[str, F(proto=1)] = ""
    iqn: Annotated[str, F(proto=2)] = ""
    lun: Annotated[Int32, F(proto=3)] = 0
    iscsi_interface: Opt[Annotated[str, F(proto=4)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=5)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=6)]] = UNSET
    portals: Opt[Annotated[list[str], F(proto=7, list_type="atomic")]] = UNSET
    chap_auth_discovery: Opt[Annotated[bool, F(proto=8)]] = UNSET
    chap_auth_session: Opt[Annotated[bool, F(proto=11)]] = UNSET
    secret_ref: Opt[Annotated[SecretReference, F(proto=10, atomic=True)]] = UNSET
    initiator_name: Opt[Annotated[str, F(proto=12, zero=True)]] = UNSET


class CinderPersistentVolumeSource(Type):
    volume_id: Annotated[str, F(proto=1)] = field(default="", name="volumeID")
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    secret_ref: Opt[Annotated[SecretReference, F(proto=4, atomic=True)]] = UNSET


class CephFSPersistentVolumeSource(Type):
    monitors: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    path: Opt[Annotated[str, F(proto=2)]] = UNSET
    user: Opt[Annotated[str, F(proto=3)]] = UNSET
    secret_file: Opt[Annotated[str, F(proto=4)]] = UNSET
    secret_ref: Opt[Annotated[SecretReference, F(proto=5, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=6)]] = UNSET


class FlexPersistentVolumeSource(Type):
    driver: Annotated[str, F(proto=1)] = ""
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    secret_ref: Opt[Annotated[SecretReference, F(proto=3, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET
    options: Opt[Annotated[dict[str, str], F(proto=5)]] = UNSET


class AzureFilePersistentVolumeSource(Type):
    secret_name: Annotated[str, F(proto=1)] = ""
    share_name: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    secret_namespace: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class ScaleIOPersistentVolumeSource(Type):
    gateway: Annotated[str, F(proto=1)] = ""
    system: Annotated[str, F(proto=2)] = ""
    secret_ref: Opt[Annotated[SecretReference, F(proto=3, atomic=True)]] = UNSET
    ssl_enabled: Opt[Annotated[bool, F(proto=4)]] = UNSET
    protection_domain: Opt[Annotated[str, F(proto=5)]] = UNSET
    storage_pool: Opt[Annotated[str, F(proto=6)]] = UNSET
    storage_mode: Opt[Annotated[str, F(proto=7)]] = UNSET
    volume_name: Opt[Annotated[str, F(proto=8)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=9)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=10)]] = UNSET


class LocalVolumeSource(Type):
    path: Annotated[str, F(proto=1)] = ""
    fs_type: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class StorageOSPersistentVolumeSource(Type):
    volume_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    volume_namespace: Opt[Annotated[str, F(proto=2)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=3)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET
    secret_ref: Opt[Annotated[ObjectReference, F(proto=5, atomic=True)]] = UNSET


class CSIPersistentVolumeSource(Type):
    driver: Annotated[str, F(proto=1)] = ""
    volume_handle: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=4)]] = UNSET
    volume_attributes: Opt[Annotated[dict[str, str], F(proto=5)]] = UNSET
    controller_publish_secret_ref: Opt[Annotated[SecretReference, F(proto=6, atomic=True)]] = UNSET
    node_stage_secret_ref: Opt[Annotated[SecretReference, F(proto=7, atomic=True)]] = UNSET
    node_publish_secret_ref: Opt[Annotated[SecretReference, F(proto=8, atomic=True)]] = UNSET
    controller_expand_secret_ref: Opt[Annotated[SecretReference, F(proto=9, atomic=True)]] = UNSET
    node_expand_secret_ref: Opt[Annotated[SecretReference, F(proto=10, atomic=True)]] = UNSET


class PersistentVolumeSource(Type):
    gce_persistent_disk: Opt[Annotated[GCEPersistentDiskVolumeSource, F(proto=1)]] = UNSET
    aws_elastic_block_store: Opt[Annotated[AWSElasticBlockStoreVolumeSource, F(proto=2)]] = UNSET
    host_path: Opt[Annotated[HostPathVolumeSource, F(proto=3)]] = UNSET
    glusterfs: Opt[Annotated[GlusterfsPersistentVolumeSource, F(proto=4)]] = UNSET
    nfs: Opt[Annotated[NFSVolumeSource, F(proto=5)]] = UNSET
    rbd: Opt[Annotated[RBDPersistentVolumeSource, F(proto=6)]] = UNSET
    iscsi: Opt[Annotated[ISCSIPersistentVolumeSource, F(proto=7)]] = UNSET
    cinder: Opt[Annotated[CinderPersistentVolumeSource, F(proto=8)]] = UNSET
    cephfs: Opt[Annotated[CephFSPersistentVolumeSource, F(proto=9)]] = UNSET
    fc: Opt[Annotated[FCVolumeSource, F(proto=10)]] = UNSET
    flocker: Opt[Annotated[FlockerVolumeSource, F(proto=11)]] = UNSET
    flex_volume: Opt[Annotated[FlexPersistentVolumeSource, F(proto=12)]] = UNSET
    azure_file: Opt[Annotated[AzureFilePersistentVolumeSource, F(proto=13)]] = UNSET
    vsphere_volume: Opt[Annotated[VsphereVirtualDiskVolumeSource, F(proto=14)]] = UNSET
    quobyte: Opt[Annotated[QuobyteVolumeSource, F(proto=15)]] = UNSET
    azure_disk: Opt[Annotated[AzureDiskVolumeSource, F(proto=16)]] = UNSET
    photon_persistent_disk: Opt[Annotated[PhotonPersistentDiskVolumeSource, F(proto=17)]] = UNSET
    portworx_volume: Opt[Annotated[PortworxVolumeSource, F(proto=18)]] = UNSET
    scale_io: Opt[Annotated[ScaleIOPersistentVolumeSource, F(proto=19)]] = field(default=UNSET, name="scaleIO")
    local: Opt[Annotated[LocalVolumeSource, F(proto=20)]] = UNSET
    storageos: Opt[Annotated[StorageOSPersistentVolumeSource, F(proto=21)]] = UNSET
    csi: Opt[Annotated[CSIPersistentVolumeSource, F(proto=22)]] = UNSET


class VolumeNodeAffinity(Type):
    required: Opt[Annotated[NodeSelector, F(proto=1, atomic=True)]] = UNSET


class PersistentVolumeSpec(PersistentVolumeSource):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {2: PersistentVolumeSource}

    capacity: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    access_modes: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    claim_ref: Opt[Annotated[ObjectReference, F(proto=4, atomic=True)]] = UNSET
    persistent_volume_reclaim_policy: Opt[Annotated[str, F(proto=5)]] = UNSET
    storage_class_name: Opt[Annotated[str, F(proto=6)]] = UNSET
    mount_options: Opt[Annotated[list[str], F(proto=7, list_type="atomic")]] = UNSET
    volume_mode: Opt[Annotated[str, F(proto=8, zero=True)]] = UNSET
    node_affinity: Opt[Annotated[VolumeNodeAffinity, F(proto=9)]] = UNSET
    volume_attributes_class_name: Opt[Annotated[str, F(proto=10, zero=True)]] = UNSET


class PersistentVolumeStatus(Type):
    phase: Opt[Annotated[str, F(proto=1)]] = UNSET
    message: Opt[Annotated[str, F(proto=2)]] = UNSET
    reason: Opt[Annotated[str, F(proto=3)]] = UNSET
    last_phase_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET


class PersistentVolume(Object):
    """A piece of storage of the cluster. Kept as written."""

    spec: Annotated[PersistentVolumeSpec, F(proto=2)] = field(default_factory=PersistentVolumeSpec)
    status: Annotated[PersistentVolumeStatus, F(proto=3)] = field(default_factory=PersistentVolumeStatus)
