"""What a benchmark reports, and how it is measured: interleaved rounds, the median of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Literal

import msgspec

AimFor = Literal["value", "ratio", "cpu_ratio"]


class Skipped(Exception):
    """A question cannot be asked here; the message says what is missing."""


class Result(msgspec.Struct, kw_only=True):
    """One number, beside the number of a probe that was measured in the same rounds."""

    name: str
    value: float
    unit: str
    more_is_better: bool = True
    probe: str = ""
    probe_value: float | None = None
    ratio: float | None = None
    """Of the two, within a round; the median over the rounds."""
    cpu_ratio: float | None = None
    """The same by processor time: what the ratio is where nobody else wants the processor, if that is what limits both."""
    cpu_us: float | None = None
    """Processor time for each, where that says more than the clock of a busy machine."""
    aim: float | None = None
    aim_for: AimFor = "value"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None where there is none."""
        measured = {"value": self.value, "ratio": self.ratio, "cpu_ratio": self.cpu_ratio}[self.aim_for]
        if self.aim is None or measured is None:
            return None
        return measured >= self.aim if self.more_is_better else measured <= self.aim

    def as_json(self) -> dict[str, object]:
        return {**msgspec.to_builtins(self), "met": self.met}


class Sample(msgspec.Struct):
    value: float
    cpu_us: float | None = None


Measure = Callable[[], "float | Sample"]


class Rounds:
    """Every measure once per round, so that a slow moment of the machine hits all of them."""

    def __init__(self, measures: Mapping[str, Measure], *, quick: bool, count: int = 5) -> None:
        self._samples: dict[str, list[Sample]] = {name: [] for name in measures}
        for _ in range(1 if quick else count):
            for name, measure in measures.items():
                value = measure()
                self._samples[name].append(value if isinstance(value, Sample) else Sample(value))

    def median(self, name: str) -> float:
        return median(sample.value for sample in self._samples[name])

    def ratio(self, name: str, probe: str) -> float:
        pairs = zip(self._samples[name], self._samples[probe], strict=True)
        return median(sample.value / beside.value for sample, beside in pairs)

    def cpu_ratio(self, name: str, probe: str, *, rates: bool) -> float | None:
        """By the least of each: other processes only ever make it more. The less each costs, the higher is a rate."""
        ours, theirs = _least(self._samples[name]), _least(self._samples[probe])
        if not ours or not theirs:
            return None
        return theirs / ours if rates else ours / theirs

    def result(
        self,
        name: str,
        unit: str,
        *,
        beside: str = "",
        more_is_better: bool = True,
        aim: float | None = None,
        aim_for: AimFor = "value",
        note: str = "",
    ) -> Result:
        """The names of measures are what the table shows."""
        cpu = [sample.cpu_us for sample in self._samples[name] if sample.cpu_us is not None]
        return Result(
            name=name,
            value=self.median(name),
            unit=unit,
            more_is_better=more_is_better,
            probe=beside,
            probe_value=self.median(beside) if beside else None,
            ratio=self.ratio(name, beside) if beside else None,
            cpu_ratio=self.cpu_ratio(name, beside, rates=more_is_better) if beside else None,
            cpu_us=median(cpu) if cpu else None,
            aim=aim,
            aim_for=aim_for,
            note=note,
        )


def _least(samples: list[Sample]) -> float | None:
    return min((sample.cpu_us for sample in samples if sample.cpu_us is not None), default=None)


class Stopwatch:
    """Clock and processor time of this process, with all its threads."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), time.process_time()

    def per_second(self, count: int) -> Sample:
        cpu = time.process_time() - self._cpu
        return Sample(count / (time.perf_counter() - self._clock), cpu / count * 1e6)
