"""What an operator wants to see of a node, for Prometheus.

Requests are counted in plain numbers, and put into Prometheus' form when somebody asks: its own counters take locks that
nobody here needs, and cost a tenth of what reading an object does.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fairway.api.space import Space
from fairway.server.queue_metrics import QueueMetrics

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class _Times:
    """How long the requests of one kind took."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BUCKETS) + 1)
        self.seconds = 0.0


class Metrics:
    """Counters of the HTTP side, and a look at each space when asked. Names follow kube-apiserver's where there is one."""

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.in_flight = 0
        self.watchers = 0
        self._requests: dict[tuple[str, str, int], int] = {}
        self._times: dict[tuple[str, str], _Times] = {}
        self._registry = CollectorRegistry()
        self._registry.register(_Requests(self))
        self._registry.register(_Spaces(spaces))
        self.queues = QueueMetrics()
        self._registry.register(self.queues)

    def count(self, verb: str, resource: str, code: int) -> None:
        key = (verb, resource, code)
        self._requests[key] = self._requests.get(key, 0) + 1

    def time(self, verb: str, resource: str, seconds: float) -> None:
        times = self._times.get((verb, resource))
        if times is None:
            times = self._times[verb, resource] = _Times()
        times.buckets[bisect_left(_BUCKETS, seconds)] += 1
        times.seconds += seconds

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "apiserver_request_total", "Requests answered", labels=["verb", "resource", "code"]
        )
        for (verb, resource, code), number in self._requests.items():
            requests.add_metric([verb, resource, str(code)], number)
        seconds = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "Time to answer, watches left out", labels=["verb", "resource"]
        )
        edges = [*map(str, _BUCKETS), "+Inf"]
        for (verb, resource), times in self._times.items():
            below = list(zip(edges, accumulate(times.buckets), strict=True))
            seconds.add_metric([verb, resource], below, times.seconds)
        in_flight = GaugeMetricFamily("apiserver_current_inflight_requests", "Requests being answered")
        in_flight.add_metric([], self.in_flight)
        watchers = GaugeMetricFamily("apiserver_longrunning_requests", "Open watch streams")
        watchers.add_metric([], self.watchers)
        yield from (requests, seconds, in_flight, watchers)


class _Requests(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return self._metrics.collect()


class _Spaces(Collector):
    def __init__(self, spaces: Iterable[Space]) -> None:
        self._spaces = list(spaces)

    def collect(self) -> Iterator[Metric]:
        revision = GaugeMetricFamily("fairway_store_revision", "Newest published revision", labels=["space"])
        commits = GaugeMetricFamily("fairway_store_commits", "Commits since the start", labels=["space"])
        broken = GaugeMetricFamily("fairway_store_broken", "1 while nothing can be written", labels=["space"])
        objects = GaugeMetricFamily("apiserver_storage_objects", "Stored objects", labels=["space", "resource"])
        for space in self._spaces:
            revision.add_metric([space.name], space.store.revision)
            commits.add_metric([space.name], space.store.commits)
            broken.add_metric([space.name], float(bool(space.store.broken)))
            for name in space.store.buckets():
                objects.add_metric([space.name, name], len(space.store.bucket(name).records))
        collected = GaugeMetricFamily("python_gc_collections", "Garbage collections", labels=["generation"])
        for number, stats in enumerate(gc.get_stats()):
            collected.add_metric([str(number)], stats["collections"])
        yield from (revision, commits, broken, objects, collected)
