"""Object semantics over a store: what create, update, patch, apply, delete, list and watch mean, for any kind.

Knows kinds and the store. Everything above (server, control, fleet) sees the `Client` protocol of this package and nothing else of the store.
"""
