"""The engine's side of the zygote: there is always one, and it has been told of every run that nobody has claimed yet."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from fairway.engines import zygote
from fairway.engines.machine import reach

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from fairway.engines.zygote import main; main(sys.argv[2])"
_KEPT_VARIABLES = ("LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "FAIRWAY_FAULT")
_BACKOFF_FIRST_S, _BACKOFF_MAX_S = 0.02, 2.0
_HELLO_S = 30.0
_READ_BYTES = 1 << 16
_PEER = struct.Struct("3i")


def reachable(folder_fd: int, folder: Path, name: str) -> str:
    """A socket's name may be about a hundred bytes long; through a descriptor every folder is near."""
    return f"/proc/self/fd/{folder_fd}/{name}" if sys.platform == "linux" else str(folder / name)


def _peer(connected: socket.socket) -> int:
    """Who listens there, before it says so itself; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    return int(_PEER.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0])


class Zygotes:
    """Keeps a connection to the folder's zygote, and starts one whenever there is none."""

    def __init__(
        self,
        folder: Path,
        *,
        unclaimed: Callable[[], Iterable[str]],
        order: Callable[[str], str],
        missed: Callable[[], None],
        look: Callable[[str], None],
        gone: Callable[[str], None],
        cannot: Callable[[str, int], None],
    ) -> None:
        self._folder = folder
        self._unclaimed = unclaimed
        self._order = order
        self._missed = missed
        self._look = look
        self._gone = gone
        self._cannot = cannot
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self._started: list[subprocess.Popen[bytes]] = []
        self._connected = asyncio.Event()
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._peer = 0
        """The process at the other end, while there is a connection."""
        self.pid = 0

    def open(self) -> None:
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        os.close(self._fd)

    def ask(self, run_ids: Iterable[str]) -> None:
        """Now, or with all others that are unclaimed once there is a zygote."""
        if self._writer is not None:
            self._writer.write("".join(f"+{self._order(run_id)}\n" for run_id in run_ids).encode())
            reach("engine-asked")

    def go_on(self) -> None:
        """Should somebody have stopped it: nothing starts meanwhile, and whoever did may have forgotten."""
        if self._peer:
            with contextlib.suppress(OSError):
                os.kill(self._peer, signal.SIGCONT)

    async def ready(self) -> None:
        await self._connected.wait()

    async def _keep(self) -> None:
        backoff_s = _BACKOFF_FIRST_S
        while True:
            self._started = [process for process in self._started if process.poll() is None]
            try:
                reader, writer = await self._connect()
            except (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
                # Nobody listens, or it went away as we came. A new zygote tells by its output's end that it does.
                if not await self._start():
                    await asyncio.sleep(backoff_s)
                    backoff_s = min(backoff_s * 2, _BACKOFF_MAX_S)
                continue
            backoff_s = _BACKOFF_FIRST_S
            try:
                await self._serve(reader, writer)
            finally:
                self._writer, self._peer = None, 0
                self._connected.clear()
                writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        plain = socket.socket(socket.AF_UNIX)
        try:
            plain.setblocking(False)
            plain.connect(reachable(self._fd, self._folder, zygote.SOCKET))
            peer = _peer(plain)
            reader, writer = await asyncio.open_unix_connection(sock=plain)
        except BaseException:
            plain.close()
            raise
        self._peer = peer
        try:
            word, version, pid = (await asyncio.wait_for(reader.readuntil(), _HELLO_S)).split()
            if word != b"hello" or version.decode() != zygote.version():
                # It was started by another program than ours: it looks after what it started, and a new one takes its place.
                writer.write(b"retire\n")
                await reader.read()
                raise ConnectionError("the zygote retired")
        except BaseException:
            self._peer = 0
            writer.close()
            raise
        self.pid = int(pid)
        return reader, writer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.ask(list(self._unclaimed()))
        self._connected.set()
        # What the zygote before this one heard, it may have told nobody.
        self._missed()
        rest = b""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hear(line.decode())

    def _hear(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "look":
            self._look(rest)
            return
        run_id, _, number = rest.rpartition(" ")
        if word == "gone":
            self._gone(run_id)
        elif word == "cannot":
            self._cannot(run_id, int(number))

    async def _start(self) -> bool:
        """Whether a zygote said that it listens. It inherits no descriptor of ours, and no session."""
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        log = os.open(self._folder / "zygote.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        ready, tell = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 - returns when the program runs, a millisecond later
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGE_ROOT), str(self._folder)],
                stdin=subprocess.DEVNULL,
                stdout=tell,
                stderr=log,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            os.close(ready)
            return False
        finally:
            os.close(tell)
            os.close(log)
        self._started.append(process)
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ready, "rb", buffering=0)
        )
        try:
            return bool(await reader.read())
        finally:
            transport.close()
