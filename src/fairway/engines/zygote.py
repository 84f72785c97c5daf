"""A small process that outlives the node, forks the shims, each as cheap as a program written in C, and hands them runs.

Its engine speaks to it over a socket in the folder, in lines:

    engine → zygote    +ID BOOK BASE SIZE   a shim shall run it; there is its record
                       retire               serve nobody any more; end with the last shim
    zygote → engine    hello VERSION PID
                       look ID            it runs, or it ended: its record says more
                       gone ID CODE       a shim ended without having done its work
                       cannot ID ERRNO    a shim could not be forked

A shim that is done with its run gets the next: forking one costs more than all that it does for a short run. It waits for its next run at a pipe
of its own, and all shims say through one that they share when a payload runs and when it is recorded. So the engine hears of many runs at
once; where none is connected, by a datagram. A shim that waited too long in vain goes, but for the last.

It knows nothing that matters: claims make every repeat harmless, so it may be killed at any moment and started again. It adopts the processes of
shims that were killed, and ends them. A shim that somebody stopped could not end its payload with its lease: it is made to go on at once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import os
import resource
import select
import signal
import socket
import sys
import zlib

from fairway.engines import group, launch, machine, output, places, record, shim

SOCKET = "zygote.sock"
NODE_SOCKET = "node.sock"
LOCK = "zygote.lock"
IDLE_S = 2.0
"""How long it waits for an engine when there is nothing to look after, and a shim for a run."""
KEPT_IDLE = 1
"""Shims that wait for a run however long it takes, so that one on an idle machine starts at once."""
_FIRST_FD = 3
"""After the three that every program has."""
_LINE_BYTES_MAX = 1 << 20
_UNSAID_BYTES_MAX = 1 << 20
_NEWS_BYTES = 1 << 14


def version() -> str:
    """Of the code that a zygote has loaded: after an upgrade the engine wants another one."""
    modules = (shim, record, output, places, group, launch, machine)
    sources = (__file__, *(module.__file__ or "" for module in modules))
    return f"{zlib.crc32(b''.join(machine.read_small(source) for source in sources)):08x}"


class _Shim:
    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.pipe = pipe
        """Where it waits for its next run."""
        self.run = ""
        """That it has, or had last."""
        self.idle_since = 0.0


class _Engine:
    """One that is connected."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self.heard = b""
        self.unsaid = b""

    def say(self) -> bool:
        """Whether it still listens. What there is no room for now is said later."""
        try:
            self.unsaid = self.unsaid[self.peer.send(self.unsaid, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return len(self.unsaid) <= _UNSAID_BYTES_MAX


class Zygote:
    def __init__(self, path: str) -> None:
        os.chdir(path)
        self._folder = os.getcwd()
        self._version = version()
        self._lock = os.open(LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._listener: socket.socket | None = None
        self._engines: dict[int, _Engine] = {}
        self._shims: dict[int, _Shim] = {}
        self._idle: list[_Shim] = []
        """Those without a run; who had one last comes last, and gets the next."""
        self._running: set[str] = set()
        self._news, self._tell_news = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._news, False)
        self._heard_news = b""
        self._datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        """That runs get: ours are as many as there may be, since every shim takes one."""
        self._last_fd = self._waker

    def run(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with contextlib.suppress(OSError):  # For people and tests; a full disk is no reason not to serve.
            os.ftruncate(self._lock, 0)
            os.write(self._lock, f"{os.getpid()}\n".encode())
        machine.be_called("fairway-zygote")
        machine.adopt_orphans()
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._open_files[1], self._open_files[1]))
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._poll.register(self._wake, select.POLLIN)
        self._poll.register(self._news, select.POLLIN)
        self._listen()
        gc.collect()
        gc.freeze()
        gc.disable()
        while self._step():
            pass

    def _listen(self) -> None:
        """Under its name only once it listens, so that whoever finds the name can connect."""
        draft = f"{SOCKET}.{os.getpid()}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(draft)
        os.chmod(draft, 0o600)
        listener.listen(8)
        os.rename(draft, SOCKET)
        self._listener = listener
        self._last_fd = max(self._last_fd, listener.fileno())
        self._poll.register(listener.fileno(), select.POLLIN)
        # Whoever started us reads our output until its end.
        with contextlib.suppress(OSError):
            os.write(1, b"listening\n")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)

    def _step(self) -> bool:
        """One round; False when there is nobody to serve and nothing to look after."""
        alone = not self._engines and not self._running
        if alone and self._listener is None:
            return False
        spare = len(self._idle) > KEPT_IDLE
        found = self._poll.poll(IDLE_S * 1000 if alone or spare else None)
        if alone and not found:
            return False
        for fd, _ in found:
            if fd == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            elif fd == self._news:
                self._hear_shims()
            elif self._listener is not None and fd == self._listener.fileno():
                self._accept(self._listener)
            elif fd in self._engines:
                self._hear(fd)
        self._reap()
        self._let_go()
        self._say()
        return True

    def _hear_shims(self) -> None:
        """A word is written whole, and read whole but where the room to read it ends."""
        with contextlib.suppress(BlockingIOError):
            while len(data := os.read(self._news, _NEWS_BYTES)) == _NEWS_BYTES:
                self._heard_news += data
            self._heard_news += data
        *words, self._heard_news = self._heard_news.split(b"\n")
        for word in words:
            pid, what = int(word[:-1]), word[-1:].decode()
            if (one := self._shims.get(pid)) is None:
                continue
            if what != shim.RUNS:
                self._running.discard(one.run)
            if what == shim.FREE:
                one.idle_since = machine.boot_clock()
                self._idle.append(one)
            self._tell(f"look {one.run}")
            if not self._engines:
                with contextlib.suppress(OSError):
                    self._datagrams.sendto(one.run.encode(), socket.MSG_DONTWAIT, NODE_SOCKET)

    def _let_go(self) -> None:
        """A shim whose pipe ends, ends."""
        before = machine.boot_clock() - IDLE_S
        while len(self._idle) > KEPT_IDLE and self._idle[0].idle_since < before:
            self._end_pipe(self._idle.pop(0))

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            peer, _ = listener.accept()
            self._last_fd = max(self._last_fd, peer.fileno())
            self._engines[peer.fileno()] = engine = _Engine(peer)
            self._poll.register(peer.fileno(), select.POLLIN)
            engine.unsaid = f"hello {self._version} {os.getpid()}\n".encode()

    def _hear(self, fd: int) -> None:
        engine = self._engines[fd]
        try:
            data = engine.peer.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, rest = (engine.heard + data).split(b"\n")
        if not data or len(rest) > _LINE_BYTES_MAX:
            self._leave(fd)
        else:
            engine.heard = rest
        for line in lines:
            if line.startswith(b"+"):
                self._start(engine, line[1:].decode(errors="replace"))
            elif line == b"retire":
                self._retire()

    def _tell(self, line: str) -> None:
        for engine in self._engines.values():
            engine.unsaid += line.encode() + b"\n"

    def _say(self) -> None:
        """All that came up in this round at once. An engine that does not listen finds out by looking."""
        for fd, engine in list(self._engines.items()):
            if engine.unsaid:
                if engine.say():
                    self._poll.modify(fd, select.POLLIN | (select.POLLOUT if engine.unsaid else 0))
                else:
                    self._leave(fd)

    def _leave(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._engines.pop(fd).peer.close()

    def _retire(self) -> None:
        if self._listener is not None:
            self._poll.unregister(self._listener.fileno())
            self._listener.close()
            self._listener = None
            os.close(self._lock)
        for fd in list(self._engines):
            self._leave(fd)

    def _start(self, engine: _Engine, order: str) -> None:
        machine.reach("zygote-asked")
        run = order.partition(" ")[0]
        if run in self._running or len(order.encode()) > shim.ORDER_BYTES_MAX:
            return
        if not self._idle:
            self._hear_shims()
        while True:
            try:
                one = self._idle.pop() if self._idle else self._fork()
            except OSError as error:
                engine.unsaid += f"cannot {run} {error.errno or errno.EAGAIN}\n".encode()
                return
            try:
                os.write(one.pipe, order.encode())
            except OSError:  # It was killed while it waited.
                self._end_pipe(one)
                continue
            break
        one.run = run
        self._running.add(run)
        machine.reach("zygote-handed")

    def _fork(self) -> _Shim:
        reader, pipe = os.pipe2(os.O_CLOEXEC)
        self._last_fd = max(self._last_fd, reader, pipe)
        try:
            pid = os.fork()
        except OSError:
            os.close(reader)
            os.close(pipe)
            raise
        if pid == 0:
            self._become_shim(reader)
        os.close(reader)
        self._shims[pid] = _Shim(pid, pipe)
        machine.reach("zygote-forked")
        return self._shims[pid]

    def _become_shim(self, reader: int) -> None:
        """Never returns. Nothing of the zygote stays open: above all not its lock, and no other's pipe, which would outlive it here."""
        code = shim.UNABLE
        try:
            signal.set_wakeup_fd(-1)
            kept = [os.dup(reader), os.dup(self._tell_news)]
            for number, fd in enumerate(kept, start=_FIRST_FD):
                os.dup2(fd, number, inheritable=False)
            os.closerange(_FIRST_FD + len(kept), max(self._last_fd, *kept) + 1)
            resource.setrlimit(resource.RLIMIT_NOFILE, self._open_files)
            os.setsid()
            code = shim.serve(_FIRST_FD, self._folder, _FIRST_FD + 1)
        except BaseException as error:
            sys.stderr.write(f"a shim failed: {error!r}\n")
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _end_pipe(self, one: _Shim) -> None:
        if one.pipe >= 0:
            os.close(one.pipe)
            one.pipe = -1

    def _reap(self) -> None:
        strays = False
        gone: list[tuple[str, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)
                continue
            if pid in self._shims:
                self._hear_shims()  # What it said before it ended.
            one = self._shims.pop(pid, None)
            code = os.waitstatus_to_exitcode(status)
            if one is not None:
                self._end_pipe(one)
                self._running.discard(one.run)
                self._idle = [other for other in self._idle if other is not one]
            if one is None:
                strays = True
            elif code != shim.DONE:
                strays = True
                if one.run:
                    gone.append((one.run, code))
        if strays:
            self._end_strays()
        for run, code in gone:
            self._tell(f"gone {run} {code}")

    def _end_strays(self) -> None:
        """Children that we did not fork are what killed shims left behind."""
        ours = machine.children(os.getpid())
        for stray in ours:
            if stray not in self._shims:
                for pid in (*machine.descendants(stray), stray):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)


def main(path: str) -> None:
    Zygote(path).run()
