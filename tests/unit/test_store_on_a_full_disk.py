"""What must be written is written when others have filled the disk, also by the next process after one that was killed there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.integration.engine_support import disk_of
from tests.integration.support import ROOT
from tests.unit.runtime.test_keeping_room import fill

from fairway.store.log import Batch, Row
from fairway.store.record import NO_HEAD, Record
from fairway.store.sqlite import SqliteLog

FIRST, FULL, AGAIN = 200, 50, 50


def write(log: SqliteLog, revision: int, count: int) -> None:
    for number in range(revision + 1, revision + 1 + count):
        record = Record("jobs", f"default/j{number}", number, b"x" * 1500, NO_HEAD)
        rows = [Row(record, deleted=False, volatile=False)]
        log.write(Batch(rows, appended=[], trimmed=[], garbage=(), mark=0, ceiling=0, number=number, volatile=[]))


def live_and_be_killed(disk: Path) -> None:
    log = SqliteLog(disk / "s.db")
    log.open()
    write(log, 10, FIRST)
    fill(disk / "other")
    write(log, 10 + FIRST, FULL)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_log_whose_process_was_killed_on_a_full_disk_is_opened_and_written_there(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from tests.unit.test_store_on_a_full_disk import live_and_be_killed;"
        "live_and_be_killed(pathlib.Path(sys.argv[1]))"
    )
    with disk_of("24m", tmp_path / "disk") as disk:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        done = subprocess.run([sys.executable, "-c", program, str(disk)], env=environment, cwd=ROOT, check=False)
        assert done.returncode == -signal.SIGKILL
        assert os.statvfs(disk).f_bavail == 0
        log = SqliteLog(disk / "s.db")
        known = log.open().revision
        assert known == 10 + FIRST + FULL
        write(log, known, AGAIN)
        log.close()
        (disk / "other").unlink()
        again = SqliteLog(disk / "s.db")
        assert again.open().revision == known + AGAIN
        assert len(list(again.rows())) == FIRST + FULL + AGAIN
        again.close()
