"""How fast does a node answer over HTTP, beside a hello-world on the same server?

All features are on (tokens, roles, types, admission, durability); TLS is off. The clients share the machine with the servers, so the
ratio that counts is that of the servers' processor time: one node uses one processor.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from benchmarks import load, probes, sample, servers, stores
from benchmarks.load import Counted, Watcher, forever, request
from benchmarks.result import Result, Rounds, Sample
from benchmarks.servers import Server

CLIENTS = 32
OBJECTS = 1000
WATCHERS = 100
BULK = 500
GET, POST, STREAM = "hello GET/s", "hello POST/s", "hello chunks/s"
NAMESPACE = "speed"
"""Without a queue, and its Jobs are managed by nobody: the API is measured, not what follows from a Job."""
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def run(quick: bool) -> list[Result]:
    seconds, events = (0.5, 20) if quick else (2.0, 200)
    with probes.folder() as folder, servers.node(folder) as node, servers.hello() as hello:
        api = Api(node, hello, seconds)
        api.prepare()
        rounds = Rounds(
            {
                GET: lambda: api.hello_get(CLIENTS),
                "gets, 32 clients": api.gets,
                POST: lambda: api.hello_post(CLIENTS),
                "creates, 32 clients": lambda: api.creates(CLIENTS),
                "status patches, 32 clients": api.patches,
                "creates in bulk, 4 clients": api.bulk,
                f"{POST} (1 client)": lambda: api.hello_post(1),
                "creates, 1 client": lambda: api.creates(1),
                STREAM: lambda: stores.run(lambda: api.hello_stream(events)),
                "events to 100 watchers": lambda: stores.run(lambda: api.watched(events)),
            },
            quick=quick,
            count=5,
        )
        latency = api.worst
    note = "; ".join(f"{name}: p50 {low:.1f} ms, p99 {high:.1f} ms" for name, (low, high) in latency.items())
    return [
        rounds.result("creates, 1 client", "requests/s", beside=f"{POST} (1 client)"),
        rounds.result("creates, 32 clients", "requests/s", beside=POST, aim=0.15, aim_for="cpu_ratio", note=note),
        rounds.result("creates in bulk, 4 clients", "objects/s", beside=POST),
        rounds.result("gets, 32 clients", "requests/s", beside=GET, aim=0.5, aim_for="cpu_ratio"),
        rounds.result("status patches, 32 clients", "requests/s", beside=POST),
        rounds.result("events to 100 watchers", "events/s", beside=STREAM),
    ]


def manifest(name: str, number: int) -> dict[str, object]:
    """A Job as a person writes it, for a controller that is not there: ours leave it alone."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": sample.labels(number)}
    spec = {**sample.job_spec(), "managedBy": "example.com/nobody"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


class Api:
    """The requests of each measurement. Names are never used twice."""

    def __init__(self, node: Server, hello: Server, seconds: float) -> None:
        self._node, self._hello, self._seconds = node, hello, seconds
        self._numbers = itertools.count()
        self._patches = itertools.count()
        self._body = msgspec.json.encode(manifest("NAME", 1))
        self.worst: dict[str, tuple[float, float]] = {}

    def prepare(self) -> None:
        namespace = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}' % NAMESPACE.encode()
        make = iter([request("POST", "/api/v1/namespaces", namespace, token=self._node.token)])
        stores.run(lambda: load.run_clients(self._node, [make], 60))
        requests = [self._create(f"there-{number}") for number in range(OBJECTS)]
        clients = [iter(requests[first::8]) for first in range(8)]
        stores.run(lambda: load.run_clients(self._node, clients, 60))

    def _create(self, name: str) -> bytes:
        return request("POST", JOBS, self._body.replace(b"NAME", name.encode(), 1), token=self._node.token)

    def _measure(self, name: str, server: Server, clients: Sequence[Iterator[bytes]]) -> Counted:
        counted = stores.run(lambda: load.run_clients(server, clients, self._seconds))
        self.worst[name] = (counted.latency_ms(0.5), counted.latency_ms(0.99))
        return counted

    def hello_get(self, clients: int) -> Sample:
        asked = request("GET", "/", token="x" * 40)
        return self._measure("hello GET", self._hello, [itertools.repeat(asked) for _ in range(clients)]).sample()

    def hello_post(self, clients: int) -> Sample:
        asked = request("POST", "/", self._body, token="x" * 40)
        return self._measure("hello POST", self._hello, [itertools.repeat(asked) for _ in range(clients)]).sample()

    def gets(self) -> Sample:
        asked = [request("GET", f"{JOBS}/there-{n}", token=self._node.token) for n in range(OBJECTS)]
        clients = [itertools.cycle(asked[first:] + asked[:first]) for first in range(CLIENTS)]
        return self._measure("gets", self._node, clients).sample()

    def creates(self, clients: int) -> Sample:
        def make(_: int) -> bytes:
            return self._create(f"created-{next(self._numbers)}")

        return self._measure("creates", self._node, [forever(make) for _ in range(clients)]).sample()

    def patches(self) -> Sample:
        def make(number: int) -> bytes:
            body = b'{"status":{"active":%d}}' % (next(self._patches) % 1000)
            path = f"{JOBS}/there-{number % OBJECTS}/status"
            return request("PATCH", path, body, token=self._node.token, content_type="application/merge-patch+json")

        clients = [forever(make, first, CLIENTS) for first in range(CLIENTS)]
        return self._measure("status patches", self._node, clients).sample()

    def bulk(self) -> Sample:
        def make(_: int) -> bytes:
            objects = [manifest(f"bulk-{next(self._numbers)}", number) for number in range(BULK)]
            items = [{"verb": "create", "object": item} for item in objects]
            body = msgspec.json.encode({"items": items})
            return request("POST", "/apis/fairway.dev/v1/bulk", body, token=self._node.token)

        prepared = [[make(0) for _ in range(max(2, int(self._seconds * 8)))] for _ in range(4)]
        counted = self._measure("bulk", self._node, [iter(requests) for requests in prepared])
        return counted.sample(BULK)

    async def hello_stream(self, events: int) -> Sample:
        asked = request("GET", f"/stream?{events}")
        return await self._heard(self._hello, asked, b'{"hello"', events, lambda: asyncio.sleep(0))

    async def watched(self, events: int) -> Sample:
        """From the first create to the moment when the last watcher has heard of the last."""
        listed = await self._version()
        asked = request("GET", f"{JOBS}?watch=true&resourceVersion={listed}", token=self._node.token)

        async def create() -> None:
            requests = [self._create(f"watched-{next(self._numbers)}") for _ in range(events)]
            await load.run_clients(self._node, [iter(requests[first::8]) for first in range(8)], 60)

        return await self._heard(self._node, asked, b'{"type":"ADDED"', events, create)

    async def _version(self) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._node.port)
        asked = request("GET", f"{JOBS}?limit=1", token=self._node.token)
        writer.write(asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        body = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        version: str = msgspec.json.decode(body)["metadata"]["resourceVersion"]
        return version

    async def _heard(
        self, server: Server, asked: bytes, marker: bytes, events: int, cause: Callable[[], object]
    ) -> Sample:
        loop = asyncio.get_running_loop()
        cpu, start = server.cpu_seconds(), time.perf_counter()
        watchers = []
        for _ in range(WATCHERS):
            _, watcher = await loop.create_connection(lambda: Watcher(asked, marker, events), "127.0.0.1", server.port)
            watchers.append(watcher)
        await asyncio.gather(*(watcher.started for watcher in watchers))
        if server is self._node:
            cpu, start = server.cpu_seconds(), time.perf_counter()
        await cause()  # type: ignore[misc]
        async with asyncio.timeout(60):
            await asyncio.gather(*(watcher.done for watcher in watchers))
        count = sum(watcher.heard for watcher in watchers)
        return Sample(count / (time.perf_counter() - start), (server.cpu_seconds() - cpu) / count * 1e6)
