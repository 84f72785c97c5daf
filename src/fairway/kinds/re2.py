"""Patterns of schemas are written for Go's regular expressions; this is what they mean in Python's.

Differences that occur in real schemas: flags in the middle of a pattern, `$` that means the very end, `\\z`, and classes like [:alpha:]. What
Python cannot say (`\\pL`) is an error of the pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FLAGS = re.compile(r"\(\?([imsU]*)(?:-[imsU]+)?\)")
_POSIX = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\t\n\v\f\r ",
    "[:upper:]": "A-Z",
    "[:word:]": r"0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises re.error for a pattern that cannot be used."""
    return re.compile(_translate(pattern))


def _translate(pattern: str) -> str:
    """Flags hold to the end of their group there, and must open a group of their own here."""
    out: list[str] = []
    opened: list[list[str]] = [[]]  # flags in force, one list for each group around
    at = 0
    while at < len(pattern):
        here, flags = pattern[at], opened[-1]
        if here == "\\":
            pair = pattern[at : at + 2]
            out.append(r"\Z" if pair == r"\z" else pair)
            at += 2
        elif here == "[":
            text, at = _character_class(pattern, at)
            out.append(text)
        elif match := _FLAGS.match(pattern, at):
            flags.append(match[1].replace("U", ""))
            out.append(f"(?{flags[-1]}:" if flags[-1] else "(?:")
            at = match.end()
        else:
            if here == "(":
                opened.append([])
            elif here == ")" and len(opened) > 1:
                out.append(")" * len(opened.pop()))
            multiline = any("m" in given for group in opened for given in group)
            if here == "|" and flags:
                out.append(")" * len(flags) + "|" + "".join(f"(?{given}:" if given else "(?:" for given in flags))
            else:
                out.append(r"\Z" if here == "$" and not multiline else here)
            at += 1
    return "".join(out) + ")" * len(opened[0])


def _character_class(pattern: str, start: int) -> tuple[str, int]:
    """The class that starts here, in Python's words, and where it ends."""
    at = start + 1
    out = ["["]
    if pattern[at : at + 1] == "^":
        out.append("^")
        at += 1
    first = True
    while at < len(pattern) and (pattern[at] != "]" or first):
        first = False
        name = next((name for name in _POSIX if pattern.startswith(name, at)), "")
        if name:
            out.append(_POSIX[name])
            at += len(name)
        elif pattern[at] == "\\":
            out.append(pattern[at : at + 2])
            at += 2
        else:
            out.append("\\[" if pattern[at] == "[" else pattern[at])
            at += 1
    return "".join(out) + pattern[at : at + 1], at + 1
