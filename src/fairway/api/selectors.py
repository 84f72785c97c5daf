"""Label and field selectors, parsed once into predicates.

A label selector comes as text (`app=x,tier in (a,b),!old`) or as the object with matchLabels and matchExpressions; a field
selector only as text, and only about fields that the kind offers. Parses are cached: clients repeat themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from fairway.kinds import names
from fairway.kinds.errors import FieldError, invalid

Operator = Literal["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]
Predicate = Callable[[Mapping[str, str]], bool]

_ABSENT = ("!=", "notin", "!")
"""Operators that also match what is not there."""
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_EXPRESSIONS: dict[Any, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_CACHED = 4096
_TEXT_MAX = 100_000


class SelectorError(ValueError):
    """The selector cannot be read; the message says what was found and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label or field."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case "gt" | "lt":
                return f"{self.key}{'>' if self.operator == 'gt' else '<'}{self.values[0]}"
        return f"{self.key}{self.operator}{self.values[0]}"


class Selector:
    """Requirements that must all hold. `matches` is a plain function, made for these requirements."""

    __slots__ = ("mark", "matches", "requirements")

    def __init__(self, requirements: Iterable[Requirement], *, nothing: bool = False) -> None:
        self.requirements = tuple(requirements)
        self.mark = next((each.key.encode() for each in self.requirements if each.operator not in _ABSENT), b"")
        """What the bytes of any labels that match hold, if it is certain that they hold something."""
        self.matches: Predicate = _never if nothing else _compile(self.requirements)

    @property
    def empty(self) -> bool:
        """Whether everything matches."""
        return self.matches is _always

    def exact(self, key: str) -> str | None:
        """The one value that a label or field must have to match, if there is one."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                return requirement.values[0]
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return self.requirements == other.requirements and (self.matches is _never) == (other.matches is _never)

    def __hash__(self) -> int:
        return hash(self.requirements)


def _always(_labels: Mapping[str, str]) -> bool:
    return True


def _never(_labels: Mapping[str, str]) -> bool:
    return False


def parse(text: str) -> Selector:
    """A label selector from its text; an empty one matches everything."""
    if len(text) > _TEXT_MAX:
        raise SelectorError(f"the label selector is longer than {_TEXT_MAX} characters")
    return _parse(text)


@lru_cache(maxsize=_CACHED)
def _parse(text: str) -> Selector:
    return Selector(sorted(_Parser(text).parse(), key=_key)) if text.strip() else EVERYTHING


def of(selector: Mapping[str, Any] | None) -> Selector:
    """A label selector from its object. None selects nothing; one without requirements selects everything."""
    if selector is None:
        return NOTHING
    requirements = [
        _require(key, "=", (value,), f"matchLabels.{key}") for key, value in (selector.get("matchLabels") or {}).items()
    ]
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        operator = _EXPRESSIONS.get(expression.get("operator"))
        if operator is None:
            raise SelectorError(
                f'"{expression.get("operator")}" is not a valid label selector operator: use {", ".join(_EXPRESSIONS)}'
            )
        values = _distinct(expression.get("values") or ())
        requirements.append(_require(expression.get("key", ""), operator, values, f"matchExpressions[{index}]"))
    return Selector(sorted(requirements, key=_key)) if requirements else EVERYTHING


def parse_fields(text: str, supported: Collection[str], kind: str) -> Selector:
    """A field selector from its text, about the supported fields of a kind."""
    if len(text) > _TEXT_MAX:
        raise SelectorError(f"the field selector is longer than {_TEXT_MAX} characters")
    selector = _parse_fields(text)
    for requirement in selector.requirements:
        if requirement.key not in supported:
            raise SelectorError(f'field label "{requirement.key}" not supported for {kind}')
    return selector


def _key(requirement: Requirement) -> str:
    return requirement.key


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _compile(requirements: tuple[Requirement, ...]) -> Predicate:
    """One function for all requirements; equalities, by far the most common, cost one lookup each."""
    if not requirements:
        return _always
    if all(requirement.operator in ("=", "==") for requirement in requirements):
        pairs = tuple((requirement.key, requirement.values[0]) for requirement in requirements)
        return _equal(*pairs[0]) if len(pairs) == 1 else _all_equal(pairs)
    tests = tuple(_test(requirement) for requirement in requirements)
    return tests[0] if len(tests) == 1 else _all_true(tests)


def _equal(key: str, value: str) -> Predicate:
    return lambda labels: labels.get(key) == value


def _all_equal(pairs: tuple[tuple[str, str], ...]) -> Predicate:
    def matches(labels: Mapping[str, str]) -> bool:
        for key, value in pairs:  # noqa: SIM110 (a generator here costs three times as much)
            if labels.get(key) != value:
                return False
        return True

    return matches


def _all_true(tests: tuple[Predicate, ...]) -> Predicate:
    def matches(labels: Mapping[str, str]) -> bool:
        for test in tests:  # noqa: SIM110 (a generator here costs three times as much)
            if not test(labels):
                return False
        return True

    return matches


def _test(requirement: Requirement) -> Predicate:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "in" | "=" | "==":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
    bound = _integer(requirement.values[0])
    assert bound is not None
    return _above(key, bound) if requirement.operator == "gt" else _below(key, bound)


def _above(key: str, bound: int) -> Predicate:
    return lambda labels: (value := _integer(labels.get(key))) is not None and value > bound


def _below(key: str, bound: int) -> Predicate:
    return lambda labels: (value := _integer(labels.get(key))) is not None and value < bound


EVERYTHING = Selector(())
NOTHING = Selector((), nothing=True)

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def _integer(text: str | None) -> int | None:
    """A whole number that fits in 64 bits."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _require(key: str, operator: Operator, values: tuple[str, ...], path: str = "") -> Requirement:
    """A requirement whose key and values have the right shape."""
    errors: list[FieldError] = []
    prefix = f"{path}." if path else ""
    problems = names.qualified_name(key)
    if problems:
        errors.append(invalid(f"{prefix}key", key, "; ".join(problems)))
    if operator in ("in", "notin") and not values:
        errors.append(
            invalid(f"{prefix}values", list(values), "for 'in', 'notin' operators, values set can't be empty")
        )
    if operator in ("exists", "!") and values:
        errors.append(
            invalid(f"{prefix}values", list(values), "values set must be empty for exists and does not exist")
        )
    for index, value in enumerate(values):
        if operator in ("gt", "lt") and _integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"{prefix}values[{index}]", value, detail))
        problems = names.label_value(value) if isinstance(value, str) else ["must be a string"]
        if problems:
            errors.append(invalid(f"{prefix}values[{index}][{key}]", value, "; ".join(problems)))
    if errors:
        text = ", ".join(map(str, errors))
        raise SelectorError(text if len(errors) == 1 else f"[{text}]")
    return Requirement(key, operator, values)


_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_OPERATORS: dict[str, Operator] = {
    "in": "in",
    "notin": "notin",
    "=": "=",
    "==": "==",
    "!=": "!=",
    ">": "gt",
    "<": "lt",
}


class _Parser:
    """The grammar of label selectors: requirements between commas. An empty token ends the text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text.rstrip(" \t\r\n")), ""]
        self._place = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            if not self._at_requirement():
                raise SelectorError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error.message}") from None
            separator = self._next()
            if separator == "":
                return requirements
            if separator != ",":
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            if not self._at_requirement():
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _at_requirement(self) -> bool:
        return self._peek() == "!" or _is_word(self._peek())

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._next()
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if absent or self._peek() in ("", ","):
            return _require(key, "!" if absent else "exists", ())
        found = self._next()
        operator = _OPERATORS.get(found)
        if operator is None:
            raise SelectorError(f"found '{found}', expected: {', '.join(_BINARY)}")
        values = self._values() if operator in ("in", "notin") else self._value()
        return _require(key, operator, _distinct(values))

    def _value(self) -> list[str]:
        if self._peek() in ("", ","):
            return [""]
        value = self._next()
        if not _is_word(value):
            raise SelectorError(f"found '{value}', expected: identifier")
        return [value]

    def _values(self) -> list[str]:
        opening = self._next()
        if opening != "(":
            raise SelectorError(f"found '{opening}' expected: '('")
        values: list[str] = []
        while True:
            values.append(self._next() if _is_word(self._peek()) else "")
            separator = self._next()
            if separator == ")":
                return values
            if separator != ",":
                expected = "',' or ')'" if values[-1] else "',', ')' or identifier"
                raise SelectorError(f"found '{separator}', expected: {expected}")

    def _peek(self) -> str:
        return self._tokens[self._place]

    def _next(self) -> str:
        token = self._tokens[self._place]
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token


def _is_word(token: str) -> bool:
    return token != "" and token not in _SYMBOLS


_FIELD_TERM = re.compile(r"(?:\\.|[^\\,])+", re.DOTALL)
_FIELD_OPERATOR = re.compile(r"!=|==|=")
_FIELD_OPERATORS: dict[str, Operator] = {"=": "=", "==": "=", "!=": "!="}


@lru_cache(maxsize=_CACHED)
def _parse_fields(text: str) -> Selector:
    requirements: list[Requirement] = []
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    for term in _FIELD_TERM.findall(text):
        found = _FIELD_OPERATOR.search(term)
        if found is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        value = _unescape(term[found.end() :])
        requirements.append(Requirement(term[: found.start()], _FIELD_OPERATORS[found[0]], (value,)))
    requirements.sort(key=lambda each: (each.key, each.operator, each.values))
    return Selector(requirements) if requirements else EVERYTHING


def _unescape(value: str) -> str:
    if not any(mark in value for mark in "\\,="):
        return value
    result: list[str] = []
    letters = iter(value)
    for letter in letters:
        if letter == "\\":
            letter = next(letters, "")
            if letter not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{letter}")
        elif letter == "=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {letter}")
        result.append(letter)
    return "".join(result)


def escape(value: str) -> str:
    """A value as it must be written in a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def render_fields(selector: Selector) -> str:
    """The text of a field selector."""
    return ",".join(f"{each.key}{each.operator}{escape(each.values[0])}" for each in selector.requirements)
