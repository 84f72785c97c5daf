"""Kueue's feature gates, as far as a rule about objects looks at one, with the defaults of Kueue 0.20."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Fields are Kueue's gate names in snake case."""

    admission_gated_by: bool = True
    concurrent_admission: bool = False
    elastic_jobs_via_workload_slices: bool = True
    partial_admission: bool = True
    priority_boost: bool = False
    reject_updates_to_cq_with_invalid_on_flavors: bool = False
    tas_validate_workload_slice_size: bool = True
    topology_aware_scheduling: bool = True
    workload_validate_resources_are_non_negative: bool = True
    workload_validation_for_pod_set_metadata: bool = True

    @classmethod
    def of(cls, named: Mapping[str, bool]) -> Gates:
        """Gates by Kueue's own names; names that no rule looks at are left out."""
        known = {field.name for field in fields(cls)}
        given = {_snake(name): on for name, on in named.items()}
        return cls(**{name: on for name, on in given.items() if name in known})


DEFAULT = Gates()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
