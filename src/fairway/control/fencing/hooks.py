"""What the API of a cluster refuses of a hub, and what it learns from it: admission hooks of a space.

Both look at kind and annotation first: whatever was not sent by a hub costs two lookups.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from fairway.api.errors import ApiError, bad_request
from fairway.api.request import Admission
from fairway.api.space import Space
from fairway.control.adapters.names import PREBUILT_WORKLOAD
from fairway.control.fencing import names
from fairway.control.fencing.book import Book, Refusal, Renewal
from fairway.engines.lease import GRACE_S

WORKLOADS = "workloads.kueue.x-k8s.io"
LEASES = "leases.coordination.k8s.io"
RETRY_AFTER_S = 1
_ORIGIN = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")


class EpochHook:
    """Lets in what a hub decided last, and nothing that was overtaken on its way."""

    def __init__(self, space: Space, book: Book) -> None:
        self._space = space
        self._book = book

    def __call__(self, admission: Admission) -> None:
        if admission.target.subresource:
            return
        if admission.operation == "CREATE":
            notes = admission.new.metadata.annotations
            if notes and names.EPOCH in notes:
                self._on_create(admission)
        elif admission.target.kind.bucket == WORKLOADS:
            old = admission.old
            if old is not None and old.metadata.annotations and names.EPOCH in old.metadata.annotations:
                self._on_change(admission, old)

    def _on_create(self, admission: Admission) -> None:
        new, target = admission.new, admission.target
        origin, epoch = _origin(new), _epoch(new, target.kind.name)
        if not origin:
            return
        if target.kind.bucket == WORKLOADS:
            self._let_in(origin, f"{target.namespace}/{target.name}", epoch)
        else:
            self._match(admission, origin, epoch)

    def _let_in(self, origin: str, key: str, epoch: int) -> None:
        refusal = self._book.refuses(origin, key, epoch)
        if refusal is Refusal.NOT_RENEWED:
            why = (
                f'hub "{origin}" has not renewed its lease since this node started: renew Lease '
                f"{names.LEASE_NAMESPACE}/{names.lease_name(origin)} first, then send workload {key} again"
            )
            raise ApiError(503, "ServiceUnavailable", why, retry_after=RETRY_AFTER_S)
        if refusal is Refusal.BELOW_FLOOR:
            floor = self._book.floor(origin)
            raise _stale(f'workload {key}: hub "{origin}" has said that no epoch below {floor} is on its way', epoch)
        if refusal is Refusal.DELETED:
            raise _stale(f'workload {key} of hub "{origin}" was deleted here with this epoch or a later one', epoch)

    def _match(self, admission: Admission, origin: str, epoch: int) -> None:
        """A job comes in only with the Workload that was sent for it, by the same decision."""
        target, meta = admission.target, admission.new.metadata
        what = f"{target.kind.name} {target.namespace}/{target.name}"
        named = (meta.labels or {}).get(PREBUILT_WORKLOAD) or (meta.annotations or {}).get(PREBUILT_WORKLOAD)
        if not named:
            raise _stale(f"{what} does not name its workload by the label {PREBUILT_WORKLOAD}", epoch)
        record = self._space.store.latest(WORKLOADS, f"{target.namespace}/{named}")
        workload: dict[str, Any] | None = msgspec.json.decode(record.value) if record is not None else None
        if workload is None or workload["metadata"].get("deletionTimestamp"):
            raise _stale(f"{what}: its workload {named} is not there any more", epoch)
        if names.marks(workload) != (origin, str(epoch)):
            theirs = " and epoch ".join(names.marks(workload)) if names.marks(workload)[1] else "none"
            raise _stale(f'{what} of hub "{origin}": its workload {named} is of another decision (hub {theirs})', epoch)
        if workload["spec"].get("active", True) is False:
            raise _stale(f"{what}: its workload {named} was evicted here and is not active any more", epoch)

    def _on_change(self, admission: Admission, old: Any) -> None:
        new, target = admission.new, admission.target
        origin, before = _origin(old), names.number(old.metadata.annotations[names.EPOCH])
        if not origin or before is None:
            return
        key = f"{target.namespace}/{target.name}"
        if admission.operation == "DELETE":
            if not admission.options.dry_run:
                self._book.deleted(origin, key, before)
            return
        notes = new.metadata.annotations
        after = _epoch(new, target.kind.name) if notes and names.EPOCH in notes else -1
        if after < before or _origin(new) != origin:
            raise _stale(f'workload {key} of hub "{origin}" is here with epoch {before}', after)


class LeaseHook:
    """Stamps the Leases of hubs, and hands on what they say."""

    def __init__(self, book: Book, changed: Callable[[str], None]) -> None:
        """changed: told the origin after each write."""
        self._book = book
        self._changed = changed

    def __call__(self, admission: Admission) -> None:
        target = admission.target
        if target.kind.bucket != LEASES or target.namespace != names.LEASE_NAMESPACE or admission.operation == "DELETE":
            return
        origin = target.name.removeprefix(names.LEASE_PREFIX)
        if origin == target.name or _ORIGIN.fullmatch(origin) is None:
            return
        meta = admission.new.metadata
        notes = dict(meta.annotations) if meta.annotations else {}
        if not admission.options.dry_run:
            self._book.renew(origin, _renewal(admission.new, notes))
            self._changed(origin)
        notes[names.STAMP] = self._book.stamp().text
        notes.pop(names.RENEW_AGAIN, None)
        if not self._book.satisfied(origin):
            notes[names.RENEW_AGAIN] = "true"
        meta.annotations = notes


def _renewal(lease: Any, notes: dict[str, str]) -> Renewal:
    grace = names.number(notes.get(names.GRACE, ""))
    return Renewal(
        stamp=notes.get(names.STAMP, ""),
        length_s=float(lease.spec.lease_duration_seconds or 0),
        floor=names.number(notes.get(names.EPOCH_FLOOR, "")) or 0,
        grace_s=GRACE_S if grace is None else float(grace),
    )


def _origin(obj: Any) -> str:
    labels = obj.metadata.labels
    return labels.get(names.ORIGIN, "") if labels else ""


def _epoch(obj: Any, kind: str) -> int:
    text = obj.metadata.annotations[names.EPOCH]
    epoch = names.number(text)
    if epoch is None:
        raise bad_request(f"{kind}: metadata.annotations[{names.EPOCH}]: {text!r} is not a whole number")
    return epoch


def _stale(why: str, epoch: int) -> ApiError:
    sent = f"this one was sent with epoch {epoch}" if epoch >= 0 else "this one has no epoch, or is of another hub"
    text = f"fenced: {why}; {sent}: decide again from what is there now"
    return ApiError(409, "Conflict", text, details={"causes": [{"reason": "StaleEpoch", "message": why}]})
