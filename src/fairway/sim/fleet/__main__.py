"""`python -m fairway.sim.fleet --seed 7` tells one history; `--seeds 1-500` many, and prints what led to a broken promise."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable, Sequence

from fairway.sim.fleet.story import Plan, Told, tell


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    plan = Plan(clusters=options.clusters, jobs=options.jobs)
    # What is loaded by now stays: collecting after each history is quicker without it.
    gc.freeze()
    if options.seed is not None:
        told = tell(options.seed, plan)
        _say("\n".join(told.lines))
        _say(_verdict(told))
        return 1 if told.broken else 0
    return _many(options.seeds, plan, keep_going=options.keep_going)


def _many(seeds: Iterable[int], plan: Plan, *, keep_going: bool) -> int:
    count, broken = 0, []
    for seed in seeds:
        told = tell(seed, plan)
        count += 1
        if told.broken:
            broken.append(told)
            _say("\n".join(told.lines) if not keep_going else _verdict(told))
            if not keep_going:
                break
    _say(f"{count} histories, {len(broken)} broken")
    for told in broken:
        again = f"--seed {told.seed} --clusters {plan.clusters} --jobs {plan.jobs}"
        _say(f"{_verdict(told)}\n  again: python -m fairway.sim.fleet {again}")
    return 1 if broken else 0


def _verdict(told: Told) -> str:
    return f"seed {told.seed}: {told.broken or 'all promises held'} [{told.digest}]"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fairway.sim.fleet", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="one history, with all that happens in it")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="every history from A to B")
    parser.add_argument("--clusters", type=int, default=Plan.clusters)
    parser.add_argument("--jobs", type=int, default=Plan.jobs)
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first broken promise")
    return parser


def _range(text: str) -> range:
    first, _dash, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
