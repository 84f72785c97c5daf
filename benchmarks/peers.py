"""Other systems that run many short programs, each measured as its users would use it, where it is installed.

HyperQueue: its Python package (`pip install hyperqueue`) brings server and worker along; all programs in one job. Slurm: a cluster of our own of one
node, started for the measurement and stopped after it (Debian: `apt-get install slurm-wlm munge`); one array. Both may have as many programs
running at once as we have.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import probes
from benchmarks.result import Sample

HYPERQUEUE, SLURM = "HyperQueue, tasks/s", "Slurm array, tasks/s"
_SLURM_NEEDS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "sinfo")
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_START_SECONDS_MAX = 30
_ARRAY_MAX = 20_000

_HYPERQUEUE = """
import json, os, sys, time
from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
count, cores = int(sys.argv[1]), int(sys.argv[2])

def cpu():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=cores))
    client, job = cluster.client(), Job()
    for _ in range(count):
        job.program(["/bin/true"], stdout=None, stderr=None)
    clock, spent = time.perf_counter(), cpu()
    client.wait_for_jobs([client.submit(job)])
    print(json.dumps([time.perf_counter() - clock, cpu() - spent]))
"""


def missing() -> dict[str, str]:
    """Which peers cannot be measured here, and why."""
    found = {}
    if importlib.util.find_spec("hyperqueue") is None:
        found[HYPERQUEUE] = "not installed; pip install hyperqueue"
    lacking = [name for name in _SLURM_NEEDS if not _which(name)]
    if lacking:
        found[SLURM] = f"not installed: {', '.join(lacking)}; Debian: apt-get install slurm-wlm munge"
    elif os.geteuid() != 0:
        found[SLURM] = "its daemons want to be started by root"
    return found


def hyperqueue(count: int, at_once: int) -> Sample:
    """Its wait asks once a second, so that up to a second is not its fault."""
    command = [sys.executable, "-c", _HYPERQUEUE, str(count), str(at_once)]
    done = subprocess.run([*_alone(), *command], check=True, capture_output=True, text=True)
    seconds, cpu = json.loads(done.stdout.splitlines()[-1])
    return Sample(count / seconds, cpu / count * 1e6)


def _alone() -> Sequence[str]:
    """Its server listens on all addresses: where that can be had, in a network of its own."""
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"']
    works = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return alone if works else []


# --- Slurm ------------------------------------------------------------------------------------------------------------


def slurm(count: int, at_once: int) -> Sample:
    with probes.folder() as folder, _slurm_cluster(folder, at_once) as environment:
        clock = time.perf_counter()
        for start in range(0, count, _ARRAY_MAX):
            last = min(_ARRAY_MAX, count - start) - 1
            _call(["sbatch", "--parsable", f"--array=0-{last}", "--output=/dev/null", "--wrap=/bin/true"], environment)
        ended = folder / "ended.txt"
        while _lines(ended) < count:
            time.sleep(0.02)
        seconds = time.perf_counter() - clock
        failed = sum("JobState=COMPLETED" not in line for line in ended.read_text().splitlines())
        assert not failed, f"{failed} of {count} tasks of the array did not complete"
        return Sample(count / seconds)


@contextmanager
def _slurm_cluster(folder: Path, cores: int) -> Iterator[dict[str, str]]:
    """munged, slurmctld and slurmd in the foreground, below a folder, on ports of their own."""
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    (folder / "munge" / "key").write_bytes(os.urandom(1024))
    (folder / "munge" / "key").chmod(0o400)
    config = folder / "slurm.conf"
    config.write_text(_slurm_conf(folder, cores))
    environment = {**os.environ, "SLURM_CONF": str(config), "PATH": f"{os.environ.get('PATH', '')}:{_SBIN}"}
    munge = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "log", "seed")]
    daemons = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *munge],
        ["slurmctld", "-D", "-f", str(config)],
        ["slurmd", "-D", "-f", str(config), "-N", "bench"],
    ]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in daemons:
            with open(folder / f"{command[0]}.out", "wb") as output:
                running.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
            if command[0] == "munged":
                _until(lambda: (folder / "munge" / "socket").exists(), "munged does not listen")
        _until(lambda: "idle" in _call(["sinfo", "-h", "-o", "%t"], environment, check=False), "no node becomes idle")
        yield environment
    finally:
        for process in reversed(running):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _slurm_conf(folder: Path, cores: int) -> str:
    host = socket.gethostname()
    settings = {
        "ClusterName": "bench",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": _free_port(),
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge/socket",
        "CredType": "cred/munge",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.pid",
        "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
        "SlurmdParameters": "config_overrides",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": folder / "ended.txt",
        "AccountingStorageType": "accounting_storage/none",
        "MaxJobCount": 100_000,
        "MaxArraySize": _ARRAY_MAX + 1,
        "ReturnToService": 2,
    }
    node = f"NodeName=bench NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} CPUs={cores} State=UNKNOWN"
    partition = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
    return "\n".join([*(f"{name}={value}" for name, value in settings.items()), node, partition, ""])


def _which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SBIN}")


def _call(command: list[str], environment: dict[str, str], *, check: bool = True) -> str:
    return subprocess.run(
        command, env=environment, check=check, capture_output=True, text=True, timeout=_START_SECONDS_MAX
    ).stdout


def _until(holds: Callable[[], bool], trouble: str) -> None:
    until = time.monotonic() + _START_SECONDS_MAX
    while not holds():
        if time.monotonic() > until:
            raise RuntimeError(f"Slurm: {trouble} within {_START_SECONDS_MAX} s")
        time.sleep(0.05)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
