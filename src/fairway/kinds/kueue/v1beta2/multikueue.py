"""MultiKueueConfig and MultiKueueCluster: the clusters that a hub may dispatch to, and how to reach them."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.kueue.constants import CLUSTERS_MAX
from fairway.kinds.kueue.v1beta2.shared import Conditions
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type

ClusterName = Annotated[str, F(max_length=256)]


class MultiKueueConfigSpec(Type):
    """The clusters, in order of preference."""

    clusters: Annotated[
        list[ClusterName],
        F(
            "MultiKueueClusters to dispatch to, each once, in order of preference",
            list_type="atomic",
            min_length=1,
            max_length=CLUSTERS_MAX,
        ),
    ]
    quota_management: Opt[
        Annotated[
            Literal["Manual", "Automated"],
            F("Automated: the hub's quota follows the sum of the clusters' quotas; absent: Manual"),
        ]
    ] = UNSET


class MultiKueueConfig(Object):
    """A list of clusters that an AdmissionCheck of kueue.x-k8s.io/multikueue names as its parameters."""

    spec: Opt[Annotated[MultiKueueConfigSpec, F("the clusters")]] = UNSET


class KubeConfig(Type):
    """Where the kubeconfig of a cluster is kept."""

    location: Annotated[str, F("name of a Secret with key kubeconfig, or path of a file", min_length=1, max_length=256)]
    location_type: Opt[Annotated[Literal["Secret", "Path"], F("what the location is", default="Secret")]] = UNSET


class ClusterProfileReference(Type):
    """A ClusterProfile that says how to reach a cluster."""

    name: Annotated[str, F("name of the ClusterProfile", min_length=1, max_length=256)]


class ClusterSource(Type):
    """How to reach the cluster: exactly one of the fields."""

    kube_config: Opt[Annotated[KubeConfig, F("by a kubeconfig")]] = UNSET
    cluster_profile_ref: Opt[Annotated[ClusterProfileReference, F("by a ClusterProfile")]] = UNSET


class MultiKueueClusterSpec(Type):
    """How to reach the cluster."""

    cluster_source: Annotated[ClusterSource, F("how to reach the cluster: exactly one of the fields")]


class MultiKueueClusterStatus(Type):
    """Whether the cluster is reached, as last observed."""

    conditions: Opt[Conditions] = UNSET


class MultiKueueCluster(Object):
    """A cluster that work can be dispatched to."""

    spec: Opt[Annotated[MultiKueueClusterSpec, F("how to reach it")]] = UNSET
    status: Opt[Annotated[MultiKueueClusterStatus, F("whether it is reached")]] = UNSET
