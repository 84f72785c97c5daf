"""The file that says until when runs may go on: the node renews it, the shims obey it, node or no node.

A *term* is a time without a gap in which a lease was valid, named by when it began. A run belongs to the term in which it was granted: should
the lease run out and come to life again, its runs may already have been started elsewhere, and must end even if they slept through the gap.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from fairway.engines.machine import BOOT_ID, boot_clock

EXPIRED = "LeaseExpired"
"""The reason of a run that was ended, or not begun, because its lease had run out."""
GRACE_S = 5.0
"""From the end of a lease to SIGKILL, where the lease does not say."""


@dataclass(frozen=True, slots=True)
class Lease:
    """On this boot's clock."""

    since: float
    until: float
    grace_s: float = GRACE_S


def write(path: Path, lease: Lease) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    said = {"boot": BOOT_ID, "since": lease.since, "until": lease.until, "grace": lease.grace_s}
    # Not synced: a lease does not outlive the boot in which it was given.
    draft.write_text(json.dumps(said), encoding="utf-8")
    draft.replace(path)


def read(path: Path) -> Lease | None:
    """None: there is none, nobody can read it, or it is of another boot."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["boot"] != BOOT_ID:
            return None
        return Lease(float(said.get("since", 0.0)), float(said["until"]), float(said.get("grace", GRACE_S)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def renew(path: Path, valid_s: float) -> float:
    """Valid from now on for so many seconds of the machine's own clock, which no change of the date moves, in one term for ever.

    Returns until when, on that clock.
    """
    until = boot_clock() + valid_s
    write(path, Lease(0.0, until))
    return until
