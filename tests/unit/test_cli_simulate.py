"""`fairway simulate`: files in, tables, JSON and pictures out; the same seed gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairway.cli.main import app

SCENARIO = """
queues:
- {name: a, cohort: all, quota: {cpu: 2}}
- {name: b, cohort: all, quota: {cpu: 2}}
jobs:
- {queue: a, kind: small, count: 8, every: 0s, runtime: 10s, requests: {cpu: 1}}
"""


def test_a_description_is_run_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "work.yaml", tmp_path / "shares.svg"
    file.write_text(SCENARIO)
    assert app(["simulate", str(file), "-o", "json", "--picture", str(picture)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["finished"] == 8
    assert report["makespanSeconds"] == 20.0, "four at a time: two of its own CPUs and two borrowed"
    assert picture.read_text().startswith("<svg")
    assert app(["simulate", str(file)]) == 0
    assert "8 of 8 finished" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("7", "7", "8"):
        assert app(["simulate", "lublin", "--jobs", "100", "--seed", seed, "-o", "json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [("queues: 3", "queues"), ("]", "YAML"), ("queues: []\njobs:\n- {queue: nope, runtime: 1s}", "nope")],
)
def test_a_bad_description_is_a_clear_error(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(text)
    assert app(["simulate", str(file)]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert message in shown
    assert "Traceback" not in shown
