"""Where an engine keeps what. Each folder holds one kind of thing.

FOLDER/  runs/          the records: what to run, who runs it, how it ended (fairway.engines.record)
         stops/ID       a wish to end it: a link that leads to when its grace is over, on the boot's clock. It needs no room on a full disk
         logs/ID        output
         logs.older/ID  the output before that
         work/ID/       where it runs, unless it says otherwise; gone after its end, if there is nothing in it

A run is there as long as its record is: it is made first and goes first, and what is there of an id without one is cleared away.
"""

from __future__ import annotations

import contextlib
import os

RUNS, STOPS, LOGS, OLDER_LOGS, WORK = "runs", "stops", "logs", "logs.older", "work"

SPARE = "~"
"""Before the pid of a shim: a working folder that waits for its next run. No id has it."""


def make(root: str) -> None:
    for name in (RUNS, STOPS, LOGS, OLDER_LOGS, WORK):
        with contextlib.suppress(FileExistsError):
            os.mkdir(f"{root}/{name}", 0o700)
