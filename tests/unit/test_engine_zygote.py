"""What a zygote says to its engine arrives whole, however slowly it is read."""

from __future__ import annotations

import socket

from fairway.engines import zygote


def test_an_engine_that_reads_slowly_gets_every_line_whole_and_one_that_never_reads_is_given_up() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        engine = zygote._Engine(ours)
        lines = b"".join(b"look run-%d\n" % number for number in range(40_000))
        engine.unsaid = lines
        assert engine.say()
        assert engine.unsaid
        heard = b""
        while len(heard) < len(lines):
            heard += theirs.recv(1000)
            assert engine.say()
        assert heard == lines
        engine.unsaid = lines * 4
        assert not engine.say()
