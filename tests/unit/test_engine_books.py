"""The files that records of runs are in, and the records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairway.engines.books import SLOTS, Books, Slot
from fairway.engines.record import ROOM_BYTES, SLOT_BYTES, Record, begin

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
