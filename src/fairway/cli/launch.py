"""The launcher's process when it is detached from the terminal; `fairway up` without --detach runs the same launcher itself.

`python -m fairway.cli.launch --data DIR --report-fd N [--host ADDR] [--port N] [--no-tls] [--cpu N] [--memory SIZE] [--gpus N] [--no-engine]`
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import site
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import fairway
from fairway.runtime import layout, sockets
from fairway.runtime.companions import Companion
from fairway.runtime.datadir import AlreadyRunning, DataDir
from fairway.runtime.launcher import LaunchConfig, Launcher
from fairway.runtime.logfile import RotatingFile
from fairway.runtime.status import Event, Fatal, Problem, Ready, Reporter


def python(module: str) -> list[str]:
    """How to run one of our modules. -P: files in the folder where a person happens to be must not pass for ours."""
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """The environment in which `python` finds the same Fairway as this process did, installed or not."""
    result = dict(os.environ)
    root = str(Path(fairway.__file__).parent.parent)
    if root not in (*site.getsitepackages(), site.getusersitepackages()):
        result["PYTHONPATH"] = os.pathsep.join(filter(None, (root, result.get("PYTHONPATH"))))
    return result


def machine_arguments(
    *,
    cpu: str,
    memory: str,
    gpus: int,
    no_engine: bool,
    config: str = "",
    no_default_queue: bool = False,
    node_name: str = "",
) -> list[str]:
    """What the node is told about the machine and its queues; nothing, if it is to look for itself."""
    queueing = [*(["--config", config] if config else []), *(["--no-default-queue"] if no_default_queue else [])]
    if no_engine:
        return ["--no-engine", *queueing]
    given = (("--cpu", cpu), ("--memory", memory), ("--gpus", str(gpus) if gpus else ""), ("--node-name", node_name))
    return [*(word for name, value in given if value for word in (name, value)), *queueing]


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpu", default="")
    parser.add_argument("--memory", default="")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--no-engine", action="store_true")
    parser.add_argument("--config", default="")
    parser.add_argument("--no-default-queue", action="store_true")
    parser.add_argument("--node-name", default="")


def launch_config(
    *, data: DataDir, host: str, port: int | None, tls: bool, detached: bool, machine: Sequence[str] = ()
) -> LaunchConfig:
    """machine: as machine_arguments made it."""
    return LaunchConfig(
        data=data,
        node_command=[*_node_command(detached=detached), *machine],
        node_environment=environment(),
        host=host,
        port=port,
        tls=tls,
        log_to_file=detached,
        companions=lambda: companions(data, tls=tls, machine=machine),
    )


_ONE_MACHINE = {"--cpu", "--memory", "--gpus", "--node-name"}


def companions(data: DataDir, *, tls: bool, machine: Sequence[str]) -> list[Companion]:
    """The clusters beside the hub of a folder, each with a launcher like its own. machine: as the hub's node got it; how queues behave
    holds for all of them."""
    words = list(machine)
    queueing = [
        word
        for index, word in enumerate(words)
        if word not in {*_ONE_MACHINE, "--no-engine"} and (index == 0 or words[index - 1] not in _ONE_MACHINE)
    ]
    found = []
    for member in layout.read(data).clusters:
        folder = data.cluster(member.name)
        command = [
            *python("fairway.cli.launch"),
            "--data",
            str(folder.path),
            "--port",
            "0",
            *([] if tls else ["--no-tls"]),
        ]
        own = machine_arguments(
            cpu=member.cpu, memory=member.memory, gpus=member.gpus, no_engine=False, node_name=member.name
        )
        found.append(Companion(member.name, folder, [*command, *own, *queueing]))
    return found


def _node_command(*, detached: bool) -> list[str]:
    stand_in = os.environ.get("FAIRWAY_NODE_COMMAND")
    if stand_in:  # Another program in the node's place, to try a launcher with.
        return shlex.split(stand_in)
    # A log is the place for stack traces; a terminal is not, unless they are asked for.
    traces = ["--traces"] if detached or os.environ.get("FAIRWAY_DEBUG") else []
    return [*python("fairway.cli.node"), *traces]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parse(argv)
    os.set_inheritable(arguments.report_fd, False)
    os.chdir("/")
    reporter = Reporter(arguments.report_fd)
    data = DataDir.at(arguments.data)

    def notify(event: Event) -> None:
        reporter.send(event)
        if isinstance(event, Ready):
            reporter.close()

    config = launch_config(
        data=data,
        host=arguments.host,
        port=arguments.port,
        tls=not arguments.no_tls,
        detached=True,
        machine=machine_arguments(
            cpu=arguments.cpu,
            memory=arguments.memory,
            gpus=arguments.gpus,
            no_engine=arguments.no_engine,
            config=arguments.config,
            no_default_queue=arguments.no_default_queue,
            node_name=arguments.node_name,
        ),
    )
    try:
        asyncio.run(Launcher(config, notify).run())
    except Problem as problem:
        reporter.send(Fatal(problem.message, problem.remedy))
        if not isinstance(problem, AlreadyRunning):  # Then the log is another's.
            _log(data, f"launcher: {problem}\n")
        return 1
    except Exception as error:
        reporter.send(
            Fatal(f"the launcher failed: {type(error).__name__}: {error}", f"{data.log_file} has the details")
        )
        _log(data, traceback.format_exc())
        return 1
    return 0


def _log(data: DataDir, text: str) -> None:
    """Last words, for whoever looks later: by now nobody may listen on the pipe."""
    try:
        file = RotatingFile(data.log_file)
    except OSError:
        return
    file.write(text.encode())
    file.close()


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fairway.cli.launch", description="Keeps a node up; started by `fairway up --detach`."
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--report-fd", type=int, required=True)
    parser.add_argument("--host", default=sockets.LOOPBACK)
    parser.add_argument("--port", type=int)
    parser.add_argument("--no-tls", action="store_true")
    add_machine_arguments(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
