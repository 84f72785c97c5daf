"""up, down and status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.status import Status

from fairway.cli import configuration, fleet, launch, options
from fairway.cli.output import Output, console, note, say, show_json
from fairway.core import quantity
from fairway.kinds.columns import duration
from fairway.runtime import layout, process, sockets
from fairway.runtime.datadir import DataDir, LauncherState, default_path
from fairway.runtime.launcher import DEFAULT_PORT, Launcher
from fairway.runtime.status import Event, Fatal, Notice, Problem, Progress, Ready, decode

NOT_RUNNING = 3
_STOP_TIMEOUT_S = 45.0
_START_TIMEOUT_S = 20.0
_STARTING = "starting …"


def up(
    data: options.Data = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            help="Where to listen. 0 picks a free port. The folder remembers; a new one takes 7443.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDR", help="Listen on this address, for others to reach; 0.0.0.0 is all of them.")
    ] = sockets.LOOPBACK,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return once it serves, and keep it running.")] = False,
    no_tls: Annotated[
        bool, typer.Option("--no-tls", help="No encryption. For benchmarks only: kubectl sends no token without it.")
    ] = False,
    cpu: Annotated[
        str, typer.Option(metavar="N", help="CPUs to offer, like 2 or 500m. Default: those of the machine.")
    ] = "",
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory to offer, like 8Gi. Default: that of the machine.")
    ] = "",
    gpus: Annotated[int, typer.Option(min=0, metavar="N", help="GPUs to offer (nvidia.com/gpu).")] = 0,
    no_engine: Annotated[bool, typer.Option("--no-engine", help="Only the API: nothing runs here.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A Kueue Configuration file: how queues behave.", show_default=False),
    ] = None,
    no_default_queue: Annotated[
        bool, typer.Option("--no-default-queue", help="Start without the queue that a fresh folder gets.")
    ] = False,
    clusters: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=layout.CLUSTERS_MAX,
            metavar="N",
            help="Start a fleet: a hub, and N clusters beside it. The folder remembers.",
            show_default=False,
        ),
    ] = None,
    cluster_sizes: Annotated[
        str,
        typer.Option(metavar="SIZES", help="What they have, CPUS[:MEMORY[:GPUS]] each, like 2,4:8Gi,8:16Gi:1."),
    ] = "",
    hub: Annotated[
        bool,
        typer.Option("--hub", help="Serve a hub, and this machine as one of its clusters (unless --no-engine)."),
    ] = False,
    output: options.Format = Output.TEXT,
) -> None:
    """Start Fairway and keep it running.

    Everything it keeps is in one folder. It stays up through crashes of its own; Ctrl-C, or fairway down, stops it.
    What runs as its jobs runs on, and is found again when it is started the next time.
    """
    machine = _machine(cpu, memory, gpus, no_engine) + _queueing(config, no_default_queue)
    folder = DataDir.at(data)
    folder.create()
    if folder.running() is None:  # Otherwise the launcher says so, and what runs is left as it is.
        asked = fleet.Asked(clusters, cluster_sizes, hub, bool(cpu or memory or gpus), no_engine)
        machine = fleet.machine(fleet.settle(folder, asked), machine)
    if not sockets.is_loopback(host):
        note(f"note: others can reach Fairway on {host}; they need a token (fairway token create)")
    if no_tls:
        note("note: no encryption (--no-tls): for benchmarks only, tokens and data can be read on the way")
    with _progress() as progress:
        if detach:
            _start_detached(folder, host, port, not no_tls, progress, machine)
            progress.stop()
            _welcome(folder, output, detached=True)
            return
        launching = launch.launch_config(
            data=folder, host=host, port=port, tls=not no_tls, detached=False, machine=machine
        )
        asyncio.run(Launcher(launching, _Terminal(folder, output, progress)).run())
    note("stopped")


def start(folder: DataDir) -> str:
    """What `fairway up --detach` does, for a command that has its own to say on stdout and to whose user any port will do. Where it
    serves, for people."""
    folder.create()
    port = None if folder.read_state() is None and sockets.is_free(sockets.LOOPBACK, DEFAULT_PORT) else 0
    machine = fleet.machine(fleet.settle(folder, fleet.Asked(None, "", False, False, False)), [])
    with _progress() as progress:
        try:
            _start_detached(folder, sockets.LOOPBACK, port, True, progress, machine)
        except Problem:
            # Somebody else may have been faster, and be about to serve.
            if not is_up(folder):
                raise
    state = folder.running()
    assert state is not None, "it just said that it serves"
    return f"Fairway {state.version} is up at {state.url}; {_command('down', folder)} stops it"


def is_up(folder: DataDir) -> bool:
    """Whether something runs there. One that is just being started is waited for."""
    state = folder.running()
    if state is not None and state.phase == "starting":
        process.wait_until(lambda: folder.running() is None or _serves(folder), _START_TIMEOUT_S)
        state = folder.running()
    return state is not None


def _serves(folder: DataDir) -> bool:
    state = folder.running()
    return state is not None and state.phase == "serving"


def _machine(cpu: str, memory: str, gpus: int, no_engine: bool) -> list[str]:
    for name, text in (("--cpu", cpu), ("--memory", memory)):
        try:
            if text and quantity.parse(text).nanos <= 0:
                raise Problem(f"{name} {text}: must be more than nothing")
        except quantity.QuantityError as error:
            raise Problem(f"{name}: {error}") from None
    return launch.machine_arguments(cpu=cpu, memory=memory, gpus=gpus, no_engine=no_engine)


def _queueing(config: Path | None, no_default_queue: bool) -> list[str]:
    if config is not None:
        configuration.read(config)
    where = str(config.absolute()) if config is not None else ""
    return launch.machine_arguments(
        cpu="", memory="", gpus=0, no_engine=False, config=where, no_default_queue=no_default_queue
    )


def down(data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """Stop Fairway, and wait until it is gone."""
    folder = DataDir.at(data)
    state = folder.running()
    clusters = [name for name, found in fleet.running(folder).items() if found is not None]
    if state is not None:
        _stop(state)
    _await_orphan(folder)
    for name in clusters:
        # Its hub's launcher has stopped it already, unless that was killed.
        fleet.stop(folder, name)
    if output is Output.JSON:
        shown = {"data": str(folder.path), "stopped": state is not None, "pid": state.pid if state else None}
        show_json({**shown, "clusters": clusters} if clusters else shown)
    elif state is None and not clusters:
        say(f"nothing is running in {folder.path}")
    else:
        who = [f"pid {state.pid}"] if state is not None else []
        say(f"stopped ({', '.join([*who, *clusters, f'data in {folder.path}'])})")


def status(data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """Show whether and where Fairway runs. Exit code 3 when it does not."""
    folder = DataDir.at(data)
    state = folder.running()
    if output is Output.JSON:
        show_json(describe(folder, state))
    elif state is not None:
        _show_status(folder, state)
        fleet.show(folder)
    elif any(fleet.running(folder).values()):
        say(f"the hub in {folder.path} does not run, its clusters do")
        fleet.show(folder)
        note(f"start it with: {_command('up', folder)}")
    else:
        say(f"nothing is running in {folder.path}")
        note(f"start it with: {_command('up', folder)}")
    if state is None:
        raise typer.Exit(NOT_RUNNING)


def describe(folder: DataDir, state: LauncherState | None) -> dict[str, object]:
    clusters = fleet.describe(folder)
    fleet_part: dict[str, object] = {"clusters": clusters} if clusters else {}
    if state is None:
        return {"running": False, "data": str(folder.path), **fleet_part}
    return {
        "running": True,
        "phase": state.phase,
        "pid": state.pid,
        "nodePid": state.node_pid or None,
        "host": state.host,
        "port": state.port,
        "address": state.url,
        "tls": state.tls,
        "version": state.version,
        "uptimeSeconds": round(_uptime_s(state), 3),
        "restarts": state.restarts,
        "data": str(folder.path),
        "kubeconfig": str(folder.kubeconfig),
        "log": str(folder.log_file),
        "spaces": [{"name": space.name, "context": space.context} for space in state.spaces],
        **fleet_part,
    }


def _show_status(folder: DataDir, state: LauncherState) -> None:
    rows = [
        ("Fairway", f"{state.version or '?'} {state.phase}"),
        ("Address", state.url),
        ("Up for", duration(_uptime_s(state))),
        ("Process", f"launcher {state.pid}, node {state.node_pid or '–'}"),
        ("Restarts", str(state.restarts)),
        ("Data", str(folder.path)),
        ("Kubeconfig", str(folder.kubeconfig)),
    ]
    rows += [("Space", f"{space.name} (context {space.context})") for space in state.spaces]
    for name, value in rows:
        say(f"{name:<11} {value}")


def _uptime_s(state: LauncherState) -> float:
    return max(0.0, time.time() - state.started_at) if state.started_at else 0.0


def _stop(state: LauncherState) -> None:
    try:
        process.send(state.pid, state.identity, signal.SIGTERM)
    except PermissionError as error:
        raise Problem(f"not allowed to stop pid {state.pid}: it is another user's", "stop it as that user") from error
    if not process.wait_until(lambda: not process.same(state.pid, state.identity), _STOP_TIMEOUT_S):
        raise Problem(
            f"the launcher (pid {state.pid}) did not stop within {_STOP_TIMEOUT_S:.0f} s",
            f"end it with: kill -9 {state.pid} (its node follows; nothing acknowledged is lost)",
        )


def _await_orphan(folder: DataDir) -> None:
    """The node of a launcher that was killed ends by itself, a moment later."""
    state = folder.read_state()
    if state is None or process.wait_until(lambda: not state.node_alive, _STOP_TIMEOUT_S):
        return
    raise Problem(
        f"a node (pid {state.node_pid}) lives on without its launcher", f"end it with: kill -9 {state.node_pid}"
    )


def _start_detached(
    folder: DataDir, host: str, port: int | None, tls: bool, progress: Status, machine: list[str]
) -> None:
    read_fd, write_fd = os.pipe()
    command = [*launch.python("fairway.cli.launch"), "--data", str(folder.path), "--host", host]
    command += ["--report-fd", str(write_fd)]
    command += ["--port", str(port)] if port is not None else []
    command += [] if tls else ["--no-tls"]
    command += machine
    launcher = subprocess.Popen(
        command,
        pass_fds=[write_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=launch.environment(),
        start_new_session=True,
    )
    os.close(write_fd)
    try:
        with os.fdopen(read_fd, "rb") as report:
            for line in report:
                if _follow(decode(line), progress):
                    return
    except KeyboardInterrupt:
        launcher.terminate()
        launcher.wait()
        raise
    except Problem:
        launcher.wait()  # So that nothing of it is left when its message is read.
        raise
    raise Problem(
        f"the launcher {process.describe_exit(launcher.wait())} without a word", "try without --detach to see why"
    )


def _follow(event: Event | None, progress: Status) -> bool:
    """Shows an event of the start. Whether it is over."""
    if isinstance(event, Fatal):
        raise Problem(event.message, event.remedy)
    if isinstance(event, Progress):
        progress.update(event.message)
    elif isinstance(event, Notice):
        note(event.message)
    return isinstance(event, Ready)


class _Terminal:
    """Shows a launcher's events on the terminal that it runs in."""

    def __init__(self, folder: DataDir, output: Output, progress: Status) -> None:
        self._folder = folder
        self._output = output
        self._progress = progress
        self._welcomed = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, Ready) and not self._welcomed:
            self._welcomed = True
            self._progress.stop()
            _welcome(self._folder, self._output, detached=False)
        elif isinstance(event, Ready):
            note("serving again")
        elif isinstance(event, Progress) and not self._welcomed:
            self._progress.update(event.message)
        elif isinstance(event, Notice):
            note(event.message)


@contextlib.contextmanager
def _progress() -> Iterator[Status]:
    with console(stderr=True).status(_STARTING) as shown:
        yield shown


def _welcome(folder: DataDir, output: Output, *, detached: bool) -> None:
    state = folder.running()
    if output is Output.JSON:
        show_json(describe(folder, state))
        return
    assert state is not None, "it just said that it serves"
    known = layout.read(folder)
    what = f", a hub with {_counted(len(known.clusters) + bool(known.own), 'cluster')}" if known.hub else ""
    say(f"Fairway {state.version} is up at {state.url}{what}")
    say(f"Its data is in {folder.path}", style="dim")
    say()
    say("Talk to it with kubectl:")
    say(f"  export KUBECONFIG={shlex.quote(str(folder.kubeconfig))}")
    for command in _first_commands(folder):
        say(f"  {command}")
    say()
    say(
        f"{_command('status', folder)} shows it, {_command('down', folder)} stops it."
        if detached
        else "Ctrl-C stops it."
    )


def _first_commands(folder: DataDir) -> list[str]:
    known = layout.read(folder)
    if not known.hub:
        return ["kubectl get nodes", "kubectl api-resources"]
    name = (*known.names, layout.OWN)[0]
    return ["kubectl get clusters"] + [f"kubectl --context {name} get nodes"] * bool(known.clusters or known.own)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number or 'no'} {word}s"


def _command(name: str, folder: DataDir) -> str:
    """A command as it has to be typed for this folder."""
    return (
        f"fairway {name}"
        if folder.path == default_path(os.environ)
        else f"fairway {name} --data {shlex.quote(str(folder.path))}"
    )
