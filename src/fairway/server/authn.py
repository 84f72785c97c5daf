"""Who is asking: bearer tokens to callers.

Secrets are 256 random bits, so a fast hash is the right one: there is nothing to guess, and slow hashes only help what can be guessed.
Looking a hash up in a table tells an attacker nothing by its timing either: who cannot choose the hash cannot steer the comparison.
"""

from __future__ import annotations

import math
from hashlib import sha256

import msgspec

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.api.request import Caller
from fairway.kinds.types import parse_time
from fairway.runtime.clock import Clock
from fairway.server.tail import Tail
from fairway.store import Record, Store

TOKENS = "tokens.fairway.dev"
ACCOUNTS = "serviceaccounts"
AUTHENTICATED = "system:authenticated"
ANONYMOUS = Caller("system:anonymous", ("system:unauthenticated",))
"""Who asks without a token: may see what system:public-info-viewer shows, and nothing else unless a role says so."""
_HEADER_MAX = 1024


def unauthorized() -> ApiError:
    """The answer to a token that is not valid. It does not say why: whoever holds it may not be its owner."""
    return ApiError(
        401,
        "Unauthorized",
        "Unauthorized: the bearer token is unknown, expired or revoked; ask for a new one (fairway token create)",
    )


def hash_of(secret: str | bytes) -> str:
    return sha256(secret.encode() if isinstance(secret, str) else secret).hexdigest()


class _Account(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Spec(msgspec.Struct, rename="camel"):
    user: str = ""
    groups: list[str] = []
    expiration_timestamp: str = ""
    service_account: _Account | None = None


class _Status(msgspec.Struct):
    hash: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    deletion_timestamp: str | None = None


class _Stored(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


_decoder = msgspec.json.Decoder(_Stored)


class _Entry:
    """A token that is known. Plain attributes, no repr: `headers` holds what callers sent, secret included."""

    __slots__ = ("account", "caller", "expires", "hash", "headers", "name", "until", "used")

    def __init__(self, stored: _Stored) -> None:
        spec = stored.spec
        self.name = stored.metadata.name
        self.hash = stored.status.hash
        self.caller = Caller(spec.user, tuple(dict.fromkeys((*spec.groups, AUTHENTICATED))))
        self.account = spec.service_account
        self.expires = parse_time(spec.expiration_timestamp).timestamp() if spec.expiration_timestamp else math.inf
        self.until = self.expires
        self.headers: list[bytes] = []
        self.used = 0.0


class Authenticator:
    """The tokens of one space, always as fresh as what readers of the store see: a token is revoked once its deletion is acknowledged."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._tail = Tail(store, (TOKENS, ACCOUNTS))
        self._by_hash: dict[str, _Entry] = {}
        self._by_path: dict[str, _Entry] = {}
        self._by_header: dict[bytes, _Entry] = {}
        self._by_account: dict[str, list[_Entry]] = {}
        self._rebuild()

    def caller(self, authorization: bytes) -> Caller | None:
        """Whom a request with this Authorization header comes from; None: the token is not valid (unauthorized)."""
        if self._store.revision != self._tail.revision:
            self._catch_up()
        entry = self._by_header.get(authorization) or self._recognise(authorization)
        if entry is None:
            return None
        now = self._clock.now
        if now >= entry.until:
            return None
        entry.used = now
        return entry.caller

    def authenticate(self, secret: str) -> Caller | None:
        """Whom a bare token speaks for."""
        if self._store.revision != self._tail.revision:
            self._catch_up()
        entry = self._by_hash.get(hash_of(secret)) if len(secret) <= _HEADER_MAX else None
        return entry.caller if entry is not None and self._clock.now < entry.until else None

    def take_used(self) -> dict[str, float]:
        """Names of the tokens that were used since the last call, and when: for status.lastUsed."""
        used = {entry.name: entry.used for entry in self._by_path.values() if entry.used}
        for entry in self._by_path.values():
            entry.used = 0.0
        return used

    def _recognise(self, authorization: bytes) -> _Entry | None:
        scheme, _space, secret = authorization.partition(b" ")
        secret = secret.strip()
        if len(authorization) > _HEADER_MAX or not secret or scheme.lower() != b"bearer":
            return None
        entry = self._by_hash.get(hash_of(secret))
        # Only what is valid is remembered, and only as sent by most: others cannot fill the memory.
        if entry is not None and not entry.headers:
            entry.headers.append(authorization)
            self._by_header[authorization] = entry
        return entry

    # --- index ----------------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        events = self._tail.poll()
        if events is None:
            self._rebuild()
            return
        for event in events:
            record = event.record
            if record.bucket == ACCOUNTS:
                self._review(record.path)
            else:
                self._drop(record.path)
                if not event.deleted:
                    self._add(record)

    def _rebuild(self) -> None:
        for index in (self._by_hash, self._by_path, self._by_header, self._by_account):
            index.clear()
        for record in self._store.records(TOKENS):
            self._add(record)

    def _add(self, record: Record) -> None:
        stored = _decoder.decode(record.value)
        if not stored.status.hash or stored.metadata.deletion_timestamp:
            return
        entry = _Entry(stored)
        self._by_path[record.path] = entry
        self._by_hash[entry.hash] = entry
        if entry.account is not None:
            self._by_account.setdefault(entry.account.path, []).append(entry)
            self._review(entry.account.path)

    def _drop(self, path: str) -> None:
        entry = self._by_path.pop(path, None)
        if entry is None:
            return
        if self._by_hash.get(entry.hash) is entry:
            del self._by_hash[entry.hash]
        for header in entry.headers:
            del self._by_header[header]
        if entry.account is not None:
            siblings = self._by_account[entry.account.path]
            siblings.remove(entry)
            if not siblings:
                del self._by_account[entry.account.path]

    def _review(self, path: str) -> None:
        """Tokens of a service account are valid while that very account is there."""
        entries = self._by_account.get(path)
        if not entries:
            return
        record = self._store.get(ACCOUNTS, path)
        meta = codec.glance(record.value) if record is not None else None
        uid = meta.uid if meta is not None and not meta.deletion_timestamp else ""
        for entry in entries:
            entry.until = entry.expires if entry.account is not None and entry.account.uid == uid else -math.inf
