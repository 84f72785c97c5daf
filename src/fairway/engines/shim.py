"""The program under which every payload runs, whatever engine started it.

    python -I -S shim.py FOLDER ID BOOK BASE SIZE

It claims the run (so that it runs once, whoever asks how often), starts the payload, keeps its output within bounds, ends it with all its
processes, and leaves a durable record of how it ended. A zygote gives it another run then: it has one at a time, and nothing of it is left
when the next begins. It and its few sibling modules import nothing but a little of the standard library: a zygote forks many of it, and other
engines start it afresh.

What it reads and writes, and where that is, is told in fairway.engines.record and fairway.engines.places.
"""

from __future__ import annotations

import _socket
import contextlib
import json
import os
import resource
import select
import signal
import stat
import sys
import time

if __name__ == "__main__":
    # As a program, with no site to look in: the package is where we are.
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))

from fairway.engines import launch, places
from fairway.engines.group import Group
from fairway.engines.launch import CannotStart, why
from fairway.engines.machine import (
    BOOT_ID,
    LINUX,
    adopt_orphans,
    be_called,
    boot_clock,
    descendants,
    reach,
    read_small,
    start_ticks,
)
from fairway.engines.output import Log
from fairway.engines.record import Record

DONE, CLAIMED_BEFORE, UNABLE = 0, 3, 4
"""How the shim itself exits: recorded; somebody else runs it, or did, so that it may even be forgotten; could not even claim it."""

RUNS, FREE, LEAVES = "r", "f", "l"
"""What a shim says to its zygote, after its pid: the payload runs; the run is done with, and it is free for another, or goes."""
NAME = "fairway-shim"
RUNS_MAX = 1000
"""That one process serves: whatever it gathers in that time goes with it."""
ORDER_BYTES_MAX = 512
LOOK = signal.SIGUSR1
"""From an engine: there may be a wish to end your run."""
STOP_GRACE_S = 10.0
"""For a SIGTERM that comes with no such wish."""
LEASE_GRACE_S = 5.0
LEASE_CHECK_S = 1.0
"""How late a lease's end may be noticed after the machine slept."""
ANNOUNCE_S = 0.005
"""What ends sooner is announced once, by its end."""
DRAIN_S = 2.0
NOTIFY_S = 1.0
MARK = "FAIRWAY_RUN"
"""In the payload's environment: the run's record, by which its processes are found when nothing else is left of it."""

_WORK_MODE = stat.S_IFDIR | 0o700
_CHUNK_BYTES = 1 << 16
_LOG_BYTES = 64 << 20
_MESSAGE_MAX = 1024


class Line:
    """Between the process and the world, for all its runs: signals that it hears, at a descriptor that can be polled, and a word to its zygote."""

    def __init__(self, zygote: int = -1) -> None:
        self._zygote = zygote
        self.spare = ""
        """A working folder that a run left as it was: for the next."""
        self.done = FREE
        """What is said when a run is done with."""
        self.who: dict[str, object] = {"boot": BOOT_ID, "pid": os.getpid(), "start": start_ticks(os.getpid())}
        """As we sign our claims."""
        self.fd, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.told_to_stop = self.told_to_look = False
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in launch.HANDLED:
            signal.signal(number, self._on_stop)
        signal.signal(LOOK, self._on_look)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        adopt_orphans()

    def _on_stop(self, *_: object) -> None:
        self.told_to_stop = True

    def _on_look(self, *_: object) -> None:
        self.told_to_look = True

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, 4096)

    def keep(self, work: str) -> None:
        """If nothing is in it: a new folder costs the disk more than all else that a run needs of it. No run can have the name that it gets."""
        spare = f"{os.path.dirname(work)}/{places.SPARE}{os.getpid()}"
        with contextlib.suppress(OSError):
            found = os.stat(work)
            as_made = found.st_mode == _WORK_MODE and found.st_uid == os.geteuid()
            if self._zygote >= 0 and as_made and not os.listdir(work):
                os.rename(work, spare)
                self.spare = spare

    def tell(self, word: str) -> bool:
        """Whether there is a zygote to hear it, and to tell the node."""
        if self._zygote < 0:
            return False
        try:
            os.write(self._zygote, f"{os.getpid()}{word}\n".encode())
        except BrokenPipeError:
            self._zygote = -1
        return self._zygote >= 0


class Shim:
    """One run, from claim to record."""

    def __init__(self, root: str, run_id: str, record: Record, spec: dict[str, object], line: Line) -> None:
        self._root = root
        self._id = run_id
        self._record = record
        self._spec = spec
        self._line = line
        self._group = Group(spec.get("cgroup"))
        self._log = Log(
            f"{root}/{places.LOGS}/{run_id}",
            f"{root}/{places.OLDER_LOGS}/{run_id}",
            _integer(spec.get("log_bytes", _LOG_BYTES)),
        )
        self._poll = select.poll()
        self._output = -1
        self._payload = 0
        self._kill_at: float | None = None
        self._announce_at: float | None = None
        self._ended: tuple[int, resource.struct_rusage] | None = None
        self._started_at = 0.0
        self._started_tick = boot_clock()
        self._lease_until: float | None = None
        self._lease_grace_s = LEASE_GRACE_S
        self._cause = ""
        self._killed = False
        self._used_before_s = _used_s()

    def run(self) -> int:
        self._poll.register(self._line.fd, select.POLLIN)
        if not self._record.claim(self._line.who):
            return CLAIMED_BEFORE
        try:
            self._live()
        except BaseException:
            self._end_all()
            self._group.remove()
            raise
        self._log.close()
        if self._output >= 0:
            os.close(self._output)
        return DONE

    def _live(self) -> None:
        reach("shim-claimed")
        try:
            self._before()
            self._start()
        except CannotStart as problem:
            self._group.remove()
            self._finish(self._failed(problem))
            return
        reach("shim-started")
        # Not synced: who the payload was matters only as long as the machine runs.
        with contextlib.suppress(OSError):
            self._record.add({"pid": self._payload, "start": start_ticks(self._payload), "at": self._started_at})
        self._announce_at = boot_clock() + ANNOUNCE_S
        self._attend()
        self._end_all()
        self._drain()
        self._finish(self._exited())

    # Before

    def _before(self) -> None:
        """What must hold when the payload starts: nobody wants it stopped, and its lease still runs."""
        if self._line.told_to_stop or self._wish() is not None:
            raise CannotStart(128 + signal.SIGTERM, "Stopped", "stopped before it started")
        if self._spec.get("lease"):
            self._lease_until = self._read_lease()
            if self._lease_until is None or self._lease_until <= boot_clock():
                raise CannotStart(128 + signal.SIGKILL, "LeaseExpired", "the lease had run out before it started")

    def _wish(self) -> float | None:
        """When it is to have ended, should somebody want that."""
        try:
            return float(os.readlink(f"{self._root}/{places.STOPS}/{self._id}"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return boot_clock() + STOP_GRACE_S

    def _read_lease(self) -> float | None:
        """Until when, on this boot's clock. A lease of another boot, or of a term after the run's own, says nothing about it."""
        try:
            lease = json.loads(read_small(str(self._spec["lease"])))
            term = self._spec.get("lease_since")
            if lease["boot"] != BOOT_ID or (term and lease.get("since") != term):
                return None
            self._lease_grace_s = float(lease.get("grace", LEASE_GRACE_S))
            return float(lease["until"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    # Start

    def _start(self) -> None:
        environment = {"PATH": launch.PATH, **_strings(self._spec.get("env"))}
        environment[MARK] = f"{self._root}/{places.RUNS}/{self._id}"
        self._enter()
        argv = [str(part) for part in _list(self._spec.get("argv"))]
        program = launch.find_program(argv, environment)
        limited = self._group.make()
        limits = self._rlimits()
        try:
            self._output, writer = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            raise CannotStart(128, "StartError", f"cannot make a pipe for its output: {why(error)}") from error
        self._started_at, self._started_tick = time.time(), boot_clock()
        try:
            if limited or limits or self._spec.get("lease"):
                self._payload = launch.fork(program, argv, environment, writer, self._group, limits)
            else:
                self._payload = launch.spawn(program, argv, environment, writer)
        except (OSError, ValueError) as error:
            raise launch.cannot_execute(argv[0], error) from error
        finally:
            os.close(writer)
        self._poll.register(self._output, select.POLLIN)

    def _enter(self) -> None:
        work, mounts = f"{self._root}/{places.WORK}/{self._id}", _list(self._spec.get("mounts"))
        cwd = str(self._spec.get("cwd") or work)
        try:
            if mounts or cwd == work:
                self._make(work)
            for mount in mounts:
                launch.mount(work, mount)
        except OSError as error:
            raise CannotStart(128, "StartError", f"cannot prepare the working folder: {why(error)}") from error
        try:
            os.chdir(cwd)
        except (OSError, ValueError) as error:
            raise CannotStart(128, "StartError", f"cannot enter the working folder {cwd!r}: {why(error)}") from error

    def _make(self, work: str) -> None:
        spare, self._line.spare = self._line.spare, ""
        if spare:
            with contextlib.suppress(OSError):
                os.rename(spare, work)
                return
        with contextlib.suppress(FileExistsError):
            os.mkdir(work, 0o700)

    def _rlimits(self) -> list[tuple[int, int]]:
        wanted = [(resource.RLIMIT_NOFILE, _integer(self._spec.get("open_files")))]
        if not self._group.holds_memory:
            wanted.append((resource.RLIMIT_AS, _integer(self._spec.get("memory_bytes"))))
        return [(kind, value) for kind, value in wanted if value]

    # While it runs

    def _attend(self) -> None:
        """The lease before anything else: after a stop, its end may be long past."""
        while self._ended is None:
            events = self._poll.poll(self._patience_ms())
            self._watch_lease()
            self._kill_when_due()
            for fd, _ in events:
                if fd == self._output:
                    self._read_output()
                else:
                    self._line.clear()
            self._hear()
            if self._announce_at is not None and boot_clock() >= self._announce_at:
                self._announce_at = None
                self._notify(RUNS)
            self._reap()

    def _hear(self) -> None:
        if not self._line.told_to_stop and not self._line.told_to_look:
            return
        # A wish that is not there is for a run that we had before.
        wish = self._wish()
        if self._line.told_to_stop or wish is not None:
            self._stop(boot_clock() + STOP_GRACE_S if wish is None else wish, "stopped on request")
            self._kill_when_due()
        self._line.told_to_stop = self._line.told_to_look = False

    def _kill_when_due(self) -> None:
        if self._kill_at is not None and boot_clock() >= self._kill_at:
            self._kill_at = None
            self._killed = True
            self._kill_tree()

    def _patience_ms(self) -> float | None:
        moments = [moment for moment in (self._kill_at, self._lease_until, self._announce_at) if moment is not None]
        if not moments:
            return None
        wait_s = min(moments) - boot_clock()
        if self._lease_until is not None:
            wait_s = min(wait_s, LEASE_CHECK_S)
        return max(wait_s * 1000 + 1, 0)

    def _read_output(self) -> None:
        data = os.read(self._output, _CHUNK_BYTES)
        if data:
            self._log.write(data)
        else:
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = -1

    def _stop(self, until: float, cause: str) -> None:
        """Asked again, it may only end sooner."""
        self._kill_at = until if self._kill_at is None else min(self._kill_at, until)
        self._cause = self._cause or cause
        if until <= boot_clock():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._payload, signal.SIGTERM)
            os.killpg(self._payload, signal.SIGCONT)

    def _watch_lease(self) -> None:
        if self._lease_until is None or boot_clock() < self._lease_until:
            return
        renewed = self._read_lease()
        if renewed is not None and renewed > boot_clock():
            self._lease_until = renewed
            return
        # From its end, not from when it was noticed: whoever waits to start the work elsewhere counts from there.
        end, self._lease_until = self._lease_until + self._lease_grace_s, None
        self._cause = "LeaseExpired"
        self._stop(end, self._cause)

    def _reap(self) -> None:
        """The payload, and what it left behind: as the subreaper we are the parent of every orphan below us."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._payload:
                self._ended = (status, usage)

    # After

    def _kill_tree(self) -> None:
        self._group.kill()
        if self._payload and self._ended is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._payload, signal.SIGKILL)
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        """Until nothing is left below us. What is killed hands us its own children, so this ends with the last of them."""
        while True:
            try:
                if os.wait4(-1, os.WNOHANG)[0] == 0:
                    self._kill_tree()
                    os.wait4(-1, 0)
            except ChildProcessError:
                break
        if not LINUX and self._payload:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._payload, signal.SIGKILL)

    def _drain(self) -> None:
        """What is still in the pipe. All who could write are gone; should one not be, it does not hold us up for long."""
        until = boot_clock() + DRAIN_S
        poll = select.poll()
        if self._output >= 0:
            poll.register(self._output, select.POLLIN)
        while self._output >= 0 and boot_clock() < until:
            if poll.poll(100):
                self._read_output()

    def _exited(self) -> dict[str, object]:
        assert self._ended is not None
        status, usage = self._ended
        code = os.waitstatus_to_exitcode(status)
        killed_by = -code if code < 0 else 0
        exit_code = 128 + killed_by if killed_by else code
        reason, message = ("Completed" if exit_code == 0 else "Error"), ""
        if killed_by:
            message = f"killed by {_signal_name(killed_by)}"
        if self._group.oom_kills() and exit_code != 0:
            reason, message = "OOMKilled", "used more memory than its limit"
        elif self._cause == "LeaseExpired":
            reason, message = "LeaseExpired", "the lease on this run was not renewed in time"
            # Told to stop, it may have ended in good order: that is no success, and is repeated elsewhere.
            exit_code = exit_code or 128 + signal.SIGTERM
        elif self._cause:
            message = self._cause + (", killed when its grace was over" if self._killed else "")
        unit = 1024 if LINUX else 1
        result = self._status("exited", exit_code, reason, message)
        result["signal"] = killed_by
        result["cpu_seconds"] = round(_used_s() - self._used_before_s, 6)
        result["memory_bytes_max"] = self._group.peak_bytes() or usage.ru_maxrss * unit
        self._group.remove()
        return result

    def _failed(self, problem: CannotStart) -> dict[str, object]:
        return self._status("failed", problem.exit_code, problem.reason, str(problem))

    def _status(self, state: str, exit_code: int, reason: str, message: str) -> dict[str, object]:
        return {
            "id": self._id,
            "state": state,
            "pid": self._payload,
            "started_at": self._started_at if self._payload else 0.0,
            # By the clock that nobody can set: a run never ends before it began.
            "finished_at": (self._started_at or time.time()) + boot_clock() - self._started_tick,
            "exit_code": exit_code,
            "reason": reason,
            "message": message[:_MESSAGE_MAX],
        }

    def _finish(self, status: dict[str, object]) -> None:
        # Before anybody knows that it ended: from then on its folder may be that of another run of its name.
        self._line.keep(f"{self._root}/{places.WORK}/{self._id}")
        self._record.finish(status)
        reach("shim-recorded")
        self._notify(self._line.done)
        reach("shim-told")

    def _notify(self, word: str) -> None:
        """The node hears of it at once if it listens; if not, it will look."""
        if self._line.tell(word):
            return
        address = str(self._spec.get("notify") or "")
        if not address:
            return
        with contextlib.suppress(OSError):
            # The name of a socket may be no longer than about a hundred bytes; its folder's is not bounded.
            os.chdir(os.path.dirname(address))
            sender = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
            sender.settimeout(NOTIFY_S)
            sender.sendto(self._id.encode(), os.path.basename(address))
            sender.close()


def _used_s() -> float:
    """Processor time of all processes below us that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _strings(value: object) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def main(root: str, order: str, line: Line) -> int:
    """One run: its id, and where its record is. Whoever has more for us finds nothing of it left, but for the working folder."""
    try:
        run_id, book, base, size = order.split(" ")
        record = Record(f"{root}/{places.RUNS}/{book}", int(base), int(size))
        try:
            if not record.whole:
                return CLAIMED_BEFORE
            spec = json.loads(record.spec)
            if spec["id"] != run_id:
                return CLAIMED_BEFORE
            return Shim(root, run_id, record, spec, line).run()
        finally:
            record.close()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"cannot run {order!r} in {root}: {error}\n")
        return UNABLE


def serve(reader: int, root: str, zygote: int) -> int:
    """Runs that a zygote names, one after another, until it is gone or wants no more. It hears of each that is done with, or sees us end."""
    be_called(NAME)
    line = Line(zygote)
    try:
        return _serve(reader, root, line)
    finally:
        if line.spare:
            with contextlib.suppress(OSError):
                os.rmdir(line.spare)


def _serve(reader: int, root: str, line: Line) -> int:
    for served in range(1, RUNS_MAX + 1):
        run = _next(reader, line)
        if not run:
            return DONE if run is not None else UNABLE
        line.done = LEAVES if served == RUNS_MAX else FREE
        code = main(root, run, line)
        if code == UNABLE:
            return UNABLE
        os.chdir(root)  # What is mounted where it ran can be unmounted.
        if code == CLAIMED_BEFORE:
            line.tell(line.done)
    return DONE


def _next(reader: int, line: Line) -> str | None:
    """Empty: there is no zygote any more. None: somebody wants us to end."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(line.fd, select.POLLIN)
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if line.told_to_stop:
            return None
        if reader in ready:
            return os.read(reader, ORDER_BYTES_MAX).decode()
        line.clear()


if __name__ == "__main__":
    if os.getpid() != os.getpgrp():
        os.setsid()
    be_called(NAME)
    places.make(sys.argv[1])
    sys.exit(main(os.path.abspath(sys.argv[1]), " ".join(sys.argv[2:6]), Line()))
