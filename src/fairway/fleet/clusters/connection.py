"""Whether a MultiKueueCluster is reached, in Kueue's words."""

from __future__ import annotations

from fairway.control.times import render_time
from fairway.fleet.clusters.ports import Link, Said

CONNECTED = Said("True", "Active", "Connected")
LOST = "ClientConnectionFailed"


def active(link: Link) -> Said:
    """The Active condition of the cluster at the other end."""
    if link.connected:
        return CONNECTED
    trouble = link.trouble
    reason, message = (trouble.reason, trouble.message) if trouble is not None else (LOST, "not connected")
    if link.attempts > 0:
        message += f"; connection attempts: {link.attempts}"
        if link.next_attempt is not None:
            message += f", next connection attempt: {render_time(link.next_attempt)}"
    return Said("False", reason, message)


def is_being_tried(link: Link) -> bool:
    """For the first time, with nothing to say about it yet."""
    unheard = not link.connected and not link.ever_synced and link.attempts == 0
    return unheard and (link.trouble is None or link.trouble.reason == LOST)
