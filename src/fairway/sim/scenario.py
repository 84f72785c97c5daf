"""What a simulation starts from: the queues, and when which job comes, how much it takes and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairway.core.model import Cohort, Flavor, Queue, Settings, TenantQueue, Time


@dataclass(slots=True, frozen=True)
class Job:
    """Arrives, waits, runs for `runtime`, is gone. Evicted, it starts over."""

    key: str
    tenant_queue: str
    arrival: Time
    runtime: Time
    requests: Mapping[str, int]
    count: int = 1
    priority: int = 0
    kind: str = ""


@dataclass(slots=True)
class Scenario:
    name: str
    queues: list[Queue]
    tenants: list[TenantQueue]
    jobs: list[Job]
    flavors: list[Flavor] = field(default_factory=list)
    cohorts: list[Cohort] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    eviction_delay: Time = 0
