"""How commands speak: results on stdout, words for people and errors on stderr, JSON where asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from fairway.runtime.status import Problem

_GAP = "   "
_LAST_COLUMN = 20
"""What is left of the last column on the narrowest terminal."""


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
    """On a terminal the last column, which holds words, is cut where the line ends. Piped into another program nothing is cut."""
    shown = console()
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    last = max(_LAST_COLUMN, shown.width - before) if shown.is_terminal else widths[-1]
    for index, row in enumerate((headings, *rows)):
        cells = [set_cell_size(cell, width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        line = _GAP.join([*cells, _cut(row[-1], last)]).rstrip()
        shown.print(line, style="bold" if index == 0 else None)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def show_problem(problem: Problem) -> None:
    shown = console(stderr=True)
    shown.print("error: ", style="bold red", end="")
    shown.print(problem.message)
    if problem.remedy:
        shown.print(problem.remedy)
