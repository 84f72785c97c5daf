"""Whose token is this: known ones at once, revoked ones no more, secrets nowhere to be seen."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from fairway.api.request import Caller
from fairway.runtime.ids import SeededIds
from fairway.server.authn import ACCOUNTS, TOKENS, Authenticator, hash_of, unauthorized
from fairway.store import Delete, Put, Store

SECRET = "fwt_" + SeededIds(1).secret()
# Seeded: test runners that share the work must agree on the names of the tests.
HEADER = f"Bearer {SECRET}".encode()
ALICE = Caller("alice", ("devs", "system:authenticated"))


class FakeClock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.monotonic = 0.0


def token(name: str = "t", secret: str = SECRET, **spec: Any) -> Put:
    value = {
        "metadata": {"name": name},
        "spec": {"user": "alice", "groups": ["devs"], **spec},
        "status": {"hash": hash_of(secret), "prefix": secret[:10]},
    }
    return Put(TOKENS, f"/{name}", msgspec.json.encode(value))


def account(uid: str, **metadata: Any) -> Put:
    value = {"metadata": {"uid": uid, "name": "robot", "namespace": "team-a", **metadata}}
    return Put(ACCOUNTS, "team-a/robot", msgspec.json.encode(value))


def test_a_valid_token_is_its_user_with_groups() -> None:
    async def body() -> None:
        store = Store()
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) is None
        await store.commit([token()])
        for _ in range(2):
            assert authenticator.caller(HEADER) == ALICE
        assert authenticator.caller(f"bearer   {SECRET} ".encode()) == ALICE
        assert authenticator.authenticate(SECRET) == ALICE
        assert Authenticator(store, FakeClock()).caller(HEADER) == ALICE

    asyncio.run(body())


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic " + SECRET.encode(),
        SECRET.encode(),
        HEADER[:-1],
        HEADER + b"x",
        b"Bearer " + SECRET[::-1].encode(),
        b"Bearer " + hash_of(SECRET).encode(),
        b"Bearer \xff\xfe\x00",
        b"Bearer " + b"x" * 100_000,
        b"Bearer " + SECRET.upper().encode(),
    ],
)
def test_anything_but_the_whole_token_is_nobody(header: bytes) -> None:
    async def body() -> None:
        store = Store()
        await store.commit([token()])
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) == ALICE
        assert authenticator.caller(header) is None
        assert authenticator.authenticate(header.decode("latin-1")) == (ALICE if header == SECRET.encode() else None)

    asyncio.run(body())


def test_a_token_expires() -> None:
    async def body() -> None:
        store, clock = Store(), FakeClock()
        await store.commit([token(expirationTimestamp="2027-01-15T08:00:10Z")])
        authenticator = Authenticator(store, clock)
        clock.now = 1_800_000_009.9
        assert authenticator.caller(HEADER) == ALICE
        clock.now = 1_800_000_010.0
        assert authenticator.caller(HEADER) is None
        assert authenticator.authenticate(SECRET) is None

    asyncio.run(body())


def test_a_token_is_revoked_at_once() -> None:
    async def body() -> None:
        store = Store()
        await store.commit([token(), token("other", "fwt_other", user="bob", groups=[])])
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) == ALICE
        await store.commit([Delete(TOKENS, "/t")])
        assert authenticator.caller(HEADER) is None
        assert authenticator.authenticate(SECRET) is None
        assert authenticator.authenticate("fwt_other") == Caller("bob", ("system:authenticated",))
        await store.commit([token()])
        assert authenticator.caller(HEADER) == ALICE

    asyncio.run(body())


def test_a_token_that_is_being_deleted_is_revoked() -> None:
    async def body() -> None:
        store = Store()
        await store.commit([token()])
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) == ALICE
        marked = msgspec.json.decode(token().value)
        marked["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
        await store.commit([Put(TOKENS, "/t", msgspec.json.encode(marked))])
        assert authenticator.caller(HEADER) is None

    asyncio.run(body())


def test_a_token_of_a_service_account_ends_with_it() -> None:
    robot = Caller("system:serviceaccount:team-a:robot", ("system:serviceaccounts", "system:authenticated"))

    async def body() -> None:
        store = Store()
        bound = {"namespace": "team-a", "name": "robot", "uid": "u1"}
        await store.commit([token(user=robot.user, groups=["system:serviceaccounts"], serviceAccount=bound)])
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) is None
        await store.commit([account("u1")])
        assert authenticator.caller(HEADER) == robot
        await store.commit([account("u1", labels={"a": "b"})])
        assert authenticator.caller(HEADER) == robot
        await store.commit([account("u1", deletionTimestamp="2027-01-15T08:00:00Z")])
        assert authenticator.caller(HEADER) is None
        await store.commit([account("u1")])
        await store.commit([Delete(ACCOUNTS, "team-a/robot")])
        assert authenticator.caller(HEADER) is None
        await store.commit([account("u2")])
        assert authenticator.caller(HEADER) is None

    asyncio.run(body())


def test_a_history_that_was_cut_off_does_not_keep_a_revoked_token() -> None:
    async def body() -> None:
        store = Store(history_events=10)
        await store.commit([token()])
        authenticator = Authenticator(store, FakeClock())
        assert authenticator.caller(HEADER) == ALICE
        await store.commit([Delete(TOKENS, "/t")])
        for number in range(600):
            await store.commit([token("n", f"fwt_{number}")])
        assert authenticator.caller(HEADER) is None
        assert authenticator.authenticate("fwt_599") == ALICE

    asyncio.run(body())


def test_use_is_noted() -> None:
    async def body() -> None:
        store, clock = Store(), FakeClock()
        await store.commit([token(), token("other", "fwt_other")])
        authenticator = Authenticator(store, clock)
        assert authenticator.take_used() == {}
        authenticator.caller(HEADER)
        clock.now += 5
        authenticator.caller(HEADER)
        assert authenticator.take_used() == {"t": clock.now}
        assert authenticator.take_used() == {}

    asyncio.run(body())


def test_no_secret_shows_in_any_text(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        caplog.set_level(logging.DEBUG)
        store = Store()
        await store.commit([token()])
        authenticator = Authenticator(store, FakeClock())
        caller = authenticator.caller(HEADER)
        entry = authenticator._by_header[HEADER]
        for thing in (authenticator, entry, caller, unauthorized(), unauthorized().status(), store.get(TOKENS, "/t")):
            assert SECRET not in f"{thing!r} {thing!s}"
            assert SECRET[10:] not in repr(thing)

    asyncio.run(body())
    assert SECRET not in caplog.text
