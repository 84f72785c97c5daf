"""What is to be written on one cluster, sent in batches. A cluster that does not answer holds up its own outbox and no other.

Each request, and each commit that it leads to over there, costs both sides more than an object in it does. So all that is waiting goes in one;
and what nobody waits for, the copies of work that has ended, rests a moment until there is more of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from fairway.api.client import BulkItem, Deletion, Item
from fairway.api.errors import ApiError
from fairway.control.resources import WORKLOADS
from fairway.fleet.dispatch.writes import Op
from fairway.fleet.link.link import Link
from fairway.fleet.resources import EPOCH

_BATCH = 200
REST_S = 1.0
"""How long clearing up may wait for more of the same."""
_REST_MAX = 100
"""So much of it does not wait any longer."""
Answered = Callable[[str, str, Op, Item | ApiError | None], None]
"""Told the cluster, the workload's key, the operation, and its result: an object, nothing for a delete, or why not."""


class Outbox:
    """`put` returns at once. While a workload's operations are on their way, `busy` says so."""

    def __init__(self, link: Link, epoch: Callable[[], int], answered: Answered) -> None:
        self._link = link
        self._epoch = epoch
        self._answered = answered
        self._waiting: dict[str, list[Op]] = {}
        self._resting: dict[str, list[Op]] = {}
        self._sent: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._rested: asyncio.TimerHandle | None = None
        self.calls = 0
        """Requests made so far, for those who count them."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"outbox-{self._link.name}")

    async def stop(self) -> None:
        if self._rested is not None:
            self._rested.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def busy(self, key: str) -> bool:
        return key in self._waiting or key in self._sent or key in self._resting

    @property
    def rests(self) -> bool:
        """Whether there is something that nobody waits for."""
        return bool(self._resting)

    def put(self, key: str, ops: Sequence[Op]) -> None:
        if key not in self._waiting and all(op.clears for op in ops):
            self._resting.setdefault(key, []).extend(ops)
            if len(self._resting) >= _REST_MAX:
                self._end_rest()
            elif self._rested is None:
                self._rested = asyncio.get_running_loop().call_later(REST_S, self._end_rest)
            return
        self._waiting.setdefault(key, []).extend((*self._resting.pop(key, ()), *ops))
        self._wake.set()

    def _end_rest(self) -> None:
        if self._rested is not None:
            self._rested.cancel()
            self._rested = None
        self._waiting |= self._resting
        self._resting.clear()
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch = {key: self._waiting.pop(key) for key in list(self._waiting)[:_BATCH]}
                self._sent |= batch.keys()
                try:
                    await self._send(batch)
                finally:
                    self._sent -= batch.keys()

    async def _send(self, batch: Mapping[str, Sequence[Op]]) -> None:
        """What each workload begins with in one request, then what follows it: jobs go before their workload, and not after it if refused."""
        while batch:
            first = {key: _alike(ops) for key, ops in batch.items()}
            rest = {key: ops[count:] for key, ops in batch.items() if len(ops) > (count := len(first[key]))}
            now = [(key, op) for key, ops in first.items() for op in ops]
            results = await self._write([op for _key, op in now])
            for (key, op), result in zip(now, results, strict=True):
                if isinstance(result, ApiError):
                    rest.pop(key, None)
                if key not in rest:
                    self._sent.discard(key)
                self._answered(self._link.name, key, op, result)
            batch = rest

    async def _write(self, ops: Sequence[Op]) -> Sequence[Item | ApiError | None]:
        client = self._link.client
        with ExitStack() as sending:
            items = [self._item(op, sending) for op in ops]
            try:
                if client is None:
                    raise ApiError(503, "ServiceUnavailable", f"{self._link.name} cannot be reached")
                self.calls += 1
                results = await (client.bulk(items) if len(items) > 1 else self._alone(items[0]))
            except ApiError as error:
                return [_seen(op, error) for op in ops]
        return [_seen(op, result) for op, result in zip(ops, results, strict=True)]

    def _item(self, op: Op, sending: ExitStack) -> BulkItem:
        body = op.body
        metadata = body["metadata"]
        if op.verb == "delete":
            # A job stays to be seen until its pods have ended: until then nothing of it may start elsewhere.
            how = Deletion("Background" if op.resource == WORKLOADS else "Foreground", metadata.get("uid", ""))
            named = {"name": metadata["name"], "namespace": metadata.get("namespace", "")}
            named_body = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": named}
            return BulkItem("delete", op.resource, named_body, how=how)
        if op.fenced:
            epoch = self._epoch()
            sending.enter_context(self._link.sending(epoch))
            body = {
                **body,
                "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), EPOCH: str(epoch)}},
            }
        return BulkItem(op.verb, op.resource, body)

    async def _alone(self, item: BulkItem) -> Sequence[Item | ApiError | None]:
        client = self._link.client
        assert client is not None
        assert isinstance(item.body, dict)
        if item.verb == "create":
            return [await client.create(item.resource, item.body)]
        if item.verb == "delete":
            metadata = item.body["metadata"]
            await client.delete(item.resource, metadata["name"], metadata["namespace"], item.how)
            return [None]
        return [
            await client.update(item.resource, item.body, subresource="status" if item.verb == "updateStatus" else "")
        ]


def _alike(ops: Sequence[Op]) -> Sequence[Op]:
    """Those at the beginning that need not wait for each other."""
    count = next(
        (at for at, op in enumerate(ops) if (op.verb, op.resource) != (ops[0].verb, ops[0].resource)), len(ops)
    )
    return ops[:count]


def _seen(op: Op, result: Item | ApiError | None) -> Item | ApiError | None:
    """What is not there is as good as deleted."""
    if op.verb != "delete":
        return result
    return result if isinstance(result, ApiError) and result.code != 404 else None
