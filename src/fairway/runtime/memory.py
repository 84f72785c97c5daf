"""The garbage collector of a process that has loaded what it will keep."""

from __future__ import annotations

import gc


def keep_what_is_loaded() -> None:
    """What was loaded stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
