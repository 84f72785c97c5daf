"""What our own controllers note about objects: Events, put into the store as they were made.

A job's life is told in nine of them, and nobody waits for one. They are made by one writer, by rules of its own, so that nothing is checked that
only a stranger could get wrong; what is left is whether the namespace takes anything in, and a name that can be one.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from fairway.api import codec, managed
from fairway.api.objects import Objects
from fairway.api.request import Options, Target, Write
from fairway.kinds import names
from fairway.kinds.k8s.core.event import Event
from fairway.kinds.kind import decode
from fairway.kinds.types import encode
from fairway.runtime.ids import SeededIds
from fairway.store import ABSENT, Put

_STAMP_MAX = 32
"""The longest that is put behind an object's name to make an Event's."""


class Notes:
    """Of one space."""

    compared = False
    """For tests: every note is also written the long way, with every check, and both must come to the same."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def write(self, target: Target, event: Event, options: Options) -> Write:
        """A new Event, with name and namespace."""
        kind, meta = target.kind, event.metadata
        name, namespace = meta.name, meta.namespace
        if not name or not namespace:
            return self._objects.create_object(target, event, options, [])
        about, _, stamp = name.rpartition(".")
        if not stamp.isalnum() or len(stamp) > _STAMP_MAX or not _can_be_a_name(about):
            return self._objects.create_object(target, event, options, [])
        self._objects.require_namespace(namespace)
        if self.compared:
            self._compare(target, event, options)
        meta.uid, meta.creation_timestamp = self._objects.ids.uid(), self._objects.now()
        target = Target(kind, target.version, namespace, name)
        head, value = codec.header(kind, event), codec.write(kind, event)
        writers = managed.add_writer("", options.manager, kind.api_version(target.version.name), "")
        op = Put(kind.bucket, target.path, value, ABSENT, head.labels, head.owners, head.fields, writers, kind.volatile)
        return Write(target, op, value, created=True)

    def _compare(self, target: Target, event: Event, options: Options) -> None:
        objects, ids = self._objects, self._objects.ids
        objects.ids = SeededIds(0)  # chance goes on as if nobody had compared
        try:
            write = objects.create_object(target, decode(encode(event), Event), options, [])
        finally:
            objects.ids = ids
        long = msgspec.json.decode(write.value)
        for made in ("uid", "creationTimestamp", "resourceVersion"):
            long["metadata"].pop(made, None)
        assert long == msgspec.json.decode(encode(event)), f"{long} is not {event}"


@lru_cache(maxsize=4096)  # one object is noted of several times
def _can_be_a_name(text: str) -> bool:
    return len(text) < names.SUBDOMAIN_MAX - _STAMP_MAX and not names.dns_subdomain(text)
