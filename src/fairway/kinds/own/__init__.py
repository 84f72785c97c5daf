"""Kinds of our own, in group fairway.dev: what no other system's kinds say. Imports the rest of fairway.kinds and nothing else of fairway."""

from fairway.kinds.own import cluster, pool, token

KINDS = (*token.KINDS, *pool.KINDS, *cluster.KINDS)

__all__ = ["KINDS"]
