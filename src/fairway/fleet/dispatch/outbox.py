"""What is to be written on one cluster, sent in batches. A cluster that does not answer holds up its own outbox and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from fairway.api.client import BulkItem, Deletion, Item
from fairway.api.errors import ApiError
from fairway.control.resources import WORKLOADS
from fairway.fleet.dispatch.writes import Op
from fairway.fleet.link.link import Link
from fairway.fleet.resources import EPOCH

_BATCH = 200
_DELETES_AT_ONCE = 16
Answered = Callable[[str, str, Op, Item | ApiError | None], None]
"""Told the cluster, the workload's key, the operation, and its result: an object, nothing for a delete, or why not."""


class Outbox:
    """`put` returns at once. While a workload's operations are on their way, `busy` says so."""

    def __init__(self, link: Link, epoch: Callable[[], int], answered: Answered) -> None:
        self._link = link
        self._epoch = epoch
        self._answered = answered
        self._waiting: dict[str, list[Op]] = {}
        self._sent: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._slots = asyncio.Semaphore(_DELETES_AT_ONCE)
        self.calls = 0
        """Requests made so far, for those who count them."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"outbox-{self._link.name}")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def busy(self, key: str) -> bool:
        return key in self._waiting or key in self._sent

    def put(self, key: str, ops: Sequence[Op]) -> None:
        self._waiting.setdefault(key, []).extend(ops)
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

    async def _send(self, batch: dict[str, list[Op]]) -> None:
        writes = [(key, op) for key, ops in batch.items() for op in ops if op.verb != "delete"]
        deletes = {key: [op for op in ops if op.verb == "delete"] for key, ops in batch.items()}
        work = [self._delete(key, ops) for key, ops in deletes.items() if ops]
        if writes:
            work.append(self._write(writes))
        await asyncio.gather(*work)

    async def _write(self, writes: Sequence[tuple[str, Op]]) -> None:
        client = self._link.client
        results: Sequence[Item | ApiError]
        with ExitStack() as sending:
            items = [self._item(op, sending) for _key, op in writes]
            try:
                if client is None:
                    raise ApiError(503, "ServiceUnavailable", f"{self._link.name} cannot be reached")
                self.calls += 1 if len(items) > 1 else len(items)
                results = await (client.bulk(items) if len(items) > 1 else self._alone(items[0]))
            except ApiError as error:
                results = [error] * len(items)
        for (key, op), result in zip(writes, results, strict=True):
            self._sent.discard(key)
            self._answered(self._link.name, key, op, result)

    def _item(self, op: Op, sending: ExitStack) -> BulkItem:
        body, verb = op.body, op.verb
        assert verb != "delete"
        if op.fenced:
            epoch = self._epoch()
            sending.enter_context(self._link.sending(epoch))
            metadata = body["metadata"]
            body = {
                **body,
                "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), EPOCH: str(epoch)}},
            }
        return BulkItem(verb, op.resource, body)

    async def _alone(self, item: BulkItem) -> list[Item | ApiError]:
        client = self._link.client
        assert client is not None
        if item.verb == "create":
            return [await client.create(item.resource, item.body)]
        return [
            await client.update(item.resource, item.body, subresource="status" if item.verb == "updateStatus" else "")
        ]

    async def _delete(self, key: str, ops: Sequence[Op]) -> None:
        client = self._link.client
        for op in ops:
            metadata = op.body["metadata"]
            result: ApiError | None = None
            async with self._slots:
                try:
                    if client is None:
                        raise ApiError(503, "ServiceUnavailable", f"{self._link.name} cannot be reached")
                    self.calls += 1
                    # A job stays to be seen until its pods have ended: until then nothing of it may start elsewhere.
                    how = Deletion("Background" if op.resource == WORKLOADS else "Foreground", metadata.get("uid", ""))
                    await client.delete(op.resource, metadata["name"], metadata.get("namespace", ""), how)
                except ApiError as error:
                    result = error if error.code != 404 else None
            self._sent.discard(key)
            self._answered(self._link.name, key, op, result)
            if result is not None:
                return
