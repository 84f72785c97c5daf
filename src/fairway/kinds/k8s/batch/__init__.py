"""batch/v1: Jobs, which run, and CronJobs, which are only kept."""

from fairway.kinds.k8s.batch.kinds import KINDS

__all__ = ["KINDS"]
