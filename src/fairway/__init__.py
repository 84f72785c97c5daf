"""Fairway: a batch queue for a fleet of clusters. docs/architecture.md explains the rooms.

`fairway.Client` and `fairway.AsyncClient` are the way in for Python programs. They, and what they take, give and raise, are loaded when they are
first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairway.sdk import ApiError, AsyncClient, Client, JobFailed, JobRequest, JobView, RequestError, State

__version__ = "0.1.0"
__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "JobFailed",
    "JobRequest",
    "JobView",
    "RequestError",
    "State",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from fairway import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'fairway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
