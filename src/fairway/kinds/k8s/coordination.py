"""coordination.k8s.io/v1: Lease."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.columns import AGE, NAME
from fairway.kinds.columns import field as column
from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.kind import Kind, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, MicroTime, Opt, Type


class LeaseSpec(Type):
    holder_identity: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    lease_duration_seconds: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    acquire_time: Opt[Annotated[MicroTime, F(proto=3)]] = UNSET
    renew_time: Opt[Annotated[MicroTime, F(proto=4)]] = UNSET
    lease_transitions: Opt[Annotated[Int32, F(proto=5, zero=True)]] = UNSET
    strategy: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    preferred_holder: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET


class Lease(Object):
    """A claim that its holder must renew in time. Volatile."""

    spec: Annotated[LeaseSpec, F(proto=2)] = field(default_factory=LeaseSpec)


def _validate(new: Lease, _old: Lease | None) -> list[FieldError]:
    errors: list[FieldError] = []
    duration, transitions = new.spec.lease_duration_seconds, new.spec.lease_transitions
    if duration is not UNSET and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not UNSET and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return errors


LEASE = Kind(
    group="coordination.k8s.io",
    name="Lease",
    plural="leases",
    singular="lease",
    versions=(Version("v1", Lease, (NAME, column("Holder", "spec.holderIdentity"), AGE)),),
    native=True,
    volatile=True,
    spec_fields=(),
    validate=_validate,
)

KINDS: tuple[Kind, ...] = (LEASE,)
