"""The resources that queueing watches and writes."""

from __future__ import annotations

from fairway.api.client import Resource

KUEUE = "kueue.x-k8s.io"
_VERSION = "v1beta2"
CLUSTER_QUEUES = Resource(KUEUE, _VERSION, "clusterqueues", namespaced=False)
LOCAL_QUEUES = Resource(KUEUE, _VERSION, "localqueues")
COHORTS = Resource(KUEUE, _VERSION, "cohorts", namespaced=False)
FLAVORS = Resource(KUEUE, _VERSION, "resourceflavors", namespaced=False)
WORKLOADS = Resource(KUEUE, _VERSION, "workloads")
PRIORITY_CLASSES = Resource(KUEUE, _VERSION, "workloadpriorityclasses", namespaced=False)
CHECKS = Resource(KUEUE, _VERSION, "admissionchecks", namespaced=False)
TOPOLOGIES = Resource(KUEUE, _VERSION, "topologies", namespaced=False)
POD_PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
PODS = Resource("", "v1", "pods")
LIMIT_RANGES = Resource("", "v1", "limitranges")
EVENTS = Resource("", "v1", "events")
