"""The file that says until when a run may go on: the node renews it, the shim obeys it, node or no node."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fairway.engines.machine import BOOT_ID, boot_clock


def renew(path: Path, valid_s: float) -> float:
    """Valid from now on for so many seconds of the machine's own clock, which no change of the date moves. Returns until when, on that clock."""
    until = boot_clock() + valid_s
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    # Not synced: a lease does not outlive the boot in which it was given.
    draft.write_text(json.dumps({"boot": BOOT_ID, "until": until}), encoding="utf-8")
    draft.replace(path)
    return until
