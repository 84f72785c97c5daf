"""Requests are counted, and those that take too long are ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.server.harness import Harness

from fairway.server.deadlines import Deadlines

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def test_requests_are_counted_by_verb_and_resource_with_the_time_they_took() -> None:
    async def body() -> None:
        harness = await Harness.new()
        for _ in range(3):
            await harness.call("admin", "GET", JOBS)
        await harness.call("admin", "GET", f"{JOBS}/missing")
        text = harness.app.metrics.render().decode()
        assert 'apiserver_request_total{code="200",resource="jobs",verb="list"} 3.0' in text
        assert 'apiserver_request_total{code="404",resource="jobs",verb="get"} 1.0' in text
        assert 'apiserver_request_duration_seconds_bucket{le="+Inf",resource="jobs",verb="list"} 3.0' in text
        assert 'apiserver_request_duration_seconds_count{resource="jobs",verb="list"} 3.0' in text
        assert "apiserver_current_inflight_requests 0.0" in text

    asyncio.run(body())


def test_a_request_whose_body_never_comes_is_ended_with_504() -> None:
    async def body() -> None:
        harness = await Harness.new()
        harness.app._deadlines = Deadlines(0.02)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {harness.tokens['admin']}".encode()), (b"content-length", b"10")]
        scope = {"type": "http", "method": "POST", "path": JOBS, "query_string": b"", "headers": headers}
        await asyncio.wait_for(harness.app(scope, receive, send), 10)
        assert sent[0]["status"] == 504
        assert b"took longer than" in sent[1]["body"]
        assert 'code="504"' in harness.app.metrics.render().decode()

    asyncio.run(body())


def test_each_is_ended_in_its_own_time_and_nothing_is_kept_of_it() -> None:
    async def body() -> None:
        deadlines = Deadlines(0.03)
        loop = asyncio.get_running_loop()

        async def work(seconds: float) -> str:
            task = asyncio.current_task()
            assert task is not None
            deadlines.begin(task, loop.time())
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                return "too long" if deadlines.ended(task) else "cancelled"
            finally:
                deadlines.end(task)
            return "done"

        quick, slow = asyncio.ensure_future(work(0)), asyncio.ensure_future(work(10))
        assert await quick == "done"
        later, stopped = asyncio.ensure_future(work(10)), asyncio.ensure_future(work(10))
        await asyncio.sleep(0)
        stopped.cancel()
        assert await asyncio.wait_for(asyncio.gather(slow, later, stopped), 10) == ["too long", "too long", "cancelled"]
        assert not deadlines._ends
        assert not deadlines._ended

    asyncio.run(body())


def test_a_task_that_was_cancelled_from_outside_too_is_not_taken_for_a_slow_one() -> None:
    async def body() -> None:
        deadlines = Deadlines(0.0)
        started = asyncio.Event()

        async def work() -> None:
            task = asyncio.current_task()
            assert task is not None
            deadlines.begin(task, asyncio.get_running_loop().time())
            started.set()
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                assert not deadlines.ended(task)
                raise
            finally:
                deadlines.end(task)

        task = asyncio.ensure_future(work())
        await started.wait()
        deadlines._look()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
