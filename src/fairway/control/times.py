"""RFC 3339 to nanoseconds and back: the API writes times as text, the core counts."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from fairway.core.model import SECOND, Time

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def parse_time(text: str | None) -> Time:
    """Zero for a time that is not set."""
    if not text:
        return 0
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: write it like 2025-01-31T12:00:00Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    seconds = calendar.timegm((year, month, day, hour, minute, second))
    zone = match[8]
    if zone != "Z":
        offset = (int(zone[1:3]) * 60 + int(zone[4:])) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return seconds * SECOND + int((match[7] or "0").ljust(9, "0")[:9])


def render_time(time: Time) -> str:
    """Whole seconds, as the API keeps them."""
    return _render_second(time // SECOND)


@lru_cache(maxsize=1024)
def _render_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_duration(text: str) -> Time:
    parts = _DURATION_PART.findall(text)
    if not parts:
        if text.strip("+-") == "0":
            return 0
        raise ValueError(f"{text!r} is not a duration: write it like 1h30m or 250ms")
    total = sum(int(float(value) * _UNITS[unit]) for value, unit in parts)
    return -total if text.startswith("-") else total


def time_of_day(at: Time) -> str:
    """As people say when something happened lately."""
    return datetime.fromtimestamp(at / SECOND, UTC).strftime("%H:%M:%S UTC")
