"""AdmissionCheck, MultiKueueConfig and MultiKueueCluster in v1beta1."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from fairway.kinds.kueue.constants import CLUSTERS_MAX
from fairway.kinds.kueue.v1beta1.convert import V1BETA1, V1BETA2, carry, member
from fairway.kinds.kueue.v1beta2 import multikueue as mk
from fairway.kinds.kueue.v1beta2 import small as v2
from fairway.kinds.meta import Object
from fairway.kinds.types import Annotated, F, Opt, Type


class AdmissionCheckSpec(Type):
    """Who decides, and with which settings."""

    controller_name: Annotated[str, F("controller that decides; cannot be changed", min_length=1, max_length=253)]
    retry_delay_minutes: Opt[Annotated[int, F("no longer used: accepted and forgotten", default=15)]] = UNSET
    parameters: Opt[Annotated[v2.AdmissionCheckParameters, F("object with the controller's settings")]] = UNSET


class AdmissionCheck(Object):
    """A decision that must be taken outside the quota rules before a workload starts."""

    spec: Opt[Annotated[AdmissionCheckSpec, F("who decides, and with which settings")]] = UNSET
    status: Opt[Annotated[v2.AdmissionCheckStatus, F("whether the check works")]] = UNSET


def admission_check_to_storage(old: AdmissionCheck) -> v2.AdmissionCheck:
    spec = member(old.spec, lambda spec: carry(spec, v2.AdmissionCheckSpec))
    return carry(old, v2.AdmissionCheck, api_version=V1BETA2, spec=spec)


def admission_check_from_storage(new: v2.AdmissionCheck) -> AdmissionCheck:
    spec = member(new.spec, lambda spec: carry(spec, AdmissionCheckSpec))
    return carry(new, AdmissionCheck, api_version=V1BETA1, spec=spec)


class MultiKueueConfigSpec(Type):
    """The clusters, in order of preference."""

    clusters: Annotated[
        list[mk.ClusterName],
        F(
            "MultiKueueClusters to dispatch to, each once, in order of preference",
            list_type="set",
            min_length=1,
            max_length=CLUSTERS_MAX,
        ),
    ]


class MultiKueueConfig(Object):
    """A list of clusters that an AdmissionCheck of kueue.x-k8s.io/multikueue names as its parameters."""

    spec: Opt[Annotated[MultiKueueConfigSpec, F("the clusters")]] = UNSET


def config_to_storage(old: MultiKueueConfig) -> mk.MultiKueueConfig:
    spec = member(old.spec, lambda spec: carry(spec, mk.MultiKueueConfigSpec))
    return carry(old, mk.MultiKueueConfig, api_version=V1BETA2, spec=spec)


def config_from_storage(new: mk.MultiKueueConfig) -> MultiKueueConfig:
    spec = member(new.spec, lambda spec: carry(spec, MultiKueueConfigSpec))
    return carry(new, MultiKueueConfig, api_version=V1BETA1, spec=spec)


class KubeConfig(Type):
    """Where the kubeconfig of a cluster is kept."""

    location: Annotated[
        str, F("name of a Secret with key kubeconfig, or path of a file; empty with clusterProfileRef", max_length=256)
    ]
    location_type: Opt[Annotated[Literal["Secret", "Path"], F("what the location is", default="Secret")]] = UNSET


class MultiKueueClusterSpec(Type):
    """How to reach the cluster."""

    kube_config: Annotated[KubeConfig, F("how to reach it by a kubeconfig")]
    cluster_profile_ref: Opt[Annotated[mk.ClusterProfileReference, F("how to reach it by a ClusterProfile")]] = UNSET


class MultiKueueCluster(Object):
    """A cluster that work can be dispatched to."""

    spec: Opt[Annotated[MultiKueueClusterSpec, F("how to reach it")]] = UNSET
    status: Opt[Annotated[mk.MultiKueueClusterStatus, F("whether it is reached")]] = UNSET


def cluster_to_storage(old: MultiKueueCluster) -> mk.MultiKueueCluster:
    def convert(spec: MultiKueueClusterSpec) -> mk.MultiKueueClusterSpec:
        source = mk.ClusterSource(cluster_profile_ref=spec.cluster_profile_ref)
        if spec.kube_config.location:
            source.kube_config = carry(spec.kube_config, mk.KubeConfig)
        return mk.MultiKueueClusterSpec(cluster_source=source)

    return carry(old, mk.MultiKueueCluster, api_version=V1BETA2, spec=member(old.spec, convert))


def cluster_from_storage(new: mk.MultiKueueCluster) -> MultiKueueCluster:
    def convert(spec: mk.MultiKueueClusterSpec) -> MultiKueueClusterSpec:
        source = spec.cluster_source
        # v1beta1 cannot do without a kubeConfig: an empty location stands for none, and comes back as none.
        config = KubeConfig(location="", location_type="Secret")
        if source.kube_config is not UNSET:
            config = carry(source.kube_config, KubeConfig)
        return MultiKueueClusterSpec(kube_config=config, cluster_profile_ref=source.cluster_profile_ref)

    return carry(new, MultiKueueCluster, api_version=V1BETA1, spec=member(new.spec, convert))
