"""Holds the listening socket and keeps a node running behind it.

The launcher does next to nothing, so that next to nothing can bring it down. The node is its child and may die at any moment:
connections that arrive meanwhile wait in the socket's backlog until the next node takes them.

What the node inherits, by descriptor: the listening socket; the folder's lock; the status pipe on which it says `ready` or `fatal`
(fairway.runtime.status); and the life pipe, which it never reads anything from, whose end tells it that the launcher is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairway import __version__
from fairway.runtime import process, sockets
from fairway.runtime.companions import Companion, Companions
from fairway.runtime.datadir import DataDir, LauncherState, Phase
from fairway.runtime.logfile import RotatingFile
from fairway.runtime.status import Event, Fatal, Notice, Problem, Ready, decode

DEFAULT_PORT = 7443
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STATUS_LINE_BYTES_MAX = 1 << 20
_OUTPUT_CHUNK_BYTES = 1 << 16
_OUTPUT_DRAIN_S = 0.25


@dataclass(frozen=True, kw_only=True)
class LaunchConfig:
    data: DataDir
    node_command: Sequence[str]
    """The node's program; the launcher adds `--data DIR --fd N ...` to it."""
    node_environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    host: str = sockets.LOOPBACK
    port: int | None = None
    """None: the folder's own, else the default. 0: the folder's own if it is free, else any."""
    tls: bool = True
    log_to_file: bool = False
    grace_s: float = 10.0
    """How long a node may take to stop before it is killed."""
    start_failures_max: int = 5
    backoff_first_s: float = 0.1
    backoff_max_s: float = 5.0
    stable_after_s: float = 10.0
    """A node that served this long starts the backoff anew."""
    companions: Callable[[], Sequence[Companion]] = lambda: ()
    """The clusters that run beside this folder's hub, as they are wanted at the moment."""


@dataclass(slots=True)
class _Run:
    """One life of the node."""

    served_since: float | None = None
    fatal: Fatal | None = None
    exit_code: int = 0

    @property
    def served_s(self) -> float:
        return 0.0 if self.served_since is None else time.monotonic() - self.served_since


class Launcher:
    def __init__(self, config: LaunchConfig, notify: Callable[[Event], None]) -> None:
        self._config = config
        self._data = config.data
        self._notify = notify
        self._state = LauncherState(host=config.host, tls=config.tls, version=__version__)
        self._stop = asyncio.Event()
        self._kill = asyncio.Event()
        self._log: RotatingFile | None = None
        self._ever_served = False

    async def run(self) -> None:
        """Until a signal says stop. Raises Problem when it cannot start, or the node cannot stay up."""
        self._data.create()
        with self._data.locked() as lock_fd, self._logging(), self._signals():
            listener = self._listen()
            life_read, life_write = os.pipe()
            inherited = _Inherited(listener=listener, lock_fd=lock_fd, life_fd=life_read)
            companions = Companions(self._config.companions, self._config.node_environment, self._tell)
            try:
                # Clusters are there before the hub looks for them, and until it has stopped to dispatch.
                async with companions.running(self._stop, self._kill):
                    await self._supervise(inherited)
            finally:
                listener.close()
                os.close(life_read)
                os.close(life_write)
                self._record("stopped", node_pid=0)

    def stop(self) -> None:
        """Asks the node to stop, then ends. Asked again: does not wait for the node."""
        if self._stop.is_set():
            self._kill.set()
        self._stop.set()

    def _listen(self) -> socket.socket:
        known = self._data.read_state()
        own_port = known.port if known else 0
        wanted = self._config.port
        try:
            listener = sockets.listen(
                self._config.host, (own_port or DEFAULT_PORT) if wanted is None else wanted or own_port
            )
        except sockets.PortTaken as taken:
            if wanted != 0:
                raise taken.examined() from None
            listener = sockets.listen(self._config.host, 0)
        pid = os.getpid()
        self._state.pid, self._state.identity = pid, process.identity(pid) or ""
        self._state.port = sockets.port_of(listener)
        self._state.started_at = time.time()
        self._record("starting")
        return listener

    async def _supervise(self, inherited: _Inherited) -> None:
        start_failures = quick_deaths = 0
        while not self._stop.is_set():
            run = await self._live(inherited)
            if self._stop.is_set():
                return
            start_failures = 0 if run.served_since is not None else start_failures + 1
            self._give_up_if_hopeless(run, start_failures)
            quick_deaths = 0 if run.served_s >= self._config.stable_after_s else quick_deaths + 1
            await self._pause(run, quick_deaths)

    def _give_up_if_hopeless(self, run: _Run, start_failures: int) -> None:
        """A first start that fails is for the person at the terminal. Later there may be nobody, and what is wrong, like a full disk, may pass."""
        if self._ever_served:
            return
        if run.fatal:
            raise Problem(run.fatal.message, run.fatal.remedy)
        if start_failures >= self._config.start_failures_max:
            raise Problem(
                f"the node ended {start_failures} times before it could serve; the last time it "
                f"{process.describe_exit(run.exit_code)}",
                f"its output is in {self._data.log_file}" if self._log else "its output is above",
            )

    async def _pause(self, run: _Run, quick_deaths: int) -> None:
        config = self._config
        delay_s = (
            min(config.backoff_first_s * 2 ** (quick_deaths - 2), config.backoff_max_s) if quick_deaths > 1 else 0.0
        )
        self._state.restarts += 1
        self._record("restarting", node_pid=0)
        reason = run.fatal.message if run.fatal else process.describe_exit(run.exit_code)
        self._tell(
            Notice(f"the node ended ({reason}); starting it again" + (f" in {delay_s:.1f} s" if delay_s else ""))
        )
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), delay_s)

    async def _live(self, inherited: _Inherited) -> _Run:
        """Starts a node and stays with it until it is gone."""
        run = _Run()
        async with contextlib.AsyncExitStack() as readers:
            status_fd = await readers.enter_async_context(self._pipe(lambda reader: self._read_status(reader, run)))
            output_fd = await readers.enter_async_context(self._pipe(self._read_output)) if self._log else None
            try:
                node = await self._spawn(inherited, status_fd, output_fd)
            finally:
                os.close(status_fd)
                if output_fd is not None:
                    os.close(output_fd)
            self._record("restarting" if self._ever_served else "starting", node_pid=node.pid)
            run.exit_code = await self._wait(node)
        return run

    async def _spawn(self, inherited: _Inherited, status_fd: int, output_fd: int | None) -> asyncio.subprocess.Process:
        config = self._config
        fds = (inherited.listener.fileno(), status_fd, inherited.life_fd, inherited.lock_fd)
        names = ("--fd", "--status-fd", "--life-fd", "--lock-fd")
        arguments = ["--data", str(self._data.path), "--host", config.host]
        for name, fd in zip(names, fds, strict=True):
            arguments += [name, str(fd)]
        if not config.tls:
            arguments.append("--no-tls")
        try:
            return await asyncio.create_subprocess_exec(
                *config.node_command,
                *arguments,
                pass_fds=fds,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output_fd if output_fd is not None else sys.stderr,
                stderr=output_fd,
                cwd=self._data.path,
                env=config.node_environment,
                # The terminal's Ctrl-C is for the launcher, which then stops the node in good order.
                start_new_session=True,
            )
        except OSError as error:
            raise Problem(
                f"cannot start the node: {error.strerror or error}", "free memory or processes, and try again"
            ) from error

    async def _wait(self, node: asyncio.subprocess.Process) -> int:
        gone = asyncio.ensure_future(node.wait())
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((gone, stop), return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                self._record("stopping")
                await self._end(node, gone)
            return await gone
        finally:
            stop.cancel()

    async def _end(self, node: asyncio.subprocess.Process, gone: asyncio.Future[int]) -> None:
        _signal(node, signal.SIGTERM)
        kill = asyncio.ensure_future(self._kill.wait())
        await asyncio.wait((gone, kill), timeout=self._config.grace_s, return_when=asyncio.FIRST_COMPLETED)
        kill.cancel()
        if not gone.done():
            self._tell(Notice("the node did not stop in time; killing it"))
            _signal(node, signal.SIGKILL)

    @contextlib.asynccontextmanager
    async def _pipe(self, read: Callable[[asyncio.StreamReader], Coroutine[None, None, None]]) -> AsyncIterator[int]:
        """A pipe whose writing end is for the node (and closed by the caller), read until its end or shortly after the node's."""
        read_fd, write_fd = os.pipe()
        reader = asyncio.StreamReader(limit=_STATUS_LINE_BYTES_MAX)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
        )
        task = asyncio.ensure_future(read(reader))
        try:
            yield write_fd
        finally:
            # A process that the node started may hold the pipe open for as long as it likes.
            await asyncio.wait((task,), timeout=_OUTPUT_DRAIN_S)
            task.cancel()
            transport.close()

    async def _read_status(self, reader: asyncio.StreamReader, run: _Run) -> None:
        while line := await _line(reader):
            event = decode(line)
            if isinstance(event, Fatal):
                run.fatal = event
            elif isinstance(event, Ready):
                run.served_since = time.monotonic()
                self._ever_served = True
                self._state.spaces = event.spaces
                self._record("serving")
                self._tell(event)
            elif event is not None:
                self._tell(event)

    async def _read_output(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_OUTPUT_CHUNK_BYTES):
            self._write_log(chunk)

    def _tell(self, event: Event) -> None:
        if isinstance(event, Notice):
            self._write_log(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} launcher: {event.message}\n".encode())
        self._notify(event)

    def _write_log(self, data: bytes) -> None:
        if self._log is not None:
            with contextlib.suppress(OSError):  # A full disk takes the log's lines, never the node.
                self._log.write(data)

    def _record(self, phase: Phase, node_pid: int | None = None) -> None:
        self._state.phase = phase
        if node_pid is not None:
            self._state.node_pid = node_pid
            self._state.node_identity = process.identity(node_pid) or ""
        try:
            self._data.write_state(self._state)
        except OSError as error:
            self._tell(Notice(f"cannot write {self._data.state_file}: {error.strerror or error}"))

    @contextlib.contextmanager
    def _logging(self) -> Iterator[None]:
        if not self._config.log_to_file:
            yield
            return
        try:
            self._log = RotatingFile(self._data.log_file)
        except OSError as error:
            raise Problem(f"cannot write {self._data.log_file}: {error.strerror or error}") from error
        try:
            yield
        finally:
            self._log.close()
            self._log = None

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in _STOP_SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in _STOP_SIGNALS:
                loop.remove_signal_handler(number)


@dataclass(frozen=True, slots=True)
class _Inherited:
    listener: socket.socket
    lock_fd: int
    life_fd: int


def _signal(node: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        node.send_signal(number)


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; one that is far too long counts as empty news, not as the end."""
    while True:
        try:
            return await reader.readline()
        except ValueError:
            continue
