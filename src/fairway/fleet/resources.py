"""The resources of a fleet, beside those of queueing."""

from __future__ import annotations

from fairway.api.client import Resource
from fairway.control.resources import KUEUE

MULTIKUEUE_CONFIGS = Resource(KUEUE, "v1beta2", "multikueueconfigs", namespaced=False)
MULTIKUEUE_CLUSTERS = Resource(KUEUE, "v1beta2", "multikueueclusters", namespaced=False)
CLUSTERS = Resource("fairway.dev", "v1", "clusters", namespaced=False)
POOLS = Resource("fairway.dev", "v1", "pools", namespaced=False)
SECRETS = Resource("", "v1", "secrets")
NODES = Resource("", "v1", "nodes", namespaced=False)
PODS = Resource("", "v1", "pods")
LEASES = Resource("coordination.k8s.io", "v1", "leases")

EPOCH = "fairway.dev/epoch"
"""Annotation of copies: which attempt they belong to. Grows for ever."""
LOCAL_UID = "fairway.dev/workload-uid"
"""Annotation of copies: the workload they are copies of, as names are used again."""
CLUSTER_SELECTOR = "fairway.dev/cluster-selector"
"""Annotation of jobs: labels that a cluster must have, as a label selector; `name` is the cluster's name."""
