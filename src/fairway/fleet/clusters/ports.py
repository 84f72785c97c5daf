"""What is needed of the links to clusters: no more than this."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from fairway.api.client import Client, Resource
from fairway.control.mirror import Table
from fairway.core.model import Time


class Trouble(Protocol):
    """Why a cluster cannot be used."""

    @property
    def reason(self) -> str: ...

    @property
    def message(self) -> str: ...


class Link(Protocol):
    """The connection to one cluster."""

    @property
    def name(self) -> str: ...

    @property
    def client(self) -> Client | None: ...

    @property
    def connected(self) -> bool: ...

    @property
    def ever_synced(self) -> bool:
        """Whether its tables have been true once since this process began."""
        ...

    @property
    def lost_since(self) -> Time: ...

    @property
    def trouble(self) -> Trouble | None: ...

    @property
    def attempts(self) -> int: ...

    @property
    def next_attempt(self) -> Time | None: ...

    def table(self, resource: Resource) -> Table: ...


class Links(Protocol):
    """The connections of a hub, one for each MultiKueueCluster."""

    def get(self, name: str) -> Link | None: ...

    def names(self) -> list[str]: ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Told the name of a cluster whose link is another, or in another state."""
        ...

    def on_new(self, listener: Callable[[Link], None]) -> None:
        """Told of every link before it is opened, to listen to its tables."""
        ...


class Said(NamedTuple):
    """A condition as somebody decided it."""

    status: str
    reason: str
    message: str
