"""Every kind that a space serves from the start."""

from __future__ import annotations

from fairway.kinds import fleet, jobset, k8s, kueue, own
from fairway.kinds.kind import Kind

KINDS: tuple[Kind, ...] = (*k8s.KINDS, *kueue.KINDS, *fleet.KINDS, *jobset.KINDS, *own.KINDS)
