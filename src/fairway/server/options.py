"""Query parameters and delete bodies, read and checked."""

from __future__ import annotations

from typing import Any, Literal, cast

from fairway.api.codec import Strictness
from fairway.api.errors import ApiError, bad_request, invalid_options
from fairway.api.reads import Selection
from fairway.api.request import DeleteOptions, Options
from fairway.api.selection import select
from fairway.kinds import schema
from fairway.kinds.check import check
from fairway.kinds.errors import forbidden, invalid, not_supported
from fairway.kinds.k8s import meta
from fairway.kinds.kind import Kind
from fairway.server.http import Request

_STRICTNESS = ("Ignore", "Warn", "Strict")
_PROPAGATION = ("Background", "Foreground", "Orphan")
_MANAGER_MAX = 128
_INCLUDE = ("Metadata", "Object", "None")
_MATCHES = ("Exact", "NotOlderThan")


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


def checked_delete_options(body: Any) -> dict[str, Any]:
    clean, found = check(body, schema.of(meta.DeleteOptions))
    if found.errors:
        raise bad_request("the body of a delete must be DeleteOptions: " + ", ".join(map(str, found.errors)))
    options: dict[str, Any] = clean
    return options


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


def include_object(request: Request) -> str:
    """How much of its object a row of a table carries."""
    value = request.query.get("includeObject") or "Metadata"
    if value not in _INCLUDE:
        raise bad_request(f'includeObject: Invalid value: "{value}": must be one of {", ".join(_INCLUDE)}')
    return value


def whole_number(request: Request, name: str) -> int:
    value = request.query.get(name, "")
    return _whole(value, name) if value else 0


def _whole(value: Any, name: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise bad_request(f"{name}: {value!r} is not a whole number") from None
    if number < 0 or number > 2**62:
        raise bad_request(f"{name}: {value} must be a whole number, zero or more and less than 2^62")
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
    """How revision, match and initial events may be combined. Raises as Kubernetes does for what means nothing."""
    why = _why_no_list(request)
    if why is not None:
        field, text = why
        raise invalid_options("ListOptions", [forbidden(field, text)])
    match = request.query.get("resourceVersionMatch", "")
    if match not in ("", *_MATCHES):
        raise invalid_options("ListOptions", [not_supported("resourceVersionMatch", match, _MATCHES)])


def _why_no_list(request: Request) -> tuple[str, str] | None:
    """The field that may not be as it is, and the reason."""
    query = request.query
    match, revision = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if request.flag("watch"):
        if "sendInitialEvents" in query and match != "NotOlderThan":
            return "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        if match and "sendInitialEvents" not in query:
            return (
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        return None
    if "sendInitialEvents" in query:
        return "sendInitialEvents", "sendInitialEvents is forbidden for list"
    if match and query.get("continue"):
        return "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
    if match and not revision:
        return "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
    if match == "Exact" and revision == "0":
        return "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    return None
