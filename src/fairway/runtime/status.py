"""What a node says to its launcher, and a detached launcher to the terminal that started it: one JSON object per line on a pipe."""

from __future__ import annotations

import contextlib
import os

import msgspec


class Problem(Exception):
    """Something that a person can put right: what is wrong, and what to do about it."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class SpaceInfo(msgspec.Struct, frozen=True):
    name: str
    context: str
    """Its context in the folder's kubeconfig."""


class Progress(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """A step on the way to serving."""

    message: str


class Ready(msgspec.Struct, frozen=True, tag_field="event", tag="ready"):
    """The node serves."""

    port: int
    spaces: tuple[SpaceInfo, ...] = ()


class Notice(msgspec.Struct, frozen=True, tag_field="event", tag="notice"):
    """Something happened to the node that a person may want to know."""

    message: str


class Fatal(msgspec.Struct, frozen=True, tag_field="event", tag="fatal"):
    """It cannot start, and trying again will not help by itself."""

    message: str
    remedy: str = ""


Event = Progress | Ready | Notice | Fatal

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def decode(line: bytes) -> Event | None:
    """The event in a line, or None for what is none: a broken writer must not take its reader down."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class Reporter:
    """The writing end. Nobody may be listening any more, and that is no reason to fail."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def send(self, event: Event) -> None:
        if self._fd is None:
            return
        data = _encode(event) + b"\n"
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None
