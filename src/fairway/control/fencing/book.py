"""What a cluster knows of the hubs that lease it: which epochs are over, and until when their work may run. No I/O.

The rule of validity: a renewal brings back the stamp that the cluster gave with the write before, and is good until that stamp plus the
lease's length, whenever it arrives. So no delay, loss, repetition or reordering on the way makes a lease last longer than the hub knows: what
it received as a stamp was stamped before.

    (nothing) ── renewal with a stamp ──► asked for ── old work evicted ──► term ── nearly over, or a gap ──► (nothing), work evicted
                                             ▲  └─ renewals prolong it        └─ renewals prolong it

A term begins only after everything that the hub sent before is evicted: it may run elsewhere by now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fairway.control.fencing.boot import Boot, Stamp, parse_stamp
from fairway.engines.lease import GRACE_S, Lease

EARLY_S = 1.0
EARLY_PART = 0.1
"""Work is evicted this long before the lease ends, whichever is less: in good order, before the shims end it the hard way."""
ENOUGH_PART = 0.5
"""Of its length must be left of a lease after a renewal. Where it is not, as after a pause of either side, the stamp that came back is an old
one, and the lease could end before the hub thinks of renewing it again."""


class Refusal(StrEnum):
    """Why an epoch is not let in."""

    NOT_RENEWED = "not renewed"
    BELOW_FLOOR = "below floor"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a hub writes."""

    stamp: str
    length_s: float
    floor: int = 0
    grace_s: float = GRACE_S


@dataclass(slots=True)
class _Origin:
    floor: int = 0
    renewed: bool = False
    """By a write that answers one of this life: only then the floor covers everything that an earlier life let in and has forgotten."""
    renewed_at: float | None = None
    """When a renewal last began or prolonged a term."""
    length_s: float = 0.0
    term: Lease | None = None
    asked: Lease | None = None
    """A term that begins when the work of the one before is evicted."""
    gone: dict[str, int] = field(default_factory=dict)
    """Epochs of what was deleted since the floor was last raised."""

    @property
    def lapses_at(self) -> float:
        if self.term is None:
            return math.inf
        return self.term.until - min(EARLY_S, EARLY_PART * self.length_s)


class Book:
    def __init__(self, boot: Boot, known: Mapping[str, Lease]) -> None:
        """known: the leases that an earlier life of the node handed on; they hold until they end."""
        self._boot = boot
        self._born = self._stamped = boot.now
        self._origins: dict[str, _Origin] = {}
        for origin, lease in known.items():
            self._origins[origin] = _Origin(term=lease if lease.until > self._born else None)

    # --- leases -------------------------------------------------------------------------------------------------------

    @property
    def origins(self) -> Iterable[str]:
        return list(self._origins)

    def stamp(self) -> Stamp:
        """Each is later than all before it and than the beginning of this life, be it by a hair."""
        self._stamped = max(self._boot.now, math.nextafter(self._stamped, math.inf))
        return Stamp(self._boot.id, self._stamped)

    def renew(self, origin: str, renewal: Renewal) -> None:
        known = self._origins.setdefault(origin, _Origin())
        now = self._boot.now
        if renewal.floor > known.floor:
            known.floor = renewal.floor
            known.gone = {key: epoch for key, epoch in known.gone.items() if epoch >= renewal.floor}
        stamp = parse_stamp(renewal.stamp)
        if stamp is None or stamp.boot != self._boot.id or not 0 <= stamp.at <= max(now, self._stamped):
            return
        known.renewed = known.renewed or stamp.at > self._born
        known.length_s = renewal.length_s
        self._prolong(known, Lease(now, stamp.at + renewal.length_s, renewal.grace_s), now)

    def _prolong(self, known: _Origin, fresh: Lease, now: float) -> None:
        if known.term is not None and known.term.until <= now:
            known.term = None
        if fresh.until <= now:
            return
        if known.term is not None:
            known.term, known.renewed_at = _longer(known.term, fresh), now
        elif known.asked is not None and known.asked.until > now:
            known.asked = _longer(known.asked, fresh)
        else:
            known.asked = fresh

    def term(self, origin: str) -> Lease | None:
        """The lease that work of the origin may start and run under now."""
        known = self._origins.get(origin)
        if known is None or known.term is None or known.term.until <= self._boot.now:
            return None
        return known.term

    def asked(self, origin: str) -> Lease | None:
        known = self._origins.get(origin)
        return known.asked if known is not None else None

    def satisfied(self, origin: str) -> bool:
        """Whether the last renewal did all that a renewal can do. If not, one with the stamp of its answer does."""
        known = self._origins.get(origin)
        lease = (known.term or known.asked) if known is not None else None
        if known is None or lease is None or not known.renewed:
            return False
        return lease.until - self._boot.now >= ENOUGH_PART * known.length_s

    def lapse(self, origin: str) -> None:
        """The term is over. Nothing starts under it any more."""
        known = self._origins.get(origin)
        if known is not None:
            known.term = None

    def begin(self, origin: str, since: float) -> Lease | None:
        """The term that was asked for then, now that the work from before is evicted. None if there was a gap since, or the hub is late."""
        known = self._origins.get(origin)
        if known is None or known.asked is None or known.asked.since != since or known.asked.until <= self._boot.now:
            return None
        known.term, known.asked, known.renewed_at = known.asked, None, self._boot.now
        return known.term

    def lapsing(self) -> list[str]:
        """Origins whose term is over, or so nearly that their work must be evicted now."""
        now = self._boot.now
        return [origin for origin, known in self._origins.items() if known.lapses_at <= now]

    def seconds_to_next(self) -> float | None:
        """Until the next term is nearly over, if nothing renews it."""
        soonest = min((known.lapses_at for known in self._origins.values()), default=math.inf)
        return None if math.isinf(soonest) else max(0.0, soonest - self._boot.now)

    def silent_s(self, origin: str) -> float | None:
        """Since the hub last renewed a term. None: not in this life of the node."""
        known = self._origins.get(origin)
        return None if known is None or known.renewed_at is None else self._boot.now - known.renewed_at

    # --- epochs -------------------------------------------------------------------------------------------------------

    def refuses(self, origin: str, key: str, epoch: int) -> Refusal | None:
        """Why a new Workload may not come in."""
        known = self._origins.get(origin)
        if known is None or not known.renewed:
            return Refusal.NOT_RENEWED
        if epoch < known.floor:
            return Refusal.BELOW_FLOOR
        return Refusal.DELETED if epoch <= known.gone.get(key, -1) else None

    def floor(self, origin: str) -> int:
        known = self._origins.get(origin)
        return known.floor if known is not None else 0

    def deleted(self, origin: str, key: str, epoch: int) -> None:
        known = self._origins.setdefault(origin, _Origin())
        if epoch >= known.floor:
            known.gone[key] = max(epoch, known.gone.get(key, -1))


def _longer(known: Lease, fresh: Lease) -> Lease:
    return replace(known, until=max(known.until, fresh.until), grace_s=fresh.grace_s)
