"""Fairway: a batch queue for a fleet of clusters. docs/architecture.md explains the rooms.

`fairway.Client` and `fairway.AsyncClient` are the way in for Python programs; they are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairway.sdk import AsyncClient, Client

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Client", "__version__"]


def __getattr__(name: str) -> Any:
    if name in ("AsyncClient", "Client"):
        from fairway import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'fairway' has no attribute {name!r}")
