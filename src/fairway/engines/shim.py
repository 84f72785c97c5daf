"""The program under which every payload runs, whatever engine started it.

    python -I -S shim.py RUN_FOLDER

It claims the run (so that it runs once, whoever asks how often), starts the payload, keeps its output within bounds, ends it with all its
processes, and leaves a durable record of how it ended. It imports nothing of fairway and little of the standard library: a zygote forks it by
the thousand, and other engines carry this one file to other machines.

In the run's folder: `spec` (what to run; written by the engine), `claim` (who runs it: locked for as long as the shim lives), `stop` (a wish to
end it), `status` (how it ended), `log.0` and `log.1` (output, the newer and the older), `work` (where it runs).
"""

from __future__ import annotations

import _socket
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import stat
import sys
import time

DONE, CLAIMED_BEFORE, UNABLE = 0, 3, 4
"""How the shim itself exits: recorded; somebody else runs it or did; could not even claim it."""

STOP_GRACE_S = 10.0
"""For a SIGTERM that comes with no request in the folder."""
LEASE_GRACE_S = 5.0
LEASE_CHECK_S = 1.0
"""How late a lease's end may be noticed after the machine slept."""
DRAIN_S = 2.0
NOTIFY_S = 1.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MARK = "FAIRWAY_RUN"
"""In the payload's environment: the run's folder, by which its processes are found when nothing else is left of it."""

_CHUNK_BYTES = 1 << 16
_RESERVED_BYTES = 4096
_MESSAGE_MAX = 1024
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None) if _LINUX else None
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SIGNALS_BACK = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, *_HANDLED)


def boot_clock() -> float:
    """Seconds since the machine started, asleep or awake: what no change of the date moves."""
    return time.clock_gettime(_BOOT_CLOCK)


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """When a process started, in the kernel's ticks: together with the pid it names one process. 0: there is none, or no telling."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def reach(point: str) -> None:
    """A place where tests let the process die: FAIRWAY_FAULT=POINT:FILE kills it there once, for the file is then there."""
    wanted, _, marker = os.environ.get("FAIRWAY_FAULT", "").partition(":")
    if wanted == point:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.kill(os.getpid(), signal.SIGKILL)


class CannotStart(Exception):
    """The payload cannot run; the exit code is the one that a shell would give."""

    def __init__(self, exit_code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.reason = reason


class Folder:
    """The run's folder, by descriptor: it stays reachable wherever the payload's working folder is."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)

    def open(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CLOEXEC, 0o600, dir_fd=self.fd)

    def read(self, name: str) -> dict[str, object] | None:
        try:
            fd = self.open(name, os.O_RDONLY)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            try:
                found = json.load(file)
            except ValueError:
                return None
        return found if isinstance(found, dict) else None

    def sync(self) -> None:
        os.fsync(self.fd)

    def claim(self) -> int | None:
        """The locked claim, or None where there is one already. It has its name and its lock from the same instant on."""
        pid = os.getpid()
        draft = f"claim.{pid}"
        fd = self.open(draft, os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, json.dumps({"boot": boot_id(), "pid": pid, "start": start_ticks(pid)}).encode() + b"\n")
            reach("shim-drafted")
            try:
                os.link(draft, "claim", src_dir_fd=self.fd, dst_dir_fd=self.fd)
            except FileExistsError:
                os.close(fd)
                return None
        finally:
            os.unlink(draft, dir_fd=self.fd)
        os.fsync(fd)
        self.sync()
        return fd

    def reserve(self) -> None:
        """Room for the record, so that a full disk cannot keep us from saying how the run ended."""
        fd = self.open("status.tmp", os.O_CREAT | os.O_RDWR)
        with contextlib.suppress(OSError):
            os.posix_fallocate(fd, 0, _RESERVED_BYTES)
        os.close(fd)

    def record(self, status: dict[str, object]) -> None:
        """Durably. Where there is no room after all it waits for some: the run stays unfinished rather than being lost."""
        data = json.dumps(status).encode()
        while True:
            try:
                return self._record(data)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                time.sleep(1)

    def _record(self, data: bytes) -> None:
        fd = self.open("status.tmp", os.O_CREAT | os.O_RDWR)
        try:
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            os.fdatasync(fd) if _LINUX else os.fsync(fd)
        finally:
            os.close(fd)
        reach("shim-recording")
        os.rename("status.tmp", "status", src_dir_fd=self.fd, dst_dir_fd=self.fd)
        self.sync()


class Log:
    """Output in two files: when the newer is full it becomes the older, and what was the older goes."""

    def __init__(self, folder: Folder, bytes_max: int) -> None:
        self._folder = folder
        self._file_bytes_max = max(bytes_max // 2, 1)
        self._fd = -1
        self._size = 0

    def write(self, data: bytes) -> None:
        """A full disk costs output, never the run."""
        view = memoryview(data)
        while view:
            if self._fd < 0 or self._size >= self._file_bytes_max:
                self._turn()
            part = view[: self._file_bytes_max - self._size]
            try:
                written = os.write(self._fd, part)
            except OSError:
                return
            self._size += written
            view = view[written:]

    def _turn(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            os.rename("log.0", "log.1", src_dir_fd=self._folder.fd, dst_dir_fd=self._folder.fd)
        self._fd = self._folder.open("log.0", os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND)
        self._size = 0


class Group:
    """The payload's cgroups, as the engine laid them out: which folders to make, what to write into them, how to see an OOM kill."""

    def __init__(self, plan: object) -> None:
        plan = plan if isinstance(plan, dict) else {}
        self._folders: dict[str, dict[str, str]] = plan.get("folders", {})
        self._kill: str = plan.get("kill", "")
        self._freezer: str = plan.get("freezer", "")
        self._oom: str = plan.get("oom", "")
        self._peak: str = plan.get("peak", "")
        self.made: list[str] = []

    def adopt(self) -> None:
        """Of a shim that is gone: what is there is ours now."""
        self.made = [path for path in self._folders if os.path.isdir(path)]

    def make(self) -> bool:
        """Whether every limit is in place. A machine that does not let us is no error: other limits then have to do."""
        try:
            for path, values in self._folders.items():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path)
                self.made.append(path)
                for name, value in values.items():
                    # A control with a question mark is one that not every kernel has.
                    try:
                        _write(f"{path}/{name.rstrip('?')}", value)
                    except OSError:
                        if not name.endswith("?"):
                            raise
        except OSError:
            self.remove()
            return False
        return bool(self.made)

    def join(self) -> None:
        for path in self.made:
            _write(f"{path}/cgroup.procs", "0")

    @property
    def holds_memory(self) -> bool:
        return bool(self.made and self._oom)

    def kill(self) -> None:
        """All at once where the kernel can; else held still meanwhile, so that nothing multiplies faster than it dies."""
        if not self.made:
            return
        with contextlib.suppress(OSError):
            if self._kill:
                _write(self._kill, "1")
                return
        with contextlib.suppress(OSError):
            if self._freezer:
                _write(self._freezer, "FROZEN")
        for path in self.made:
            with contextlib.suppress(OSError, ValueError), open(f"{path}/cgroup.procs", encoding="ascii") as file:
                for line in file:
                    os.kill(int(line), signal.SIGKILL)
        with contextlib.suppress(OSError):
            if self._freezer:
                _write(self._freezer, "THAWED")

    def oom_kills(self) -> int:
        if not self.made or not self._oom:
            return 0
        with contextlib.suppress(OSError, ValueError), open(self._oom, encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
        return 0

    def peak_bytes(self) -> int:
        if not self.made or not self._peak:
            return 0
        with contextlib.suppress(OSError, ValueError), open(self._peak, encoding="ascii") as file:
            return int(file.read())
        return 0

    def remove(self) -> None:
        for path in reversed(self.made):
            # The kernel empties a group a moment after its last process was waited for.
            for _ in range(50):
                try:
                    os.rmdir(path)
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break
        self.made = []


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


class Shim:
    """One run, from claim to record."""

    def __init__(self, folder: Folder, spec: dict[str, object]) -> None:
        self._folder = folder
        self._spec = spec
        self._id = str(spec["id"])
        self._group = Group(spec.get("cgroup"))
        self._log = Log(folder, _integer(spec.get("log_bytes")) or (64 << 20))
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._output = -1
        self._payload = 0
        self._asked = False
        self._kill_at: float | None = None
        self._ended: tuple[int, resource.struct_rusage] | None = None
        self._started_at = 0.0
        self._lease_until: float | None = None
        self._cause = ""
        self._killed = False

    def run(self) -> int:
        self._listen()
        claim = self._folder.claim()
        if claim is None:
            return CLAIMED_BEFORE
        try:
            self._live(claim)
        except BaseException:
            self._end_all()
            raise
        return DONE

    def _live(self, claim: int) -> None:
        reach("shim-claimed")
        self._folder.reserve()
        try:
            self._before()
            self._start()
        except CannotStart as problem:
            self._group.remove()
            self._finish(self._failed(problem))
            return
        reach("shim-started")
        # Not synced: who the payload was matters only as long as the machine runs.
        line = json.dumps({"pid": self._payload, "start": start_ticks(self._payload), "at": self._started_at})
        with contextlib.suppress(OSError):
            os.write(claim, line.encode() + b"\n")
        self._notify()
        self._attend()
        self._end_all()
        self._drain()
        self._finish(self._exited())

    # Before

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in _HANDLED:
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._wake, select.POLLIN)

    def _on_stop(self, *_: object) -> None:
        self._asked = True

    def _before(self) -> None:
        """What must hold when the payload starts: nobody wants it stopped, and its lease still runs."""
        if self._asked or self._folder.read("stop") is not None:
            raise CannotStart(128 + signal.SIGTERM, "Stopped", "stopped before it started")
        if self._spec.get("lease"):
            self._lease_until = self._read_lease()
            if self._lease_until is None or self._lease_until <= boot_clock():
                raise CannotStart(128 + signal.SIGKILL, "LeaseExpired", "the lease had run out before it started")

    def _read_lease(self) -> float | None:
        """Until when, on this boot's clock. A lease of another boot says nothing about this one."""
        try:
            with open(str(self._spec["lease"]), encoding="utf-8") as file:
                lease = json.load(file)
            return float(lease["until"]) if lease["boot"] == boot_id() else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    # Start

    def _start(self) -> None:
        environment = {"PATH": PATH, **_strings(self._spec.get("env"))}
        environment[MARK] = self._folder.path
        self._enter()
        argv = [str(part) for part in _list(self._spec.get("argv"))]
        program = find_program(argv, environment)
        limited = self._group.make()
        limits = self._rlimits()
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._output, writer = os.pipe2(os.O_CLOEXEC)
        self._started_at = time.time()
        try:
            if limited or limits or self._spec.get("lease"):
                self._payload = self._fork(program, argv, environment, writer, limits)
            else:
                self._payload = _spawn(program, argv, environment, writer)
        except (OSError, ValueError) as error:
            raise _cannot_execute(argv[0], error) from error
        finally:
            os.close(writer)
        self._poll.register(self._output, select.POLLIN)

    def _enter(self) -> None:
        work = os.path.join(self._folder.path, "work")
        try:
            os.makedirs(work, 0o700, exist_ok=True)
            for mount in _list(self._spec.get("mounts")):
                _mount(work, *mount)  # type: ignore[misc]
        except OSError as error:
            raise CannotStart(128, "StartError", f"cannot prepare the working folder: {_why(error)}") from error
        cwd = str(self._spec.get("cwd") or work)
        try:
            os.chdir(cwd)
        except (OSError, ValueError) as error:
            raise CannotStart(128, "StartError", f"cannot enter the working folder {cwd!r}: {_why(error)}") from error

    def _rlimits(self) -> list[tuple[int, int]]:
        wanted = [(resource.RLIMIT_NOFILE, _integer(self._spec.get("open_files")))]
        if not self._group.holds_memory:
            wanted.append((resource.RLIMIT_AS, _integer(self._spec.get("memory_bytes"))))
        return [(kind, value) for kind, value in wanted if value]

    def _fork(
        self, program: str, argv: list[str], environment: dict[str, str], writer: int, limits: list[tuple[int, int]]
    ) -> int:
        """For what posix_spawn cannot do between fork and exec. The child tells why exec failed through a pipe that exec closes."""
        parent = os.getpid()
        reader, failure = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                if _LIBC is not None:
                    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                    if os.getppid() != parent:
                        os._exit(1)
                self._group.join()
                for kind, value in limits:
                    _limit(kind, value)
                signal.set_wakeup_fd(-1)
                for number in _SIGNALS_BACK:
                    signal.signal(number, signal.SIG_DFL)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(writer, 1)
                os.dup2(writer, 2)
                os.execve(program, argv, environment)
            except OSError as error:
                os.write(failure, str(error.errno or 0).encode())
            except BaseException as error:
                os.write(failure, repr(error).encode()[:512])
            finally:
                os._exit(1)
        os.close(failure)
        with os.fdopen(reader, "rb") as file:
            problem = file.read()
        if problem:
            os.waitpid(child, 0)
            if problem.isdigit():
                raise OSError(int(problem), os.strerror(int(problem)))
            raise ValueError(problem.decode(errors="replace"))
        return child

    # While it runs

    def _attend(self) -> None:
        while self._ended is None:
            for fd, _ in self._poll.poll(self._patience_ms()):
                if fd == self._output:
                    self._read_output()
                else:
                    self._read_wakes()
            if self._asked:
                self._asked = False
                self._stop(self._wanted_grace(), "stopped on request")
            self._watch_lease()
            if self._kill_at is not None and boot_clock() >= self._kill_at:
                self._kill_at = None
                self._killed = True
                self._kill_tree()
            self._reap()

    def _patience_ms(self) -> float | None:
        moments = [moment for moment in (self._kill_at, self._lease_until) if moment is not None]
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

    def _read_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)

    def _wanted_grace(self) -> float:
        request = self._folder.read("stop") or {}
        grace = request.get("grace")
        return float(grace) if isinstance(grace, int | float) else STOP_GRACE_S

    def _stop(self, grace_s: float, cause: str) -> None:
        """Asked again, it may only end sooner."""
        until = boot_clock() + max(grace_s, 0.0)
        self._kill_at = until if self._kill_at is None else min(self._kill_at, until)
        self._cause = self._cause or cause
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
        self._lease_until = None
        self._cause = "LeaseExpired"
        self._stop(LEASE_GRACE_S, self._cause)

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
        if self._ended is None:
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
        if not _LINUX and self._payload:
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
        elif self._cause:
            message = self._cause + (", killed when its grace was over" if self._killed else "")
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        unit = 1024 if _LINUX else 1
        result = self._status("exited", exit_code, reason, message)
        result["signal"] = killed_by
        result["cpu_seconds"] = round(children.ru_utime + children.ru_stime, 6)
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
            "finished_at": time.time(),
            "exit_code": exit_code,
            "reason": reason,
            "message": message[:_MESSAGE_MAX],
        }

    def _finish(self, status: dict[str, object]) -> None:
        self._folder.record(status)
        reach("shim-recorded")
        self._notify()

    def _notify(self) -> None:
        """The node hears of it at once if it listens; if not, it will look."""
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


def _families() -> dict[int, list[int]]:
    """The children of every process, from one look at the machine's table."""
    below: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    below.setdefault(parent, []).append(int(name))
    return below


def children(parent: int) -> list[int]:
    return _families().get(parent, [])


def descendants(root: int) -> list[int]:
    below = _families()
    found, waiting = [], [root]
    while waiting:
        under = below.get(waiting.pop(), [])
        found += under
        waiting += under
    return found


def find_program(argv: list[str], environment: dict[str, str]) -> str:
    """As a shell looks it up, and with a shell's exit codes where it is not to be had."""
    if not argv or not argv[0]:
        raise CannotStart(127, "ContainerCannotRun", "there is no command to run")
    name = argv[0]
    if "\0" in name:
        raise CannotStart(127, "ContainerCannotRun", f"a command cannot have a NUL in it: {name!r}")
    folders = [""] if "/" in name else environment.get("PATH", "").split(":")
    refused = ""
    for folder in folders:
        candidate = os.path.join(folder or ".", name) if "/" not in name else name
        try:
            mode = os.stat(candidate).st_mode
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                refused = refused or f"{name}: {_why(error)}"
            continue
        if stat.S_ISDIR(mode):
            refused = refused or f"{name}: is a folder"
        elif os.access(candidate, os.X_OK):
            return candidate
        else:
            refused = refused or f"{name}: not executable"
    if refused:
        raise CannotStart(126, "ContainerCannotRun", refused)
    where = "" if "/" in name else f" in PATH ({environment.get('PATH', '')})"
    raise CannotStart(127, "ContainerCannotRun", f"{name}: command not found{where}")


def _cannot_execute(name: str, error: OSError | ValueError) -> CannotStart:
    missing = isinstance(error, OSError) and error.errno == errno.ENOENT
    said = f"{name}: its interpreter is missing" if missing else f"{name}: {_why(error)}"
    code = 127 if missing else 126
    return CannotStart(code, "ContainerCannotRun", said)


def _spawn(program: str, argv: list[str], environment: dict[str, str], writer: int) -> int:
    return os.posix_spawn(
        program,
        argv,
        environment,
        setsid=True,
        setsigmask=[],
        setsigdef=_SIGNALS_BACK,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, writer, 2),
        ],
    )


def _limit(kind: int, value: int) -> None:
    """As asked, or as far as we may: nobody can go beyond the hard limit."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _mount(work: str, source: str, path: str, read_only: bool) -> None:
    """A link below the working folder: what a host process can have of a volume without being root."""
    place = work
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise OSError(errno.EINVAL, "a mount's path must lead below the working folder", path)
    for part in parts[:-1]:
        place = os.path.join(place, part)
        if os.path.islink(place):
            raise OSError(errno.ELOOP, "a mount lies within another mount", path)
        os.makedirs(place, 0o700, exist_ok=True)
    os.symlink(source, os.path.join(place, parts[-1]))


def _why(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


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


def main(path: str) -> int:
    try:
        folder = Folder(path)
        spec = folder.read("spec")
        if spec is None:
            return UNABLE
        return Shim(folder, spec).run()
    except OSError as error:
        sys.stderr.write(f"cannot run {path}: {error}\n")
        return UNABLE


if __name__ == "__main__":
    if os.getpid() != os.getpgrp():
        os.setsid()
    sys.exit(main(sys.argv[1]))
