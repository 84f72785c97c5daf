"""core/v1 Namespace."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Time, Type


class NamespaceSpec(Type):
    finalizers: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET


class NamespaceCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=5)]] = UNSET
    message: Opt[Annotated[str, F(proto=6)]] = UNSET


class NamespaceStatus(Type):
    phase: Opt[Annotated[str, F(proto=1)]] = UNSET
    conditions: Opt[Annotated[list[NamespaceCondition], F(proto=2, keys=("type",), merge="type")]] = UNSET


class Namespace(Object):
    """A scope for names, and the unit of access."""

    spec: Annotated[NamespaceSpec, F(proto=2)] = field(default_factory=NamespaceSpec)
    status: Annotated[NamespaceStatus, F(proto=3)] = field(default_factory=NamespaceStatus)
