"""events.k8s.io/v1: Event, another reading of the core Events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import field

from fairway.kinds.k8s.core import event as core
from fairway.kinds.k8s.core.columns import EVENT_COLUMNS
from fairway.kinds.k8s.core.event import EventSource
from fairway.kinds.k8s.core.kinds import EVENT as CORE_EVENT
from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.k8s.opt import number
from fairway.kinds.kind import Column, Kind, Version
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


_RENAMED = {
    "reporting_controller": "reporting_component",
    "regarding": "involved_object",
    "note": "message",
    "deprecated_source": "source",
    "deprecated_first_timestamp": "first_timestamp",
    "deprecated_last_timestamp": "last_timestamp",
    "deprecated_count": "count",
}
_SAME = ("metadata", "event_time", "reporting_instance", "action", "reason", "related", "type")
_RENAMED_JSON = {
    "reportingController": "reportingComponent",
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def _to_core(event: Event) -> core.Event:
    stored = core.Event(api_version="v1", kind="Event")
    for name, twin in [*_RENAMED.items(), *((name, name) for name in _SAME)]:
        setattr(stored, twin, getattr(event, name))
    if event.series is not UNSET:
        stored.series = core.EventSeries(count=event.series.count, last_observed_time=event.series.last_observed_time)
    return stored


def _from_core(stored: core.Event) -> Event:
    event = Event(api_version="events.k8s.io/v1", kind="Event")
    for name, twin in [*_RENAMED.items(), *((name, name) for name in _SAME)]:
        setattr(event, name, getattr(stored, twin))
    if stored.series is not UNSET:
        event.series = EventSeries(
            count=number(stored.series.count), last_observed_time=stored.series.last_observed_time
        )
    return event


def _as_core(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {_RENAMED_JSON.get(name, name): value for name, value in event.items()}


def _column(column: Column) -> Column:
    """A core Event's column, read from the newer shape."""
    return replace(column, value=lambda event, moment: column.value(_as_core(event), moment))


EVENT = Kind(
    group="events.k8s.io",
    name="Event",
    plural="events",
    singular="event",
    versions=(Version("v1", Event, tuple(map(_column, EVENT_COLUMNS)), to_storage=_to_core, from_storage=_from_core),),
    short_names=("ev",),
    native=True,
    volatile=True,
    selectable=(
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "reason",
        "reportingController",
        "type",
    ),
    spec_fields=(),
    view_of=CORE_EVENT,
)

KINDS: tuple[Kind, ...] = (EVENT,)
