"""Events about objects, for people: what happened, how often, when last. Volatile, and never in the way of the work itself."""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET

from fairway.api.client import BulkItem, Client, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.worker import Worker
from fairway.kinds.k8s.core.event import Event, EventSource
from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.meta import ObjectMeta
from fairway.kinds.types import Time, format_time, to_json
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
Json = dict[str, Any]
EVENTS = Resource("", "v1", "events")
MESSAGE_MAX = 1024
_REMEMBERED = 4096
_BATCH = 500
_Key = tuple[str, str, str, str, str]


class _Noted(msgspec.Struct, gc=False):
    """An Event, and how the server answered when it was written, which is read if the same happens again: most things happen once."""

    key: _Key
    event: Event
    written: Item | None = None


class Recorder:
    """`note` returns at once; what was noted is written in batches. The same event again counts up instead of being repeated."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: OrderedDict[_Key, _Noted] = OrderedDict()
        self._dirty: dict[_Key, _Noted] = {}
        self._made = 0
        self._second = (0, Time(""))
        self._worker = Worker("events", self._flush)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()
        while await self._flush():
            pass

    def note(self, about: Json, type: str, reason: str, message: str, component: str) -> None:
        message = message if len(message) <= MESSAGE_MAX else message[: MESSAGE_MAX - 4] + " ..."
        metadata = about.get("metadata") or {}
        key = (metadata.get("uid", ""), type, reason, message, component)
        now = self._now()
        noted = self._known.get(key)
        if noted is None:
            noted = self._known[key] = _Noted(key, self._event(about, type, reason, message, component, now))
            if len(self._known) > _REMEMBERED:
                old, _ = self._known.popitem(last=False)
                self._dirty.pop(old, None)
        else:
            event = noted.event
            assert event.count is not UNSET
            event.count += 1
            event.last_timestamp = now
            self._known.move_to_end(key)
        self._dirty[key] = noted
        self._worker.wake()

    def _now(self) -> Time:
        second = int(self._clock.now)
        if second != self._second[0]:
            self._second = second, format_time(datetime.fromtimestamp(second, UTC))
        return self._second[1]

    def _event(self, about: Json, type: str, reason: str, message: str, component: str, now: Time) -> Event:
        metadata = about.get("metadata") or {}
        self._made += 1
        stamp = f"{int(self._clock.now * 1e6):x}{self._made & 0xFFFF:04x}"
        name, namespace = metadata.get("name", ""), metadata.get("namespace")
        return Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=f"{name}.{stamp}", namespace=namespace or "default"),
            involved_object=ObjectReference(
                api_version=about.get("apiVersion", ""),
                kind=about.get("kind", ""),
                name=name,
                uid=metadata.get("uid", ""),
                resource_version=metadata.get("resourceVersion", ""),
                namespace=namespace or UNSET,
            ),
            type=type,
            reason=reason,
            message=message,
            action=reason,
            count=1,
            first_timestamp=now,
            last_timestamp=now,
            source=EventSource(component=component),
            reporting_component=component,
        )

    async def _flush(self) -> bool:
        batch = list(islice(self._dirty.values(), _BATCH))
        if not batch:
            return False
        for noted in batch:
            del self._dirty[noted.key]
        for noted, result in zip(batch, await self._client.bulk([_write(noted) for noted in batch]), strict=True):
            self._written(noted, result)
        return bool(self._dirty)

    def _written(self, noted: _Noted, result: Item | ApiError) -> None:
        """An event that cannot be written (its namespace goes away, it expired) is let go."""
        if not isinstance(result, ApiError):
            noted.written = result
            return
        log.debug("event %s not recorded: %s", noted.event.reason, result.message)
        if self._known.get(noted.key) is noted:
            del self._known[noted.key]
            self._dirty.pop(noted.key, None)


def _write(noted: _Noted) -> BulkItem:
    event, written = noted.event, noted.written
    if written is None:
        return BulkItem("create", EVENTS, event)
    return BulkItem("update", EVENTS, {**to_json(event), "metadata": written.json()["metadata"]})
