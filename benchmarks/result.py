"""What a benchmark reports, and how it is measured: interleaved rounds, the median of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Literal

import msgspec


class Result(msgspec.Struct, kw_only=True):
    """One number, beside the number of a probe that was measured in the same rounds."""

    name: str
    value: float
    unit: str
    more_is_better: bool = True
    probe: str = ""
    probe_value: float | None = None
    aim: float | None = None
    aim_for: Literal["value", "ratio"] = "value"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.probe_value if self.probe_value else None

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None where there is none."""
        measured = self.ratio if self.aim_for == "ratio" else self.value
        if self.aim is None or measured is None:
            return None
        return measured >= self.aim if self.more_is_better else measured <= self.aim

    def as_json(self) -> dict[str, object]:
        return {**msgspec.to_builtins(self), "ratio": self.ratio, "met": self.met}


def rounds(measures: Mapping[str, Callable[[], float]], *, quick: bool, count: int = 5) -> dict[str, float]:
    """Every measure once per round, so that a slow moment of the machine hits all of them; the median over the rounds."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(1 if quick else count):
        for name, measure in measures.items():
            values[name].append(measure())
    return {name: median(of_rounds) for name, of_rounds in values.items()}
