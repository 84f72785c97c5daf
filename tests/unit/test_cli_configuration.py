"""`fairway up --config`: a file that is wrong stops the start, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.cli import configuration
from fairway.cli.launch import machine_arguments
from fairway.cli.main import app
from fairway.runtime.status import Problem


def test_a_missing_file_and_a_wrong_one_are_problems_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot read the configuration"):
        configuration.read(tmp_path / "none.yaml")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("fairSharring: {}\n")
    with pytest.raises(Problem, match="did you mean 'fairSharing'") as refused:
        configuration.read(wrong)
    assert refused.value.remedy


def test_up_refuses_a_wrong_configuration_before_it_starts_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("kind: Nonsense\n")
    assert app(["up", "--data", str(tmp_path / "data"), "--config", str(wrong)]) != 0
    assert "kind: 'Nonsense' must be Configuration" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "data").exists()


def test_the_node_is_told_about_its_queues() -> None:
    given = machine_arguments(cpu="2", memory="", gpus=0, no_engine=False, config="/q.yaml", no_default_queue=True)
    assert given == ["--cpu", "2", "--config", "/q.yaml", "--no-default-queue"]
