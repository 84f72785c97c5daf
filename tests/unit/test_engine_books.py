"""The files that records of runs are in, and the records."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path
from unittest import mock

import pytest

from fairway.engines.books import SLOTS, Books, Slot
from fairway.engines.record import ROOM_BYTES, SLOT_BYTES, Record, begin
from fairway.engines.runs import Runs

WHO = {"boot": "b", "pid": 1, "start": 2}


def spec_of(run_id: str, more: str = "") -> bytes:
    return begin(json.dumps({"id": run_id, "more": more}).encode())


def record_in(books: Books, slot: Slot) -> Record:
    return Record(books.path(slot.book), slot.base, slot.size)


def test_slots_are_nobody_elses_and_found_again_and_zeros_when_they_are_given_back(tmp_path: Path) -> None:
    books = Books(str(tmp_path))
    slots = [books.take(100) for _ in range(SLOTS + 1)]
    assert len(set(slots)) == len(slots)
    assert len(list(tmp_path.iterdir())) == 2
    books.write((slot, spec_of(f"r{number}")) for number, slot in enumerate(slots))
    again = Books(str(tmp_path))
    assert set(again.open()) == set(slots)
    again.give_back(slots[:5])
    assert set(Books(str(tmp_path)).open()) == set(slots[5:])
    assert not any(again.path(slot.book) and record_in(again, slot).whole for slot in slots[:5])
    taken = {again.take(100) for _ in range(SLOTS - 1 + 5)}
    assert taken.isdisjoint(slots[5:])
    assert set(slots[:5]) <= taken
    assert len(list(tmp_path.iterdir())) == 2


def test_a_record_that_is_too_long_for_a_slot_has_a_file_that_goes_with_it(tmp_path: Path) -> None:
    books = Books(str(tmp_path))
    long = spec_of("long", "x" * 100_000)
    slot = books.take(len(long) + ROOM_BYTES)
    books.write([(slot, long)])
    assert Books(str(tmp_path)).open() == [slot]
    assert record_in(books, slot).spec + b"\n" == long
    assert record_in(books, slot).claim(WHO)
    books.give_back([slot])
    assert list(tmp_path.iterdir()) == []


def test_books_go_when_much_more_is_free_than_is_needed(tmp_path: Path) -> None:
    books = Books(str(tmp_path))
    slots = [books.take(100) for _ in range(SLOTS * 6)]
    assert len(list(tmp_path.iterdir())) == 6
    books.give_back(slots)
    assert len(list(tmp_path.iterdir())) == 2
    assert len({books.take(100) for _ in range(SLOTS * 2)}) == SLOTS * 2


def test_a_run_is_claimed_once(tmp_path: Path) -> None:
    books = Books(str(tmp_path))
    slot = books.take(100)
    books.write([(slot, spec_of("a"))])
    first, second = record_in(books, slot), record_in(books, slot)
    assert first.claim(WHO)
    assert not second.claim(WHO)
    assert not record_in(books, slot).claim(WHO)
    assert [json.loads(line) for line in record_in(books, slot).lines] == [WHO]


@pytest.mark.parametrize("then", ["another", "the same, shorter", "nothing"])
def test_whoever_comes_late_does_not_claim_a_slot_that_is_another_runs_by_then(tmp_path: Path, then: str) -> None:
    books = Books(str(tmp_path))
    slot = books.take(100)
    books.write([(slot, spec_of("a", "x" * 500))])
    late = record_in(books, slot)
    books.give_back([slot])
    assert books.take(100) == slot
    if then != "nothing":
        books.write([(slot, spec_of("b" if then == "another" else "a"))])
    assert not late.claim(WHO)
    assert not record_in(books, slot).claimed


def test_what_is_said_of_an_end_is_cut_to_the_room_and_a_line_that_is_not_whole_is_passed_over(tmp_path: Path) -> None:
    books = Books(str(tmp_path))
    slot = books.take(SLOT_BYTES)
    books.write([(slot, spec_of("a") + b'{"boot": "b", "pi')])
    record = record_in(books, slot)
    assert record.claimed
    assert record.lines == []
    record.finish({"id": "a", "state": "exited", "exit_code": 3, "message": "\u20ac" * 5000})
    torn, status = record_in(books, slot).lines
    assert torn == b'{"boot": "b", "pi'
    said = json.loads(status)
    assert said["exit_code"] == 3
    assert 500 < len(said["message"]) < 5000
    assert set(said["message"]) == {"\u20ac"}


SECTOR_BYTES = 512


def mixed(before: bytes, after: bytes, chance: random.Random) -> bytes:
    """What a disk may hold when the machine stops while it writes: of each sector the old or the new."""
    share = chance.random()
    return b"".join(
        (after if chance.random() < share else before)[at : at + SECTOR_BYTES]
        for at in range(0, len(after), SECTOR_BYTES)
    )


@pytest.mark.parametrize("seed", range(30))
def test_whatever_of_the_last_write_reached_the_disk_no_run_starts_that_was_claimed(tmp_path: Path, seed: int) -> None:
    """Each step of a run's life, from what was durable before it to what is durable after it."""
    chance = random.Random(seed)
    written: list[bytes] = []

    def see(_: int) -> None:
        written.append((tmp_path / "runs" / "00000001.book").read_bytes())

    with mock.patch.object(os, "fdatasync", see):
        runs = Runs(tmp_path)
        runs.open()
        # Some end where a sector ends: then spec and claim reach the disk apart from each other.
        size = chance.choice([1, 1, 5]) * SECTOR_BYTES + chance.choice([-100, -1, 0, 0, 1])
        runs.write([("a", spec_of("a", "x" * (size - len(spec_of("a"))))[:-1])])
        record = Record(*runs_slot(runs, "a"))
        assert record.claim({**WHO, "boot": "another"})
        record.add({"pid": 1, "start": 2, "at": 3.0})
        record.finish({"id": "a", "state": "exited", "exit_code": 3, "message": "y" * 700})
        record.close()
        runs.remove(["a"])
    spec, claim, status, *forgotten = written
    assert len(forgotten) == 2
    steps = itertools.pairwise((bytes(len(spec)), spec, claim, status, *forgotten))
    for before, after in itertools.chain.from_iterable(itertools.repeat(step, 10) for step in steps):
        (tmp_path / "runs" / "00000001.book").write_bytes(mixed(before, after, chance))
        again = Runs(tmp_path)
        found = again.open()
        look = again.look("a")
        if after is spec:
            assert (found, look.claimed) in (([], False), (["a"], False))
        elif after is claim:
            assert found == ["a"]
        elif after is status:
            assert found == ["a"]
            assert look.claimed
            assert look.orphaned or look.status.exit_code == 3
        else:
            assert found == [] or (look.claimed and (look.orphaned or look.status.exit_code == 3))
        if not found:
            assert Books(str(tmp_path / "runs")).open() == []


def runs_slot(runs: Runs, run_id: str) -> tuple[str, int, int]:
    _, book, base, size = runs.order(run_id).split()
    return str(runs.folder / "runs" / book), int(base), int(size)
