"""What an operator wants to see of a node, for Prometheus."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairway.api.space import Space

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters of the HTTP side, and a look at each space when asked. Names follow kube-apiserver's where there is one."""

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request_total", "Requests answered", ["verb", "resource", "code"], registry=self.registry
        )
        self._seconds = Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer, watches left out",
            ["verb", "resource"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge("apiserver_current_inflight_requests", "Requests being answered", registry=self.registry)
        self.watchers = Gauge("apiserver_longrunning_requests", "Open watch streams", registry=self.registry)
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[tuple[str, str], Histogram] = {}
        self.registry.register(_Spaces(spaces))

    def count(self, verb: str, resource: str, code: int) -> None:
        counter = self._counted.get((verb, resource, code))
        if counter is None:
            counter = self._counted[verb, resource, code] = self._requests.labels(verb, resource, str(code))
        counter.inc()

    def time(self, verb: str, resource: str, seconds: float) -> None:
        histogram = self._timed.get((verb, resource))
        if histogram is None:
            histogram = self._timed[verb, resource] = self._seconds.labels(verb, resource)
        histogram.observe(seconds)

    def render(self) -> bytes:
        return generate_latest(self.registry)


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
