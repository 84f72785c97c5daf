"""A node started by the command line, and kubectl against it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairway.runtime.datadir import DataDir, LauncherState
from tests.conformance.runner import shared_folder

ROOT = Path(__file__).parents[2]
SEED = shared_folder() / "seeds" / "004_d89283798958dbdc.txt"
PATIENCE_S = 30.0

_YAML_LINE = re.compile(r"(apiVersion|kind|metadata|spec):|[ #]|---$|$")


def seed_blocks() -> list[str]:
    """The YAML blocks of the seed, each byte for byte as it stands there, with the comments that open it."""
    blocks: list[list[str]] = []
    opening: list[str] = []
    inside = False
    for line in SEED.read_text().splitlines(keepends=True):
        if inside and _YAML_LINE.match(line.rstrip("\n")):
            blocks[-1].append(line)
            continue
        inside = line.startswith("apiVersion:")
        if inside:
            blocks.append([*opening, line])
        opening = [*opening, line] if line.startswith("#") else []
    return ["".join(block) for block in blocks]


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def find_kubectl() -> Path | None:
    found = shutil.which("kubectl")
    return Path(found) if found else None


def find_versions() -> list[Path]:
    """Kubectls of fixed versions that lie beside the one on the PATH, as the cloud SDK has them."""
    kubectl = find_kubectl()
    beside = kubectl.resolve().parent.glob("kubectl.1.*") if kubectl else ()
    return sorted(path for path in beside if 29 <= int(path.name.rsplit(".", 1)[1]) <= 33)


@dataclass(frozen=True)
class Result:
    """What a command said."""

    command: str
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table without its headings; columns are two or more spaces apart."""
        return [re.split(r" {2,}", line.rstrip()) for line in self.lines[1:]]

    @property
    def headings(self) -> list[str]:
        return re.split(r" {2,}", self.lines[0].rstrip())

    def json(self) -> Any:
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.out}{self.err}exit code {self.code}"


class Kubectl:
    """`kubectl` with a kubeconfig and a home of its own, so that nothing of the user's is read or written."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path, *always: str) -> None:
        self.program = program
        self.always = always
        self.home = home
        home.mkdir(exist_ok=True)
        self.env = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}
        self.kubeconfig = kubeconfig

    def with_(self, *always: str) -> Kubectl:
        """The same with more flags on every command, such as -n NAMESPACE or --token TOKEN."""
        return Kubectl(self.program, self.kubeconfig, self.home, *self.always, *always)

    def run(self, *arguments: str, stdin: str | None = None, **env: str) -> Result:
        """Whatever comes of it."""
        done = subprocess.run(
            [str(self.program), *self.always, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.env, **env},
            timeout=PATIENCE_S * 2,
            check=False,
        )
        return Result(f"kubectl {' '.join((*self.always, *arguments))}", done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Result:
        """It must work."""
        result = self.run(*arguments, stdin=stdin, **env)
        assert result.code == 0, str(result)
        return result

    def fails(self, *arguments: str, stdin: str | None = None, **env: str) -> str:
        """It must not work; what it says about that."""
        result = self.run(*arguments, stdin=stdin, **env)
        assert result.code != 0, str(result)
        return result.err.strip()

    def json(self, *arguments: str) -> Any:
        return self(*arguments, "-o", "json").json()

    def path(self, path: str, *arguments: str) -> str:
        return self(*arguments, "-o", f"jsonpath={{{path}}}").out

    def apply(self, *objects: str | dict[str, Any], flags: Sequence[str] = ()) -> list[str]:
        """Apply YAML texts or objects; a line for each, as kubectl prints it."""
        texts = [each if isinstance(each, str) else yaml.safe_dump(each) for each in objects]
        return self("apply", *flags, "-f", "-", stdin="\n---\n".join(texts)).lines

    @contextlib.contextmanager
    def follow(self, *arguments: str) -> Iterator[Lines]:
        """A command that keeps running, as `get -w`."""
        running = subprocess.Popen(
            [str(self.program), *self.always, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.env,
        )
        lines = Lines(running)
        try:
            yield lines
        finally:
            running.kill()
            running.wait()


class Lines:
    """The output of a running command, line by line as it comes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.seen.append(line.rstrip("\n"))
                self._changed.notify_all()

    def until(self, matches: Callable[[str], Any], what: str) -> str:
        """The first line that matches, waiting for it."""

        def found() -> str | None:
            return next((line for line in self.seen if matches(line)), None)

        with self._changed:
            assert self._changed.wait_for(found, PATIENCE_S), f"no line with {what} in:\n" + "\n".join(self.seen)
            result = found()
        assert result is not None
        return result

    def has(self, *words: str) -> str:
        return self.until(lambda line: all(word in line for word in words), " and ".join(words))


class Node:
    """A node of `fairway up --detach` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.kubeconfig = self.data / "kubeconfig"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FAIRWAY_DATA": str(self.data)}

    def fairway(self, *arguments: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "fairway", *arguments],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=PATIENCE_S * 2,
            check=False,
        )
        result = Result(f"fairway {' '.join(arguments)}", done.returncode, done.stdout, done.stderr)
        assert result.code == 0, str(result)
        return result

    def start(self) -> Node:
        self.fairway("up", "--detach", "--port", "0")
        return self

    def stop(self) -> None:
        self.fairway("down")

    @property
    def state(self) -> LauncherState:
        state = DataDir(self.data).running()
        assert state is not None, "the launcher is gone"
        return state

    def kill(self) -> None:
        """kill -9 of the node; returns when its launcher has started it again."""
        killed = self.state.node_pid
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: self.state.node_pid not in (0, killed), "the launcher starts the node again")
        eventually(lambda: self.state.phase == "serving", "the node serves again")

    def token(self, user: str, *options: str) -> str:
        return self.fairway("token", "create", user, *options).out.strip()

    def kubectl(self, program: Path | None = None, *always: str) -> Kubectl:
        program = program or find_kubectl()
        assert program is not None
        return Kubectl(program, self.kubeconfig, self.folder / "home", *always)

    def log(self) -> str:
        return (self.data / "node.log").read_text()

    def story(self) -> str:
        """Events, workloads and log of the node, and of each cluster that it started: for whoever looks for the cause of a failure."""
        told: list[str] = []
        for context in sorted({"fairway"} | {folder.name for folder in self.data.glob("clusters/*")}):
            kubectl = self.kubectl(None, "--context", context)
            for asked in ("events --sort-by=.metadata.creationTimestamp", "workloads -o wide", "pods -o wide"):
                result = kubectl.run("get", *asked.split(), "-A")
                told.append(f"--- {context}: {asked}\n{result.out}{result.err}")
        told += [f"--- {log}\n{log.read_text()}" for log in self.data.glob("**/node.log")]
        return "\n".join(told)


def eventually(condition: Callable[[], Any], what: str) -> None:
    """For what no event tells: the state of another process."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)
