"""policy/v1: PodDisruptionBudget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.k8s.columns import count
from fairway.kinds.k8s.meta import Condition, LabelSelector
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, IntOrString, Opt, Time, Type


class PodDisruptionBudgetSpec(Type):
    min_available: Opt[Annotated[IntOrString, F(proto=1)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    max_unavailable: Opt[Annotated[IntOrString, F(proto=3)]] = UNSET
    unhealthy_pod_eviction_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class PodDisruptionBudgetStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=1)]] = UNSET
    disrupted_pods: Opt[Annotated[dict[str, Time], F(proto=2)]] = UNSET
    disruptions_allowed: Annotated[Int32, F(proto=3)] = 0
    current_healthy: Annotated[Int32, F(proto=4)] = 0
    desired_healthy: Annotated[Int32, F(proto=5)] = 0
    expected_pods: Annotated[Int32, F(proto=6)] = 0
    conditions: Opt[Annotated[list[Condition], F(proto=7, keys=("type",), merge="type")]] = UNSET


class PodDisruptionBudget(Object):
    """How many pods of a set may be taken away at once. Kept as written."""

    spec: Annotated[PodDisruptionBudgetSpec, F(proto=2)] = field(default_factory=PodDisruptionBudgetSpec)
    status: Annotated[PodDisruptionBudgetStatus, F(proto=3)] = field(default_factory=PodDisruptionBudgetStatus)


def _validate(new: PodDisruptionBudget, _old: PodDisruptionBudget | None) -> list[FieldError]:
    if new.spec.min_available is not UNSET and new.spec.max_unavailable is not UNSET:
        return [invalid("spec", new.spec, "minAvailable and maxUnavailable cannot be both set")]
    return []


def _amount(name: str, path: str) -> Column:
    def value(obj: Mapping[str, Any], _moment: Moment) -> str:
        amount = at(obj, path)
        return "N/A" if amount is None else str(amount)

    return Column(name, value)


POD_DISRUPTION_BUDGET = Kind(
    group="policy",
    name="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    singular="poddisruptionbudget",
    versions=(
        Version(
            "v1",
            PodDisruptionBudget,
            (
                NAME,
                _amount("Min Available", "spec.minAvailable"),
                _amount("Max Unavailable", "spec.maxUnavailable"),
                count("Allowed Disruptions", "status.disruptionsAllowed"),
                AGE,
            ),
        ),
    ),
    short_names=("pdb",),
    subresources=("status",),
    native=True,
    validate=_validate,
)

KINDS: tuple[Kind, ...] = (POD_DISRUPTION_BUDGET,)
