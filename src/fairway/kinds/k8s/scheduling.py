"""scheduling.k8s.io/v1: PriorityClass."""

from __future__ import annotations

from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt


class PriorityClass(Object):
    """A name for a priority that pods may ask for."""

    value: Annotated[Int32, F(proto=2)] = 0
    global_default: Opt[Annotated[bool, F(proto=3)]] = UNSET
    description: Opt[Annotated[str, F(proto=4)]] = UNSET
    preemption_policy: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET
