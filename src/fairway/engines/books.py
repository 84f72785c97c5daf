"""Where the records of runs are: in files of many slots, a run to a slot.

A new file costs the disk more than all that is written about a short run, and a deleted one makes the next dearer. So a book is made once, full of
zeros, and its slots are written over again and again: nothing grows, and what is written is durable with one write to the disk, together with
whatever else is written into the book at that time. A slot that is given back is zeros again before anybody gets it. A record that is too long for a
slot has a file to itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass

from fairway.engines.machine import LINUX, reach
from fairway.engines.record import SLOT_BYTES
from fairway.runtime.files import sync_folder

SLOTS = 32
_KEPT_FREE = 2 * SLOTS
"""A book with nothing in it goes where more slots are free."""
_FEW = SLOTS // 4
_ZEROS = bytes(SLOT_BYTES)
_BOOK, _SINGLE = ".book", ".one"


@dataclass(frozen=True, slots=True)
class Slot:
    book: str
    base: int
    size: int


class Books:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._free: dict[str, list[Slot]] = {}
        """By book."""
        self._number = 0

    def open(self) -> list[Slot]:
        """All that have something in them. A book that was being made when the engine was killed goes; one that was cut off is mended."""
        used = []
        for name in sorted(os.listdir(self._folder)):
            stem, ending = os.path.splitext(name)
            if not stem.isdigit() or ending not in (_BOOK, _SINGLE):
                continue
            self._number = max(self._number, int(stem))
            size = os.stat(self.path(name)).st_size
            if ending == _SINGLE:
                used.append(Slot(name, 0, size))
            elif size >= SLOT_BYTES * SLOTS or self._mended(name, size):
                used += self._sort(name)
        return used

    def path(self, book: str) -> str:
        return f"{self._folder}/{book}"

    @property
    def runs_short(self) -> bool:
        """Whether somebody may soon have to wait for a book to be made."""
        return sum(map(len, self._free.values())) < _FEW

    def add(self) -> str:
        book = self._create(_BOOK, SLOT_BYTES * SLOTS)
        self._free[book] = [Slot(book, number * SLOT_BYTES, SLOT_BYTES) for number in reversed(range(SLOTS))]
        return book

    def take(self, size: int) -> Slot:
        """A slot of nothing but zeros, where nobody else writes."""
        if size > SLOT_BYTES:
            return Slot(self._create(_SINGLE, size), 0, size)
        book = next((book for book, free in self._free.items() if free), None) or self.add()
        return self._free[book].pop()

    def give_back(self, slots: Iterable[Slot]) -> None:
        """What was in them is gone, durably."""
        for book, theirs in _by_book(slots).items():
            if book.endswith(_SINGLE):
                os.unlink(self.path(book))
                sync_folder(self._folder)
                continue
            # The beginning first: without its claim, what is left of a run must not look like one to start.
            self.write((slot, b"\0") for slot in theirs)
            self.write((slot, bytes(slot.size)) for slot in theirs)
            free = self._free.setdefault(book, [])
            free += theirs
            if len(free) == SLOTS and sum(map(len, self._free.values())) > _KEPT_FREE:
                del self._free[book]
                os.unlink(self.path(book))

    def write(self, what: Iterable[tuple[Slot, bytes]]) -> None:
        """Durably, from the beginning of each slot."""
        data = dict(what)
        for book, slots in _by_book(data).items():
            fd = os.open(self.path(book), os.O_WRONLY | os.O_CLOEXEC)
            try:
                for slot in slots:
                    os.pwrite(fd, data[slot], slot.base)
                reach("engine-wrote-slots")
                os.fdatasync(fd) if LINUX else os.fsync(fd)
            finally:
                os.close(fd)

    def _mended(self, book: str, size: int) -> bool:
        """False: there was nothing in it."""
        fd = os.open(self.path(book), os.O_RDWR | os.O_CLOEXEC)
        try:
            if not os.pread(fd, size, 0).strip(b"\0"):
                os.unlink(self.path(book))
                return False
            os.lseek(fd, size, os.SEEK_SET)
            _write_zeros(fd, SLOT_BYTES * SLOTS - size)
        finally:
            os.close(fd)
        return True

    def _sort(self, book: str) -> list[Slot]:
        slots = [Slot(book, number * SLOT_BYTES, SLOT_BYTES) for number in range(SLOTS)]
        fd = os.open(self.path(book), os.O_RDONLY | os.O_CLOEXEC)
        try:
            used = [slot for slot in slots if os.pread(fd, slot.size, slot.base) != _ZEROS]
        finally:
            os.close(fd)
        self._free[book] = [slot for slot in reversed(slots) if slot not in used]
        return used

    def _create(self, ending: str, size: int) -> str:
        self._number += 1
        book = f"{self._number:08}{ending}"
        try:
            fd = os.open(self.path(book), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                _write_zeros(fd, size)
            finally:
                os.close(fd)
            sync_folder(self._folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self.path(book))
            raise
        return book


def _write_zeros(fd: int, size: int) -> None:
    zeros = memoryview(bytes(size))
    while zeros:
        zeros = zeros[os.write(fd, zeros) :]
    reach("engine-made-book")
    os.fsync(fd)


def _by_book(slots: Iterable[Slot]) -> dict[str, list[Slot]]:
    found: dict[str, list[Slot]] = {}
    for slot in slots:
        found.setdefault(slot.book, []).append(slot)
    return found
