"""Fairway: a batch queue for a fleet of clusters. docs/architecture.md explains the rooms."""

__version__ = "0.1.0"
