"""Usage as queues show it in their status: per flavor and resource, and how much of it is borrowed."""

from __future__ import annotations

from typing import Any

from fairway.core.model import Amounts, Queue, cell
from fairway.core.quantity import render_amount


def queue_usage(queue: Queue, usage: Amounts) -> list[dict[str, Any]]:
    return _usage(queue, usage, borrowed=True)


def tenant_usage(queue: Queue, usage: Amounts) -> list[dict[str, Any]]:
    return _usage(queue, usage, borrowed=False)


def _usage(queue: Queue, usage: Amounts, borrowed: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for group in queue.groups:
        for flavor in group.flavors:
            resources: list[dict[str, str]] = []
            for resource in group.resources:
                at = cell(flavor, resource)
                used = usage.get(at, 0)
                row = {"name": resource, "total": render_amount(resource, used)}
                if borrowed:
                    quota = queue.quotas.get(at)
                    over = max(0, used - (quota.nominal if quota else 0)) if queue.cohort is not None else 0
                    row["borrowed"] = render_amount(resource, over)
                resources.append(row)
            rows.append({"name": flavor, "resources": resources})
    return rows
