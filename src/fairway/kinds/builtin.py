"""Every kind that a space serves from the start."""

from __future__ import annotations

from fairway.kinds import fleet, k8s, kueue, own
from fairway.kinds.kind import Kind

KINDS: tuple[Kind, ...] = (*k8s.KINDS, *kueue.KINDS, *fleet.KINDS, *own.KINDS)
