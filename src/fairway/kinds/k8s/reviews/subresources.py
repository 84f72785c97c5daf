"""Bodies of subresource requests: policy/v1 Eviction and autoscaling/v1 Scale."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.meta import DeleteOptions
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Type


class Eviction(Object):
    """Asks a pod to go, as far as its disruption budget allows."""

    delete_options: Opt[Annotated[DeleteOptions, F(proto=2)]] = UNSET


class ScaleSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1)]] = UNSET


class ScaleStatus(Type):
    replicas: Annotated[Int32, F(proto=1)] = 0
    selector: Opt[Annotated[str, F(proto=2)]] = UNSET


class Scale(Object):
    """How many replicas are wanted and how many there are."""

    spec: Annotated[ScaleSpec, F(proto=2)] = field(default_factory=ScaleSpec)
    status: Annotated[ScaleStatus, F(proto=3)] = field(default_factory=ScaleStatus)
