"""Hands the workloads of a hub to its clusters: `facts` reads objects, core/dispatch decides, `writes` turns actions into writes,
`outbox` sends them, and `dispatcher` is the loop around all that."""

from __future__ import annotations
