"""Why a patch cannot be applied."""

from __future__ import annotations


class PatchError(ValueError):
    """The patch is malformed or does not fit the object. The message says where and why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PatchTooLarge(PatchError):
    """The patch asks for more work than one request may."""


NESTED_TOO_DEEP = "the object or the patch is nested too deeply: flatten it, or send it in parts"
