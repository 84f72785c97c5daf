"""coordination.k8s.io/v1: Lease."""

from __future__ import annotations

from msgspec import field

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
