"""GET /apis/fairway.dev/v1/namespaces/NS/explanations/WORKLOAD: why it does not run yet.

Whoever may read the Workload may ask. Names of others' workloads are shown only from namespaces whose workloads the asker may list.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from fairway.api.errors import ApiError, method_not_allowed
from fairway.api.request import Caller
from fairway.api.space import Space
from fairway.server.http import Request
from fairway.server.routes import ResourcePath

Explain = Callable[[str, Set[str]], dict[str, Any]]
"""(namespace/name of a workload, namespaces that may be named) -> what is in its way."""
May = Callable[[Caller, str, ResourcePath], bool]

_WORKLOADS = ("kueue.x-k8s.io", "v1beta2", "workloads")


def is_explanation(path: ResourcePath) -> bool:
    return (path.group, path.version, path.resource) == ("fairway.dev", "v1", "explanations")


def as_workload(path: ResourcePath) -> ResourcePath:
    """What must be readable to ask."""
    return ResourcePath(*_WORKLOADS, path.namespace, path.name)


async def answer(space: Space, request: Request, path: ResourcePath, explain: Explain | None, may: May) -> None:
    if request.method != "GET":
        raise method_not_allowed()
    if explain is None:
        raise ApiError(404, "NotFound", "nothing is queued in this space, so there is nothing to explain")
    if not path.namespace or not path.name or path.subresource:
        raise ApiError(404, "NotFound", "ask for namespaces/NAMESPACE/explanations/WORKLOAD")
    if space.store.get("workloads.kueue.x-k8s.io", f"{path.namespace}/{path.name}") is None:
        raise ApiError(404, "NotFound", f'workloads.kueue.x-k8s.io "{path.name}" not found')
    visible = {
        record.name
        for record in space.store.records("namespaces")
        if may(request.caller, "list", ResourcePath(*_WORKLOADS, record.name))
    }
    found = explain(f"{path.namespace}/{path.name}", visible)
    await request.respond_json({"apiVersion": "fairway.dev/v1", "kind": "Explanation", **found})
