"""Types of kueue.x-k8s.io/v1beta2, the version that objects are stored in."""
