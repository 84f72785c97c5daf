"""core/v1 Event."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, MicroTime, Opt, Time, Type


class EventSource(Type):
    component: Opt[Annotated[str, F(proto=1)]] = UNSET
    host: Opt[Annotated[str, F(proto=2)]] = UNSET


class EventSeries(Type):
    count: Opt[Annotated[Int32, F(proto=1)]] = UNSET
    last_observed_time: Opt[Annotated[MicroTime, F(proto=2)]] = UNSET


class Event(Object):
    """A note that something happened to an object. Short-lived."""

    involved_object: Annotated[ObjectReference, F(proto=2, atomic=True)] = field(default_factory=ObjectReference)
    reason: Opt[Annotated[str, F(proto=3)]] = UNSET
    message: Opt[Annotated[str, F(proto=4)]] = UNSET
    source: Annotated[EventSource, F(proto=5)] = field(default_factory=EventSource)
    first_timestamp: Opt[Annotated[Time, F(proto=6)]] = UNSET
    last_timestamp: Opt[Annotated[Time, F(proto=7)]] = UNSET
    count: Opt[Annotated[Int32, F(proto=8)]] = UNSET
    type: Opt[Annotated[str, F(proto=9)]] = UNSET
    event_time: Opt[Annotated[MicroTime, F(proto=10)]] = UNSET
    series: Opt[Annotated[EventSeries, F(proto=11)]] = UNSET
    action: Opt[Annotated[str, F(proto=12)]] = UNSET
    related: Opt[Annotated[ObjectReference, F(proto=13, atomic=True)]] = UNSET
    reporting_component: Annotated[str, F(proto=14)] = ""
    reporting_instance: Annotated[str, F(proto=15)] = ""
