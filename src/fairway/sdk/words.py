"""What Kueue's conditions say, in the words of somebody who only has a job to run. What is not known is left as it is."""

from __future__ import annotations

import re

_POD_SET = re.compile(r"(?:couldn't|failed to) assign flavors to pod set (\S+): ")
_SENTENCES = (
    (
        re.compile(
            r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \(0\) \+ "
            r"current podset request \((\S+)\) > maximum capacity \((\S+)\)"
        ),
        r"asks for \3 \1, and \2 has \4 in all",
    ),
    (
        re.compile(
            r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+)\) \+ "
            r"current podset request \((\S+)\) > maximum capacity \((\S+)\)"
        ),
        r"asks for \3 + \4 \1, and \2 has \5 in all",
    ),
    (
        re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed"),
        r"needs \3 more \1 of \2",
    ),
    (re.compile(r"resource (\S+) unavailable in ClusterQueue"), r"the queue offers no \1"),
    (
        re.compile(r'Evicted due to AdmissionCheck in Retry state: "([^"]+)" \((.*?)(?:, Previously: "[^"]*")?\)$'),
        r"put back by \1: \2",
    ),
)


def plainly(message: str) -> str:
    """A reason to wait, shorter. Pod sets are named where there are several."""
    one = len(_POD_SET.findall(message)) == 1
    message = _POD_SET.sub("" if one else r"\1: ", message)
    for pattern, words in _SENTENCES:
        message = pattern.sub(words, message)
    return message
