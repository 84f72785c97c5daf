"""Every kind that a space serves from the start."""

from __future__ import annotations

from fairway.kinds import fleet, jobset, k8s, kueue, own
from fairway.kinds.kind import Kind
from fairway.kinds.kueue.gates import DEFAULT, Gates


def kinds(gates: Gates = DEFAULT) -> tuple[Kind, ...]:
    """gates: Kueue's feature gates, as they are configured."""
    return (*k8s.KINDS, *kueue.kinds(gates), *fleet.KINDS, *jobset.KINDS, *own.KINDS)


KINDS: tuple[Kind, ...] = kinds()
