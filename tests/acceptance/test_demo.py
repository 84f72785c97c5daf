"""What the README shows first."""

from __future__ import annotations

import re
import subprocess
import sys

DEMO_SECONDS = 240


def test_the_demo_of_a_fleet_loses_a_cluster_and_finishes_every_job_once() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairway.cli.demo"], capture_output=True, text=True, timeout=DEMO_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cluster-3 is dead" in done.stdout
    rows = re.findall(r"^(job-\d\d) +(cluster-\d) +(\d) +(\d)", done.stdout, re.MULTILINE)
    assert len(rows) == 20
    assert all(finished == "1" for _job, _cluster, _started, finished in rows), done.stdout
    moved = [(job, cluster) for job, cluster, started, _finished in rows if started == "2"]
    assert moved, "some ran on the cluster that died"
    assert all(cluster != "cluster-3" for _job, cluster in moved)
