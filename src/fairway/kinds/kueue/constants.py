"""Names of the group that users and controllers write: finalizers, labels, annotations, condition types, well-known kinds."""

from __future__ import annotations

GROUP = "kueue.x-k8s.io"
DEPRECATED = "This version is deprecated. Use v1beta2 instead."
"""Warning that comes with every answer in v1beta1 (except MultiKueueConfig, which a real Kueue serves without one)."""

RESOURCE_IN_USE = "kueue.x-k8s.io/resource-in-use"
"""Finalizer: deletion waits until nothing uses the object."""

ADMISSION_GATED_BY = "kueue.x-k8s.io/admission-gated-by"
"""Annotation: comma-separated gates; the workload is not queued until the value is empty."""
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
"""Annotation: a signed integer that is added to the priority."""
ELASTIC_JOB = "kueue.x-k8s.io/elastic-job"
"""Annotation: "true" on work that may grow and shrink while it runs."""
SLICE_REPLACEMENT_FOR = "kueue.x-k8s.io/workload-slice-replacement-for"
"""Annotation: namespace/name of the workload that this one takes over from."""

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"

CLUSTERS_MAX = 256
"""Clusters that one MultiKueueConfig may name, and that may compete for one workload. Kueue stops at 20; a hub with one queue over fifty
clusters needs more, and nothing that another Kueue sees depends on it."""

HOSTNAME_LABEL = "kubernetes.io/hostname"
DEFAULT_POD_SET = "main"

WORKLOAD_PRIORITY_CLASS = (GROUP, "WorkloadPriorityClass")
POD_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")
