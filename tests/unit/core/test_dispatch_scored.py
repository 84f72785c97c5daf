"""The scored dispatcher: one cluster at a time, the one with the most room or the least too much."""

from __future__ import annotations

from fairway.core.dispatch.ledger import Group, Ledger, Offer
from fairway.core.dispatch.nominate import PATIENCE, Candidate, Nomination, scored
from fairway.core.model import cell

CPU = cell("machine", "cpu")


def candidate(name: str, limit: int, taken: int = 0) -> Candidate:
    group = Group(frozenset({"cpu"}), ("machine",), {CPU: limit}, {CPU: taken})
    return Candidate(name, "main", Offer((group,)))


def ask(
    *clusters: Candidate, ledger: Ledger | None = None, nominated: tuple[str, ...] = (), now: int = 0
) -> Nomination:
    asked_at = 0 if nominated else None
    return scored(clusters, nominated, asked_at, {"cpu": 1}, ledger or Ledger(), now, {})


def test_the_cluster_with_the_most_room_is_asked() -> None:
    assert ask(candidate("a", 4, 3), candidate("b", 4, 1)).clusters == ("b",)


def test_where_none_has_room_one_is_asked_all_the_same_and_promised() -> None:
    made = ask(candidate("a", 4, 4), candidate("b", 8, 8))
    assert (made.clusters, made.promises) == (("b",), {"b": {CPU: 1}})


def test_work_that_must_wait_is_spread_over_full_clusters_by_their_sizes() -> None:
    ledger, waits = Ledger(), {"a": 0, "b": 0}
    for number in range(12):
        made = ask(candidate("a", 4, 4), candidate("b", 8, 8), ledger=ledger)
        (name,) = made.clusters
        ledger.promise(name, "main", str(number), made.promises[name])
        waits[name] += 1
    assert waits == {"a": 4, "b": 8}


def test_another_is_asked_when_the_first_does_not_answer_and_then_nobody_is_left() -> None:
    clusters = (candidate("a", 4, 4), candidate("b", 8, 8))
    assert ask(*clusters, nominated=("b",), now=PATIENCE - 1).clusters == ("b",)
    later = ask(*clusters, nominated=("b",), now=PATIENCE)
    assert later.clusters == ("b", "a")
    last = ask(*clusters, nominated=("b", "a"), now=PATIENCE)
    assert (last.clusters, last.due) == (("b", "a"), None)


def test_a_cluster_too_small_for_ever_is_not_asked() -> None:
    small = Candidate("a", "main", Offer((Group(frozenset({"cpu"}), ("machine",), {CPU: 0}, {}),)))
    assert ask(small, candidate("b", 4, 9)).clusters == ("b",)
