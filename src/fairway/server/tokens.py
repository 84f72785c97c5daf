"""Tokens are issued here, and only here: the secret is made, hashed, and handed out once, in the answer to the request that made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET

from fairway.api import codec
from fairway.api.codec import Body
from fairway.api.errors import ApiError, invalid, not_found
from fairway.api.objects import Objects
from fairway.api.request import DeleteOptions, Options, Target, Write
from fairway.api.space import Space
from fairway.api.worker import Worker
from fairway.kinds.errors import FieldError, not_supported
from fairway.kinds.errors import invalid as invalid_field
from fairway.kinds.k8s.reviews.authentication import TokenRequest
from fairway.kinds.kind import Kind, Version
from fairway.kinds.own.token import NO_SECRET, TOKEN, TokenStatus, service_account_user
from fairway.kinds.types import Time, format_time, parse_time
from fairway.server.authn import ACCOUNTS, AUTHENTICATED, TOKENS, Authenticator, hash_of
from fairway.store import Record

PREFIX = "fwt_"
"""Tells people and secret scanners what they have found."""
AUDIENCES = ("fairway", "https://kubernetes.default.svc", "https://kubernetes.default.svc.cluster.local")
_SHOWN = len(PREFIX) + 6
_SECONDS_DEFAULT, _SECONDS_MIN, _SECONDS_MAX = 3600, 600, 1 << 32
_REQUEST = Kind(
    group="authentication.k8s.io",
    name="TokenRequest",
    plural="tokenrequests",
    versions=(Version("v1", TokenRequest),),
    native=True,
)


@dataclass(frozen=True, slots=True)
class Issued:
    """A token that is ready to be stored, and its secret. Commit `write`, then answer with `answer()`."""

    write: Write
    secret: str = field(repr=False)

    def answer(self) -> dict[str, Any]:
        """The object as it is served, secret included: the only place where it ever appears. A dry run has none."""
        obj: dict[str, Any] = codec.parse(
            codec.served(self.write.target.kind, self.write.target.version, self.write.value)
        )
        if self.secret:
            obj["status"]["token"] = self.secret
        return obj


def issue(objects: Objects, target: Target, body: Body, options: Options) -> Issued:
    """POST of a Token: whatever the body says about status, the secret is ours to choose."""
    write = objects.create(target, body, options)
    write.warnings = [warning for warning in write.warnings if warning != NO_SECRET]
    if write.op is None:
        return Issued(write, "")
    secret = PREFIX + objects.ids.secret()
    token = codec.stored(target.kind, write.value)
    token.status = TokenStatus(hash=hash_of(secret), prefix=secret[:_SHOWN])
    write.op.value = write.value = codec.write(target.kind, token)  # type: ignore[union-attr]
    return Issued(write, secret)


async def issue_token(
    objects: Objects,
    user: str,
    groups: tuple[str, ...] = (),
    *,
    name: str = "",
    description: str = "",
    expires: float | None = None,
    options: Options | None = None,
) -> tuple[str, str]:
    """A new token for a user: its name and its secret. expires: seconds since 1970."""
    spec: dict[str, Any] = {"user": user, "groups": list(groups), "description": description}
    if expires is not None:
        spec["expirationTimestamp"] = format_time(datetime.fromtimestamp(expires, UTC))
    metadata = {"name": name} if name else {"generateName": "token-"}
    body = {"metadata": metadata, "spec": {key: value for key, value in spec.items() if value}}
    issued = issue(objects, Target(TOKEN, TOKEN.versions[0]), body, options or Options())
    await objects.commit(issued.write)
    return issued.write.target.name, issued.secret


# --- tokens of service accounts -------------------------------------------------------------------------------------


async def request_token(objects: Objects, namespace: str, name: str, body: Body, options: Options) -> dict[str, Any]:
    """POST of a TokenRequest to serviceaccounts/NAME/token: the request, answered. Who may do that has been asked before."""
    read, _warnings = codec.read(_REQUEST, _REQUEST.versions[0], body, options.strictness)
    assert isinstance(read, TokenRequest)
    seconds = read.spec.expiration_seconds or _SECONDS_DEFAULT
    errors = _request_errors(read, seconds)
    if errors:
        raise invalid(_REQUEST, name, errors)
    record = _account(objects, namespace, name)
    until = format_time(datetime.fromtimestamp(objects.clock.now + seconds, UTC))
    answer: dict[str, Any] = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": str(objects.now())},
        "spec": {"audiences": list(read.spec.audiences) or [AUDIENCES[1]], "expirationSeconds": seconds},
        "status": {"token": "", "expirationTimestamp": str(until)},
    }
    token = _account_token(namespace, name, codec.glance(record.value).uid, until)
    # By the system, not by the caller: the right to create a token of this account is not the right to create any.
    own = Options(dry_run=options.dry_run, manager=options.manager)
    issued = issue(objects, Target(TOKEN, TOKEN.versions[0]), token, own)
    await objects.commit(issued.write)
    answer["status"]["token"] = issued.secret
    return answer


def _account(objects: Objects, namespace: str, name: str) -> Record:
    record = objects.store.latest(ACCOUNTS, f"{namespace}/{name}")
    kind = objects.registry.bucket(ACCOUNTS)
    assert kind is not None
    if record is None:
        raise not_found(kind, name)
    if codec.glance(record.value).deletion_timestamp:
        raise ApiError(409, "Conflict", f'serviceaccounts "{name}" is being deleted: it gets no new tokens')
    return record


def _account_token(namespace: str, name: str, uid: str, until: Time) -> dict[str, Any]:
    return {
        "metadata": {"generateName": f"{namespace}-{name}-"[:200]},
        "spec": {
            "user": service_account_user(namespace, name),
            "groups": [group for group in service_account_groups(namespace) if group != AUTHENTICATED],
            "description": f"requested for service account {namespace}/{name}",
            "expirationTimestamp": str(until),
            "serviceAccount": {"namespace": namespace, "name": name, "uid": uid},
        },
    }


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)


def _request_errors(request: TokenRequest, seconds: int) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, audience in enumerate(request.spec.audiences):
        if audience not in AUDIENCES:
            errors.append(not_supported(f"spec.audiences[{index}]", audience, AUDIENCES))
    if seconds < _SECONDS_MIN:
        errors.append(
            invalid_field("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        )
    if seconds > _SECONDS_MAX:
        errors.append(
            invalid_field("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        )
    if request.spec.bound_object_ref is not UNSET:
        kind = request.spec.bound_object_ref.kind
        errors.append(
            invalid_field("spec.boundObjectRef", kind, "tokens are bound to their service account only: leave it out")
        )
    return errors


# --- upkeep ---------------------------------------------------------------------------------------------------------


class TokenKeeper:
    """Notes when tokens were used, and clears away those that nobody can use any more."""

    def __init__(self, space: Space, authenticator: Authenticator, *, every_seconds: float = 60.0) -> None:
        self._space = space
        self._authenticator = authenticator
        self._worker = Worker("token-keeper", self.step, every_seconds)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    async def step(self) -> bool:
        objects = self._space.objects
        used = self._authenticator.take_used()
        prepare = []
        for record in self._space.store.records(TOKENS):
            if self._useless(record):
                prepare.append(lambda record=record: objects.delete(_target(record), DeleteOptions(), Options()))
            elif record.name in used:
                prepare.append(lambda record=record: self._note(record, used[record.name]))
        await objects.bulk(prepare)
        return False

    def _useless(self, record: Record) -> bool:
        """Tokens of service accounts go as soon as they end; those that people made stay to be seen for a day."""
        spec = codec.stored(TOKEN, record.value).spec
        until = parse_time(spec.expiration_timestamp).timestamp() if spec.expiration_timestamp else None
        now = self._space.clock.now
        if spec.service_account is UNSET:
            return until is not None and now > until + _KEPT_SECONDS
        account = self._space.store.get(ACCOUNTS, f"{spec.service_account.namespace}/{spec.service_account.name}")
        gone = account is None or codec.glance(account.value).uid != spec.service_account.uid
        return gone or (until is not None and now > until)

    def _note(self, record: Record, used: float) -> Write:
        target = _target(record, "status")
        token = codec.stored(TOKEN, record.value)
        last = parse_time(token.status.last_used).timestamp() if token.status.last_used else 0.0
        if used - last < _NOTED_SECONDS:
            return Write(target, None, record.value)
        token.status.last_used = format_time(datetime.fromtimestamp(used, UTC))
        return self._space.objects.replace(target, record, token, Options(), [])


_KEPT_SECONDS = 86_400.0
_NOTED_SECONDS = 600.0


def _target(record: Record, subresource: str = "") -> Target:
    return Target(TOKEN, TOKEN.versions[0], "", record.name, subresource)
