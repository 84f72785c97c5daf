"""Options that several commands share, and the words of their help."""

from __future__ import annotations

from typing import Annotated

import typer

from fairway.cli.output import Output

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        envvar="FAIRWAY_DATA",
        help="The folder that holds everything. Default: the user's own, such as ~/.local/share/fairway.",
        show_default=False,
    ),
]
Format = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]
Space = Annotated[
    str | None,
    typer.Option("--space", metavar="NAME", help="Which space; default: the current one.", show_default=False),
]
