"""A file that room is kept for grows when the disk is full."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.integration.engine_support import disk_of

from fairway.runtime.files import keep_room, write_atomically

MEGABYTE = 1 << 20


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as other, contextlib.suppress(OSError):
        while other.write(bytes(4096)):
            pass


def test_a_file_grows_by_what_is_kept_for_it_and_no_further(tmp_path: Path) -> None:
    with disk_of("4m", tmp_path / "disk") as disk, (disk / "file").open("wb", buffering=0) as file:
        file.write(b"x" * 1000)
        keep_room(disk / "file", MEGABYTE)
        assert (disk / "file").stat().st_size == 1000
        fill(disk / "other")
        assert file.write(bytes(MEGABYTE)) == MEGABYTE
        keep_room(disk / "file", MEGABYTE)  # There is none left, which is no error.
        with pytest.raises(OSError, match="No space left"):
            [file.write(bytes(4096)) for _ in range(MEGABYTE // 4096)]


def test_half_of_it_used_it_is_made_up_for(tmp_path: Path) -> None:
    with disk_of("8m", tmp_path / "disk") as disk, (disk / "file").open("wb", buffering=0) as file:
        for _ in range(8):
            file.write(bytes(MEGABYTE // 2))
            keep_room(disk / "file", MEGABYTE)
        fill(disk / "other")
        assert file.write(bytes(MEGABYTE // 2)) == MEGABYTE // 2


def test_a_file_that_is_as_it_should_be_is_written_on_a_full_disk_and_another_is_not(tmp_path: Path) -> None:
    with disk_of("1m", tmp_path / "disk") as disk:
        write_atomically(disk / "file", b"content")
        fill(disk / "other")
        write_atomically(disk / "file", b"content")
        for other in ({"data": b"others", "mode": 0o600}, {"data": b"content", "mode": 0o644}):
            with pytest.raises(OSError, match="No space left"):
                write_atomically(disk / "file", **other)  # type: ignore[arg-type]
        assert (disk / "file").read_bytes() == b"content"
