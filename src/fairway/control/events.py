"""Events about objects, for people: what happened, how often, when last. Volatile, and never in the way of the work itself."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

from fairway.api.client import BulkItem, Client, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.worker import Worker
from fairway.kinds.types import format_time
from fairway.runtime.clock import Clock, moment

log = logging.getLogger("fairway.control")
Json = dict[str, Any]
EVENTS = Resource("", "v1", "events")
MESSAGE_MAX = 1024
_REMEMBERED = 4096
_BATCH = 500
_Key = tuple[str, str, str, str, str]


class Recorder:
    """`note` returns at once; what was noted is written in batches. The same event again counts up instead of being repeated."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: OrderedDict[_Key, Json] = OrderedDict()
        self._dirty: dict[_Key, None] = {}
        self._made = 0
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
        now = format_time(moment(self._clock).replace(microsecond=0))
        event = self._known.get(key)
        if event is None:
            event = self._known[key] = self._event(about, type, reason, message, component, now)
            while len(self._known) > _REMEMBERED:
                old, _ = self._known.popitem(last=False)
                self._dirty.pop(old, None)
        else:
            event["count"] += 1
            event["lastTimestamp"] = now
        self._known.move_to_end(key)
        self._dirty[key] = None
        self._worker.wake()

    def _event(self, about: Json, type: str, reason: str, message: str, component: str, now: str) -> Json:
        metadata = about.get("metadata") or {}
        self._made += 1
        stamp = f"{int(self._clock.now * 1e6):x}{self._made & 0xFFFF:04x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata.get('name', '')}.{stamp}",
                "namespace": metadata.get("namespace") or "default",
            },
            "involvedObject": {
                "apiVersion": about.get("apiVersion", ""),
                "kind": about.get("kind", ""),
                "name": metadata.get("name", ""),
                "uid": metadata.get("uid", ""),
                "resourceVersion": metadata.get("resourceVersion", ""),
                **({"namespace": metadata["namespace"]} if metadata.get("namespace") else {}),
            },
            "type": type,
            "reason": reason,
            "message": message,
            "action": reason,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": component},
            "reportingComponent": component,
        }

    async def _flush(self) -> bool:
        keys = list(self._dirty)[:_BATCH]
        items = []
        for key in keys:
            del self._dirty[key]
            event = self._known[key]
            verb = "update" if "resourceVersion" in event["metadata"] else "create"
            items.append(BulkItem(verb, EVENTS, event))  # type: ignore[arg-type]
        if not items:
            return False
        for key, result in zip(keys, await self._client.bulk(items), strict=True):
            self._written(key, result)
        return bool(self._dirty)

    def _written(self, key: _Key, result: Item | ApiError) -> None:
        """An event that cannot be written (its namespace goes away, it expired) is let go."""
        if isinstance(result, ApiError):
            log.debug("event %s not recorded: %s", key[2], result.message)
            self._known.pop(key, None)
            self._dirty.pop(key, None)
        elif key in self._known:
            self._known[key]["metadata"] = result.json()["metadata"]
