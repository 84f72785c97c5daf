"""Many writes in one call, with a result for each: our own addition to the API, an option that no client needs.

POST /apis/fairway.dev/v1/bulk  {"items": [{"verb": "create" | "update" | "updateStatus", "resource": "jobs", "object": {…}}, …],
                                 "given": [{"apiVersion": "v1", "resource": "configmaps", "path": "default/a", "revision": 7}, …]}
                                           or {"verb": "delete", "object": {apiVersion, kind, metadata}, "options": {DeleteOptions}}
answers                          {"items": [{"code": 201, "object": {…}} | {"code": 409, "object": {Status}}, …]}

The items are independent: one that is refused does not hold up the others. All that succeed are durable when the answer comes.
What is `given` holds for all: once one of these objects has another revision (0: none), the items that are left are refused as conflicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from fairway.api import codec
from fairway.api.errors import ApiError, bad_request
from fairway.api.local import require_name
from fairway.api.request import Options, Target, Write
from fairway.api.space import Space
from fairway.kinds.kind import Kind
from fairway.kinds.types import encode
from fairway.server.http import Request
from fairway.server.options import checked_delete_options, delete_options, write_options
from fairway.server.routes import ResourcePath

PATH = ResourcePath("fairway.dev", "v1", "bulk")
ITEMS_MAX = 5000
Authorize = Callable[[str, ResourcePath], None]


class _Item(msgspec.Struct, forbid_unknown_fields=True):
    verb: Literal["create", "update", "updateStatus", "delete"]
    object: msgspec.Raw
    resource: str = ""
    options: dict[str, Any] = {}


class _Given(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str
    resource: str
    path: str
    revision: int


class _Bulk(msgspec.Struct):
    items: list[_Item]
    given: list[_Given] = []


class _Type(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str


_decode = msgspec.json.Decoder(_Bulk).decode
_decode_type = msgspec.json.Decoder(_Type).decode


async def bulk(space: Space, request: Request, authorize: Authorize) -> None:
    try:
        asked = _decode(await request.body())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise bad_request(f"the body is not a list of writes: {error}") from None
    if len(asked.items) > ITEMS_MAX:
        raise bad_request(f"{len(asked.items)} items are too many for one call: send at most {ITEMS_MAX}")
    options = write_options(request)
    allowed: set[tuple[str, ResourcePath]] = set()

    def check(verb: str, path: ResourcePath) -> None:
        if (verb, path) not in allowed:
            authorize(verb, path)
            allowed.add((verb, path))

    makers = [_maker(space, request, item, options, check) for item in asked.items]
    known = [_known(space, given, check) for given in asked.given]
    results = await space.objects.bulk(makers, in_turns=True, overtaken=lambda: space.objects.overtaken(known))
    parts = [_result(result, item) for result, item in zip(results, asked.items, strict=True)]
    await request.respond(200, b'{"items":[' + b",".join(parts) + b"]}")


def _maker(space: Space, request: Request, item: _Item, options: Options, check: Authorize) -> Callable[[], Write]:
    def make() -> Write:
        body = bytes(item.object)
        try:
            named = _decode_type(body)
        except (msgspec.MsgspecError, ValueError) as error:
            raise bad_request(f"an item's object must say apiVersion and kind: {error}") from None
        kind = space.registry.of(named.api_version, named.kind)
        version = named.api_version.rpartition("/")[2]
        if kind is None or version not in {served.name for served in kind.versions}:
            raise ApiError(404, "NotFound", f"{named.api_version} {named.kind} is not served here", details={})
        name, namespace = codec.identity(body)
        if kind.namespaced:
            namespace = namespace or "default"
        served = kind.version(version)
        if item.verb == "create":
            check("create", ResourcePath(kind.group, version, kind.plural, namespace))
            return space.objects.create(Target(kind, served, namespace), body, options)
        if item.verb == "delete":
            check("delete", ResourcePath(kind.group, version, kind.plural, namespace, require_name(name)))
            how, dry_run = delete_options(request, checked_delete_options(item.options))
            deleting = write_options(request, dry_run=dry_run) if dry_run else options
            return space.objects.delete(Target(kind, served, namespace, name), how, deleting)
        subresource = "status" if item.verb == "updateStatus" else ""
        check("update", ResourcePath(kind.group, version, kind.plural, namespace, name, subresource))
        return space.objects.update(Target(kind, served, namespace, name, subresource), body, options)

    return make


def _known(space: Space, given: _Given, check: Authorize) -> tuple[Kind, str, int]:
    group, _, version = given.api_version.rpartition("/")
    route = space.registry.route(group, version, given.resource)
    if route is None:
        raise bad_request(f"given: {given.api_version} {given.resource} is not served here")
    namespace, _, name = given.path.partition("/")
    check("get", ResourcePath(group, version, given.resource, namespace, name))
    return route[0], given.path, given.revision


def _result(result: Write | ApiError, item: _Item) -> bytes:
    if isinstance(result, ApiError):
        return b'{"code":%d,"object":%s}' % (result.code, encode(result.status()))
    value = codec.served(result.target.kind, result.target.version, result.value)
    return b'{"code":%d,"object":%s}' % (201 if item.verb == "create" else 200, value)
