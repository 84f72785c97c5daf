"""CEL rules of a user's schema (x-kubernetes-validations): compiled with the CRD, asked for every write.

A rule sees `self`, its place in the object, and on an update `oldSelf`, the same place before; a rule that names oldSelf is only asked
where there was something before. What the CEL library cannot evaluate is known when the CRD is read (`unsupported`), and those
rules are left out rather than failing every write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fairway.kinds.cel_functions import FUNCTIONS, MISSING, STANDARD, calls, mentions
from fairway.kinds.errors import ErrorType, FieldError, invalid, not_supported, required
from fairway.kinds.schema import Node
from fairway.kinds.types import parse_time

if TYPE_CHECKING:
    import cel

_REASONS = {
    "FieldValueInvalid": ErrorType.INVALID,
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}
_RESERVED = frozenset(
    """
    true false null in as break const continue else for function if import let loop package namespace return var void
    while
    """.split()  # noqa: SIM905
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[.\-/]")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_BEYOND = (
    (re.compile(r"\.\?|\[\?"), "the optional syntax .? and [?] is"),
    (re.compile(r"\.(all|exists|exists_one|existsOne)\(\s*\w+\s*,\s*\w+\s*,"), "macros with two variables are"),
    (
        re.compile(r"(?<![.\w])(sets|math|lists|cel|format|google)\."),
        "the libraries sets, math, lists, cel and format are",
    ),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that cannot be asked, and why."""

    path: str
    reason: str


def rule_errors(node: Node, path: str) -> list[FieldError]:
    """What is wrong with the rules of a schema, at its root and below."""
    errors = []
    for at, rule in _rules(node, path):
        text = rule.get("rule")
        if not isinstance(text, str) or not text.strip():
            errors.append(required(f"{at}.rule", "a rule is a CEL expression about self"))
            continue
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            errors.append(not_supported(f"{at}.reason", rule["reason"], tuple(_REASONS)))
        for name in ("rule", "messageExpression"):
            if isinstance(rule.get(name), str) and not _unsupported(rule[name]):
                problem = _wrong(rule[name])
                errors += [invalid(f"{at}.{name}", rule[name], problem)] if problem else []
    return errors


def unsupported(node: Node, path: str) -> list[Problem]:
    """Rules that a real API server would ask and that are not asked here."""
    return [
        Problem(at, reason)
        for at, rule in _rules(node, path)
        if isinstance(rule.get("rule"), str)
        for reason in [_unsupported(rule["rule"])]
        if reason
    ]


def _rules(node: Node, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, rule in enumerate(node.rules):
        yield f"{path}.x-kubernetes-validations[{index}]", rule
    if node.struct is not None:
        return
    if node.type == "object":
        for name, child in node.fields.items():
            yield from _rules(child, f"{path}.properties[{name}]")
    elif node.item is not None:
        yield from _rules(node.item, f"{path}.{'items' if node.type == 'list' else 'additionalProperties'}")


def _unsupported(expression: str) -> str:
    missing = sorted(calls(expression) & MISSING - set(FUNCTIONS))
    if missing:
        return f"the function {missing[0]} is not available here"
    for pattern, what in _BEYOND:
        if pattern.search(expression):
            return f"{what} not available here"
    return ""


def _wrong(expression: str) -> str:
    unknown = sorted(calls(expression) - STANDARD - set(FUNCTIONS))
    if unknown:
        return f"compilation failed: undeclared reference to '{unknown[0]}'"
    try:
        _compile(expression)
    except ValueError as error:
        return f"compilation failed: {str(error).partition(': ')[2] or error}"
    return ""


@lru_cache(maxsize=4096)
def _compile(expression: str) -> cel.Program:
    import cel  # slow to import, and most schemas have no rules

    return cel.compile(expression)


def _context(variables: dict[str, Any]) -> cel.Context:
    import cel

    return cel.Context(variables=variables, functions=FUNCTIONS)


def check_rules(new: Any, old: Any | None, node: Node, path: str = "") -> list[FieldError]:
    """Ask every rule of a schema about a value; `old` is what was there before, or None."""
    if not has_rules(node):
        return []
    return list(_check(new, old, node, path))


def has_rules(node: Node) -> bool:
    return next(_rules(node, ""), None) is not None


def _check(new: Any, old: Any | None, node: Node, path: str) -> Iterator[FieldError]:
    if new is None:
        return
    for rule in node.rules:
        yield from _ask(rule, new, old, node, path)
    if node.struct is not None:
        return
    if node.type in ("object", "map") and isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        for name, member in new.items():
            child = node.child(name)
            if child is not None:
                at = f"{path}[{name}]" if node.type == "map" else f"{path}.{name}" if path else name
                yield from _check(member, before.get(name), child, at)
    elif node.item is not None and isinstance(new, list):
        for index, member in enumerate(new):
            yield from _check(member, _counterpart(member, old, node), node.item, f"{path}[{index}]")


def _counterpart(member: Any, old: Any, node: Node) -> Any | None:
    """The item of the old list that this one came from: only a list with keys can tell."""
    if node.list_type != "map" or not isinstance(old, list) or not isinstance(member, dict):
        return None
    for candidate in old:
        if isinstance(candidate, dict) and all(candidate.get(key) == member.get(key) for key in node.keys):
            return candidate
    return None


def _ask(rule: Mapping[str, Any], new: Any, old: Any | None, node: Node, path: str) -> Iterator[FieldError]:
    expression = rule["rule"]
    if _unsupported(expression):
        return
    variables = {"self": as_cel(new, node)}
    if mentions(expression, "oldSelf"):
        if old is None:
            return
        variables["oldSelf"] = as_cel(old, node)
    context = _context(variables)
    kind = _REASONS.get(rule.get("reason") or "", ErrorType.INVALID)
    at = path + (rule.get("fieldPath") or "") if path else (rule.get("fieldPath") or "").lstrip(".")
    try:
        answer = _compile(expression).execute(context)
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        yield invalid(at, _shown(new), f"rule {expression!r} cannot be evaluated: {_why(error)}")
        return
    if answer is not True:
        yield FieldError(kind, at, _shown(new), _message(rule, context))


def _message(rule: Mapping[str, Any], context: cel.Context) -> str:
    expression = rule.get("messageExpression")
    if expression and not _unsupported(expression):
        try:
            answer = _compile(expression).execute(context)
        except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError):
            answer = None
        if isinstance(answer, str) and answer.strip():
            return answer
    return str(rule.get("message") or f"failed rule: {rule['rule']}")


def _why(error: Exception) -> str:
    return f"no such key: {error.args[0]}" if isinstance(error, KeyError) and error.args else str(error)


def _shown(value: Any) -> Any:
    return "object" if isinstance(value, dict) else value


def as_cel(value: Any, node: Node) -> Any:
    """A JSON value as CEL sees it: times and durations typed, field names spelled so that an expression can name them."""
    if isinstance(value, dict):
        if node.type == "map":
            return {name: as_cel(member, node.item) if node.item else member for name, member in value.items()}
        known = {name: child for name in value if (child := node.fields.get(name)) is not None}
        return {escape(name): as_cel(value[name], child) for name, child in known.items()} | {
            name: member for name, member in value.items() if name not in known
        }
    if isinstance(value, list) and node.item is not None:
        return [as_cel(member, node.item) for member in value]
    if isinstance(value, str):
        return _typed_text(value, node.values.get("format"))
    return float(value) if node.type == "number" and isinstance(value, int) else value


def _typed_text(text: str, format: Any) -> Any:
    try:
        if format in ("date-time", "datetime"):
            return parse_time(text)
        if format == "date":
            return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        if format == "duration":
            return _duration(text)
    except ValueError:
        pass
    return text


def _duration(text: str) -> timedelta:
    parts = _DURATION_PART.findall(text)
    if not parts:
        raise ValueError(text)
    seconds = sum(float(amount) * _UNITS[unit] for amount, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


def escape(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)
