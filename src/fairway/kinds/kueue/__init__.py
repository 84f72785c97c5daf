"""The kinds of group kueue.x-k8s.io: queues, quotas, flavors, workloads, and the clusters that MultiKueue dispatches to.

Two versions are served. v1beta2 is preferred and stored; v1beta1 is deprecated, says so in a warning, and is converted both ways.
Types and descriptions are in `v1beta2` (and, where they differ, `v1beta1`), what is filled in at creation in `defaulting`, what is
refused in `rules`, and the feature gates that rules look at in `gates`. Fields, bounds, columns and messages follow Kueue 0.20.

| kind | short | scope | status | what it is |
|---|---|---|---|---|
| ClusterQueue | cq | cluster | yes | a pool of quota, and the rules of admission to it |
| LocalQueue | lq, queue | namespace | yes | a namespace's door to a ClusterQueue |
| ResourceFlavor | rf, flavor | cluster | no | a kind of capacity |
| Cohort | co | cluster | yes | a node of the quota tree; members lend and borrow |
| Workload | kwl | namespace | yes | the unit that is admitted |
| WorkloadPriorityClass | wpc | cluster | no | a named priority |
| AdmissionCheck | ac | cluster | yes | a decision outside the quota rules |
| MultiKueueConfig | mkconf | cluster | no | clusters to dispatch to |
| MultiKueueCluster | mkc | cluster | yes | how to reach one of them |
| Topology | topo | cluster | no | how nodes are grouped |
| ProvisioningRequestConfig | prc | cluster | no | accepted and kept; nothing here provisions nodes |
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairway.kinds.columns import AGE, NAME, condition, field
from fairway.kinds.kind import Column, Kind, Version
from fairway.kinds.kueue import defaulting, v1beta1, v1beta2
from fairway.kinds.kueue.constants import DEPRECATED, GROUP
from fairway.kinds.kueue.gates import DEFAULT, Gates
from fairway.kinds.kueue.rules import cluster_queue as cluster_queue_rules
from fairway.kinds.kueue.rules import small as rules
from fairway.kinds.kueue.rules import validator
from fairway.kinds.kueue.rules import workload as workload_rules
from fairway.kinds.kueue.v1beta1 import cluster_queue as cluster_queue_v1
from fairway.kinds.kueue.v1beta1 import queues as queues_v1
from fairway.kinds.kueue.v1beta1 import small as small_v1
from fairway.kinds.kueue.v1beta1 import workload as workload_v1
from fairway.kinds.kueue.v1beta2 import small
from fairway.kinds.kueue.v1beta2.cluster_queue import ClusterQueue
from fairway.kinds.kueue.v1beta2.cohort import Cohort
from fairway.kinds.kueue.v1beta2.local_queue import LocalQueue
from fairway.kinds.kueue.v1beta2.multikueue import MultiKueueCluster, MultiKueueConfig
from fairway.kinds.kueue.v1beta2.resource_flavor import ResourceFlavor
from fairway.kinds.kueue.v1beta2.workload import Workload
from fairway.kinds.meta import Object

__all__ = ["GROUP", "KINDS", "kinds", "v1beta1", "v1beta2"]

_PLAIN = (NAME, AGE)
_STATUS = ("status",)


def _versions(
    new: type[Object],
    old: type[Object] | None = None,
    *,
    columns: tuple[Column, ...] = _PLAIN,
    old_columns: tuple[Column, ...] = (),
    to_storage: Any = None,
    from_storage: Any = None,
    deprecated: str = DEPRECATED,
) -> tuple[Version, ...]:
    """Both versions; without an `old` type they have the same shape."""
    return (
        Version("v1beta2", new, columns),
        Version("v1beta1", old or new, old_columns or columns, to_storage, from_storage, deprecated),
    )


def _cluster_queue_columns(cohort: str) -> tuple[Column, ...]:
    return (
        NAME,
        field("Cohort", cohort),
        field("Strategy", "spec.queueingStrategy", wide=True),
        field("Pending Workloads", "status.pendingWorkloads", "integer"),
        field("Admitted Workloads", "status.admittedWorkloads", "integer", wide=True),
    )


CLUSTER_QUEUE = Kind(
    group=GROUP,
    name="ClusterQueue",
    plural="clusterqueues",
    short_names=("cq",),
    namespaced=False,
    subresources=_STATUS,
    builtin_crd=True,
    versions=_versions(
        ClusterQueue,
        cluster_queue_v1.ClusterQueue,
        columns=_cluster_queue_columns("spec.cohortName"),
        old_columns=_cluster_queue_columns("spec.cohort"),
        to_storage=cluster_queue_v1.to_storage,
        from_storage=cluster_queue_v1.from_storage,
    ),
    default=defaulting.cluster_queue,
    validate=validator(cluster_queue_rules.schema, cluster_queue_rules.admission),
    validate_status=validator(cluster_queue_rules.schema),
)

LOCAL_QUEUE = Kind(
    group=GROUP,
    name="LocalQueue",
    plural="localqueues",
    short_names=("queue", "queues", "lq"),
    subresources=_STATUS,
    builtin_crd=True,
    versions=_versions(
        LocalQueue,
        queues_v1.LocalQueue,
        columns=(
            NAME,
            field("ClusterQueue", "spec.clusterQueue"),
            field("Pending Workloads", "status.pendingWorkloads", "integer"),
            field("Admitted Workloads", "status.admittedWorkloads", "integer"),
        ),
        to_storage=queues_v1.local_queue_to_storage,
        from_storage=queues_v1.local_queue_from_storage,
    ),
    validate=validator(rules.local_queue_schema),
    validate_status=validator(rules.local_queue_schema),
)

RESOURCE_FLAVOR = Kind(
    group=GROUP,
    name="ResourceFlavor",
    plural="resourceflavors",
    short_names=("flavor", "flavors", "rf"),
    namespaced=False,
    builtin_crd=True,
    versions=_versions(ResourceFlavor),
    default=defaulting.resource_flavor,
    validate=validator(rules.resource_flavor_schema, rules.resource_flavor_admission),
)

COHORT = Kind(
    group=GROUP,
    name="Cohort",
    plural="cohorts",
    short_names=("co",),
    namespaced=False,
    subresources=_STATUS,
    builtin_crd=True,
    versions=_versions(
        Cohort,
        queues_v1.Cohort,
        to_storage=queues_v1.cohort_to_storage,
        from_storage=queues_v1.cohort_from_storage,
    ),
    validate=validator(rules.cohort_schema, rules.cohort_admission),
    validate_status=validator(rules.cohort_schema),
)

_validate_workload = validator(workload_rules.schema, workload_rules.admission)

WORKLOAD = Kind(
    group=GROUP,
    name="Workload",
    plural="workloads",
    short_names=("kwl", "kueueworkload", "kueueworkloads"),
    subresources=_STATUS,
    builtin_crd=True,
    selectable=("status.admission.clusterQueue",),
    versions=_versions(
        Workload,
        workload_v1.Workload,
        columns=(
            NAME,
            field("Queue", "spec.queueName"),
            field("Reserved in", "status.admission.clusterQueue"),
            condition("Admitted", "Admitted"),
            condition("Finished", "Finished"),
            AGE,
            field("Cluster", "status.clusterName", wide=True),
        ),
        to_storage=workload_v1.to_storage,
        from_storage=workload_v1.from_storage,
    ),
    default=defaulting.workload(),
    validate=_validate_workload,
    validate_status=_validate_workload,
)

WORKLOAD_PRIORITY_CLASS = Kind(
    group=GROUP,
    name="WorkloadPriorityClass",
    plural="workloadpriorityclasses",
    short_names=("wpc",),
    namespaced=False,
    builtin_crd=True,
    spec_fields=("value", "description"),
    versions=_versions(small.WorkloadPriorityClass, columns=(NAME, field("Value", "value", "integer"))),
)

ADMISSION_CHECK = Kind(
    group=GROUP,
    name="AdmissionCheck",
    plural="admissionchecks",
    short_names=("ac",),
    namespaced=False,
    subresources=_STATUS,
    builtin_crd=True,
    versions=_versions(
        small.AdmissionCheck,
        small_v1.AdmissionCheck,
        to_storage=small_v1.admission_check_to_storage,
        from_storage=small_v1.admission_check_from_storage,
    ),
    validate=validator(rules.admission_check_schema),
    validate_status=validator(rules.admission_check_schema),
)

MULTIKUEUE_CONFIG = Kind(
    group=GROUP,
    name="MultiKueueConfig",
    plural="multikueueconfigs",
    short_names=("mkconf",),
    namespaced=False,
    builtin_crd=True,
    versions=_versions(
        MultiKueueConfig,
        small_v1.MultiKueueConfig,
        to_storage=small_v1.config_to_storage,
        from_storage=small_v1.config_from_storage,
        deprecated="",
    ),
    validate=validator(rules.multikueue_config_schema),
)

MULTIKUEUE_CLUSTER = Kind(
    group=GROUP,
    name="MultiKueueCluster",
    plural="multikueueclusters",
    short_names=("mkc",),
    namespaced=False,
    subresources=_STATUS,
    builtin_crd=True,
    versions=_versions(
        MultiKueueCluster,
        small_v1.MultiKueueCluster,
        columns=(NAME, condition("Connected", "Active"), AGE),
        to_storage=small_v1.cluster_to_storage,
        from_storage=small_v1.cluster_from_storage,
    ),
    validate=validator(rules.multikueue_cluster_schema),
    validate_status=validator(rules.multikueue_cluster_schema),
)

TOPOLOGY = Kind(
    group=GROUP,
    name="Topology",
    plural="topologies",
    short_names=("topo",),
    namespaced=False,
    builtin_crd=True,
    versions=_versions(small.Topology),
    validate=validator(rules.topology_schema),
)

PROVISIONING_REQUEST_CONFIG = Kind(
    group=GROUP,
    name="ProvisioningRequestConfig",
    plural="provisioningrequestconfigs",
    short_names=("prc",),
    namespaced=False,
    builtin_crd=True,
    versions=_versions(small.ProvisioningRequestConfig),
    validate=validator(),
)

KINDS: tuple[Kind, ...] = (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    COHORT,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    ADMISSION_CHECK,
    MULTIKUEUE_CONFIG,
    MULTIKUEUE_CLUSTER,
    TOPOLOGY,
    PROVISIONING_REQUEST_CONFIG,
)


def kinds(gates: Gates = DEFAULT) -> tuple[Kind, ...]:
    """The same under other feature gates: what some of them accept and fill in depends on these."""
    if gates == DEFAULT:
        return KINDS
    validate_workload = validator(workload_rules.schema, workload_rules.admission, gates)
    gated = {
        CLUSTER_QUEUE: replace(
            CLUSTER_QUEUE, validate=validator(cluster_queue_rules.schema, cluster_queue_rules.admission, gates)
        ),
        RESOURCE_FLAVOR: replace(
            RESOURCE_FLAVOR, validate=validator(rules.resource_flavor_schema, rules.resource_flavor_admission, gates)
        ),
        COHORT: replace(COHORT, validate=validator(rules.cohort_schema, rules.cohort_admission, gates)),
        WORKLOAD: replace(
            WORKLOAD,
            default=defaulting.workload(gates),
            validate=validate_workload,
            validate_status=validate_workload,
        ),
    }
    return tuple(gated.get(kind, kind) for kind in KINDS)
