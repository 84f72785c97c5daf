"""Decide: state and events in, plans out. Pure Python: no I/O, no clock, no randomness; the caller supplies `now`.

Rooms, each with its own state and plan: `quota` (who may use how much), `admit` (who runs next), `explain` (why not yet).
`model` holds the plain types they share. Imports nothing of fairway but fairway.core; everyone may import it.
"""
