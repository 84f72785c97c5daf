"""From a spec to a process: where the command is, what the process gets, and why it could not start."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat

from fairway.engines.group import Group
from fairway.engines.machine import die_with

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""For runs that do not say."""
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a shim to stop its payload."""
_SIGNALS_BACK = (
    *HANDLED,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
)
"""What a shim, Python or whoever started the node ignores or handles, and a payload must not inherit."""


class CannotStart(Exception):
    """The payload cannot run; the exit code is the one that a shell would give."""

    def __init__(self, exit_code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.reason = reason


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
                refused = refused or f"{name}: {why(error)}"
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


def cannot_execute(name: str, error: OSError | ValueError) -> CannotStart:
    missing = isinstance(error, OSError) and error.errno == errno.ENOENT
    said = f"{name}: its interpreter is missing" if missing else f"{name}: {why(error)}"
    code = 127 if missing else 126
    return CannotStart(code, "ContainerCannotRun", said)


def spawn(program: str, argv: list[str], environment: dict[str, str], writer: int) -> int:
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


def mount(work: str, wanted: object) -> None:
    """A link below the working folder: what a host process can have of a volume. Who may write there is up to the source."""
    source, path, *_ = wanted if isinstance(wanted, list) else ("", "")
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


def fork(
    program: str,
    argv: list[str],
    environment: dict[str, str],
    writer: int,
    group: Group,
    limits: list[tuple[int, int]],
) -> int:
    """For what posix_spawn cannot do between fork and exec. The child tells why exec failed through a pipe that exec closes."""
    parent = os.getpid()
    reader, failure = os.pipe2(os.O_CLOEXEC)
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(failure)
        raise
    if child == 0:
        try:
            os.setsid()
            die_with(parent)
            group.join()
            for kind, value in limits:
                _limit(kind, value)
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS_BACK:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
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


def why(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
