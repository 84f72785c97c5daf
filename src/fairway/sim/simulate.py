"""`fairway simulate`: from a name or the text of a file to a report. Reading and writing files is the caller's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairway.core.model import SECOND, Settings
from fairway.sim.describe import DescriptionError, described_scenario
from fairway.sim.engine import Engine
from fairway.sim.lublin import LublinModel, lublin_scenario
from fairway.sim.report import Report, report
from fairway.sim.scenario import Scenario
from fairway.sim.shapes import SHAPES, kueue_scenario
from fairway.sim.swf import swf_scenario

BUILT_IN = (*SHAPES, "lublin")
_SAMPLES = 200


@dataclass(slots=True, frozen=True)
class SimulationOptions:
    """`fair_sharing` overrides what the scenario says; `seed` and `jobs` are for generated work."""

    seed: int = 1
    jobs: int = 1000
    processors: int | None = None
    fair_sharing: bool | None = None


DEFAULTS = SimulationOptions()


def is_built_in(name: str) -> bool:
    return name in BUILT_IN


def scenario_of(name: str, text: str | None, options: SimulationOptions = DEFAULTS) -> Scenario:
    """A built-in one by its name (no text), else by the file's: `.swf` is a trace, everything else a description.

    A part of a description with several is named after a `#`.
    """
    settings = None if options.fair_sharing is None else Settings(fair_sharing=options.fair_sharing)
    if text is None:
        if name in SHAPES:
            return kueue_scenario(name, settings)
        if name == "lublin":
            model = LublinModel(jobs=options.jobs, seed=options.seed)
            if options.processors is not None:
                model = replace(model, processors=options.processors)
            return lublin_scenario(model, settings)
        raise DescriptionError(f"there is no built-in scenario {name!r}; there are {', '.join(BUILT_IN)}")
    file, _, part = name.partition("#")
    if file.endswith(".swf"):
        return swf_scenario(file, text, options.processors, settings)
    return described_scenario(file, text, part, settings)


def simulate(scenario: Scenario) -> Report:
    longest = max((job.arrival + job.runtime for job in scenario.jobs), default=0)
    engine = Engine(scenario, sample_every=max(SECOND // 100, longest // _SAMPLES))
    return report(engine, engine.run())
