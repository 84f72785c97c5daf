"""`python -m fairway.sim.fleet --seed 7` tells one history; `--seeds 1-500` many, and prints what led to a broken promise."""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairway.runtime.clock import SystemClock
from fairway.sim.fleet import plan as plans
from fairway.sim.fleet.plan import Plan
from fairway.sim.fleet.story import Told, tell

_PROGRESS_S = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    # What is loaded by now stays: collecting after each history is quicker without it.
    gc.freeze()
    if options.seed is not None:
        told = tell(options.seed, _plan(options.seed, alone=options.alone))
        _say("\n".join([*told.lines, _verdict(told)]))
        return 1 if told.broken else 0
    return _many(options.seeds, alone=options.alone, stop=options.stop)


def _plan(seed: int, *, alone: bool) -> Plan:
    return plans.alone() if alone else plans.drawn(seed)


@dataclass(slots=True)
class Sums:
    """Over many histories."""

    histories: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[Told] = field(default_factory=list)

    def add(self, told: Told) -> None:
        self.histories += 1
        self.steps += told.steps
        self.virtual_s += told.seconds
        self.counts += told.counts
        if told.broken:
            self.broken.append(told)

    def line(self, seconds: float) -> str:
        rate = self.histories / max(seconds, 1e-9)
        return f"{self.histories} histories, {len(self.broken)} broken, {rate:.1f} histories/s"

    def text(self) -> str:
        faults = {name.partition(" ")[2]: count for name, count in self.counts.items() if name.startswith("fault")}
        people = {name.partition(" ")[2]: count for name, count in self.counts.items() if name.startswith("people")}
        return "\n".join(
            [
                f"{self.virtual_s / 3600:.1f} virtual hours, {self.steps} steps, {self.counts['payloads']} payloads started",
                f"{sum(faults.values())} faults: {_listed(faults)}",
                f"{sum(people.values())} interventions: {_listed(people)}",
            ]
        )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda each: -each[1])) or "none"


def _many(seeds: range, *, alone: bool, stop: bool) -> int:
    sums, clock = Sums(), SystemClock()
    began = said = clock.monotonic
    with contextlib.suppress(KeyboardInterrupt):  # what was told until then counts
        for seed in seeds:
            told = tell(seed, _plan(seed, alone=alone))
            sums.add(told)
            if told.broken:
                _say(_verdict(told))
                if stop:
                    break
            if clock.monotonic - said >= _PROGRESS_S:
                said = clock.monotonic
                _say(f"{sums.line(said - began)}; {len(seeds) - sums.histories} to go")
    _say(sums.text())
    for told in sums.broken:
        _say(f"{_verdict(told)}\n  again: python -m fairway.sim.fleet --seed {told.seed}{' --alone' if alone else ''}")
    _say(sums.line(clock.monotonic - began))
    return 1 if sums.broken else 0


def _verdict(told: Told) -> str:
    return f"seed {told.seed}: {told.broken or 'all promises held'} [{told.digest}]"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fairway.sim.fleet", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="one history, with all that happens in it")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="every history from A to B")
    parser.add_argument("--alone", action="store_true", help="one cluster without a hub")
    parser.add_argument("--stop", action="store_true", help="at the first broken promise")
    return parser


def _range(text: str) -> range:
    first, _dash, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
