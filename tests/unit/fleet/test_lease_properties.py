"""Whatever the network does to renewals and their answers: a cluster never lets work run longer than its hub reckons with."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.control.fencing.book import Book, Renewal
from fairway.fleet.lease import Holding, Terms

HUB = "hub"
AHEAD_S = 5000.0
"""The clocks of the two have nothing to do with each other."""


@dataclass
class Boot:
    id: str = "boot"
    now: float = AHEAD_S


@dataclass
class Wire:
    """Everything ever sent, to be delivered in any order, late, often or never."""

    renewals: list[Renewal] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


class World:
    def __init__(self, lease_s: int) -> None:
        self.now = 0.0
        self.boot = Boot()
        self.book = Book(self.boot, {})
        self.terms = Terms(lease_s, grace_s=0, margin_s=0)
        self.holding = Holding(self.terms, 0.0, fenced=True)
        self.stamp = ""
        self.wire = Wire()
        self.boots = 0
        self.round()
        self.round()

    def round(self) -> None:
        """As it should be."""
        self.send()
        self.deliver(-1)
        self.answer(-1)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.boot.now += seconds

    def send(self) -> None:
        self.holding.sends(self.terms)
        self.wire.renewals.append(Renewal(self.stamp, float(self.terms.lease_s)))

    def deliver(self, which: int) -> None:
        if self.wire.renewals:
            self.book.renew(HUB, self.wire.renewals[which % len(self.wire.renewals)])
            self.wire.answers.append(self.book.stamp().text)
            asked = self.book.asked(HUB)
            if asked is not None:
                self.book.begin(HUB, asked.since)

    def answer(self, which: int) -> None:
        if self.wire.answers:
            self.stamp = self.wire.answers[which % len(self.wire.answers)]
            self.holding.received(self.now)

    def change_terms(self, lease_s: int) -> None:
        self.terms = Terms(lease_s, grace_s=0, margin_s=0)

    def restart_hub(self) -> None:
        """It forgets; what it sent is still on its way. Its terms are those it had."""
        self.holding = Holding(self.terms, self.now, fenced=True)
        self.stamp = ""

    def restart_node(self) -> None:
        term = self.book.term(HUB)
        self.book = Book(self.boot, {HUB: term} if term is not None else {})

    def reboot(self) -> None:
        self.boots += 1
        self.boot.id, self.boot.now = f"boot-{self.boots}", 0.0
        self.book = Book(self.boot, {})

    def check(self) -> None:
        until = self.holding.until
        assert until is not None
        for lease in (self.book.term(HUB), self.book.asked(HUB)):
            if lease is not None:
                left = lease.until - self.boot.now
                assert self.now + left <= until + 1e-6, (
                    f"the cluster goes on for {left} s, the hub waits {until - self.now} s"
                )


step = st.one_of(
    st.tuples(st.just("pass_time"), st.floats(0, 20)),
    st.tuples(st.just("round")),
    st.tuples(st.just("send")),
    st.tuples(st.just("deliver"), st.integers(0, 40)),
    st.tuples(st.just("deliver"), st.just(-1)),
    st.tuples(st.just("answer"), st.integers(0, 40)),
    st.tuples(st.just("answer"), st.just(-1)),
    st.tuples(st.just("restart_node")),
    st.tuples(st.just("reboot")),
)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 30), st.lists(st.one_of(step, st.tuples(st.just("restart_hub"))), max_size=60))
def test_a_lease_never_outlasts_what_the_hub_waits_for(lease_s: int, steps: list[tuple[object, ...]]) -> None:
    world = World(lease_s)
    for name, *arguments in steps:
        getattr(world, str(name))(*arguments)
        world.check()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(step, st.tuples(st.just("change_terms"), st.integers(1, 60))), max_size=60))
def test_nor_while_the_length_of_the_lease_is_changed(steps: list[tuple[object, ...]]) -> None:
    world = World(15)
    for name, *arguments in steps:
        getattr(world, str(name))(*arguments)
        world.check()


def test_an_undisturbed_lease_is_valid_without_a_gap() -> None:
    world = World(15)
    term = world.book.term(HUB)
    assert term is not None
    for _ in range(20):
        world.pass_time(5)
        found = world.book.term(HUB)
        assert found is not None
        assert found.since == term.since
        world.round()
        world.check()
