"""Volumes of a pod and where each kind of volume comes from."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.k8s.core.claims import PersistentVolumeClaimTemplate
from fairway.kinds.k8s.core.references import (
    KeyToPath,
    LocalObjectReference,
    ObjectFieldSelector,
    ResourceFieldSelector,
)
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Type


class HostPathVolumeSource(Type):
    path: Annotated[str, F(proto=1)] = ""
    type: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class EmptyDirVolumeSource(Type):
    medium: Opt[Annotated[str, F(proto=1)]] = UNSET
    size_limit: Opt[Annotated[Quantity, F(proto=2)]] = UNSET
    mode: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET


class GCEPersistentDiskVolumeSource(Type):
    pd_name: Annotated[str, F(proto=1)] = ""
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    partition: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET


class AWSElasticBlockStoreVolumeSource(Type):
    volume_id: Annotated[str, F(proto=1)] = field(default="", name="volumeID")
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    partition: Opt[Annotated[Int32, F(proto=3)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET


class GitRepoVolumeSource(Type):
    repository: Annotated[str, F(proto=1)] = ""
    revision: Opt[Annotated[str, F(proto=2)]] = UNSET
    directory: Opt[Annotated[str, F(proto=3)]] = UNSET


class SecretVolumeSource(Type):
    secret_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    items: Opt[Annotated[list[KeyToPath], F(proto=2, list_type="atomic")]] = UNSET
    default_mode: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    optional: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET
    default_user: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET


class NFSVolumeSource(Type):
    server: Annotated[str, F(proto=1)] = ""
    path: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET


class ISCSIVolumeSource(Type):
    target_portal: Annotated[str, F(proto=1)] = ""
    iqn: Annotated[str, F(proto=2)] = ""
    lun: Annotated[Int32, F(proto=3)] = 0
    iscsi_interface: Opt[Annotated[str, F(proto=4)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=5)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=6)]] = UNSET
    portals: Opt[Annotated[list[str], F(proto=7, list_type="atomic")]] = UNSET
    chap_auth_discovery: Opt[Annotated[bool, F(proto=8)]] = UNSET
    chap_auth_session: Opt[Annotated[bool, F(proto=11)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=10, atomic=True)]] = UNSET
    initiator_name: Opt[Annotated[str, F(proto=12, zero=True)]] = UNSET


class GlusterfsVolumeSource(Type):
    endpoints: Annotated[str, F(proto=1)] = ""
    path: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET


class PersistentVolumeClaimVolumeSource(Type):
    claim_name: Annotated[str, F(proto=1)] = ""
    read_only: Opt[Annotated[bool, F(proto=2)]] = UNSET


class RBDVolumeSource(Type):
    monitors: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    image: Annotated[str, F(proto=2)] = ""
    fs_type: Opt[Annotated[str, F(proto=3)]] = UNSET
    pool: Opt[Annotated[str, F(proto=4)]] = UNSET
    user: Opt[Annotated[str, F(proto=5)]] = UNSET
    keyring: Opt[Annotated[str, F(proto=6)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=7, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=8)]] = UNSET


class FlexVolumeSource(Type):
    driver: Annotated[str, F(proto=1)] = ""
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=3, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET
    options: Opt[Annotated[dict[str, str], F(proto=5)]] = UNSET


class CinderVolumeSource(Type):
    volume_id: Annotated[str, F(proto=1)] = field(default="", name="volumeID")
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=4, atomic=True)]] = UNSET


class CephFSVolumeSource(Type):
    monitors: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    path: Opt[Annotated[str, F(proto=2)]] = UNSET
    user: Opt[Annotated[str, F(proto=3)]] = UNSET
    secret_file: Opt[Annotated[str, F(proto=4)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=5, atomic=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=6)]] = UNSET


class FlockerVolumeSource(Type):
    dataset_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    dataset_uuid: Opt[Annotated[str, F(proto=2)]] = field(default=UNSET, name="datasetUUID")


class DownwardAPIVolumeFile(Type):
    path: Annotated[str, F(proto=1)] = ""
    field_ref: Opt[Annotated[ObjectFieldSelector, F(proto=2, atomic=True)]] = UNSET
    resource_field_ref: Opt[Annotated[ResourceFieldSelector, F(proto=3, atomic=True)]] = UNSET
    mode: Opt[Annotated[Int32, F(proto=4, zero=True)]] = UNSET
    user: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET


class DownwardAPIVolumeSource(Type):
    items: Opt[Annotated[list[DownwardAPIVolumeFile], F(proto=1, list_type="atomic")]] = UNSET
    default_mode: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    default_user: Opt[Annotated[Int64, F(proto=3, zero=True)]] = UNSET


class FCVolumeSource(Type):
    target_wwns: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = field(default=UNSET, name="targetWWNs")
    lun: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=3)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET
    wwids: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = UNSET


class AzureFileVolumeSource(Type):
    secret_name: Annotated[str, F(proto=1)] = ""
    share_name: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET


class ConfigMapVolumeSource(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    items: Opt[Annotated[list[KeyToPath], F(proto=2, list_type="atomic")]] = UNSET
    default_mode: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    optional: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET
    default_user: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET


class VsphereVirtualDiskVolumeSource(Type):
    volume_path: Annotated[str, F(proto=1)] = ""
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    storage_policy_name: Opt[Annotated[str, F(proto=3)]] = UNSET
    storage_policy_id: Opt[Annotated[str, F(proto=4)]] = field(default=UNSET, name="storagePolicyID")


class QuobyteVolumeSource(Type):
    registry: Annotated[str, F(proto=1)] = ""
    volume: Annotated[str, F(proto=2)] = ""
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET
    user: Opt[Annotated[str, F(proto=4)]] = UNSET
    group: Opt[Annotated[str, F(proto=5)]] = UNSET
    tenant: Opt[Annotated[str, F(proto=6)]] = UNSET


class AzureDiskVolumeSource(Type):
    disk_name: Annotated[str, F(proto=1)] = ""
    disk_uri: Annotated[str, F(proto=2)] = field(default="", name="diskURI")
    caching_mode: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=5, zero=True)]] = UNSET
    kind: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET


class PhotonPersistentDiskVolumeSource(Type):
    pd_id: Annotated[str, F(proto=1)] = field(default="", name="pdID")
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET


class SecretProjection(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    items: Opt[Annotated[list[KeyToPath], F(proto=2, list_type="atomic")]] = UNSET
    optional: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET


class DownwardAPIProjection(Type):
    items: Opt[Annotated[list[DownwardAPIVolumeFile], F(proto=1, list_type="atomic")]] = UNSET


class ConfigMapProjection(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    items: Opt[Annotated[list[KeyToPath], F(proto=2, list_type="atomic")]] = UNSET
    optional: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET


class ServiceAccountTokenProjection(Type):
    audience: Opt[Annotated[str, F(proto=1)]] = UNSET
    expiration_seconds: Opt[Annotated[Int64, F(proto=2, zero=True)]] = UNSET
    path: Annotated[str, F(proto=3)] = ""
    user: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET


class ClusterTrustBundleProjection(Type):
    name: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    signer_name: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET
    label_selector: Opt[Annotated[LabelSelector, F(proto=3, atomic=True)]] = UNSET
    optional: Opt[Annotated[bool, F(proto=5, zero=True)]] = UNSET
    path: Annotated[str, F(proto=4)] = ""
    user: Opt[Annotated[Int64, F(proto=6, zero=True)]] = UNSET


class PodCertificateProjection(Type):
    signer_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    key_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    max_expiration_seconds: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    credential_bundle_path: Opt[Annotated[str, F(proto=4)]] = UNSET
    key_path: Opt[Annotated[str, F(proto=5)]] = UNSET
    certificate_chain_path: Opt[Annotated[str, F(proto=6)]] = UNSET
    user_annotations: Opt[Annotated[dict[str, str], F(proto=7)]] = UNSET
    user: Opt[Annotated[Int64, F(proto=8, zero=True)]] = UNSET


class VolumeProjection(Type):
    secret: Opt[Annotated[SecretProjection, F(proto=1)]] = UNSET
    downward_api: Opt[Annotated[DownwardAPIProjection, F(proto=2)]] = field(default=UNSET, name="downwardAPI")
    config_map: Opt[Annotated[ConfigMapProjection, F(proto=3)]] = UNSET
    service_account_token: Opt[Annotated[ServiceAccountTokenProjection, F(proto=4)]] = UNSET
    cluster_trust_bundle: Opt[Annotated[ClusterTrustBundleProjection, F(proto=5)]] = UNSET
    pod_certificate: Opt[Annotated[PodCertificateProjection, F(proto=6)]] = UNSET


class ProjectedVolumeSource(Type):
    sources: Annotated[list[VolumeProjection], F(proto=1, list_type="atomic")] = field(default_factory=list)
    default_mode: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    default_user: Opt[Annotated[Int64, F(proto=3, zero=True)]] = UNSET


class PortworxVolumeSource(Type):
    volume_id: Annotated[str, F(proto=1)] = field(default="", name="volumeID")
    fs_type: Opt[Annotated[str, F(proto=2)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=3)]] = UNSET


class ScaleIOVolumeSource(Type):
    gateway: Annotated[str, F(proto=1)] = ""
    system: Annotated[str, F(proto=2)] = ""
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=3, atomic=True)]] = UNSET
    ssl_enabled: Opt[Annotated[bool, F(proto=4)]] = UNSET
    protection_domain: Opt[Annotated[str, F(proto=5)]] = UNSET
    storage_pool: Opt[Annotated[str, F(proto=6)]] = UNSET
    storage_mode: Opt[Annotated[str, F(proto=7)]] = UNSET
    volume_name: Opt[Annotated[str, F(proto=8)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=9)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=10)]] = UNSET


class StorageOSVolumeSource(Type):
    volume_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    volume_namespace: Opt[Annotated[str, F(proto=2)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=3)]] = UNSET
    read_only: Opt[Annotated[bool, F(proto=4)]] = UNSET
    secret_ref: Opt[Annotated[LocalObjectReference, F(proto=5, atomic=True)]] = UNSET


class CSIVolumeSource(Type):
    driver: Annotated[str, F(proto=1)] = ""
    read_only: Opt[Annotated[bool, F(proto=2, zero=True)]] = UNSET
    fs_type: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    volume_attributes: Opt[Annotated[dict[str, str], F(proto=4)]] = UNSET
    node_publish_secret_ref: Opt[Annotated[LocalObjectReference, F(proto=5, atomic=True)]] = UNSET


class EphemeralVolumeSource(Type):
    volume_claim_template: Opt[Annotated[PersistentVolumeClaimTemplate, F(proto=1)]] = UNSET


class ImageVolumeSource(Type):
    reference: Opt[Annotated[str, F(proto=1)]] = UNSET
    pull_policy: Opt[Annotated[str, F(proto=2)]] = UNSET


class VolumeSource(Type):
    host_path: Opt[Annotated[HostPathVolumeSource, F(proto=1)]] = UNSET
    empty_dir: Opt[Annotated[EmptyDirVolumeSource, F(proto=2)]] = UNSET
    gce_persistent_disk: Opt[Annotated[GCEPersistentDiskVolumeSource, F(proto=3)]] = UNSET
    aws_elastic_block_store: Opt[Annotated[AWSElasticBlockStoreVolumeSource, F(proto=4)]] = UNSET
    git_repo: Opt[Annotated[GitRepoVolumeSource, F(proto=5)]] = UNSET
    secret: Opt[Annotated[SecretVolumeSource, F(proto=6)]] = UNSET
    nfs: Opt[Annotated[NFSVolumeSource, F(proto=7)]] = UNSET
    iscsi: Opt[Annotated[ISCSIVolumeSource, F(proto=8)]] = UNSET
    glusterfs: Opt[Annotated[GlusterfsVolumeSource, F(proto=9)]] = UNSET
    persistent_volume_claim: Opt[Annotated[PersistentVolumeClaimVolumeSource, F(proto=10)]] = UNSET
    rbd: Opt[Annotated[RBDVolumeSource, F(proto=11)]] = UNSET
    flex_volume: Opt[Annotated[FlexVolumeSource, F(proto=12)]] = UNSET
    cinder: Opt[Annotated[CinderVolumeSource, F(proto=13)]] = UNSET
    cephfs: Opt[Annotated[CephFSVolumeSource, F(proto=14)]] = UNSET
    flocker: Opt[Annotated[FlockerVolumeSource, F(proto=15)]] = UNSET
    downward_api: Opt[Annotated[DownwardAPIVolumeSource, F(proto=16)]] = field(default=UNSET, name="downwardAPI")
    fc: Opt[Annotated[FCVolumeSource, F(proto=17)]] = UNSET
    azure_file: Opt[Annotated[AzureFileVolumeSource, F(proto=18)]] = UNSET
    config_map: Opt[Annotated[ConfigMapVolumeSource, F(proto=19)]] = UNSET
    vsphere_volume: Opt[Annotated[VsphereVirtualDiskVolumeSource, F(proto=20)]] = UNSET
    quobyte: Opt[Annotated[QuobyteVolumeSource, F(proto=21)]] = UNSET
    azure_disk: Opt[Annotated[AzureDiskVolumeSource, F(proto=22)]] = UNSET
    photon_persistent_disk: Opt[Annotated[PhotonPersistentDiskVolumeSource, F(proto=23)]] = UNSET
    projected: Opt[Annotated[ProjectedVolumeSource, F(proto=26)]] = UNSET
    portworx_volume: Opt[Annotated[PortworxVolumeSource, F(proto=24)]] = UNSET
    scale_io: Opt[Annotated[ScaleIOVolumeSource, F(proto=25)]] = field(default=UNSET, name="scaleIO")
    storageos: Opt[Annotated[StorageOSVolumeSource, F(proto=27)]] = UNSET
    csi: Opt[Annotated[CSIVolumeSource, F(proto=28)]] = UNSET
    ephemeral: Opt[Annotated[EphemeralVolumeSource, F(proto=29)]] = UNSET
    image: Opt[Annotated[ImageVolumeSource, F(proto=30)]] = UNSET


class Volume(VolumeSource):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {2: VolumeSource}

    name: Annotated[str, F(proto=1)] = ""
