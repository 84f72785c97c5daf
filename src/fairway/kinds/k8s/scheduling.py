"""scheduling.k8s.io/v1: PriorityClass."""

from __future__ import annotations

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.columns import field as column
from fairway.kinds.errors import FieldError, forbidden, invalid, not_supported
from fairway.kinds.k8s.opt import number, text
from fairway.kinds.kind import Column, Kind, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt


class PriorityClass(Object):
    """A name for a priority that pods may ask for."""

    value: Annotated[Int32, F(proto=2)] = 0
    global_default: Opt[Annotated[bool, F(proto=3)]] = UNSET
    description: Opt[Annotated[str, F(proto=4)]] = UNSET
    preemption_policy: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET


SYSTEM_PREFIX = "system-"
USER_MAX = 1_000_000_000
_POLICIES = ("Never", "PreemptLowerPriority")


def _default(new: PriorityClass, _old: PriorityClass | None) -> None:
    if new.preemption_policy is UNSET:
        new.preemption_policy = "PreemptLowerPriority"


def _validate(new: PriorityClass, old: PriorityClass | None) -> list[FieldError]:
    errors: list[FieldError] = []
    name = text(new.metadata.name)
    system = name in ("system-node-critical", "system-cluster-critical")
    if name.startswith(SYSTEM_PREFIX) and not system:
        errors.append(
            forbidden(
                "metadata.name", f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            )
        )
    if number(new.value) > USER_MAX and not system:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {USER_MAX}"))
    if text(new.preemption_policy) not in _POLICIES:
        errors.append(not_supported("preemptionPolicy", new.preemption_policy, _POLICIES))
    if old is not None:
        if new.value != old.value:
            errors.append(forbidden("value", "may not be changed in an update."))
        if new.preemption_policy != old.preemption_policy:
            errors.append(invalid("preemptionPolicy", new.preemption_policy, "field is immutable"))
    return errors


PRIORITY_CLASS = Kind(
    group="scheduling.k8s.io",
    name="PriorityClass",
    plural="priorityclasses",
    singular="priorityclass",
    versions=(
        Version(
            "v1",
            PriorityClass,
            (
                NAME,
                column("Value", "value", "integer"),
                Column("Global-Default", lambda obj, _moment: bool(at(obj, "globalDefault")), type="boolean"),
                AGE,
                column("PreemptionPolicy", "preemptionPolicy"),
            ),
        ),
    ),
    namespaced=False,
    short_names=("pc",),
    native=True,
    spec_fields=("value", "globalDefault", "description", "preemptionPolicy"),
    default=_default,
    validate=_validate,
)

KINDS: tuple[Kind, ...] = (PRIORITY_CLASS,)
