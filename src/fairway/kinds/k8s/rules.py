"""Checks that several built-in kinds share: labels, selectors, bounds, choices and what must not change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fairway.kinds import names
from fairway.kinds.errors import FieldError, forbidden, invalid, not_supported, required, too_long
from fairway.kinds.k8s.meta import LabelSelector, LabelSelectorRequirement
from fairway.kinds.k8s.opt import items, pairs, text
from fairway.kinds.types import UNSET, Opt

ANNOTATIONS_MAX = 256 * 1024
IMMUTABLE = "field is immutable"
INT32_MAX = 2**31 - 1


def warn_kept(new: Any, old: Any | None) -> list[str]:
    """Of kinds that start pods elsewhere: nobody should wait for them here."""
    return [f"{type(new).__name__}s are only kept here: nothing runs because of them"] if old is None else []


def named(path: str, value: str, rule: Callable[[str], list[str]]) -> list[FieldError]:
    """What a rule of fairway.kinds.names says about the text at a path."""
    return [invalid(path, value, why) for why in _problems(rule, value)]


@lru_cache(maxsize=8192)
def _problems(rule: Callable[[str], list[str]], value: str) -> tuple[str, ...]:
    """The same few names come again and again: label keys, containers, resources."""
    return tuple(rule(value))


def required_name(path: str, value: str, rule: Callable[[str], list[str]]) -> list[FieldError]:
    return named(path, value, rule) if value else [required(path)]


def choice(path: str, value: Opt[str], allowed: Sequence[str]) -> list[FieldError]:
    """One of a few words; an empty one is missing, not wrong."""
    if not value:
        return [required(path)]
    return [] if value in allowed else [not_supported(path, value, tuple(allowed))]


def not_negative(path: str, value: Opt[int]) -> list[FieldError]:
    return [invalid(path, value, "must be greater than or equal to 0")] if value is not UNSET and value < 0 else []


def between(path: str, value: int, low: int, high: int) -> list[FieldError]:
    return [] if low <= value <= high else [invalid(path, value, f"must be between {low} and {high}, inclusive")]


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same: an empty list or map is as good as none."""
    if one == other:
        return True
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    return _is_nothing(one) and _is_nothing(other)


def _is_nothing(value: Any) -> bool:
    return value is UNSET or (isinstance(value, (list, dict)) and not value)


def immutable(path: str, new: Any, old: Any) -> list[FieldError]:
    return [] if same(new, old) else [invalid(path, None if new is UNSET else new, IMMUTABLE)]


def labels(path: str, given: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in given.items():
        if not names.is_qualified_name(key):
            errors += named(path, key, names.qualified_name)
        # Values are mostly new (names, uids): to remember them would only push out what does come again.
        errors += [invalid(path, value, why) for why in names.label_value(value)]
    return errors


def annotation_map(path: str, given: Mapping[str, str]) -> list[FieldError]:
    errors = [invalid(path, key, why) for key in given for why in names.qualified_name(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in given.items()) > ANNOTATIONS_MAX:
        errors.append(too_long(path, ANNOTATIONS_MAX))
    return errors


def label_selector(path: str, selector: LabelSelector) -> list[FieldError]:
    errors = labels(f"{path}.matchLabels", pairs(selector.match_labels))
    for index, requirement in enumerate(items(selector.match_expressions)):
        errors += _requirement(f"{path}.matchExpressions[{index}]", requirement)
    return errors


def _requirement(path: str, requirement: LabelSelectorRequirement) -> list[FieldError]:
    errors: list[FieldError] = []
    values = items(requirement.values)
    if requirement.operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif requirement.operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    else:
        errors.append(invalid(f"{path}.operator", requirement.operator, "not a valid selector operator"))
    errors += named(f"{path}.key", requirement.key, names.qualified_name)
    for index, value in enumerate(values):
        errors += named(f"{path}.values[{index}]", value, names.label_value)
    return errors


def matches(selector: LabelSelector, given: Mapping[str, str]) -> bool:
    if any(given.get(key) != value for key, value in pairs(selector.match_labels).items()):
        return False
    return all(_holds(requirement, given) for requirement in items(selector.match_expressions))


def _holds(requirement: LabelSelectorRequirement, given: Mapping[str, str]) -> bool:
    value, values = given.get(requirement.key), items(requirement.values)
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def dns_label_warning(name: Opt[str]) -> list[str]:
    """Names that are fine for an object and awkward for the hosts that its pods become."""
    wrong = names.dns_label(text(name))
    if not wrong:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior;"
        f" a DNS label is recommended: [{' '.join(wrong)}]"
    ]
