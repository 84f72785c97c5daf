"""Query parameters and delete bodies, read and checked."""

from __future__ import annotations

from typing import Any, Literal, cast

from fairway.api.codec import Strictness
from fairway.api.errors import ApiError, bad_request, invalid_options
from fairway.api.reads import Selection
from fairway.api.request import DeleteOptions, Options
from fairway.api.selection import select
from fairway.kinds.errors import forbidden, invalid, not_supported
from fairway.kinds.kind import Kind
from fairway.server.http import Request

_STRICTNESS = ("Ignore", "Warn", "Strict")
_PROPAGATION = ("Background", "Foreground", "Orphan")
_MANAGER_MAX = 128
LIST_TIMEOUT_SECONDS_MAX = 86_400


def write_options(request: Request, *, apply: bool = False, dry_run: bool = False) -> Options:
    if not request.scope["query_string"]:
        return Options(dry_run=dry_run, manager="" if apply else default_manager(request), caller=request.caller)
    query = request.query
    strictness = query.get("fieldValidation") or "Warn"
    if strictness not in _STRICTNESS:
        raise invalid_options("PatchOptions", [not_supported("fieldValidation", strictness, _STRICTNESS)])
    manager = query.get("fieldManager") or ("" if apply else default_manager(request))
    if len(manager) > _MANAGER_MAX or not manager.isprintable():
        raise invalid_options(
            "PatchOptions", [invalid("fieldManager", manager, f"must be printable, at most {_MANAGER_MAX} characters")]
        )
    return Options(
        dry_run=dry_run or _dry_run(query.get("dryRun", "")),
        manager=manager,
        strictness=cast(Strictness, strictness),
        force=request.flag("force"),
        caller=request.caller,
    )


def _dry_run(value: str) -> bool:
    if value not in ("", "All"):
        raise invalid_options("CreateOptions", [not_supported("dryRun", value, ("All",))])
    return value == "All"


def default_manager(request: Request) -> str:
    """The first word of the client's name, as Kubernetes does."""
    agent = request.header(b"user-agent").partition("/")[0]
    return agent[:_MANAGER_MAX] if agent and agent.isprintable() else "unknown"


def delete_options(request: Request, body: dict[str, Any]) -> tuple[DeleteOptions, bool]:
    """How to delete, and whether it is a dry run: from the body, or from the query."""
    query = request.query
    policy = body.get("propagationPolicy") or query.get("propagationPolicy")
    orphan = body.get("orphanDependents")
    if policy is None:
        policy = "Orphan" if orphan is True else "Background"
    elif orphan is not None:
        raise invalid_options(
            "DeleteOptions",
            [invalid("propagationPolicy", policy, "orphanDependents and propagationPolicy cannot both be set")],
        )
    if policy not in _PROPAGATION:
        raise invalid_options("DeleteOptions", [not_supported("propagationPolicy", policy, _PROPAGATION)])
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    preconditions = body.get("preconditions") or {}
    dry_run = body.get("dryRun") or ([query["dryRun"]] if query.get("dryRun") else [])
    return (
        DeleteOptions(
            propagation=cast(Literal["Background", "Foreground", "Orphan"], policy),
            grace_seconds=_whole(grace, "gracePeriodSeconds") if grace is not None else None,
            uid=preconditions.get("uid") or "",
            resource_version=preconditions.get("resourceVersion") or "",
        ),
        any(_dry_run(str(value)) for value in dry_run),
    )


def selection(request: Request, kind: Kind) -> Selection:
    query = request.query
    return select(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))


def whole_number(request: Request, name: str) -> int:
    value = request.query.get(name, "")
    return _whole(value, name) if value else 0


def _whole(value: Any, name: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise bad_request(f"{name}: {value!r} is not a whole number") from None
    if number < 0 or number > 2**62:
        raise bad_request(f"{name}: {value} must be a whole number of zero or more")
    return number


def resource_version(request: Request) -> int | None:
    """The revision that was asked for; None if none was."""
    value = request.query.get("resourceVersion", "")
    if not value:
        return None
    if not value.isdecimal() or len(value) > 19:
        raise ApiError(
            400, "BadRequest", f'resourceVersion: Invalid value: "{value}": take it as a list or an object returned it'
        )
    return int(value)


def check_list_options(request: Request) -> None:
    match = request.query.get("resourceVersionMatch", "")
    watching = request.flag("watch")
    if not match:
        if request.flag("sendInitialEvents") and watching:
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid_options("ListOptions", [forbidden("resourceVersionMatch", why)])
        return
    if match not in ("Exact", "NotOlderThan"):
        raise invalid_options("ListOptions", [not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan"))])
    if watching and "sendInitialEvents" not in request.query:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid_options("ListOptions", [forbidden("resourceVersionMatch", why)])
    if not watching and not request.query.get("resourceVersion"):
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise invalid_options("ListOptions", [forbidden("resourceVersionMatch", why)])
