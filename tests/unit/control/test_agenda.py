"""What is looked at first."""

from __future__ import annotations

from fairway.control.agenda import Agenda


def test_a_thing_that_is_named_twice_is_taken_once() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.update(("a", "b", "a"))
    assert agenda.take(10, 10) == ["a", "b"]
    assert not agenda


def test_news_goes_before_all_that_was_found_at_the_start() -> None:
    agenda: Agenda[str] = Agenda(starting=True)
    agenda.update(f"found-{number}" for number in range(1000))
    agenda.starting = False
    agenda.add("news")
    assert agenda.take(10, 2) == ["news", "found-0", "found-1"]


def test_what_was_found_and_then_changes_is_news_and_taken_once() -> None:
    agenda: Agenda[str] = Agenda(starting=True)
    agenda.update(("a", "b"))
    agenda.starting = False
    agenda.add("b")
    assert agenda.take(1, 0) == ["b"]
    assert agenda.take(10, 10) == ["a"]


def test_what_is_urgent_is_news_even_at_the_start() -> None:
    agenda: Agenda[str] = Agenda(starting=True)
    agenda.add("waits")
    agenda.add("runs", urgent=True)
    agenda.add("runs")
    assert agenda.take(1, 0) == ["runs"]
    assert agenda.take(10, 10) == ["waits"]


def test_much_news_does_not_keep_what_was_found_waiting_for_ever() -> None:
    agenda: Agenda[int] = Agenda(starting=True)
    agenda.update(range(4))
    agenda.starting = False
    seen = []
    for turn in range(4):
        agenda.update(range(100 * turn + 100, 100 * turn + 200))
        seen += [key for key in agenda.take(5, 1) if key < 100]
    assert seen == [0, 1, 2, 3]


def test_what_is_discarded_is_not_taken() -> None:
    agenda: Agenda[str] = Agenda(starting=True)
    agenda.add("found")
    agenda.add("news", urgent=True)
    agenda.discard("found")
    agenda.discard("news")
    assert not agenda


def test_beside_news_little_of_what_was_found_is_taken_and_alone_as_much_as_may_be() -> None:
    agenda: Agenda[str] = Agenda(starting=True)
    agenda.update(f"found-{number}" for number in range(100))
    agenda.starting = False
    agenda.add("news")
    beside, alone = agenda.take(10, 50), agenda.take(10, 50)
    assert beside[0] == "news"
    assert 1 < len(beside) < 10
    assert len(alone) == 50
