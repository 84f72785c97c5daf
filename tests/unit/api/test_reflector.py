"""A reflector's handler sees every object's last state, whatever the connection does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api import bootstrap
from fairway.api.client import EVERYWHERE, Item, Listing, Query, Resource, WatchEvent
from fairway.api.errors import ApiError, expired, too_large_revision
from fairway.api.local import LocalClient
from fairway.api.reflector import Pace, Reflector
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

CONFIGMAPS = Resource("", "v1", "configmaps")


class ScriptEnds(Exception):
    """The test's server has nothing more to say."""


def item(name: str, revision: int | str, uid: str = "", **more: Any) -> Item:
    metadata = {"name": name, "namespace": "n", "uid": uid or f"uid-{name}", "resourceVersion": str(revision)}
    return Item(msgspec.json.encode({"metadata": metadata, **more}))


def event(kind: str, name: str, revision: int | str, uid: str = "") -> WatchEvent:
    return WatchEvent(kind, item(name, revision, uid))  # type: ignore[arg-type]


def error_event(error: ApiError) -> WatchEvent:
    return WatchEvent("ERROR", Item(msgspec.json.encode(error.status())))


Told = list[tuple[str, ...]]


class Recorder:
    def __init__(self) -> None:
        self.told: Told = []

    def added(self, item: Item) -> None:
        self.told.append(("added", *_name(item)))

    def modified(self, before: Item, item: Item) -> None:
        self.told.append(("modified", *_name(before), _name(item)[1]))

    def deleted(self, item: Item) -> None:
        self.told.append(("deleted", *_name(item)))


def _name(item: Item) -> tuple[str, str]:
    metadata = item.json()["metadata"]
    return metadata["name"], metadata["resourceVersion"]


class Script:
    """A server that answers lists and watches from a script, and keeps a log of what it was asked."""

    def __init__(self, lists: list[Any], watches: list[list[Any]]) -> None:
        self.lists = list(lists)
        self.watches = list(watches)
        self.asked: list[str] = []
        self.closed = 0

    async def list(
        self, resource: Resource, query: Query = EVERYWHERE, *, limit: int = 0, resume: str = "", revision: str = ""
    ) -> Listing:
        self.asked.append(f"list {resume}".strip() if limit else f"list all {resume}".strip())
        if not self.lists:
            raise ScriptEnds
        answer = self.lists.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        assert isinstance(answer, Listing)
        return answer

    async def watch(
        self, resource: Resource, query: Query = EVERYWHERE, *, revision: str = "", seconds: int = 0
    ) -> AsyncIterator[WatchEvent]:
        self.asked.append(f"watch {revision}")
        assert 300 <= seconds < 600
        if not self.watches:
            raise ScriptEnds
        try:
            for each in self.watches.pop(0):
                if isinstance(each, Exception):
                    raise each
                yield each
        finally:
            self.closed += 1


class Run:
    """A reflector run to the end of a script."""

    def __init__(
        self, lists: list[Any], watches: list[list[Any]], uniform: float = 0.0, *, confirm: bool = False
    ) -> None:
        self.server = Script(lists, watches)
        self.handler = Recorder()
        self.slept: list[float] = []
        self.troubles: list[int] = []

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        self.reflector = Reflector(
            self.server,  # type: ignore[arg-type]
            CONFIGMAPS,
            self.handler,
            sleep=sleep,
            uniform=lambda: uniform,
            on_trouble=lambda error: self.troubles.append(-1 if error is None else error.code),
            confirm=confirm,
        )
        with pytest.raises(ScriptEnds):
            asyncio.run(self.reflector.run())

    @property
    def told(self) -> Told:
        return self.handler.told

    @property
    def asked(self) -> list[str]:
        return self.server.asked


A5 = Listing([item("a", 5)], "9")
UNREACHABLE = ApiError(0, "Unreachable", "the stream broke off")


def test_objects_are_listed_told_and_then_watched_from_the_revision_of_the_list() -> None:
    run = Run([A5], [[event("ADDED", "b", 10), event("MODIFIED", "a", 11), event("DELETED", "b", 12)]])
    assert run.told == [("added", "a", "5"), ("added", "b", "10"), ("modified", "a", "5", "11"), ("deleted", "b", "12")]
    assert run.asked == ["list", "watch 9", "watch 12"]
    assert run.reflector.synced.is_set()
    assert [_name(each) for each in run.reflector.items.values()] == [("a", "11")]
    found = run.reflector.get("a", "n")
    assert found is not None
    assert _name(found) == ("a", "11")
    assert run.reflector.get("b", "n") is None


def test_a_list_in_pages_is_told_as_one() -> None:
    run = Run([Listing([item("a", 1)], "9", "more"), Listing([item("b", 2)], "9")], [[]])
    assert run.asked[:2] == ["list", "list more"]
    assert run.told == [("added", "a", "1"), ("added", "b", "2")]


def test_a_list_that_expires_between_pages_is_asked_for_whole() -> None:
    run = Run([Listing([item("a", 1)], "9", "more"), expired("too old"), Listing([item("b", 2)], "12")], [[]])
    assert run.asked[:4] == ["list", "list more", "list all", "watch 12"]
    assert run.told == [("added", "b", "2")]


def test_a_410_in_the_stream_leads_to_a_new_list_and_missed_deletes_are_told() -> None:
    changed = Listing([item("c", 20), item("a", 21)], "30")
    run = Run(
        [Listing([item("a", 5), item("b", 6)], "9"), changed],
        [[event("MODIFIED", "b", 10), error_event(expired("old"))]],
    )
    assert run.told[2:] == [
        ("modified", "b", "6", "10"),
        ("deleted", "b", "10"),
        ("added", "c", "20"),
        ("modified", "a", "5", "21"),
    ]
    assert run.asked == ["list", "watch 9", "list", "watch 30"]
    assert run.slept == []


def test_a_410_of_the_watch_request_itself_leads_to_a_new_list() -> None:
    run = Run([A5, Listing([item("a", 5)], "40")], [[expired("old")]])
    assert run.asked == ["list", "watch 9", "list", "watch 40"]
    assert run.told == [("added", "a", "5")]


def test_410s_without_anything_in_between_are_not_answered_in_a_hurry() -> None:
    run = Run([A5, A5, A5], [[expired("old")], [expired("old")], [expired("old")]])
    assert run.slept == [1.0, 2.0]


def test_an_object_made_anew_under_its_old_name_is_deleted_and_added() -> None:
    run = Run(
        [A5, Listing([item("a", 20, uid="other")], "30")], [[expired("old")], [event("ADDED", "a", 31, uid="third")]]
    )
    assert run.told == [
        ("added", "a", "5"),
        ("deleted", "a", "5"),
        ("added", "a", "20"),
        ("deleted", "a", "20"),
        ("added", "a", "31"),
    ]


def test_a_stream_that_ends_is_resumed_from_the_last_event() -> None:
    run = Run([A5], [[event("ADDED", "b", 10)], [event("ADDED", "c", 11)]])
    assert run.asked == ["list", "watch 9", "watch 10", "watch 11"]
    assert run.slept == []


def test_a_stream_that_breaks_off_is_resumed_after_a_pause() -> None:
    run = Run([A5], [[event("ADDED", "b", 10), UNREACHABLE]])
    assert run.asked == ["list", "watch 9", "watch 10"]
    assert run.slept == [0.5]
    assert run.server.closed == 1


def test_who_waits_to_hear_that_the_server_is_back_need_not_wait_for_an_event() -> None:
    run = Run([A5, UNREACHABLE, A5], [[UNREACHABLE], []], confirm=True)
    assert run.asked == ["list", "watch 9", "list", "list", "watch 9", "watch 9"]
    assert run.troubles == [0, 0, -1]
    assert run.told == [("added", "a", "5")]


def test_a_bookmark_moves_the_revision_and_tells_nothing() -> None:
    bookmark = WatchEvent(
        "BOOKMARK",
        Item(b'{"kind":"Pod","metadata":{"resourceVersion":"50","creationTimestamp":null},"spec":{"containers":null}}'),
    )
    run = Run([A5], [[bookmark]])
    assert run.told == [("added", "a", "5")]
    assert run.asked == ["list", "watch 9", "watch 50"]


@pytest.mark.parametrize("code", [0, 401, 403, 404, 429, 500, 503])
def test_a_refusal_is_tried_again_in_list_and_watch(code: int) -> None:
    refusal = ApiError(code, "", "not now")
    run = Run([refusal, A5], [[refusal], [event("ADDED", "b", 10)]])
    assert run.asked == ["list", "list", "watch 9", "watch 9", "watch 10"]
    assert run.told == [("added", "a", "5"), ("added", "b", "10")]
    assert run.slept == [0.5, 1.0]
    assert run.troubles == [code, -1, code, -1]
    assert run.reflector.trouble is None


def test_a_server_that_says_when_to_come_back_is_believed() -> None:
    run = Run(
        [ApiError(429, "TooManyRequests", "slow down", retry_after=7), A5],
        [[error_event(ApiError(429, "", "slow down", retry_after=9))]],
    )
    assert run.slept == [7.0, 9.0]


def test_pauses_double_up_to_the_longest_and_are_spread_at_random() -> None:
    down = [UNREACHABLE] * 9
    assert Run([*down, A5], []).slept == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert Run([*down, A5], [], uniform=0.5).slept == [0.375, 0.75, 1.5, 3, 6, 12, 22.5, 22.5, 22.5]


def test_something_heard_ends_the_slowing_down() -> None:
    run = Run([UNREACHABLE, UNREACHABLE, A5], [[event("ADDED", "b", 10), UNREACHABLE]])
    assert run.slept == [0.5, 1.0, 0.5]


def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pause() -> None:
    assert Run([A5], [[], [], []]).slept == [0.5, 1.0, 2.0]


def test_events_that_were_told_before_are_not_told_again() -> None:
    replayed = [
        event("ADDED", "b", 10),
        event("MODIFIED", "b", 11),
        event("ADDED", "b", 10),
        event("DELETED", "b", 11),
        event("ADDED", "a", 5),
    ]
    run = Run([A5], [replayed, [event("MODIFIED", "b", 11), event("MODIFIED", "b", 12)]])
    assert run.told == [
        ("added", "a", "5"),
        ("added", "b", "10"),
        ("modified", "b", "10", "11"),
        ("modified", "b", "11", "12"),
    ]


def test_an_object_that_a_list_showed_newer_than_itself_does_not_go_back() -> None:
    run = Run(
        [Listing([item("a", 15)], "9")],
        [[event("MODIFIED", "a", 12), event("DELETED", "a", 13), event("ADDED", "a", 15), event("MODIFIED", "a", 16)]],
    )
    assert run.told == [("added", "a", "15"), ("modified", "a", "15", "16")]


def test_revisions_that_are_no_numbers_are_only_told_apart() -> None:
    run = Run(
        [Listing([item("a", "x")], "r1")],
        [[event("MODIFIED", "a", "y"), event("MODIFIED", "a", "y"), event("MODIFIED", "a", "w")]],
    )
    assert run.told == [("added", "a", "x"), ("modified", "a", "x", "y"), ("modified", "a", "y", "w")]


def test_a_server_that_was_restored_from_older_data_is_listed_anew() -> None:
    run = Run([A5, Listing([item("a", 2)], "3")], [[error_event(too_large_revision(9, 3))]])
    assert run.asked == ["list", "watch 9", "list", "watch 3"]
    assert run.told == [("added", "a", "5"), ("modified", "a", "5", "2")]


def test_what_is_no_object_and_what_is_no_status_count_as_failures() -> None:
    run = Run(
        [Listing([Item(b"[]")], "1"), A5], [[WatchEvent("ADDED", Item(b"{"))], [WatchEvent("ERROR", Item(b"[1]"))]]
    )
    assert run.troubles == [502, -1, 502, 502]


def test_an_error_of_the_handler_ends_the_reflector_even_if_it_looks_like_the_servers() -> None:
    class Broken(Recorder):
        def added(self, item: Item) -> None:
            raise ApiError(500, "", "mine")

    async def sleep(_seconds: float) -> None:
        raise AssertionError("this is no reason to wait")

    for script in (Script([A5], []), Script([Listing([], "9")], [[event("ADDED", "a", 10)]])):
        reflector = Reflector(script, CONFIGMAPS, Broken(), sleep=sleep, uniform=lambda: 0.0)  # type: ignore[arg-type]
        with pytest.raises(ApiError, match="mine"):
            asyncio.run(reflector.run())


class Unruly:
    """A server with a true history and a bad connection: it loses, repeats, forgets and refuses, as its seed has it."""

    def __init__(self, seed: int, steps: int) -> None:
        self.random = random.Random(seed)
        self.revision = 1
        self.objects: dict[str, tuple[int, str]] = {}
        self.history: list[tuple[int, WatchEvent]] = []
        self.floor = 0
        self.steps = steps

    def change(self) -> None:
        self.steps -= 1
        self.revision += 1
        name = self.random.choice("abcd")
        old = self.objects.get(name)
        if old is not None and self.random.random() < 0.4:
            del self.objects[name]
            self.history.append((self.revision, event("DELETED", name, self.revision, old[1])))
            return
        uid = old[1] if old is not None else f"{name}{self.revision}"
        self.objects[name] = (self.revision, uid)
        self.history.append((self.revision, event("MODIFIED" if old else "ADDED", name, self.revision, uid)))

    def maybe(self) -> None:
        while self.steps and self.random.random() < 0.5:
            self.change()
        if self.random.random() < 0.1:
            self.floor = self.random.randint(self.floor, self.revision)

    def calm(self) -> bool:
        return not self.steps

    async def list(
        self, _resource: Resource, _query: Query = EVERYWHERE, *, limit: int = 0, resume: str = "", revision: str = ""
    ) -> Listing:
        self.maybe()
        if not self.calm() and self.random.random() < 0.3:
            raise ApiError(self.random.choice([0, 401, 429, 500, 503]), "", "not now")
        at, _, last = resume.partition(":") if resume else (str(self.revision), "", "")
        if int(at) < self.floor:
            raise expired("the list is too old")
        names = [name for name in sorted(self.objects) if name > last]
        page = names[:limit] if limit else names
        rest = f"{at}:{page[-1]}" if len(page) < len(names) else ""
        return Listing([item(name, *self.objects[name]) for name in page], at, rest)

    async def watch(
        self, _resource: Resource, _query: Query = EVERYWHERE, *, revision: str = "", seconds: int = 0
    ) -> AsyncIterator[WatchEvent]:
        after = int(revision)
        while True:
            self.maybe()
            if after < self.floor:
                yield error_event(expired("too old resource version"))
                return
            if not self.calm() and self.random.random() < 0.2:
                if self.random.random() < 0.5:
                    return
                raise ApiError(self.random.choice([0, 401, 429, 502, 503]), "", "not now")
            waiting = [each for at, each in self.history if at > after]
            if not waiting and self.calm():
                yield WatchEvent("BOOKMARK", item("", self.revision))
                raise ScriptEnds
            for each in waiting[: self.random.randint(1, 3)]:
                after = int(_name(each.item)[1])
                yield each
                if self.random.random() < 0.2:
                    yield self.random.choice(self.history[: self.history.index((after, each)) + 1])[1]
            if self.random.random() < 0.3:
                yield WatchEvent("BOOKMARK", item("", after))
            await asyncio.sleep(0)


class Mirror:
    """Keeps what it is told, and insists that each telling makes sense."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        self.uids: dict[str, str] = {}

    def added(self, item: Item) -> None:
        name, revision = _name(item)
        assert name not in self.objects
        self.objects[name] = revision
        self.uids[name] = item.json()["metadata"]["uid"]

    def modified(self, before: Item, item: Item) -> None:
        name, revision = _name(item)
        assert _name(before) == (name, self.objects[name])
        assert self.uids[name] == item.json()["metadata"]["uid"]
        assert int(revision) > int(self.objects[name])
        self.objects[name] = revision

    def deleted(self, item: Item) -> None:
        name, _ = _name(item)
        del self.objects[name]
        assert self.uids.pop(name) == item.json()["metadata"]["uid"]


@given(st.integers(0, 10**6), st.integers(0, 40))
def test_whatever_the_connection_does_the_mirror_ends_up_true_and_never_nonsensical(seed: int, steps: int) -> None:
    server, mirror = Unruly(seed, steps), Mirror()
    wait: Callable[[float], Any] = lambda _seconds: asyncio.sleep(0)  # noqa: E731
    reflector = Reflector(
        server,  # type: ignore[arg-type]
        CONFIGMAPS,
        mirror,
        sleep=wait,
        uniform=server.random.random,
        pace=Pace(page=2),
    )
    with pytest.raises(ScriptEnds):
        asyncio.run(reflector.run())
    assert mirror.objects == {name: str(revision) for name, (revision, _) in server.objects.items()}
    assert {key[1] for key in reflector.items} == set(server.objects)


class StoppedClock:
    now = 1_767_225_600.0
    monotonic = 0.0


class Listener(Mirror):
    """A mirror that others can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def added(self, item: Item) -> None:
        super().added(item)
        self.told.set()

    def modified(self, before: Item, item: Item) -> None:
        super().modified(before, item)
        self.told.set()

    def deleted(self, item: Item) -> None:
        super().deleted(item)
        self.told.set()

    async def until(self, names: set[str]) -> None:
        while set(self.objects) != names:
            await self.told.wait()
            self.told.clear()


def config(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"k": "v"},
    }


def test_a_real_space_is_mirrored_and_a_second_reflector_starts_from_what_is_there() -> None:
    async def main() -> None:
        space = Space("test", Store(), KINDS, StoppedClock(), SeededIds(1))
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        client = LocalClient(space, "tester")
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            first, listener = mirror_of(client)
            running = [tasks.create_task(first.run())]
            await first.synced.wait()
            for name in ("a", "b", "c"):
                await client.create(CONFIGMAPS, config(name))
            await client.delete(CONFIGMAPS, "b", "default")
            await listener.until({"a", "c"})
            second, other = mirror_of(client)
            running.append(tasks.create_task(second.run()))
            await second.synced.wait()
            assert other.objects == listener.objects
            await client.delete(CONFIGMAPS, "a", "default")
            await listener.until({"c"})
            await other.until({"c"})
            assert first.items == second.items
            for task in running:
                task.cancel()
        await space.store.close()

    asyncio.run(main())


def mirror_of(client: LocalClient) -> tuple[Reflector, Listener]:
    listener = Listener()
    query = Query("default")
    return Reflector(client, CONFIGMAPS, listener, query, sleep=asyncio.sleep, uniform=lambda: 0.0), listener


def test_what_a_list_no_longer_showed_is_not_told_of_again_by_events_from_before_its_end() -> None:
    """The pages of a list are read one after the other: a later page may be newer than the revision that the watch begins at."""
    run = Run(
        [Listing([item("a", 5)], "5"), Listing([], "6")],
        [
            [error_event(expired("too old"))],
            [event("MODIFIED", "a", 7), event("DELETED", "a", 8), event("ADDED", "a", 9, uid="another")],
        ],
    )
    assert run.told == [("added", "a", "5"), ("deleted", "a", "5"), ("added", "a", "9")]
