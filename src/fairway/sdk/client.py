"""The client for scripts and notebooks: the asynchronous one, on a loop of its own in the background."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Unpack

from fairway.sdk.aio import AsyncClient, AsyncJob
from fairway.sdk.request import JobOptions, JobRequest
from fairway.sdk.view import JobView

T = TypeVar("T")


class Job:
    """A submitted job."""

    def __init__(self, client: Client, job: AsyncJob) -> None:
        self._client = client
        self._job = job
        self.name = job.name
        self.namespace = job.namespace

    def __repr__(self) -> str:
        return f"Job({self.namespace}/{self.name})"

    def view(self) -> JobView:
        return self._client._run(self._job.view())

    def wait(self, *, seconds: float | None = None, check: bool = True) -> JobView:
        """Until it is done or has failed. check: raise JobFailed if it failed. Raises TimeoutError after `seconds`."""
        return self._client._run(self._job.wait(seconds=seconds, check=check))

    def logs(self, *, follow: bool = False) -> Iterator[bytes]:
        stream = self._job.logs(follow=follow)
        while True:
            try:
                yield self._client._run(_next(stream))
            except StopAsyncIteration:
                return

    def output(self) -> str:
        """All that it printed so far."""
        return self._client._run(self._job.output())

    def cancel(self) -> None:
        self._client._run(self._job.cancel())


async def _next(stream: Any) -> bytes:
    chunk: bytes = await anext(stream)
    return chunk


class Client:
    """See AsyncClient; every call here waits for its answer. Works inside a notebook, whose own loop it does not touch.

    Nobody has to close it: it is closed when nobody has it any more, and at the end of the program.
    """

    def __init__(
        self, *, kubeconfig: str | Path | None = None, context: str | None = None, namespace: str = "default"
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fairway-client", daemon=True)
        self._thread.start()
        try:
            self._client = AsyncClient(kubeconfig=kubeconfig, context=context, namespace=namespace)
        except BaseException:
            _stop(self._loop, self._thread)
            raise
        self._end = weakref.finalize(self, _end, self._loop, self._thread, self._client)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._end.alive:
            work.close()
            raise RuntimeError("this client is closed: make another one")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def submit(self, command: str | Sequence[str] | JobRequest, **options: Unpack[JobOptions]) -> Job:
        """Put a job into a queue. options: the fields of JobRequest (cpu, memory, gpus, queue, name, env …)."""
        return Job(self, self._run(self._client.submit(command, **options)))

    def map(self, commands: Iterable[str | Sequence[str] | JobRequest], **options: Unpack[JobOptions]) -> list[Job]:
        """One job per command, submitted together."""
        return [Job(self, job) for job in self._run(self._client.map(commands, **options))]

    def wait(self, jobs: Iterable[Job], *, seconds: float | None = None, check: bool = True) -> Views:
        """Until all of them are done or have failed. As for one, otherwise."""
        return self._run(self._client.wait([job._job for job in jobs], seconds=seconds, check=check))

    def job(self, name: str, namespace: str = "") -> Job:
        return Job(self, self._client.job(name, namespace))

    def list(self, *, all_namespaces: bool = False) -> Views:
        return self._run(self._client.list(all_namespaces=all_namespaces))

    def why(self, name: str, namespace: str = "") -> dict[str, Any]:
        """Why a job does not run yet, as data."""
        return self._run(self._client.why(name, namespace))

    def cancel(self, name: str, namespace: str = "") -> None:
        self._run(self._client.cancel(name, namespace))

    def hold(self, name: str, namespace: str = "") -> None:
        self._run(self._client.hold(name, namespace))

    def release(self, name: str, namespace: str = "") -> None:
        self._run(self._client.release(name, namespace))


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: AsyncClient) -> None:
    if threading.current_thread() is thread:  # The last reference went while the loop was at work.
        loop.create_task(client.close()).add_done_callback(lambda _closed: loop.stop())
        return
    asyncio.run_coroutine_threadsafe(client.close(), loop).result()
    _stop(loop, thread)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


Views = list[JobView]
