"""Words, exit codes and errors of the commands that need nothing running."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fairway import __version__
from fairway.cli import main, node, tokens
from fairway.cli.main import app
from fairway.runtime.datadir import DataDir, LauncherState
from fairway.runtime.status import Fatal, Problem, SpaceInfo
from fairway.store.log import StoreError

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": n, "cluster": {"server": f"https://127.0.0.1:1/{n}"}} for n in ("hub", "east")],
    "users": [{"name": n, "user": {"token": f"secret-{n}"}} for n in ("hub", "east")],
    "contexts": [{"name": f"fairway-{n}", "context": {"cluster": n, "user": n}} for n in ("hub", "east")],
    "current-context": "fairway-hub",
}


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRWAY_DEBUG", raising=False)
    monkeypatch.delenv("FAIRWAY_DATA", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> DataDir:
    data = DataDir(tmp_path)
    data.kubeconfig.write_text("# ours\n" + yaml.safe_dump(KUBECONFIG))
    spaces = tuple(SpaceInfo(name, f"fairway-{name}") for name in ("hub", "east"))
    data.write_state(LauncherState(phase="stopped", spaces=spaces))
    return data


@pytest.mark.parametrize("command", [["--help"], ["-h"], [], ["up", "-h"], ["token"], ["token", "create", "-h"]])
def test_help_is_no_error(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app(command) == 0
    shown = capsys.readouterr()
    assert "Usage: fairway" in shown.out
    assert shown.err == ""


def test_the_version_is_told_to_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["version"], ["--version"]):
        assert app(command) == 0
        assert capsys.readouterr().out == f"fairway {__version__}\n"
    assert app(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == __version__


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["upp"], "Did you mean 'up'?"),
        (["up", "--prt", "3"], "--prt"),
        (["up", "--port", "65536"], "--port"),
        (["up", "--port", "seven"], "--port"),
        (["status", "-o", "xml"], "xml"),
        (["token", "create"], "USER"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_error_and_one_hint(
    command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(command) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert words in first
    assert "--help" in second


def test_a_failure_of_our_own_is_a_line_without_a_stack_trace_unless_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr(main.typer.main, "get_command", fail)
    assert app(["version"]) == 1
    assert capsys.readouterr().err.splitlines()[0] == "error: RuntimeError: not foreseen"
    monkeypatch.setenv("FAIRWAY_DEBUG", "1")
    with pytest.raises(RuntimeError):
        app(["version"])


def test_a_reader_that_has_seen_enough_is_no_stack_trace() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(main.__file__).parents[2])}
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    done = subprocess.run(
        [sys.executable, "-m", "fairway", "--help"], stdout=write_fd, stderr=subprocess.PIPE, env=environment
    )
    os.close(write_fd)
    assert done.stderr == b""


def test_the_kubeconfig_is_printed_as_it_is(folder: DataDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["kubeconfig", "--data", str(folder.path)]) == 0
    assert capsys.readouterr().out == folder.kubeconfig.read_text()
    assert app(["kubeconfig", "--data", str(folder.path), "--path"]) == 0
    assert capsys.readouterr().out == f"{folder.kubeconfig}\n"
    assert app(["kubeconfig", "--data", str(folder.path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == KUBECONFIG


@pytest.mark.parametrize("name", ["east", "fairway-east"])
def test_the_kubeconfig_of_one_space_has_nothing_of_the_others(
    folder: DataDir, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(["kubeconfig", "--data", str(folder.path), "--space", name]) == 0
    shown = capsys.readouterr().out
    document = yaml.safe_load(shown)
    assert document["current-context"] == "fairway-east"
    assert [each["name"] for each in document["contexts"]] == ["fairway-east"]
    assert "hub" not in shown


def test_an_unknown_space_is_met_with_the_one_that_was_meant(
    folder: DataDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(["kubeconfig", "--data", str(folder.path), "--space", "eats"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"error: there is no space 'eats' in {folder.path}",
        "did you mean east?",
    ]
    assert app(["kubeconfig", "--data", str(folder.path), "--space", "zzz"]) == 1
    assert capsys.readouterr().err.splitlines()[1] == "there are: hub, east"


def test_without_a_kubeconfig_it_says_what_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["kubeconfig", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (f"error: there is no kubeconfig in {tmp_path}\nit is written by: fairway up\n")


@pytest.mark.parametrize("content", ["", "[]", "{", "a: b", "contexts: 3", "\x00"])
def test_a_broken_kubeconfig_is_a_clear_error(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kubeconfig").write_text(content)
    assert app(["kubeconfig", "--data", str(tmp_path), "--space", "default"]) == 1
    assert "is not a kubeconfig of Fairway's" in capsys.readouterr().err


def test_tokens_need_something_that_runs(folder: DataDir, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["create", "ann"], ["list"], ["revoke", "ann-1"]):
        assert app(["token", *command, "--data", str(folder.path)]) == 1
        assert capsys.readouterr().err.startswith(f"error: nothing is running in {folder.path}\nstart it with")


def test_the_name_of_a_token_reminds_of_its_user_and_is_valid() -> None:
    assert tokens.object_name("ann") == "ann"
    assert tokens.object_name("Ann.Smith@example.org") == "ann-smith-example-org"
    assert tokens.object_name("---") == "user"
    assert tokens.object_name("漢字") == "user"
    assert len(tokens.object_name("x" * 300)) == 50


def test_a_node_that_fails_says_so_in_words_and_where_the_stack_trace_is(caplog: pytest.LogCaptureFixture) -> None:
    for error, told in [
        (Problem("what", "remedy"), Fatal("what", "remedy")),
        (StoreError("the store says why"), Fatal("the store says why")),
    ]:
        assert node._explain(error, traces=True) == told
    assert not caplog.records
    unforeseen = node._explain(RuntimeError("odd"), traces=False)
    assert unforeseen == Fatal("the node failed: RuntimeError: odd", "FAIRWAY_DEBUG=1 shows where it comes from")
    assert not caplog.records
    assert "the log has the details" in node._explain(RuntimeError("odd"), traces=True).remedy
    assert caplog.records[0].exc_info


def test_what_lets_a_hub_into_a_cluster_of_others_is_printed_to_be_applied(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["cluster", "permissions", "-n", "queues"]) == 0
    made = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [each["kind"] for each in made] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    ]
    account = {"kind": "ServiceAccount", "name": "fairway-hub", "namespace": "queues"}
    assert all(each["subjects"] == [account] for each in made if each["kind"].endswith("Binding"))
    whole, local = made[1]["rules"], made[3]["rules"]
    granted = {resource: set(rule["verbs"]) for rule in whole for resource in rule["resources"]}
    assert {"create", "delete", "watch"} <= granted["jobs"] & granted["workloads"] & granted["pods"]
    assert "secrets" not in granted
    assert "*" not in {verb for rule in (*whole, *local) for verb in rule["verbs"]}


def test_a_kubeconfig_for_a_manager_needs_a_node_that_runs(folder: DataDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["cluster", "kubeconfig", "manager", "--data", str(folder.path)]) != 0
    assert "nothing is running" in capsys.readouterr().err
    assert app(["cluster", "kubeconfig", "No Name", "--data", str(folder.path)]) != 0
    assert "cannot be the name" in capsys.readouterr().err
