"""The hub's side of leases: a Lease on each cluster, renewed while the hub can reach it.

The cluster stamps every write with its own clock, and a renewal counts from the stamp that it brings back. So work there can run no longer than
the last stamp that the hub received, plus the lease and its grace: from then on, with a margin, it may start elsewhere. A cluster that gives
back no stamp cannot fence itself; for such a cluster only a window of time can be waited.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fairway.api.client import Client, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.fencing import names
from fairway.control.resources import NAMESPACES
from fairway.core.model import SECOND, Time
from fairway.kinds.types import format_microtime
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.fleet")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
RENEW_S = 5.0
RENEWALS = 5
"""At least so many in the length of a lease. Each counts from the stamp of the one before: so a pause of two fifths of even the shortest lease does
no harm, whenever it comes."""
PROMPT_S = 2.5
"""Who does not answer a renewal for so long is out of reach, however long the lease."""
ATTEMPTS = 6
"""At least so many renewals that nobody answers fit into a lease; so one may be lost without harm."""
RETRY_S = 0.5
ASK_AGAIN_S = 60.0
"""Until a cluster that would not have a Lease of ours is asked again."""
Json = dict[str, Any]
Report = Callable[[ApiError | None], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a cluster's spec.fencing says."""

    lease_s: int = 60
    """Longer than a hub takes to start anew, on a machine that starts anew: what runs everywhere does not end for that."""
    grace_s: int = 5
    margin_s: float = 5.0
    """For clocks that run at different speeds, and processes that take their time to die."""

    @property
    def hold_s(self) -> float:
        return self.lease_s + self.grace_s + self.margin_s

    @property
    def renew_s(self) -> float:
        """From one renewal to the next."""
        return min(RENEW_S, self.lease_s / RENEWALS)

    @property
    def answer_s(self) -> float:
        """Within which a renewal is answered."""
        return min(PROMPT_S, self.lease_s / ATTEMPTS)


class Outstanding:
    """Epochs that are on their way to a cluster."""

    def __init__(self, current: Callable[[], int]) -> None:
        """current: the hub's revision, which every later epoch is at least."""
        self._current = current
        self._sent: Counter[int] = Counter()

    @contextmanager
    def sending(self, epoch: int) -> Iterator[None]:
        self._sent[epoch] += 1
        try:
            yield
        finally:
            self._sent[epoch] -= 1
            if not self._sent[epoch]:
                del self._sent[epoch]

    def floor(self) -> int:
        """No smaller epoch is on its way, nor will be."""
        return min((*self._sent, self._current()))


class Holding:
    """For how long a cluster may hold on to our work. Outlives connections; on the hub's own monotonic clock."""

    def __init__(self, terms: Terms, now: float, fenced: bool | None = None, noted_s: float = 0.0) -> None:
        """fenced, noted_s: what is known from before; an earlier life of the hub may have agreed on more than the terms say now.
        Whatever stamp it had, it had received it by now."""
        self.fenced = fenced
        self._received_at = now
        self._noted_s = noted_s
        self._until = now + max(terms.hold_s, noted_s)

    def received(self, now: float) -> None:
        """A stamp. It is older than this."""
        self._received_at = now

    def sends(self, terms: Terms) -> None:
        """The last stamp, to be good for as long as the terms say, whenever it arrives."""
        self._until = max(self._until, self._received_at + terms.hold_s)

    def hold_s(self, terms: Terms, now: float) -> float:
        """What to note for a later life of the hub: what it would have to wait if this one ended now. Terms that were made shorter
        count when the longer ones are over."""
        if self._until - now <= terms.hold_s:
            self._noted_s = terms.hold_s
        else:
            self._noted_s = max(self._noted_s, self._until - now)
        return self._noted_s

    @property
    def until(self) -> float | None:
        """When work may start elsewhere, should nothing more be received. None: the cluster cannot fence itself, or nobody knows."""
        return self._until if self.fenced else None


class LeaseKeeper:
    """Keeps one cluster's Lease through one connection."""

    def __init__(
        self,
        client: Client,
        origin: str,
        terms: Callable[[], Terms],
        holding: Holding,
        outstanding: Outstanding,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._origin = origin
        self._terms = terms
        self._holding = holding
        self._outstanding = outstanding
        self._clock = clock
        self._sleep = sleep
        self._last: Json | None = None
        self._sent: Json = {}
        """What was written last."""
        self._hurried = asyncio.Event()

    @property
    def fenced(self) -> bool | None:
        """Whether the cluster ends our work by itself when we are gone. None: not known yet."""
        return self._holding.fenced

    def sending(self, epoch: int) -> AbstractContextManager[None]:
        return self._outstanding.sending(epoch)

    def held_until(self) -> float | None:
        """When work that was sent there may start elsewhere, on the monotonic clock; None where there is no telling."""
        return self._holding.until

    def safe_at(self, now: Time) -> Time | None:
        """The same, as a time of day; now is what it is now."""
        until = self._holding.until
        return None if until is None else now + int((until - self._clock.monotonic) * SECOND)

    # --- renewing -----------------------------------------------------------------------------------------------------

    async def run(self, report: Report) -> None:
        """For ever. Reports after every attempt what keeps it from the lease, or None."""
        while True:
            begun = self._clock.monotonic
            terms = self._terms()
            trouble, refused = await self._attempt(terms)
            report(trouble)
            if trouble is not None:
                await self._nap(min(RETRY_S, terms.answer_s))
            elif refused:
                await self._nap(ASK_AGAIN_S)
            else:
                await self._nap(max(0.0, terms.renew_s - (self._clock.monotonic - begun)))

    def hurry(self) -> None:
        """The cluster may have been started anew: it wants the lease renewed before it takes anything."""
        self._hurried.set()

    async def _nap(self, seconds: float) -> None:
        waits = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._hurried.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self._hurried.clear()

    async def _attempt(self, terms: Terms) -> tuple[ApiError | None, bool]:
        """What went wrong; or whether the cluster will not have a Lease of ours, which is its right."""
        try:
            async with asyncio.timeout(terms.answer_s):
                await self.renew(terms)
        except TimeoutError:
            why = f"the cluster did not answer the renewal of its lease within {terms.answer_s:g} s"
            return ApiError(504, "Timeout", why), False
        except ApiError as error:
            if error.code not in (403, 404, 405, 422) or self._holding.fenced:
                return error, False
            self._learn(False)
            log.info("cluster without a lease of ours, since it refused: %s", error.message)
            return None, True
        return None, False

    async def renew(self, terms: Terms) -> None:
        """One renewal; two where the first could only bring a stamp. Raises ApiError."""
        item = await self._write(terms)
        if (item.json()["metadata"].get("annotations") or {}).get(names.RENEW_AGAIN):
            await self._write(terms)

    async def _write(self, terms: Terms) -> Item:
        """The object as it was last received, so that the stamp comes back."""
        try:
            return await self._put(terms)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
        # It is gone, it came, or somebody else wrote to it. Or it is what we sent, which came twice, and this was the second answer.
        sent, self._last = self._sent, None
        found = await self._find()
        if found is None or found.json()["spec"].get("renewTime") != sent["spec"]["renewTime"]:
            return await self._put(terms)
        self._learn(_stamp(found.json()) not in ("", _stamp(sent)))
        return found

    async def _put(self, terms: Terms) -> Item:
        if self._last is None:
            await self._find()
        body = self._sent = self._body(terms)
        self._holding.sends(terms)
        item = await (self._client.update(LEASES, body) if self._last is not None else self._create(body))
        self._take(item)
        # A server that gives back what it was sent does not stamp.
        self._learn(_stamp(item.json()) not in ("", _stamp(body)))
        return item

    async def _find(self) -> Item | None:
        try:
            item = await self._client.get(LEASES, names.lease_name(self._origin), names.LEASE_NAMESPACE)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        self._take(item)
        return item

    async def _create(self, body: Json) -> Item:
        try:
            return await self._client.create(LEASES, body, names.LEASE_NAMESPACE)
        except ApiError as error:
            if error.code != 404:
                raise
        await self._client.create(NAMESPACES, {"metadata": {"name": names.LEASE_NAMESPACE}})
        return await self._client.create(LEASES, body, names.LEASE_NAMESPACE)

    def _take(self, item: Item) -> None:
        self._last = item.json()
        if _stamp(self._last):
            self._holding.received(self._clock.monotonic)

    def _learn(self, fenced: bool) -> None:
        if fenced is not self._holding.fenced:
            log.info("cluster of lease %s: %s", self._origin, "fences itself" if fenced else "cannot fence itself")
        self._holding.fenced = fenced

    def _body(self, terms: Terms) -> Json:
        known = self._last or {}
        metadata = known.get("metadata") or {"name": names.lease_name(self._origin), "namespace": names.LEASE_NAMESPACE}
        notes = {
            **(metadata.get("annotations") or {}),
            names.EPOCH_FLOOR: str(self._outstanding.floor()),
            names.GRACE: str(terms.grace_s),
        }
        spec = {
            **(known.get("spec") or {}),
            "holderIdentity": self._origin,
            "leaseDurationSeconds": terms.lease_s,
            "renewTime": format_microtime(datetime.fromtimestamp(self._clock.now, UTC)),
        }
        return {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": {**metadata, "annotations": notes},
            "spec": spec,
        }


class Leases:
    """What a hub remembers of all its leases, whatever becomes of the connections. `guard` makes what keeps one."""

    def __init__(
        self,
        origin: str,
        clock: Clock,
        current: Callable[[], int],
        terms: Callable[[str], Terms] = lambda _cluster: Terms(),
        fenced: Callable[[str], bool | None] = lambda _cluster: None,
        noted_s: Callable[[str], float] = lambda _cluster: 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """terms, fenced, noted_s: by the name of the cluster; what its spec says now, and what was known of it in an earlier life."""
        self._origin = origin
        self._clock = clock
        self._current = current
        self._terms = terms
        self._fenced = fenced
        self._noted_s = noted_s
        self._sleep = sleep
        self._born = clock.monotonic
        self._known: dict[str, tuple[Holding, Outstanding]] = {}

    def guard(self, cluster: str, client: Client) -> LeaseKeeper:
        known = self._known.get(cluster)
        if known is None:
            holding = Holding(self._terms(cluster), self._born, self._fenced(cluster), self._noted_s(cluster))
            known = self._known[cluster] = (holding, Outstanding(self._current))
        holding, outstanding = known
        terms = self._terms
        return LeaseKeeper(client, self._origin, lambda: terms(cluster), holding, outstanding, self._clock, self._sleep)

    def safe_at(self, cluster: str, now: Time) -> Time | None:
        """As that of its keeper, for a cluster that may have no connection any more. One that an earlier life of the hub knew, and that is gone
        since, had the usual terms for all that is known."""
        known = self._known.get(cluster)
        until = known[0].until if known is not None else self._born + Terms().hold_s
        return None if until is None else now + int((until - self._clock.monotonic) * SECOND)

    def hold_s(self, cluster: str) -> int | None:
        """What to note of a cluster; nothing where it never had a connection."""
        known = self._known.get(cluster)
        return None if known is None else math.ceil(known[0].hold_s(self._terms(cluster), self._clock.monotonic))

    def departed(self, linked: Container[str], now: Time) -> dict[str, Time]:
        """Until when work may still run on clusters that have left the fleet. The nameless one stands for those that left before this
        process began: nobody knows them any more, but their leases were renewed before it did."""
        found = {name: at for name in self._known if name not in linked and (at := self.safe_at(name, now)) is not None}
        found[""] = now + int((self._born + Terms().hold_s - self._clock.monotonic) * SECOND)
        return {name: at for name, at in found.items() if at > now}

    def fenced(self, cluster: str) -> bool | None:
        known = self._known.get(cluster)
        return known[0].fenced if known is not None else self._fenced(cluster)


def _stamp(lease: Json) -> str:
    found: str = ((lease.get("metadata") or {}).get("annotations") or {}).get(names.STAMP, "")
    return found
