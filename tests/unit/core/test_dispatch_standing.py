"""What is said of each cluster to whoever asks why a workload waits."""

from __future__ import annotations

import pytest

from fairway.core.dispatch.standing import Copy, Stand, View, standing, summary

PENDING = Copy(False, False, (), "couldn't assign flavors")


@pytest.mark.parametrize(
    ("view", "stand", "text"),
    [
        (View("c", known=False), Stand.UNKNOWN, "is not part of the fleet"),
        (View("c", connected=False, lost_since=5), Stand.UNREACHABLE, "unreachable since {since}"),
        (View("c", connected=False, barred="is draining"), Stand.UNREACHABLE, "unreachable since {since}"),
        (
            View("c", connected=False, bound=True, safe_at=9),
            Stand.UNREACHABLE,
            "unreachable since {since}; its run there is over by {until}, and then it may start elsewhere",
        ),
        (View("c", bound=True, barred="is draining"), Stand.HAS_IT, "has it"),
        (View("c", barred="is draining", short="short of 1 cpu", copy=PENDING), Stand.BARRED, "is draining"),
        (View("c", copy=Copy(True, True, (), "")), Stand.RESERVED, "has admitted it"),
        (
            View("c", copy=Copy(True, False, ("budget",), ""), short="short of 1 cpu"),
            Stand.RESERVED,
            "has quota for it and waits for budget",
        ),
        (View("c", refusal="namespace x not found"), Stand.REFUSED, "refused it: namespace x not found"),
        (View("c", short="short of 1 cpu", copy=PENDING), Stand.SHORT, "short of 1 cpu"),
        (View("c", copy=PENDING), Stand.WAITING, "says: couldn't assign flavors"),
        (View("c", copy=Copy(False, False, (), "")), Stand.WAITING, "has been asked and has not answered yet"),
        (View("c", asked=True), Stand.WAITING, "is being asked"),
        (View("c"), Stand.NOT_ASKED, "has room and has not been asked yet"),
    ],
)
def test_a_cluster_says_the_first_thing_that_is_in_the_way(view: View, stand: Stand, text: str) -> None:
    found = standing(view)
    assert (found.stand, found.text) == (stand, text)


def test_what_a_copy_says_comes_along_with_the_numbers() -> None:
    assert standing(View("c", short="short of 1 cpu", copy=PENDING)).detail == "couldn't assign flavors"


def test_all_clusters_make_one_sentence() -> None:
    found = [standing(View("a", short="short of 3 gpu of flavor a100")), standing(View("b", barred="is draining"))]
    say = {each.cluster: each.text for each in found}
    text = "reserved on the hub; a short of 3 gpu of flavor a100; b is draining"
    assert summary("reserved on the hub", found, say) == text
