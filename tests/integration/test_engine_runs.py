"""The process engine with real processes: what a run gets, how it ends, and what is left of it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.engine_support import alive, engine_in, final, output, reached, record_of, seen, shim_of
from tests.integration.support import asynchronous

from fairway.engines import lease
from fairway.engines.books import SLOTS, Books, Slot
from fairway.engines.engine import Limits, Mount, RunSpec, RunState
from fairway.engines.machine import boot_clock
from fairway.engines.process import ProcessEngine
from fairway.engines.runs import BadRun


def shell(run_id: str, script: str, **more: object) -> RunSpec:
    return RunSpec(run_id, ("/bin/sh", "-c", script), **more)  # type: ignore[arg-type]


@asynchronous
async def test_a_run_leaves_its_exit_code_its_output_and_what_it_used(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(shell("a", "echo out; echo err >&2; exit 3"))
        [status] = await final(engine, "a")
        assert (status.state, status.exit_code, status.reason) == (RunState.EXITED, 3, "Error")
        assert await output(engine, "a") == b"out\nerr\n"
        assert status.finished_at >= status.started_at > 0
        assert status.cpu_seconds > 0
        assert status.memory_bytes_max > 0
        await engine.start(RunSpec("b", ("true",)))
        [status] = await final(engine, "b")
        assert (status.exit_code, status.reason) == (0, "Completed")


@asynchronous
async def test_a_working_folder_that_is_left_empty_goes_to_the_next_run_and_no_other_does(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        scripts = ("pwd; ls -A", "touch kept", "chmod 755 .", "mkdir x; rmdir x", "pwd; ls -A")
        for number, script in enumerate(scripts):
            await engine.start(shell(f"r{number}", script))
            [status] = await final(engine, f"r{number}")
            assert status.exit_code == 0
        for number in (0, 4):
            assert await output(engine, f"r{number}") == f"{tmp_path}/work/r{number}\n".encode()
        left = sorted(name for name in os.listdir(tmp_path / "work") if not name.startswith("~"))
        assert left == ["r1", "r2"]
        assert os.listdir(tmp_path / "work" / "r1") == ["kept"]
        assert len(os.listdir(tmp_path / "work")) <= 2 + len({shim_of(tmp_path, f"r{number}") for number in range(5)})


@asynchronous
async def test_a_run_gets_its_environment_and_nothing_of_ours(tmp_path: Path) -> None:
    attack = "$(touch pwned); `id` \"' | & \n"
    argv = (
        sys.executable,
        "-I",
        "-c",
        "import os,sys;print(sys.argv[1:], dict(os.environ), os.listdir('/proc/self/fd'), os.getcwd())",
    )
    async with engine_in(tmp_path) as engine:
        await engine.start(
            RunSpec("env", (*argv, attack, "../x", ""), env={"PATH": "/bin", "V": attack, "LC_ALL": "C"})
        )
        await final(engine, "env")
        printed = (await output(engine, "env")).decode()
        work = tmp_path / "work" / "env"
        expected = {"PATH": "/bin", "V": attack, "LC_ALL": "C", "FAIRWAY_RUN": str(tmp_path / "runs" / "env")}
        # The fourth descriptor is that of the listing itself.
        assert printed.strip() == f"{[attack, '../x', '']} {expected} {['0', '1', '2', '3']} {work}"
        assert not work.exists(), "something was left in it"


@asynchronous
async def test_a_run_has_a_session_of_its_own_and_dies_of_a_broken_pipe(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(
            RunSpec("s", (sys.executable, "-Ic", "import os;print(os.getsid(0)==os.getpid()==os.getpgrp())"))
        )
        await engine.start(shell("p", "(yes; echo $? >&2) 2>&1 >/dev/full | cat; yes | head -1"))
        await final(engine, "s", "p")
        assert await output(engine, "s") == b"True\n"
        assert (await output(engine, "p")).endswith(b"y\n")


CANNOT_START = [
    (RunSpec("", ("no-such-command",)), 127, "command not found"),
    (RunSpec("", ("/no/such/command",)), 127, "command not found"),
    (RunSpec("", ("./plain",)), 126, "not executable"),
    (RunSpec("", ("./garbage",)), 126, "format"),
    (RunSpec("", ("./orphan",)), 127, "interpreter"),
    (RunSpec("", ("/",)), 126, "is a folder"),
    (RunSpec("", ()), 127, "no command"),
    (RunSpec("", ("true",), cwd="/no/such/folder"), 128, "/no/such/folder"),
    (RunSpec("", ("true",), cwd="/etc/passwd"), 128, "/etc/passwd"),
    (RunSpec("", ("true",), mounts=(Mount("/tmp", "../up"),)), 128, "below the working folder"),
    (RunSpec("", ("true",), mounts=(Mount("/tmp", "/a"), Mount("/tmp", "/a/b"))), 128, "within another mount"),
]


@pytest.mark.parametrize("limits", [Limits(), Limits(memory_bytes=64 << 20)], ids=["free", "limited"])
@asynchronous
async def test_what_cannot_start_says_why(tmp_path: Path, limits: Limits) -> None:
    (tmp_path / "plain").write_text("echo hello")
    for name, content in (("garbage", b"\x7fELF nonsense"), ("orphan", b"#!/no/such/interpreter\n")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    async with engine_in(tmp_path / "engine") as engine:
        for number, (spec, _, _) in enumerate(CANNOT_START):
            await engine.start(replace(spec, id=f"x{number}", cwd=spec.cwd or str(tmp_path), limits=limits))
        for number, (spec, exit_code, words) in enumerate(CANNOT_START):
            [status] = await final(engine, f"x{number}")
            assert (status.state, status.exit_code) == (RunState.FAILED, exit_code), spec
            assert words in status.message
            assert status.reason in ("ContainerCannotRun", "StartError")


@asynchronous
async def test_a_run_that_is_killed_says_by_what(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(shell("k", "kill -KILL $$"))
        await engine.start(shell("s", "kill -SEGV $$"))
        killed, broken = await final(engine, "k", "s")
        assert (killed.exit_code, killed.signal, killed.reason) == (137, 9, "Error")
        assert (broken.exit_code, broken.signal, broken.message) == (139, 11, "killed by SIGSEGV")


@asynchronous
async def test_a_run_over_its_memory_is_oom_killed_whatever_it_is_made_of(tmp_path: Path) -> None:
    hungry = f"{sys.executable} -Ic 'x=bytearray(300<<20)'"
    async with engine_in(tmp_path) as engine:
        if "memory" not in engine.controllers:
            pytest.skip("no memory cgroup that we may write")
        limits = Limits(memory_bytes=64 << 20)
        await engine.start(shell("direct", f"exec {hungry}", limits=limits))
        await engine.start(shell("below", f"{hungry}; exit $?", limits=limits))
        await engine.start(shell("within", "exit 0", limits=limits))
        direct, below, within = await final(engine, "direct", "below", "within")
        assert (direct.exit_code, direct.signal, direct.reason) == (137, 9, "OOMKilled")
        assert (below.exit_code, below.reason) == (137, "OOMKilled")
        assert within.reason == "Completed"
        assert direct.memory_bytes_max >= 60 << 20


@asynchronous
async def test_without_cgroups_runs_have_the_limits_that_processes_can_have(tmp_path: Path) -> None:
    async with engine_in(tmp_path, use_cgroups=False) as engine:
        limits = Limits(memory_bytes=200 << 20, open_files=17, cpu_millis=100, processes=5)
        await engine.start(RunSpec("m", (sys.executable, "-Ic", "x=bytearray(300<<20)"), limits=limits))
        await engine.start(shell("f", "ulimit -n", limits=limits))
        over, _ = await final(engine, "m", "f")
        assert over.exit_code == 1
        assert b"MemoryError" in await output(engine, "m")
        assert await output(engine, "f") == b"17\n"


@asynchronous
async def test_limits_on_processors_and_processes_are_the_kernels(tmp_path: Path) -> None:
    bomb = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; echo made it"
    show = "cat /sys/fs/cgroup/cpu$(sed -n 's/.*:cpu://p' /proc/self/cgroup)/cpu.cfs_quota_us"
    async with engine_in(tmp_path) as engine:
        if not {"cpu", "pids"} <= engine.controllers:
            pytest.skip("no cgroups that we may write")
        await engine.start(shell("bomb", bomb, limits=Limits(processes=6)))
        await engine.start(shell("cpu", show, limits=Limits(cpu_millis=250)))
        bombed, _ = await final(engine, "bomb", "cpu")
        assert bombed.exit_code != 0
        assert b"fork" in await output(engine, "bomb")
        if "cpu" in os.listdir("/sys/fs/cgroup"):
            assert await output(engine, "cpu") == b"25000\n"


@pytest.mark.parametrize("limits", [Limits(), Limits(memory_bytes=64 << 20)], ids=["free", "limited"])
@asynchronous
async def test_a_run_takes_its_daemons_with_it(tmp_path: Path, limits: Limits) -> None:
    """Forked twice, in a session of its own, with a clean environment, holding the output open: it is found all the same."""
    daemon = (
        "import os,sys,time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "open(sys.argv[1]+'.new','w').write(str(os.getpid())); os.rename(sys.argv[1]+'.new', sys.argv[1])\n"
        "os.execve('/bin/sleep', ['sleep', '1000'], {})\n"
    )
    told = tmp_path / "daemon"
    async with engine_in(tmp_path / "engine") as engine:
        script = f'{sys.executable} -Ic "$0" {told}; while ! [ -e {told} ]; do :; done; exit 4'
        await engine.start(RunSpec("d", ("/bin/sh", "-c", script, daemon), limits=limits))
        [status] = await final(engine, "d")
        assert status.exit_code == 4
        assert not alive(int(told.read_text()))


@asynchronous
async def test_a_stop_lets_a_run_tidy_up_and_ends_one_that_does_not_listen(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine") as engine:
        loop = "touch $0; while :; do sleep 0.01; done"
        for name, trap in (("tidy", "trap 'echo bye; exit 7' TERM;"), ("deaf", "trap '' TERM;"), ("plain", "")):
            await engine.start(RunSpec(name, ("/bin/sh", "-c", trap + loop, str(tmp_path / name))))
            await seen(tmp_path / name)
        await engine.stop("tidy", 30)
        await engine.stop("deaf", 0.2)
        await engine.stop("plain", 30)
        tidy, deaf, plain = await final(engine, "tidy", "deaf", "plain")
        assert tidy.exit_code == 7
        assert (await output(engine, "tidy")).endswith(b"bye\n")
        assert (deaf.exit_code, deaf.signal) == (137, 9)
        assert "grace" in deaf.message
        assert (plain.exit_code, plain.signal) == (143, 15)


@asynchronous
async def test_a_second_stop_can_only_hasten_the_end(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(shell("deaf", f"trap '' TERM; touch {tmp_path}/up; while :; do sleep 0.01; done"))
        await seen(tmp_path / "up")
        await engine.stop("deaf", 1000)
        await engine.stop("deaf", 0)
        await engine.stop("deaf", 1000)
        [status] = await final(engine, "deaf")
        assert status.exit_code == 137
        await engine.stop("deaf", 0)
        await engine.stop("never-was", 0)


@asynchronous
async def test_a_run_that_is_stopped_before_it_started_never_runs(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine") as engine:
        os.kill(engine.zygote_pid, signal.SIGSTOP)
        await engine.start(shell("gone", f"touch {tmp_path}/ran"))
        await engine.stop("gone", 30)
        os.kill(engine.zygote_pid, signal.SIGCONT)
        [status] = await final(engine, "gone")
        assert (status.state, status.reason) == (RunState.FAILED, "Stopped")
        assert not (tmp_path / "ran").exists()


@asynchronous
async def test_runs_that_are_stopped_while_they_start_end_and_leave_nothing(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        ids = [f"r{number}" for number in range(20)]
        for number, run_id in enumerate(ids):
            await engine.start(shell(run_id, "sleep 1000 & sleep 1000"))
            if number % 2:
                await asyncio.sleep(0.002 * (number % 5))
            await engine.stop(run_id, 5)
        for status in await final(engine, *ids):
            assert (status.state, status.exit_code) in ((RunState.FAILED, 143), (RunState.EXITED, 143))


@asynchronous
async def test_a_hundred_megabytes_of_output_take_only_the_room_they_may(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(shell("loud", "head -c 100000000 /dev/zero; printf end", limits=Limits(log_bytes=1 << 20)))
        [status] = await final(engine, "loud")
        assert status.exit_code == 0
        sizes = [(tmp_path / name / "loud").stat().st_size for name in ("logs", "logs.older")]
        assert 1 << 19 <= sum(sizes) <= 1 << 20
        kept = await output(engine, "loud")
        assert len(kept) == sum(sizes)
        assert kept.endswith(b"\0end")


@asynchronous
async def test_binary_output_comes_back_as_it_was(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "data").write_bytes(data)
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(RunSpec("b", ("cat", str(tmp_path / "data"))))
        assert await output(engine, "b", follow=True) == data


@asynchronous
async def test_a_follower_hears_everything_while_the_files_take_turns(tmp_path: Path) -> None:
    """The payload prints its next lines only once the follower has the last, and fills the files many times over."""
    script = 'n=0; while [ $n -lt 15 ]; do while ! [ -e "$0.$n" ]; do sleep 0.002; done; head -c 700 /dev/zero | tr "\\0" x; echo " $n"; n=$((n+1)); done'
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(RunSpec("t", ("/bin/sh", "-c", script, str(tmp_path / "go")), limits=Limits(log_bytes=4000)))
        heard, said = b"", 0
        (tmp_path / "go.0").touch()
        async with asyncio.timeout(30):
            async for piece in engine.logs("t", follow=True):
                heard += piece
                while f" {said}\n".encode() in heard:
                    said += 1
                    (tmp_path / f"go.{said}").touch()
        assert heard == b"".join(b"x" * 700 + f" {number}\n".encode() for number in range(15))


@asynchronous
async def test_the_last_lines_are_found_across_both_files(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(shell("n", "seq 1 2000", limits=Limits(log_bytes=4000)))
        await engine.start(shell("q", "printf 'a\\nb'"))
        await final(engine, "n", "q")
        lines = [str(number).encode() + b"\n" for number in range(1, 2001)]
        for count in (0, 1, 3, 399):
            assert await output(engine, "n", tail_lines=count) == b"".join(lines[2000 - count :])
        assert len(await output(engine, "n", tail_lines=10_000)) <= 4000
        assert await output(engine, "q", tail_lines=1) == b"b"
        assert await output(engine, "q", tail_lines=2) == b"a\nb"


@pytest.mark.parametrize("bad", ["../x", "..", ".", "", "a/b", "a\0b", "x" * 201, "-é", "a b", "a\n"])
@asynchronous
async def test_an_id_that_is_an_attack_on_a_path_is_refused(tmp_path: Path, bad: str) -> None:
    engine = ProcessEngine(tmp_path / "engine")
    with pytest.raises(BadRun):
        await engine.start(RunSpec(bad, ("true",)))
    with pytest.raises(BadRun):
        await engine.stop(bad, 0)
    with pytest.raises(BadRun):
        await engine.forget(bad)
    with pytest.raises(KeyError):
        engine.logs(bad)
    assert os.listdir(tmp_path) == []


@asynchronous
async def test_ids_that_look_like_files_of_the_kernel_or_of_ours_are_just_ids(tmp_path: Path) -> None:
    ids = ["memory.max", "cgroup.procs", "-rf", "...", "spec", "claim", "retire", "x" * 200]
    async with engine_in(tmp_path) as engine:
        for run_id in ids:
            await engine.start(RunSpec(run_id, ("true",), limits=Limits(memory_bytes=64 << 20)))
        assert [status.exit_code for status in await final(engine, *ids)] == [0] * len(ids)


@asynchronous
async def test_what_no_process_can_have_is_refused_at_once(tmp_path: Path) -> None:
    engine = ProcessEngine(tmp_path / "engine")
    for bad in (
        RunSpec("x", ("a\0b",)),
        RunSpec("x", ("true",), env={"A": "\0"}),
        RunSpec("x", ("true",), env={"A=B": "c"}),
        RunSpec("x", ("true",), cwd="\0"),
        RunSpec("x", ("\udc80",)),
    ):
        with pytest.raises(BadRun):
            await engine.start(bad)


@asynchronous
async def test_starting_the_same_run_often_starts_it_once(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine") as engine:
        run = shell("once", f"echo x >> {tmp_path}/ran")
        await asyncio.gather(*(engine.start(run) for _ in range(10)))
        await engine.start(run)
        await final(engine, "once")
        await engine.start(run)
        assert (tmp_path / "ran").read_text() == "x\n"
        assert [status.id for status in await engine.list()] == ["once"]


@asynchronous
async def test_a_run_finds_its_mounts_below_its_working_folder(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("hello\n")
    mounts = (Mount(str(tmp_path / "config"), "/etc/app/config"), Mount(str(tmp_path), "data"))
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(shell("m", "cat etc/app/config data/config", mounts=mounts))
        await final(engine, "m")
        assert await output(engine, "m") == b"hello\nhello\n"


@asynchronous
async def test_a_run_goes_on_while_its_lease_is_renewed_and_ends_when_it_is_not(tmp_path: Path) -> None:
    paper = tmp_path / "lease"
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(shell("never", "exit 0", lease=str(paper)))
        [status] = await final(engine, "never")
        assert (status.state, status.reason) == (RunState.FAILED, "LeaseExpired")
        lease.renew(paper, 0.3)
        await engine.start(shell("held", f"touch {tmp_path}/up; sleep 1000", lease=str(paper)))
        await seen(tmp_path / "up")
        lease.renew(paper, 0.9)
        await asyncio.sleep(0.5)
        assert (await engine.status("held")).state is RunState.RUNNING
        [status] = await final(engine, "held")
        assert (status.state, status.exit_code, status.reason) == (RunState.EXITED, 143, "LeaseExpired")


@asynchronous
async def test_a_run_never_goes_on_in_a_later_term_of_its_lease(tmp_path: Path) -> None:
    paper = tmp_path / "lease"
    begun = boot_clock()
    async with engine_in(tmp_path / "engine") as engine:
        lease.write(paper, lease.Lease(begun, begun + 3.0))
        script = f"trap 'exit 0' TERM; touch {tmp_path}/up; while :; do sleep 0.01; done"
        await engine.start(shell("held", script, lease=str(paper), lease_since=begun))
        await seen(tmp_path / "up")
        lease.write(paper, lease.Lease(begun + 5.0, begun + 1000.0))
        [status] = await final(engine, "held")
        # It ended in good order when it was told to, which is no success.
        assert (status.state, status.exit_code, status.reason) == (RunState.EXITED, 143, "LeaseExpired")
        await engine.start(shell("late", "exit 0", lease=str(paper), lease_since=begun))
        await engine.start(shell("new", "exit 0", lease=str(paper), lease_since=begun + 5.0))
        late, new = await final(engine, "late", "new")
        assert (late.state, late.reason) == (RunState.FAILED, "LeaseExpired")
        assert (new.state, new.exit_code) == (RunState.EXITED, 0)


@asynchronous
async def test_a_lease_says_how_long_its_runs_may_take_to_end(tmp_path: Path) -> None:
    paper = tmp_path / "lease"
    begun = boot_clock()
    lease.write(paper, lease.Lease(begun, begun + 1.0, grace_s=0.0))
    assert lease.read(paper) == lease.Lease(begun, begun + 1.0, 0.0)
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(shell("deaf", "trap '' TERM; while :; do sleep 0.01; done", lease=str(paper)))
        [status] = await final(engine, "deaf")
        assert (status.exit_code, status.reason) == (137, "LeaseExpired")


@asynchronous
async def test_usage_counts_all_processes_of_a_run(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine") as engine:
        busy = f'{sys.executable} -Ic \'x=bytearray(30<<20); sum(range(3000000)); open("{tmp_path}/up","w"); input()\' < /dev/zero'
        await engine.start(shell("u", f"({busy}) & sleep 1000"))
        await seen(tmp_path / "up")
        [usage] = (await engine.usage()).values()
        assert usage.memory_bytes > 30 << 20
        assert usage.cpu_seconds > 0
        assert usage.processes >= 2
        await engine.stop("u", 0)
        await final(engine, "u")
        assert await engine.usage() == {}


@asynchronous
async def test_what_is_forgotten_is_gone_and_what_runs_is_not_forgotten(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.start(shell("f", "touch left; echo said; sleep 1000"))
        await seen(tmp_path / "work" / "f" / "left")
        await reached(engine, "f", RunState.RUNNING)
        with pytest.raises(BadRun):
            await engine.forget("f")
        await engine.stop("f", 0)
        await final(engine, "f")
        await engine.forget("f")
        await engine.forget("f")
        assert await engine.list() == []
        assert [os.listdir(tmp_path / place) for place in ("stops", "logs", "logs.older", "work")] == [[]] * 4
        assert not any(any(path.read_bytes()) for path in (tmp_path / "runs").iterdir())
        with pytest.raises(KeyError):
            engine.logs("f")


@asynchronous
async def test_what_cannot_be_forgotten_now_can_be_later_and_its_place_is_nobody_elses_till_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"r{number}" for number in range(SLOTS + 4)]
    async with engine_in(tmp_path) as engine:
        for name in names:
            await engine.start(RunSpec(name, ("true",)))
        await final(engine, *names)
        real = Books.give_back

        def fail(books: Books, slots: list[Slot]) -> None:
            if slots[0].book == last:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            real(books, slots)

        last = record_of(tmp_path, names[-1])[0].book
        with monkeypatch.context() as patch:
            patch.setattr(Books, "give_back", fail)
            asked = await asyncio.gather(*map(engine.forget, names), return_exceptions=True)
        assert any(isinstance(answer, OSError) for answer in asked)
        fresh = [f"f{number}" for number in range(SLOTS)]
        for name in fresh:
            await engine.start(RunSpec(name, ("true",)))
        await asyncio.gather(*map(engine.forget, names))
        assert [status.exit_code for status in await final(engine, *fresh)] == [0] * len(fresh)
        assert sorted(status.id for status in await engine.list()) == sorted(fresh)
    assert [name for name in names if _is_recorded(tmp_path, name)] == []
    assert all(_is_recorded(tmp_path, name) for name in fresh)


def _is_recorded(folder: Path, run_id: str) -> bool:
    try:
        record_of(folder, run_id)
    except KeyError:
        return False
    return True


@asynchronous
async def test_a_folder_with_a_very_long_name_is_no_obstacle(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    async with engine_in(deep) as engine:
        await engine.start(RunSpec("a", ("true",)))
        assert [status.exit_code for status in await final(engine, "a")] == [0]
