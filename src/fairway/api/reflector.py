"""A reflector keeps a copy of some objects true: it lists them, watches them, and tells a handler what changed.

Whatever happens to the connection, the handler sees each object's last state: streams that end or break off are resumed from the last
revision seen; where that revision is no longer known (410) the objects are listed again, and what was missed, deletions too, is found
by comparison. What cannot be helped at once (no answer, 401, 403, 404, 429, 5xx) is tried again, ever more slowly and never all at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from fairway.api.client import EVERYWHERE, Client, Item, Query, Resource, WatchEvent
from fairway.api.errors import ApiError

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""

_TURN = 512
"""Items compared after a list before others get their turn."""


class Handler(Protocol):
    """What to do when objects come, change and go. Called in the order of the changes; an error it raises ends the reflector."""

    def added(self, item: Item) -> None: ...

    def modified(self, before: Item, item: Item) -> None: ...

    def deleted(self, item: Item) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait after failures (doubling from the first to the longest delay, up to half of it less at random), how many
    objects to ask for at once, and after how long a watch is asked to end so that a dead one is noticed."""

    first_seconds: float = 0.5
    longest_seconds: float = 30.0
    page: int = 500
    watch_seconds: int = 300


UNHURRIED = Pace()


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Status(msgspec.Struct, gc=False):
    code: int = 500
    reason: str = ""
    message: str = "the watch failed without saying why"
    details: dict[str, Any] | None = None


_object = msgspec.json.Decoder(_Object)
_status = msgspec.json.Decoder(_Status)


class _Read(NamedTuple):
    """An object that came without its identity, which was read from it."""

    item: Item
    uid: str
    version: str


_Known = Item | _Read
"""Most items know whose they are: nothing is kept beside them."""


class Reflector:
    """`run` it as a task; `synced` is set once the first list is told. `trouble` is what keeps it from the server now, if anything does.

    sleep and uniform (a number in [0, 1)) come from outside, so that a simulation owns time and chance.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        handler: Handler,
        query: Query = EVERYWHERE,
        *,
        sleep: Callable[[float], Awaitable[None]],
        uniform: Callable[[], float],
        pace: Pace = UNHURRIED,
        on_trouble: Callable[[ApiError | None], None] = lambda _trouble: None,
        confirm: bool = False,
    ) -> None:
        """confirm: after trouble, list again before watching on. A watch that is open and quiet tells nothing for a long time, and somebody may
        wait to hear that the server is back, to decide on what is there: what is told then is no older than the trouble."""
        self._client = client
        self._resource = resource
        self._query = query
        self._handler = handler
        self._sleep = sleep
        self._uniform = uniform
        self._pace = pace
        self._on_trouble = on_trouble
        self._confirm = confirm
        self._known: dict[str, _Known] = {}
        """By namespace/name."""
        self._gone: set[str] = set()
        """uids that the last list no longer showed. Its pages are read one after the other, so a watch from its revision may still tell
        of changes before their end."""
        self._failures = 0
        self._listed = False
        self._reached, self._revision = 0, ""
        self.synced = asyncio.Event()
        self.trouble: ApiError | None = None

    def get(self, name: str, namespace: str = "") -> Item | None:
        known = self._known.get(f"{namespace}/{name}")
        return _item(known) if known is not None else None

    @property
    def items(self) -> Mapping[Key, Item]:
        """A copy of what is known now."""
        return {_key(path): _item(known) for path, known in self._known.items()}

    @property
    def revision(self) -> str:
        """The last one seen."""
        return str(self._reached) if self._reached else self._revision

    @revision.setter
    def revision(self, version: str) -> None:
        self._reached, self._revision = int(version) if version.isdecimal() else 0, version

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            if not self._listed:
                await self._list()
            await self._watch()

    # --- list -----------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        while True:
            try:
                found, revision = await self._pages()
                break
            except ApiError as error:
                await self._wait(error)
        await self._compare(found)
        self._helped()
        self.revision, self._listed = revision, True
        self.synced.set()

    async def _pages(self) -> tuple[dict[str, _Known], str]:
        """All objects as of one moment. If that moment is forgotten between two pages, all are asked for at once."""
        found: dict[str, _Known] = {}
        limit, resume = self._pace.page, ""
        while True:
            try:
                listing = await self._client.list(self._resource, self._query, limit=limit, resume=resume)
            except ApiError as error:
                if error.code != 410 or not resume:
                    raise
                found, limit, resume = {}, 0, ""
                continue
            found.update(map(_read, listing.items))
            if not listing.resume:
                return found, listing.revision
            resume = listing.resume

    async def _compare(self, found: dict[str, _Known]) -> None:
        """Tell what happened between what is known and what was found. What is gone goes first: it may make room."""
        missing = [key for key in self._known if key not in found]
        self._gone = {self._known[key].uid for key in missing}
        for count, key in enumerate(missing):
            self._handler.deleted(_item(self._known.pop(key)))
            if count % _TURN == _TURN - 1:
                await asyncio.sleep(0)
        tell = self._tell if self._known else self._tell_first
        for count, (key, new) in enumerate(found.items()):
            tell(key, new)
            if count % _TURN == _TURN - 1:
                await asyncio.sleep(0)

    def _tell_first(self, key: str, new: _Known) -> None:
        """Of a first list: nothing was known before."""
        self._known[key] = new
        self._handler.added(new if type(new) is Item else _item(new))

    def _tell(self, key: str, new: _Known) -> None:
        old = self._known.get(key)
        if old is not None:
            if old.uid != new.uid:
                del self._known[key]
                self._handler.deleted(_item(old))
                old = None
            elif old.version == new.version:
                return
        self._known[key] = new
        item = new if type(new) is Item else _item(new)
        if old is None:
            self._handler.added(item)
        else:
            self._handler.modified(old if type(old) is Item else _item(old), item)

    # --- watch ----------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Follow one stream to its end; the next one goes on from the last revision."""
        if self._confirm and self.trouble is not None:
            self._listed = False
            return
        seconds = int(self._pace.watch_seconds * (1 + self._uniform()))
        stream = self._client.watch(self._resource, self._query, revision=self.revision, seconds=seconds)
        try:
            heard, failure = await self._follow(stream)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        if failure is not None:
            await self._on_failure(failure)
        elif not heard:  # a server that ends every watch at once must not be asked without pause
            self._failures += 1
            await self._sleep(self._delay())

    async def _follow(self, stream: AsyncIterator[WatchEvent]) -> tuple[bool, ApiError | None]:
        """Tell the events of a stream. Whether there were any, and what ended it, if it did not end well."""
        heard = False
        while True:
            try:
                event = await anext(stream)
                if event.type == "ERROR":
                    return heard, _failure(event.item)
                key, known = _read(event.item)
            except StopAsyncIteration:
                return heard, None
            except ApiError as error:
                return heard, error
            heard = True
            self._failures = 0
            if self.trouble is not None:
                self._helped()
            self._on_event(event, key, known)

    async def _on_failure(self, error: ApiError) -> None:
        if not _forgotten(error):
            await self._wait(error)
            return
        self._listed = False
        self._failures += 1
        if self._failures > 1:  # once is routine: the server restarted, or we were away for long
            await self._sleep(self._delay())

    def _on_event(self, event: WatchEvent, key: str, known: _Known) -> None:
        """Revisions only grow along a stream: what is not beyond the last one was told before. Nor does one object go back, where the
        pages of a list showed it newer than the list itself."""
        old = self._known.get(key)
        if type(known) is Item and type(old) is Item and self._reached:
            if known.revision <= self._reached:
                return
            self._reached = known.revision
            overtaken = known.revision <= old.revision
        else:
            if not _newer(known.version, self.revision):
                return
            self.revision = known.version
            overtaken = old is not None and not _newer(known.version, old.version)
        if event.type == "BOOKMARK" or overtaken:
            return
        if event.type != "DELETED":
            if not self._gone or known.uid not in self._gone:
                self._tell(key, known)
        elif old is not None:
            del self._known[key]
            self._handler.deleted(event.item)

    # --- trouble --------------------------------------------------------------------------------------------------

    async def _wait(self, error: ApiError) -> None:
        self.trouble = error
        self._on_trouble(error)
        self._failures += 1
        await self._sleep(max(self._delay(), float(error.retry_after or 0)))

    def _helped(self) -> None:
        if self.trouble is not None:
            self.trouble = None
            self._on_trouble(None)

    def _delay(self) -> float:
        doublings = min(self._failures - 1, 32)
        longest = min(self._pace.longest_seconds, self._pace.first_seconds * 2.0**doublings)
        return longest * (1 - self._uniform() / 2)


def _read(item: Item) -> tuple[str, _Known]:
    if item.revision:
        return item.path, item
    try:
        meta = _object.decode(item.value).metadata
    except msgspec.MsgspecError as error:
        raise ApiError(502, "BadGateway", f"the server sent something that is no object: {error}") from None
    return f"{meta.namespace}/{meta.name}", _Read(item, meta.uid, meta.resource_version)


def _item(known: _Known) -> Item:
    return known if isinstance(known, Item) else known.item


def _key(path: str) -> Key:
    namespace, _, name = path.partition("/")
    return namespace, name


def _newer(version: str, than: str) -> bool:
    """Whether one revision comes after another; where they are no numbers, whether it is another one."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return bool(version) and version != than


def _failure(item: Item) -> ApiError:
    try:
        status = _status.decode(item.value)
    except msgspec.MsgspecError as error:
        return ApiError(502, "BadGateway", f"the watch failed with something that is no Status: {error}")
    after = (status.details or {}).get("retryAfterSeconds")
    return ApiError(
        status.code,
        status.reason,
        status.message,
        details=status.details,
        retry_after=after if isinstance(after, int) else None,
    )


def _forgotten(error: ApiError) -> bool:
    """Whether the server cannot go on from our revision: it has forgotten it, or (restored from older data) does not know it yet."""
    if error.code == 410:
        return True
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in error.details.get("causes") or ())
