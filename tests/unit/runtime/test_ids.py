"""Ids from the system: unique, well formed, and different in a child."""

from __future__ import annotations

import os
import uuid

from fairway.runtime.ids import SystemIds


def test_uids_are_random_uuids_and_never_the_same() -> None:
    ids = SystemIds()
    drawn = [ids.uid() for _ in range(2000)]
    assert len(set(drawn)) == 2000
    for uid in drawn:
        parsed = uuid.UUID(uid)
        assert str(parsed) == uid
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)
    # Every bit that may vary does.
    assert len({uid[19] for uid in drawn}) == 4
    assert all(len({uid[place] for uid in drawn}) == 16 for place in (0, 7, 9, 15, 20, 35))


def test_a_forked_child_draws_ids_of_its_own() -> None:
    ids = SystemIds()
    ids.uid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, " ".join(ids.uid() for _ in range(100)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        of_child = set(told.read().split())
    os.waitpid(child, 0)
    assert len(of_child) == 100
    assert not of_child & {ids.uid() for _ in range(300)}
