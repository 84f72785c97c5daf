"""How far back watchers can go, and which rows of the log nobody needs any more."""

from __future__ import annotations

from collections import Counter, deque

from fairway.store.bucket import Bucket
from fairway.store.record import Event

EVENTS_MAX = 65_536
BYTES_MAX = 64 << 20
_STEP = 256


class History:
    """The last events of all buckets, oldest first. What falls out of it leaves garbage in the log."""

    __slots__ = ("_bytes", "_bytes_max", "_events_max", "_order", "_swept", "garbage", "mark")

    def __init__(self, events_max: int, bytes_max: int, *, swept: bool) -> None:
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._swept = swept
        self._order: deque[Bucket] = deque()
        self._bytes = 0
        self.mark = 0
        """The newest revision that was forgotten."""
        self.garbage: list[int] = []
        """Revisions of superseded rows and of tombstones, oldest first; none where no log is swept."""

    def remember(self, bucket: Bucket, event: Event) -> None:
        bucket.events.append(event)
        self._order.append(bucket)
        self._bytes += _cost(event)

    def shorten(self) -> None:
        """Forget the oldest beyond the limits, a step at a time: forgetting one by one would cost more than the event."""
        while len(self._order) > self._events_max + _STEP or self._bytes > self._bytes_max:
            count = min(_STEP, len(self._order))
            for bucket, oldest in Counter(self._order.popleft() for _ in range(count)).items():
                for event in bucket.forget_oldest(oldest):
                    self.mark = max(self.mark, event.revision)
                    self._bytes -= _cost(event)
                    self.discard(event)

    def discard(self, event: Event) -> None:
        """Nobody will ask for what was before this event."""
        if not self._swept:
            return
        if event.previous is not None:
            self.garbage.append(event.previous.revision)
        if event.deleted:
            self.garbage.append(event.revision)


def _cost(event: Event) -> int:
    """Bytes that only the history holds: an event's own value counts where it is nobody's current state."""
    previous = len(event.previous.value) if event.previous is not None else 0
    return previous + (len(event.record.value) if event.deleted else 0)
