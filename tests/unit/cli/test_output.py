"""Tables that stay tables, however narrow the terminal is."""

from __future__ import annotations

import pytest
from rich.console import Console

from fairway.cli import output

HEADINGS = ["NAME", "STATE", "WHY"]
ROWS = [
    ["train-a-model", "queued", "needs 1 more nvidia.com/gpu of the flavor that everybody wants"],
    ["b", "done", ""],
]


def _shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int | None) -> list[str]:
    def console(*, stderr: bool = False) -> Console:
        return Console(width=width, force_terminal=width is not None, color_system=None, soft_wrap=True, stderr=stderr)

    monkeypatch.setattr(output, "console", console)
    output.show_table(HEADINGS, ROWS)
    return capsys.readouterr().out.splitlines()


def test_on_a_terminal_the_last_column_gives_way_and_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _shown(monkeypatch, capsys, 50)
    assert lines[1] == "train-a-model   queued   needs 1 more nvidia.com/…"
    assert lines[2] == "b               done"
    assert max(map(len, lines)) <= 50
    assert _shown(monkeypatch, capsys, 10)[1].startswith("train-a-model   queued   needs 1 more")


def test_piped_into_a_program_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _shown(monkeypatch, capsys, None)[1].endswith("everybody wants")
