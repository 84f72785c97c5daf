"""What queueing measures, in Prometheus' form and under Kueue's names, with the space each number is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fairway.server.visibility import Measure


class QueueMetrics(Collector):
    def __init__(self) -> None:
        self._sources: list[tuple[str, Callable[[], Iterable[Measure]]]] = []

    def add(self, space: str, measures: Callable[[], Iterable[Measure]]) -> None:
        self._sources.append((space, measures))

    def collect(self) -> Iterator[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily] = {}
        for space, measures in self._sources:
            for name, kind, text, labels, value in measures():
                family = families.get(name)
                keys = [*labels, "replica_role", "space"]
                if family is None:
                    family = families[name] = _FAMILIES[kind](name, text, labels=keys)
                values = [*labels.values(), "leader", space]
                if isinstance(family, HistogramMetricFamily):
                    buckets, total = value
                    family.add_metric(values, buckets, total)
                else:
                    family.add_metric(values, value)
        yield from families.values()


_FAMILIES = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
