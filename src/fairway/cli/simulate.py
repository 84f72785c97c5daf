"""`fairway simulate`: what would come of a workload, in virtual time, by the same decisions that a node makes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairway.cli import options
from fairway.cli.output import Output, note, say, show_json
from fairway.runtime.status import Problem
from fairway.sim.describe import DescriptionError
from fairway.sim.picture import draw
from fairway.sim.simulate import BUILT_IN, SimulationOptions, is_built_in, scenario_of
from fairway.sim.simulate import simulate as run
from fairway.sim.swf import TraceError


def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help=f"A YAML description, a trace (.swf), or one of: {', '.join(BUILT_IN)}. FILE#PART names a part.",
        ),
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="For generated work: the same seed, the same result.")] = 1,
    jobs: Annotated[int, typer.Option(metavar="N", help="For generated work: how many.")] = 1000,
    processors: Annotated[
        int | None,
        typer.Option(metavar="N", help="Size of the machine, for traces and generated work.", show_default=False),
    ] = None,
    fair_sharing: Annotated[
        bool | None,
        typer.Option("--fair-sharing/--no-fair-sharing", help="Overrides the scenario.", show_default=False),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw shares over time.", show_default=False)
    ] = None,
    output: options.Format = Output.TEXT,
) -> None:
    """Run a workload through the scheduler in virtual time: makespan against the floor, waits, utilisation, evictions."""
    wanted = SimulationOptions(seed=seed, jobs=jobs, processors=processors, fair_sharing=fair_sharing)
    try:
        report = run(scenario_of(scenario, None if is_built_in(scenario) else _read(scenario), wanted))
    except (DescriptionError, TraceError) as error:
        raise Problem(str(error)) from None
    if picture is not None:
        try:
            picture.write_text(draw(report), encoding="utf-8")
        except OSError as error:
            raise Problem(f"cannot write {picture}: {error.strerror}") from None
        note(f"shares over time are drawn in {picture}")
    if output is Output.JSON:
        show_json(report.as_json())
        return
    for name, value in report.rows():
        say(f"{name:<24}{value}")


def _read(name: str) -> str:
    path = Path(name.partition("#")[0])
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise Problem(f"there is no file {path}", f"built in are: {', '.join(BUILT_IN)}") from None
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from None
