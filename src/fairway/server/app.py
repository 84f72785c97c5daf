"""The ASGI application of a node: from a connection's request to one of its spaces.

In front of everything stand the limits (how many at once, how long, how large), then who it is, then whether they may.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from fairway import __version__
from fairway.api import selectors
from fairway.api.errors import ApiError, bad_request
from fairway.api.request import Caller, Target
from fairway.api.space import Space
from fairway.kinds.k8s.core.kinds import POD
from fairway.kinds.own.token import TOKEN
from fairway.server import explanations, visibility
from fairway.server.bulk import PATH as BULK_PATH
from fairway.server.bulk import bulk
from fairway.server.deadlines import Deadlines
from fairway.server.discovery import Discovery
from fairway.server.explanations import Explain
from fairway.server.http import Receive, Request, Scope, Send, respond_error
from fairway.server.metrics import Metrics
from fairway.server.negotiate import DEFAULT, Accepted, accept
from fairway.server.openapi import OpenApi
from fairway.server.outputs import PATH as OUTPUTS_PATH
from fairway.server.outputs import outputs
from fairway.server.podlogs import LogsElsewhere, LogSource, pod_log
from fairway.server.resources import Resources
from fairway.server.routes import ResourcePath, resource_path

log = logging.getLogger("fairway.server")

KUBERNETES_MINOR = 32
"""The Kubernetes version that we say we are: the newest whose kubectl we test on both sides of."""
IN_FLIGHT_MAX = 400
WATCHES_MAX = 10_000
REQUEST_SECONDS_MAX = 60
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COUNTED_VERBS = {*_VERBS.values(), "list", "watch", "deletecollection"}
AUTHORITY_PATH = "/ca.crt"
_PUBLIC = {"/healthz", "/livez", "/readyz", "/version", AUTHORITY_PATH}


class Access(Protocol):
    """Who a caller is and what they may do, in one space."""

    def authenticate(self, request: Request) -> Caller:
        """Raises a 401 for a token that is not valid."""
        ...

    def authorize(self, caller: Caller, verb: str, path: ResourcePath, url: str) -> None:
        """Raises a 403 that says what is missing."""
        ...

    def may(self, caller: Caller, verb: str, path: ResourcePath) -> bool: ...

    async def answer(self, request: Request, path: ResourcePath) -> bool:
        """Answer an access or token review, or issue a token; False if the request is none of these."""
        ...


class Served:
    """A space with what answers for it."""

    def __init__(
        self,
        space: Space,
        access: Access,
        logs: LogSource | None = None,
        explain: Explain | None = None,
        queues: visibility.Queues | None = None,
        elsewhere: LogsElsewhere | None = None,
    ) -> None:
        self.space = space
        self.access = access
        self.logs = logs
        self.elsewhere = elsewhere
        self.explain = explain
        self.queues = queues
        self.resources = Resources(space)
        self.discovery = Discovery(space.registry)
        self.openapi = OpenApi(space.registry)
        self.prefix = ""


class App:
    """One ASGI application for all spaces of a node: the first at the root, each under /spaces/NAME."""

    def __init__(self, spaces: Sequence[Served]) -> None:
        self._default = spaces[0]
        self._spaces = {f"/spaces/{served.space.name}": served for served in spaces}
        for prefix, served in self._spaces.items():
            served.prefix = prefix
        self.metrics = Metrics([served.space for served in spaces])
        for served in spaces:
            if served.queues is not None:
                self.metrics.queues.add(served.space.name, served.queues.measures)
        self._deadlines = Deadlines(REQUEST_SECONDS_MAX)
        self.ready = False
        self.authority = b""
        """Who signed the node's certificate, PEM. Public: who joins a hub compares its hash with the one in the invitation."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        served, prefix = self._default, ""
        if path.startswith("/spaces/"):
            name, path = _split_space(path)
            found = self._spaces.get(name)
            if found is None:
                await respond_error(Request(scope, receive, send, path), _no_space(name, list(self._spaces)))
                return
            served, prefix = found, name
        request = Request(scope, receive, send, path)
        try:
            await self._answer(served, request, prefix)
        except ApiError as error:
            await self._refuse(request, error)
        except TimeoutError:
            seconds = f"the request took longer than {REQUEST_SECONDS_MAX} s; what it asked for may still happen"
            await self._refuse(request, ApiError(504, "Timeout", seconds, retry_after=1))
        except RecursionError:
            await self._refuse(request, bad_request("the body is nested too deeply to be an object"))
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("unexpected error on %s %s", request.method, request.path)
            await self._refuse(
                request,
                ApiError(500, "InternalError", "an unexpected error happened; the node's log has the details"),
            )

    async def _refuse(self, request: Request, error: ApiError) -> None:
        if request.started:
            return
        await respond_error(request, error)

    async def _answer(self, served: Served, request: Request, prefix: str) -> None:
        path = request.path
        if path in _PUBLIC or path == "/version/":
            await self._public(request, served)
            return
        request.caller = served.access.authenticate(request)
        resource = resource_path(path)
        if resource is None:
            served.access.authorize(request.caller, request.method.lower(), _NO_RESOURCE, path)
            await self._document(served, request, prefix)
            return
        verb = _verb(request, resource)
        if verb == "watch" or resource.subresource == "log":
            await self._stream(served, request, resource, verb)
            return
        if self.metrics.in_flight >= IN_FLIGHT_MAX:
            raise ApiError(
                429, "TooManyRequests", "too many requests at once; wait a moment and try again", retry_after=1
            )
        await self._bounded(served, request, resource, verb)

    async def _bounded(self, served: Served, request: Request, resource: ResourcePath, verb: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        loop, metrics = task.get_loop(), self.metrics
        metrics.in_flight += 1
        started = loop.time()
        self._deadlines.begin(task, started)
        code = 200
        try:
            await self._resource(served, request, resource, verb)
        except ApiError as error:
            code = error.code
            if request.method not in ("GET", "HEAD") and code < 500:
                await served.space.store.settled()
            raise
        except asyncio.CancelledError:
            if not self._deadlines.ended(task):
                raise
            code = 504
            raise TimeoutError from None
        finally:
            self._deadlines.end(task)
            metrics.in_flight -= 1
            verb, name = _counted(served, resource, verb)
            metrics.count(verb, name, code)
            metrics.time(verb, name, loop.time() - started)

    async def _stream(self, served: Served, request: Request, resource: ResourcePath, verb: str) -> None:
        """Watches and logs: they take as long as they take."""
        if self.metrics.watchers >= WATCHES_MAX:
            raise ApiError(429, "TooManyRequests", "too many open watches on this node", retry_after=5)
        self.metrics.watchers += 1
        try:
            await self._resource(served, request, resource, verb)
        finally:
            self.metrics.watchers -= 1
            self.metrics.count(*_counted(served, resource, verb), 200)

    async def _resource(self, served: Served, request: Request, path: ResourcePath, verb: str) -> None:
        if path == BULK_PATH and request.method == "POST":
            await bulk(
                served.space,
                request,
                lambda verb, item: served.access.authorize(request.caller, verb, item, request.path),
            )
            return
        if path == OUTPUTS_PATH and request.method == "POST":
            await outputs(
                served.space,
                served.logs,
                request,
                lambda verb, item: served.access.authorize(request.caller, verb, item, request.path),
            )
            return
        if explanations.is_explanation(path):
            served.access.authorize(request.caller, verb, explanations.as_workload(path), request.path)
            await explanations.answer(served.space, request, path, served.explain, served.access.may)
            return
        if visibility.is_visibility(path):
            served.access.authorize(request.caller, verb, path, request.path)
            await visibility.answer(request, path, served.queues)
            return
        route = served.space.registry.route(path.group, path.version, path.resource)
        meant, access = _narrowed(request, path), served.access
        access.authorize(request.caller, verb, meant, request.path)
        if verb == "watch":
            request.verify = lambda: access.authorize(access.authenticate(request), verb, meant, request.path)
        special = path.subresource not in ("", "status") or route is None or route[0] is TOKEN
        if special and await served.access.answer(request, path):
            return
        if route is None:
            raise _unknown(served, path)
        kind, version = route
        if path.namespace and not kind.namespaced:
            raise _unknown(served, path)
        if path.subresource and path.subresource not in kind.subresources:
            raise _unknown(served, path)
        target = Target(kind, version, path.namespace, path.name, path.subresource)
        if kind is POD and path.subresource == "log":
            await pod_log(served.space, served.logs, served.elsewhere, request, target)
            return
        await served.resources.handle(request, target, self._accepted(request))

    def _accepted(self, request: Request) -> Accepted:
        header = request.headers.get(b"accept")
        if header is None:
            return DEFAULT
        accepted = accept(header.decode("latin-1"))
        if accepted is None:
            raise ApiError(
                406,
                "NotAcceptable",
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
            )
        return accepted

    # --- documents ------------------------------------------------------------------------------------------------

    async def _public(self, request: Request, served: Served) -> None:
        if request.path.startswith("/version"):
            await request.respond_json(version_info())
            return
        if request.path == AUTHORITY_PATH:
            await request.respond(200 if self.authority else 404, self.authority or b"no TLS here", _TEXT)
            return
        if request.path == "/readyz":
            broken = next((why for each in self._spaces.values() if (why := each.space.store.broken)), "")
            if not self.ready or broken:
                await request.respond(503, (broken or "starting").encode(), _TEXT)
                return
        await request.respond(200, b"ok", _TEXT)

    async def _document(self, served: Served, request: Request, prefix: str) -> None:
        path = request.path.rstrip("/") or "/"
        if request.method not in ("GET", "HEAD"):
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        if path == "/metrics":
            await request.respond(200, self.metrics.render(), _METRICS)
        elif path == "/openapi/v3":
            await request.respond_json(served.openapi.index(prefix))
        elif path.startswith("/openapi/v3/"):
            await self._openapi(served, request, path.removeprefix("/openapi/v3/"))
        elif path in ("/api", "/apis"):
            await self._discovery(served, request, core=path == "/api")
        elif path == "/":
            await request.respond_json({"paths": sorted(["/api", "/apis", "/metrics", "/openapi/v3", *_PUBLIC])})
        else:
            await self._older_discovery(served, request, path)

    async def _openapi(self, served: Served, request: Request, name: str) -> None:
        try:
            body, etag = served.openapi.document(name)
        except KeyError:
            await _not_found(request)
            return
        wanted = request.query.get("hash")
        # Without a hash, or with an old one, the answer may change; kubectl keeps the other kind for good.
        cache = b"public, max-age=31536000, immutable" if wanted == etag else b"no-cache"
        headers = [(b"content-type", b"application/json"), (b"cache-control", cache), (b"etag", f'"{etag}"'.encode())]
        if request.header(b"if-none-match") == f'"{etag}"':
            await request.respond(304, b"", headers)
            return
        await request.respond(200, body, [*headers, (b"vary", b"Accept")])

    async def _discovery(self, served: Served, request: Request, *, core: bool) -> None:
        accepted = accept(request.header(b"accept")) or DEFAULT
        if accepted.shape == "APIGroupDiscoveryList":
            body, etag = served.discovery.aggregated(core=core, version=accepted.version)
            media = f"application/json;g=apidiscovery.k8s.io;v={accepted.version};as=APIGroupDiscoveryList"
        else:
            body, etag = served.discovery.core_versions() if core else served.discovery.groups()
            media = "application/json"
        await _cached(request, body, etag, media)

    async def _older_discovery(self, served: Served, request: Request, path: str) -> None:
        parts = path.strip("/").split("/")
        found = None
        if parts[0] == "api" and len(parts) == 2:
            found = served.discovery.resources("", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            found = served.discovery.group(parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found = served.discovery.resources(parts[1], parts[2])
        if found is None:
            await _not_found(request)
            return
        await _cached(request, *found, "application/json")


_TEXT = [(b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff")]
_METRICS = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
_NO_RESOURCE = ResourcePath("", "", "")
_NAMING = ("metadata.name", "metadata.namespace")


def version_info() -> dict[str, str]:
    return {
        "major": "1",
        "minor": str(KUBERNETES_MINOR),
        "gitVersion": f"v1.{KUBERNETES_MINOR}.0+fairway-{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def _verb(request: Request, path: ResourcePath) -> str:
    verb = _VERBS.get(request.method, request.method.lower())
    if path.name:
        return verb
    if verb == "get":
        return "watch" if _watches(request) else "list"
    return "deletecollection" if verb == "delete" else verb


def _watches(request: Request) -> bool:
    # A HEAD has no body that could go on.
    return bool(request.scope["query_string"]) and request.flag("watch") and request.method == "GET"


def _counted(served: Served, path: ResourcePath, verb: str) -> tuple[str, str]:
    """Verb and resource as metrics know them: what anybody can make up counts as one thing, or it would fill the memory."""
    known = served.space.registry.route(path.group, path.version, path.resource) is not None
    return (verb if verb in _COUNTED_VERBS else "other"), path.resource if known else "other"


def _narrowed(request: Request, path: ResourcePath) -> ResourcePath:
    """A list or watch of one object by its name counts as being about that object: roles may name it."""
    if path.name or b"fieldSelector" not in request.scope["query_string"]:
        return path
    try:
        fields = selectors.parse_fields(request.query.get("fieldSelector", ""), _NAMING, path.resource)
    except selectors.SelectorError:
        return path
    name = fields.exact("metadata.name")
    return path._replace(name=name) if name else path


def _split_space(path: str) -> tuple[str, str]:
    name, _slash, rest = path.removeprefix("/spaces/").partition("/")
    return f"/spaces/{name}", f"/{rest}"


def _no_space(prefix: str, known: list[str]) -> ApiError:
    return ApiError(404, "NotFound", f"this node serves no space {prefix!r}; it serves {', '.join(known)}")


def _unknown(served: Served, path: ResourcePath) -> ApiError:
    shown = f"{path.group}/{path.version}" if path.group else path.version
    meant = served.space.registry.close_to(path.resource) if not path.subresource else ""
    hint = f"; did you mean {meant}?" if meant and meant != path.resource else ""
    what = f"{path.resource}/{path.subresource}" if path.subresource else path.resource
    return ApiError(
        404, "NotFound", f"the server could not find the requested resource {what} in {shown}{hint}", details={}
    )


async def _cached(request: Request, body: bytes, etag: str, media: str) -> None:
    headers = [
        (b"content-type", media.encode()),
        (b"cache-control", b"public"),
        (b"etag", etag.encode()),
        (b"vary", b"Accept"),
    ]
    if request.header(b"if-none-match") == etag:
        await request.respond(304, b"", headers)
    else:
        await request.respond(200, body, headers)


async def _not_found(request: Request) -> None:
    await request.respond(404, b"404 page not found\n", _TEXT)
