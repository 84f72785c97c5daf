"""What is asked of the API: which object, by whom, and how.

Structs rather than dataclasses: a frozen dataclass takes eight times as long to make, and every request makes several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import field

from fairway.api.codec import Strictness
from fairway.kinds.kind import Kind, Version
from fairway.store import Delete, Put, Record

Operation = Literal["CREATE", "UPDATE", "DELETE"]


class Caller(msgspec.Struct, frozen=True, gc=False):
    """Who asks. The system itself is the caller where nobody else is."""

    user: str = "system:fairway"
    groups: tuple[str, ...] = ("system:masters",)


SYSTEM = Caller()


class Target(msgspec.Struct, frozen=True, gc=False):
    """An object, or (without a name) the objects of a kind, in a served version."""

    kind: Kind
    version: Version
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}"


class Options(msgspec.Struct, frozen=True, gc=False):
    dry_run: bool = False
    manager: str = "fairway"
    strictness: Strictness = "Warn"
    force: bool = False
    caller: Caller = SYSTEM


class DeleteOptions(msgspec.Struct, frozen=True, gc=False):
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"
    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""


class Admission(msgspec.Struct):
    """What an admission hook sees. It may change `new` in place, or raise ApiError to refuse."""

    operation: Operation
    target: Target
    new: Any
    old: Any | None
    options: Options
    warnings: list[str] = field(default_factory=list)
    refused: list[Callable[[], None]] = field(default_factory=list)
    """Called should it be refused after all, by another hook or for what is wrong with it: by hooks that took something for it."""


class Write(msgspec.Struct):
    """A write that is ready: one store operation, or none if nothing changes or it is a dry run."""

    target: Target
    op: Put | Delete | None
    value: bytes
    """The object as it will be, in storage form; stamped only once the operation is staged."""
    warnings: list[str] = field(default_factory=list)
    created: bool = False
    deleted: bool = False
    """The object is gone after this write (and not only marked for deletion)."""
    record: Record | None = None
    """Set when the write is staged."""
