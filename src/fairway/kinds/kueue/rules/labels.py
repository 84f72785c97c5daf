"""Labels, annotations, selectors, taints, tolerations and conditions, as Kubernetes checks them everywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from fairway.kinds import names
from fairway.kinds.errors import (
    NO_VALUE,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from fairway.kinds.kueue._pod import LabelSelector, LabelSelectorRequirement, Taint, Toleration
from fairway.kinds.kueue.rules.reading import items, number, pairs, text
from fairway.kinds.kueue.v1beta2.shared import REASON, Condition
from fairway.kinds.types import UNSET, to_json

LABEL_KEY = "format=k8s-label-key"
LABEL_VALUE = "format=k8s-label-value"
ANNOTATIONS_MAX_BYTES = 256 * 1024
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNKNOWN_EFFECT = "supported taint effect values: " + ", ".join(f"'{effect}'" for effect in EFFECTS)
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


@lru_cache(maxsize=4096)
def _key_problems(key: str) -> tuple[str, ...]:
    """The same few keys come with every object."""
    return tuple(names.qualified_name(key))


def label_key(key: str, path: str) -> list[FieldError]:
    return [invalid(path, key, problem, LABEL_KEY) for problem in _key_problems(key)]


def labels(values: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in values.items():
        errors += label_key(key, path)
        errors += [invalid(path, value, problem, LABEL_VALUE) for problem in names.label_value(value)]
    return errors


def annotation_keys(values: Mapping[str, str], path: str) -> list[FieldError]:
    errors = [invalid(path, key, problem, LABEL_KEY) for key in values for problem in _key_problems(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in values.items()) > ANNOTATIONS_MAX_BYTES:
        errors.append(too_long(path, ANNOTATIONS_MAX_BYTES))
    return errors


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """A DNS name, a slash and a path: how controllers sign what is theirs."""
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path, such as "acme.io/foo"')]
    errors = [invalid(path, host, problem) for problem in names.dns_subdomain(host)]
    if not _PATH.fullmatch(rest):
        errors.append(invalid(path, rest, "may hold only letters, digits and the signs that a URL path may hold"))
    return errors


def label_selector(selector: LabelSelector, path: str) -> list[FieldError]:
    errors = labels(pairs(selector.match_labels), f"{path}.matchLabels")
    for index, requirement in enumerate(items(selector.match_expressions)):
        errors += _requirement(requirement, f"{path}.matchExpressions[{index}]")
    return errors


def _requirement(requirement: LabelSelectorRequirement, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    values = items(requirement.values)
    if requirement.operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "needed with operator In or NotIn"))
    elif requirement.operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(forbidden(f"{path}.values", "not allowed with operator Exists or DoesNotExist"))
    else:
        detail = "not a selector operator: use In, NotIn, Exists or DoesNotExist"
        errors.append(invalid(f"{path}.operator", text(requirement.operator), detail))
    errors += label_key(text(requirement.key), f"{path}.key")
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, problem) for problem in names.label_value(value)]
    return errors


def taints(values: list[Taint], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(values):
        here = f"{path}[{index}]"
        errors += label_key(text(taint.key), f"{here}.key")
        if problems := names.label_value(text(taint.value)):
            errors.append(invalid(f"{here}.value", text(taint.value), ";".join(problems)))
        pair = (text(taint.key), text(taint.effect))
        if pair in seen:
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError(ErrorType.DUPLICATE, here, to_json(taint), detail))
        seen.add(pair)
    return errors


def taint_effects(values: list[Taint], path: str) -> list[FieldError]:
    bad = any(taint.effect not in EFFECTS for taint in values)
    return [invalid(path, NO_VALUE, _UNKNOWN_EFFECT)] if bad else []


def tolerations(values: list[Toleration], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(values):
        if toleration.key:
            errors += label_key(toleration.key, f"{path}[{index}].key")
    return errors


def toleration_rules(values: list[Toleration], path: str) -> list[FieldError]:
    """What the schema says about each toleration; one error per rule, about the list."""
    broken = {
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'": any(
            each.key is UNSET and each.operator != "Exists" for each in values
        ),
        "effect must be 'NoExecute' when 'tolerationSeconds' is set": any(
            each.toleration_seconds is not UNSET and each.effect != "NoExecute" for each in values
        ),
        "supported toleration values: 'Equal'(default), 'Exists'": any(
            each.operator is not UNSET and each.operator not in ("Equal", "Exists") for each in values
        ),
        "a value must be empty when 'operator' is 'Exists'": any(
            each.operator == "Exists" and each.value is not UNSET for each in values
        ),
        _UNKNOWN_EFFECT: any(each.effect is not UNSET and each.effect not in EFFECTS for each in values),
    }
    return [invalid(path, NO_VALUE, rule) for rule, is_broken in broken.items() if is_broken]


def conditions(values: list[Condition], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(values):
        here, kind = f"{path}[{index}]", text(condition.type)
        if kind in seen:
            errors.append(duplicate(f"{here}.type", kind))
        seen.add(kind)
        errors += _condition(condition, here)
    return errors


def _condition(condition: Condition, path: str) -> list[FieldError]:
    errors = label_key(text(condition.type), f"{path}.type")
    if condition.status not in ("True", "False", "Unknown"):
        errors.append(not_supported(f"{path}.status", text(condition.status), ("False", "True", "Unknown")))
    if number(condition.observed_generation) < 0:
        detail = "must be greater than or equal to 0"
        errors.append(invalid(f"{path}.observedGeneration", condition.observed_generation, detail))
    if not condition.last_transition_time:
        errors.append(required(f"{path}.lastTransitionTime"))
    reason = text(condition.reason)
    if not reason:
        errors.append(required(f"{path}.reason"))
    elif not re.search(REASON, reason):
        detail = "must start with a letter, hold only letters, digits and _ , : and not end with , or :"
        errors.append(invalid(f"{path}.reason", reason, detail))
    if len(reason) > 1024:
        errors.append(too_long(f"{path}.reason", 1024))
    if len(text(condition.message)) > 32768:
        errors.append(too_long(f"{path}.message", 32768))
    return errors
