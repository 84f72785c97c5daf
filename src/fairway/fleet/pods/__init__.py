"""Pods of a hub's jobs, seen from the hub: `mirrored` says how they look, `keeper` keeps them true, `saving` keeps their output once they are
over, `logs` gives it to whoever asks, and `hook` keeps them from being changed where nothing would come of it."""

from __future__ import annotations
