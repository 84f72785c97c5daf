"""Which clusters are asked to admit a workload, and when more are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairway.core.dispatch.ledger import Ledger, Offer, Requests, Shortage, ever, fit, missing, squeeze
from fairway.core.model import SECOND, Amounts, Time
from fairway.core.quantity import render_amount

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
SCORED = "fairway.dev/scored"
ROUND: Time = 300 * SECOND
"""How long the clusters of an incremental round have before more are asked."""
PATIENCE: Time = 3 * SECOND
"""How long a cluster that looked free may take to admit before another one is asked too."""


@dataclass(slots=True)
class Nomination:
    clusters: tuple[str, ...]
    due: Time | None = None
    promises: dict[str, Amounts] = field(default_factory=dict)
    hopeless: str = ""
    """Why no cluster can ever admit it; empty while one may."""


def all_at_once(connected: Sequence[str]) -> Nomination:
    return Nomination(tuple(sorted(connected)))


class NoMoreClusters(Exception):
    """Every cluster has been asked."""


def incremental(
    configured: Sequence[str], nominated: Sequence[str], round_over: bool, step: int, config_order: bool = True
) -> tuple[str, ...]:
    """The clusters of the next round beside those of earlier ones. Raises NoMoreClusters where a round is over and none is left."""
    if nominated and not round_over:
        return tuple(nominated)
    left = [name for name in configured if name not in nominated]
    if not left:
        raise NoMoreClusters
    return (*nominated, *(left if config_order else sorted(left))[:step])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cluster that a workload may go to, and what its queue of the same name offers there."""

    name: str
    queue: str
    offer: Offer | None
    """None: the cluster has no such queue."""


def scored(
    candidates: Sequence[Candidate],
    nominated: Sequence[str],
    asked_at: Time | None,
    requests: Requests,
    ledger: Ledger,
    now: Time,
    barred: Mapping[str, str],
) -> Nomination:
    """The cluster with the most room, or where none has room, the one with the least too much; another one if that one does not answer.
    One at a time: every copy costs both sides several writes, and what waits on all clusters at once preempts on all of them.

    asked_at: when the last cluster was nominated. barred: clusters that do not come into question, and why."""
    usable = {each.name: each for each in candidates if each.offer is not None and each.offer.active}
    possible = {name: each for name, each in usable.items() if each.offer is not None and ever(each.offer, requests)}
    if not possible:
        return Nomination((), hopeless=_hopeless(candidates, requests, barred))
    kept = tuple(name for name in nominated if name in possible)
    if kept and asked_at is not None and now < asked_at + PATIENCE:
        return Nomination(kept, due=asked_at + PATIENCE)
    found: list[tuple[float, str, Amounts]] = []
    for name, each in possible.items():
        if name not in kept and each.offer is not None:
            there = squeeze(each.offer, ledger.promised(name, each.queue), requests)
            found.append((-there.room, name, there.cells))
    if not found:
        return Nomination(kept)
    _room, name, cells = min(found)
    return Nomination((*kept, name), due=now + PATIENCE, promises={name: cells})


def _hopeless(candidates: Sequence[Candidate], requests: Requests, barred: Mapping[str, str]) -> str:
    said = dict(barred)
    for each in candidates:
        said.setdefault(each.name, shortcoming(each, requests, {}))
    reasons = "; ".join(f"{name}: {why}" for name, why in sorted(said.items()))
    return f"No cluster can ever admit this workload ({reasons or 'there are no clusters'})"


def shortcoming(candidate: Candidate, requests: Requests, promised: Mapping[str, int]) -> str:
    """Why a cluster does not take a workload now, for people; empty if it would."""
    offer = candidate.offer
    if offer is None:
        return f"has no LocalQueue {candidate.queue}"
    if not offer.active:
        return offer.why or "its queue is stopped"
    absent = list(missing(offer, requests))
    if absent:
        return f"offers no {', '.join(absent)}"
    found = fit(offer, promised, requests)
    if isinstance(found, Shortage):
        limit, wanted, short = (
            render_amount(found.resource, amount) for amount in (found.limit, found.wanted, found.wanted - found.free)
        )
        if found.wanted > found.limit:
            return f"has {limit} {found.resource} of flavor {found.flavor} in all, {wanted} are asked for"
        return f"short of {short} {found.resource} of flavor {found.flavor}"
    return ""
