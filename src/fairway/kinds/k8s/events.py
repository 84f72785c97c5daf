"""events.k8s.io/v1: Event, another reading of the core Events."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.event import EventSource
from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, MicroTime, Opt, Time, Type


class EventSeries(Type):
    count: Annotated[Int32, F(proto=1)] = 0
    last_observed_time: Opt[Annotated[MicroTime, F(proto=2)]] = UNSET


class Event(Object):
    """A note that something happened to an object: the newer shape of a core Event."""

    event_time: Opt[Annotated[MicroTime, F(proto=2)]] = UNSET
    series: Opt[Annotated[EventSeries, F(proto=3)]] = UNSET
    reporting_controller: Opt[Annotated[str, F(proto=4)]] = UNSET
    reporting_instance: Opt[Annotated[str, F(proto=5)]] = UNSET
    action: Opt[Annotated[str, F(proto=6)]] = UNSET
    reason: Opt[Annotated[str, F(proto=7)]] = UNSET
    regarding: Annotated[ObjectReference, F(proto=8, atomic=True)] = field(default_factory=ObjectReference)
    related: Opt[Annotated[ObjectReference, F(proto=9, atomic=True)]] = UNSET
    note: Opt[Annotated[str, F(proto=10)]] = UNSET
    type: Opt[Annotated[str, F(proto=11)]] = UNSET
    deprecated_source: Annotated[EventSource, F(proto=12)] = field(default_factory=EventSource)
    deprecated_first_timestamp: Opt[Annotated[Time, F(proto=13)]] = UNSET
    deprecated_last_timestamp: Opt[Annotated[Time, F(proto=14)]] = UNSET
    deprecated_count: Opt[Annotated[Int32, F(proto=15)]] = UNSET
