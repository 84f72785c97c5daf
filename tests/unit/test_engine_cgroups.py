"""What the engine makes of a machine's cgroups, from what the kernel says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.engines.cgroups import Cgroups, _hierarchies, detect
from fairway.engines.engine import Limits

HYBRID_MOUNTS = """\
30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
31 24 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 24 0:29 / /proc rw - proc proc rw
"""
HYBRID_OWN = "5:memory:/jobs/a\n4:cpu,cpuacct:/\n1:name=systemd:/init\n0::/user\n"


def test_in_a_hybrid_machine_every_controller_has_its_own_place() -> None:
    found = {
        (mounted.version, tuple(sorted(mounted.controllers))): mounted
        for mounted in _hierarchies(HYBRID_MOUNTS, HYBRID_OWN)
    }
    assert found[1, ("memory",)].folder == Path("/sys/fs/cgroup/memory/jobs/a")
    assert found[1, ("cpu", "cpuacct")].folder == Path("/sys/fs/cgroup/cpu,cpuacct")
    [unified] = [mounted for (version, _), mounted in found.items() if version == 2]
    assert list(unified.places()) == [Path("/sys/fs/cgroup/unified/user"), Path("/sys/fs/cgroup/unified")]


def test_a_container_that_sees_only_its_part_of_the_tree_uses_that_part() -> None:
    mounts = "30 24 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    [inside] = _hierarchies(mounts, "0::/docker/abc/init\n")
    assert inside.folder == Path("/sys/fs/cgroup/init")
    [outside] = _hierarchies(mounts, "0::/elsewhere\n")
    assert outside.folder == Path("/sys/fs/cgroup")


@pytest.mark.parametrize("mounts", ["", "nonsense", HYBRID_MOUNTS.replace("/sys/fs", "/no/such")])
def test_where_there_is_nothing_to_write_there_are_no_cgroups_and_no_error(tmp_path: Path, mounts: str) -> None:
    (tmp_path / "mountinfo").write_text(mounts)
    (tmp_path / "own").write_text(HYBRID_OWN)
    found = detect("fairway-test", tmp_path / "mountinfo", tmp_path / "own")
    assert found == Cgroups()
    assert found.plan("a", Limits(memory_bytes=1 << 20)) is None
    assert detect("fairway-test", tmp_path / "missing", tmp_path / "own") == Cgroups()


def test_a_v2_machine_holds_all_limits_in_one_group(tmp_path: Path) -> None:
    (tmp_path / "cgroup.kill").touch()
    groups = Cgroups(tmp_path, frozenset(("memory", "cpu", "pids")))
    plan = groups.plan("memory.max", Limits(memory_bytes=1 << 30, cpu_millis=1500, processes=64))
    group = tmp_path / "run-memory.max"
    assert plan == {
        "folders": {
            str(group): {
                "memory.max": "1073741824",
                "memory.swap.max?": "0",
                "memory.oom.group?": "1",
                "cpu.max": "150000 100000",
                "pids.max": "64",
            }
        },
        "kill": f"{group}/cgroup.kill",
        "oom": f"{group}/memory.events",
        "peak": f"{group}/memory.peak",
    }


def test_a_v1_machine_without_v2_freezes_what_it_kills() -> None:
    groups = Cgroups(v1={"memory": Path("/m"), "freezer": Path("/f")})
    plan = groups.plan("a", Limits(memory_bytes=4096, cpu_millis=500))
    assert plan == {
        "folders": {
            "/f/run-a": {},
            "/m/run-a": {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes?": "4096"},
        },
        "freezer": "/f/run-a/freezer.state",
        "oom": "/m/run-a/memory.oom_control",
        "peak": "/m/run-a/memory.max_usage_in_bytes",
    }
    assert groups.plan("a", Limits(cpu_millis=500)) is None


def test_the_smallest_share_of_a_processor_is_what_the_kernel_takes() -> None:
    plan = Cgroups(v1={"cpu": Path("/c")}).plan("a", Limits(cpu_millis=1))
    assert plan is not None
    assert plan["folders"] == {"/c/run-a": {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"}}
