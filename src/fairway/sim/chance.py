"""Seeded chance, the same on every machine: SplitMix64 and the few distributions that workload models need."""

from __future__ import annotations

import math

_MASK = (1 << 64) - 1


class Chance:
    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def bits(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def unit(self) -> float:
        """In [0, 1)."""
        return (self.bits() >> 11) / (1 << 53)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.unit()

    def below(self, count: int) -> int:
        return self.bits() % count

    def normal(self) -> float:
        return math.sqrt(-2.0 * math.log(1.0 - self.unit())) * math.cos(2.0 * math.pi * self.unit())

    def gamma(self, shape: float, scale: float) -> float:
        """By Marsaglia and Tsang: squeeze a cubed normal until it falls under the density."""
        if shape < 1.0:
            return self.gamma(shape + 1.0, scale) * math.pow(1.0 - self.unit(), 1.0 / shape)
        d = shape - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.normal()
            v = (1.0 + c * x) ** 3
            if v > 0 and math.log(1.0 - self.unit()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v * scale
