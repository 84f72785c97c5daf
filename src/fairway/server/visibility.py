"""Kueue's visibility API: who waits in a queue, in which order.

GET /apis/visibility.kueue.x-k8s.io/VERSION/clusterqueues/NAME/pendingworkloads
GET /apis/visibility.kueue.x-k8s.io/VERSION/namespaces/NS/localqueues/NAME/pendingworkloads, both with ?offset=0&limit=1000
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from fairway.api.errors import ApiError, bad_request, method_not_allowed
from fairway.server.http import Request
from fairway.server.routes import ResourcePath

GROUP = "visibility.kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
PENDING = "pendingworkloads"
KIND = "PendingWorkloadsSummary"
LIMIT = 1000
LIMIT_MAX = 100_000
_QUEUES = {"clusterqueues": False, "localqueues": True}

Measure = tuple[str, str, str, dict[str, str], Any]
"""Name, counter, gauge or histogram, what it is, labels, value; a histogram's value is its (bound, count) pairs and its sum."""


class Queues(Protocol):
    """What queueing can tell about its queues."""

    def pending(self, resource: str, namespace: str, name: str, offset: int, limit: int) -> list[dict[str, Any]] | None:
        """Who waits, in order; None if there is no such queue."""
        ...

    def measures(self) -> Iterable[Measure]: ...


def is_visibility(path: ResourcePath) -> bool:
    return path.group == GROUP


async def answer(request: Request, path: ResourcePath, queues: Queues | None) -> None:
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    known = path.version in VERSIONS and path.subresource == PENDING and path.resource in _QUEUES
    if not known or _QUEUES[path.resource] != bool(path.namespace):
        raise ApiError(
            404, "NotFound", f"ask for clusterqueues/NAME/{PENDING} or namespaces/NS/localqueues/NAME/{PENDING}"
        )
    limit = min(_number(request, "limit", LIMIT), LIMIT_MAX)
    offset = _number(request, "offset", 0)
    found = queues.pending(path.resource, path.namespace, path.name, offset, limit) if queues is not None else None
    if found is None:
        raise ApiError(404, "NotFound", f'{path.resource}.{GROUP} "{path.name}" not found')
    await request.respond_json({"apiVersion": f"{GROUP}/{path.version}", "kind": KIND, "metadata": {}, "items": found})


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()):
        raise bad_request(f"{name} must be a number from 0 on, not {text!r}")
    return int(text)
