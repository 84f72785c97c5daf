"""Authentication and authorization of one space, put together for its requests."""

from __future__ import annotations

from fairway.api.errors import method_not_allowed
from fairway.api.request import Caller, Target
from fairway.api.space import Space
from fairway.kinds import schema
from fairway.kinds.k8s.reviews.authentication import TokenRequest
from fairway.kinds.own.token import TOKEN
from fairway.kinds.types import encode
from fairway.server import impersonation, tokens
from fairway.server.authn import ANONYMOUS, Authenticator, unauthorized
from fairway.server.bodies import read_body
from fairway.server.http import Request, headers_for
from fairway.server.negotiate import JSON
from fairway.server.options import write_options
from fairway.server.rbac import Attributes, Authorizer
from fairway.server.rbac.escalation import guard
from fairway.server.reviews import REVIEWS
from fairway.server.routes import ResourcePath


class SpaceAccess:
    """Who asks, whether they may, and the requests that are about just that. Make it once the space's store is open."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.authenticator = Authenticator(space.store, space.clock)
        self.authorizer = Authorizer(space.store)
        space.objects.hooks.append(guard(self.authorizer))

    def authenticate(self, request: Request) -> Caller:
        """Raises 401 for a token that is not valid. Without any, the caller is anonymous."""
        headers = request.headers
        authorization = headers.get(b"authorization")
        caller = ANONYMOUS if authorization is None else self.authenticator.caller(authorization)
        if caller is None:
            raise unauthorized()
        if impersonation.USER in headers or impersonation.GROUP in headers:
            return impersonation.impersonated(caller, request.scope["headers"], self.authorizer)
        return caller

    def authorize(self, caller: Caller, verb: str, path: ResourcePath, url: str) -> None:
        """Raises 403 unless the caller may do that. url counts where the path is no resource."""
        asked = _attributes(caller, verb, path) if path.resource else Attributes(caller, verb, path=url)
        self.authorizer.require(asked)

    def may(self, caller: Caller, verb: str, path: ResourcePath) -> bool:
        return self.authorizer.allowed(_attributes(caller, verb, path)).allowed

    async def answer(self, request: Request, path: ResourcePath) -> bool:
        """Answer a review, or a request that issues a token; False if it is neither."""
        if self._is_review(path):
            await self._review(request, path)
        elif (path.group, path.resource, path.subresource) == ("", "serviceaccounts", "token"):
            await self._request_token(request, path)
        elif request.method == "POST" and (path.group, path.resource) == (TOKEN.group, TOKEN.plural) and not path.name:
            await self._create_token(request)
        else:
            return False
        return True

    def _is_review(self, path: ResourcePath) -> bool:
        found = REVIEWS.get((path.group, path.resource))
        if found is None or path.version != found[0].versions[0].name:
            return False
        return found[0].namespaced == bool(path.namespace) and not path.name

    async def _review(self, request: Request, path: ResourcePath) -> None:
        if request.method != "POST":
            raise method_not_allowed()
        kind, answer = REVIEWS[path.group, path.resource]
        data = await request.body()
        body = read_body(request.header(b"content-type"), data, kind.versions[0].node, native=True)
        result = answer(body, request.caller, path.namespace, self.authorizer, self.authenticator)
        await request.respond_json(result, 201)

    async def _request_token(self, request: Request, path: ResourcePath) -> None:
        if request.method != "POST":
            raise method_not_allowed()
        data = await request.body()
        body = read_body(request.header(b"content-type"), data, schema.of(TokenRequest), native=True)
        options = write_options(request)
        result = await tokens.request_token(self.space.objects, path.namespace, path.name, body, options)
        await request.respond_json(result, 201)

    async def _create_token(self, request: Request) -> None:
        data = await request.body()
        version = TOKEN.versions[0]
        body = read_body(request.header(b"content-type"), data, version.node, native=False)
        issued = tokens.issue(self.space.objects, Target(TOKEN, version), body, write_options(request))
        await self.space.objects.commit(issued.write)
        await request.respond(201, encode(issued.answer()), headers_for(JSON, issued.write.warnings))


def _attributes(caller: Caller, verb: str, path: ResourcePath) -> Attributes:
    # A namespace counts as being inside itself, as in Kubernetes.
    itself = path.resource == "namespaces" and not path.group
    namespace = path.name if itself else path.namespace
    return Attributes(caller, verb, path.group, path.resource, path.subresource, namespace, path.name)
