"""Types of kueue.x-k8s.io/v1beta1 that differ from v1beta2, and the way from each to the other.

v1beta1 is served and deprecated; objects are stored as v1beta2. Where both versions have a field, it has v1beta2's bounds in both:
what is accepted in one version can always be read and written back in the other. Kinds of the same shape in both versions
(ResourceFlavor, Topology, WorkloadPriorityClass, ProvisioningRequestConfig) have no module here.

What v1beta1 cannot say is lost when an object goes through it, as with a real Kueue: concurrentAdmissionPolicy, quotaManagement,
preemptionGates, layered slice constraints. What v1beta2 dropped is accepted and forgotten: retryDelayMinutes,
pendingWorkloadsStatus, a LocalQueue's status.flavors, a priority class name without its source.
"""
