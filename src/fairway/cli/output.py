"""How commands speak: results on stdout, words for people and errors on stderr, JSON where asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from rich.console import Console
from rich.table import Table

from fairway.runtime.status import Problem


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def console(*, stderr: bool = False) -> Console:
    """Made anew for each use, because what the streams are may change. Never guesses at markup or colours in what it is given."""
    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)


def say(text: str = "", style: str | None = None) -> None:
    console().print(text, style=style)


def note(text: str = "", style: str | None = None) -> None:
    console(stderr=True).print(text, style=style)


def show_json(value: object) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="ignore")
    for row in rows:
        table.add_row(*row)
    # Piped into another program, a line must not be cut at a width that nobody sees.
    shown = console()
    if not shown.is_terminal:
        shown.width = 10_000
    shown.print(table)


def show_problem(problem: Problem) -> None:
    shown = console(stderr=True)
    shown.print("error: ", style="bold red", end="")
    shown.print(problem.message)
    if problem.remedy:
        shown.print(problem.remedy)
