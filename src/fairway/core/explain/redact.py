"""What a tenant may see of others: amounts and counts, but no names outside the namespaces it may look into."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from fairway.core.explain.facts import Behind, Blocker, Claimed, Explanation, Holder, Short, WaitsForVictims


def redact(explanation: Explanation, visible: Set[str]) -> Explanation:
    return replace(explanation, blockers=tuple(_redact(blocker, visible) for blocker in explanation.blockers))


def _redact(blocker: Blocker, visible: Set[str]) -> Blocker:
    match blocker:
        case Behind():
            return replace(blocker, head=blocker.head if _is_visible(blocker.head, visible) else None)
        case Short():
            return replace(blocker, holders=_holders(blocker.holders, visible))
        case Claimed():
            return replace(blocker, claimants=tuple(k if _is_visible(k, visible) else "" for k in blocker.claimants))
        case WaitsForVictims():
            return replace(blocker, victims=tuple(key if _is_visible(key, visible) else "" for key in blocker.victims))
    return blocker


def _holders(holders: tuple[Holder, ...], visible: Set[str]) -> tuple[Holder, ...]:
    """Those who may not be named are added up per queue."""
    named: list[Holder] = []
    hidden: dict[str, int] = {}
    for holder in holders:
        if _is_visible(holder.key, visible):
            named.append(holder)
        else:
            hidden[holder.queue] = hidden.get(holder.queue, 0) + holder.amount
    return (*named, *(Holder(None, queue, amount) for queue, amount in sorted(hidden.items())))


def _is_visible(key: str | None, visible: Set[str]) -> bool:
    return key is not None and key.partition("/")[0] in visible
