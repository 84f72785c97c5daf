"""What the Kueue adapters share: objects by kind, a quota tree with what holds quota in it, comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairway.control import compile as compiler
from fairway.control.conditions import is_true
from fairway.control.settings import request_rules
from fairway.control.settings import settings as kueue_settings
from fairway.core.admit.ledger import Ledger
from fairway.core.admit.readiness import Check, readiness
from fairway.core.model import UNLIMITED, Flavor, Queue, Settings, is_unlimited
from fairway.core.quantity import parse
from fairway.core.quota.tree import QuotaTree
from fairway.core.shapes import Shapes

Json = dict[str, Any]


class World:
    """The objects of a vector, compiled."""

    def __init__(self, vector: Json) -> None:
        self.vector = vector
        self.config: Json = dict(vector.get("config") or {})
        if isinstance(self.config.get("admissionFairSharing"), bool):
            self.config["admissionFairSharing"] = {} if self.config["admissionFairSharing"] else None
        self.gates: dict[str, bool] = self.config.get("featureGates") or {}
        self.settings: Settings = kueue_settings(self.gates, self.config, exactly_kueue=True)
        self.objects: list[Json] = vector.get("objects") or []
        self.shapes = Shapes()
        self.tree = QuotaTree()
        self.ledger = Ledger(self.tree)
        self.flavors: dict[str, Flavor] = {}
        self.queues: dict[str, Queue] = {}
        self.rules = request_rules({"transformations": self.config.get("resourceTransformations")})

    def of_kind(self, kind: str) -> Iterable[Json]:
        return [obj for obj in self.objects if obj["kind"] == kind]

    def load(self) -> World:
        for obj in self.of_kind("ResourceFlavor"):
            flavor = compiler.flavor(obj, self.levels())
            self.flavors[flavor.name] = flavor
        for obj in self.of_kind("Cohort"):
            self.tree.put_cohort(compiler.cohort(obj))
        for obj in self.of_kind("ClusterQueue"):
            self.put_queue(obj)
        for obj in self.of_kind("Workload"):
            if obj.get("status", {}).get("admission"):
                self.ledger.add(self.workload(obj))
        return self

    def put_queue(self, obj: Json) -> Queue:
        queue = compiler.queue(obj)
        self.queues[queue.name] = queue
        self.tree.put_queue(queue)
        return queue

    def workload(self, obj: Json, queue: str = ""):  # type: ignore[no-untyped-def]
        return compiler.workload(
            obj,
            self.shapes,
            self.settings,
            queue,
            self.rules,
            boosted=self.gates.get("PriorityBoost", False),
            reclaim=self.gates.get("ReclaimablePods", True),
        )

    def checks(self) -> dict[str, Check]:
        return {
            obj["metadata"]["name"]: Check(
                obj["metadata"]["name"], is_true(obj, "Active"), (obj.get("spec") or {}).get("controllerName", "")
            )
            for obj in self.of_kind("AdmissionCheck")
        }

    def levels(self) -> dict[str, tuple[str, ...]]:
        return {obj["metadata"]["name"]: compiler.topology_levels(obj) for obj in self.of_kind("Topology")}

    def topologies(self) -> frozenset[str]:
        return frozenset(obj["metadata"]["name"] for obj in self.of_kind("Topology"))

    def ready(self, queue: Queue, terminating: bool = False):  # type: ignore[no-untyped-def]
        return readiness(queue, self.flavors, self.checks(), self.topologies(), terminating)


def nonzero(amounts: Json | None) -> dict[str, int]:
    """Amounts without zeros; whatever is unlimited is so in one way."""
    read = {key: UNLIMITED if value == "unlimited" else int(value) for key, value in (amounts or {}).items()}
    return {key: UNLIMITED if is_unlimited(value) else value for key, value in read.items() if value != 0}


def same_quantity(a: object, b: object) -> bool:
    return parse(str(a)).nanos == parse(str(b)).nanos


def check(actual: object, expected: object, what: str) -> None:
    assert actual == expected, f"{what}: got {actual!r}, expected {expected!r}"
