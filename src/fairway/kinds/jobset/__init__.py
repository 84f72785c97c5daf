"""jobset.x-k8s.io/v1alpha2: JobSets. Imports the rest of fairway.kinds and nothing else of fairway."""

from __future__ import annotations

from fairway.kinds.columns import AGE, NAME, condition, field
from fairway.kinds.jobset.defaults import default_jobset
from fairway.kinds.jobset.rules import validate_jobset, warn_jobset
from fairway.kinds.jobset.types import JobSet
from fairway.kinds.kind import Kind, Version

GROUP = "jobset.x-k8s.io"

JOB_SET = Kind(
    group=GROUP,
    name="JobSet",
    plural="jobsets",
    singular="jobset",
    versions=(
        Version(
            "v1alpha2",
            JobSet,
            (
                NAME,
                field("TerminalState", "status.terminalState"),
                field("Restarts", "status.restarts"),
                condition("Completed", "Completed"),
                field("Suspended", "spec.suspend"),
                AGE,
            ),
        ),
    ),
    subresources=("status",),
    builtin_crd=True,
    default=default_jobset,
    validate=validate_jobset,
    warn=warn_jobset,
)

KINDS: tuple[Kind, ...] = (JOB_SET,)

__all__ = ["GROUP", "JOB_SET", "KINDS"]
