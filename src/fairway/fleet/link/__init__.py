"""The connection from a hub to one cluster: how it is reached, whether it can be, and what is known of the objects there."""

from __future__ import annotations
