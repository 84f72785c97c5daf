"""Texts that outlive what wrote them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairway.runtime.archive import ArchiveError, SqliteArchive


def test_what_is_kept_is_there_after_a_restart_until_it_is_dropped(tmp_path: Path) -> None:
    async def test() -> None:
        first = SqliteArchive(tmp_path / "output.db")
        await first.open()
        await asyncio.gather(*(first.keep(f"pod-{index}", "main", b"x" * index) for index in range(50)))
        await first.keep("pod-7", "other", b"")
        # Killed: nothing is closed, and another one opens the file.
        second = SqliteArchive(tmp_path / "output.db")
        await second.open()
        assert len(second.owners()) == 50
        assert second.names("pod-7") == {"main", "other"}
        assert await second.read("pod-49", "main") == b"x" * 49
        assert await second.read("pod-7", "other") == b""
        await second.keep("pod-7", "main", b"again")
        assert await second.read("pod-7", "main") == b"again"
        await second.drop(["pod-7", "nobody"])
        assert second.names("pod-7") == frozenset()
        with pytest.raises(KeyError):
            await second.read("pod-7", "main")
        await first.close()
        await second.close()

    asyncio.run(test())


def test_a_file_that_is_none_of_ours_is_refused_until_it_is_out_of_the_way(tmp_path: Path) -> None:
    (tmp_path / "output.db").write_bytes(b"this is no database, and long enough to be taken for one" * 100)

    async def test() -> None:
        archive = SqliteArchive(tmp_path / "output.db")
        with pytest.raises(ArchiveError, match=r"output\.db: file is not a database"):
            await archive.open()
        with pytest.raises(ArchiveError, match="file is not a database"):
            await archive.keep("pod", "main", b"x")
        (tmp_path / "output.db").unlink()
        await archive.keep("pod", "main", b"x")
        assert await archive.read("pod", "main") == b"x"
        await archive.close()

    asyncio.run(test())
