"""What a rule allows, and whether what one holds covers what one wants to give. Pure functions over rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import msgspec

EVERY = "*"
PARTS_MAX = 20_000


class Rule(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Verbs on resources, or on URLs that are no resources. Rules only ever allow."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class TooManyParts(ValueError):
    """A rule that names so much at once that nobody could say whether it is held."""


def allows_resource(rule: Rule, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Whether a rule allows this on some object at least; `resource_names` says on which (none: on all)."""
    if verb not in rule.verbs and EVERY not in rule.verbs:
        return False
    if group not in rule.api_groups and EVERY not in rule.api_groups:
        return False
    wanted = f"{resource}/{subresource}" if subresource else resource
    if wanted in rule.resources or EVERY in rule.resources:
        return True
    return bool(subresource) and f"*/{subresource}" in rule.resources


def allows_path(rule: Rule, verb: str, path: str) -> bool:
    if verb not in rule.verbs and EVERY not in rule.verbs:
        return False
    return any(_url_covers(pattern, path) for pattern in rule.non_resource_urls)


def _url_covers(pattern: str, path: str) -> bool:
    return path == pattern or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of the wanted rules that no held rule covers, put together again for people to read."""
    lacking: list[Rule] = []
    for rule in wanted:
        if not any(_covers(owner, rule) for owner in held):
            lacking += [part for part in _parts(rule) if not any(_covers(owner, part) for owner in held)]
    return compact(lacking)


def _parts(rule: Rule) -> Iterator[Rule]:
    """One verb on one thing each."""
    sizes = (len(rule.verbs), len(rule.api_groups), len(rule.resources), len(rule.resource_names) or 1)
    if prod(sizes) + len(rule.verbs) * len(rule.non_resource_urls) > PARTS_MAX:
        raise TooManyParts(
            f"a rule with more than {PARTS_MAX} combinations of verbs, resources and names cannot be checked: split it"
        )
    for verb in rule.verbs:
        for group in rule.api_groups:
            for resource in rule.resources:
                for name in rule.resource_names or (None,):
                    yield Rule((verb,), (group,), (resource,), () if name is None else (name,))
        for url in rule.non_resource_urls:
            yield Rule((verb,), non_resource_urls=(url,))


def _covers(owner: Rule, wanted: Rule) -> bool:
    if not _all_in(owner.verbs, wanted.verbs) or not _all_in(owner.api_groups, wanted.api_groups):
        return False
    if not all(_resource_covered(owner.resources, resource) for resource in wanted.resources):
        return False
    if wanted.resources and owner.resource_names and not _names_covered(owner.resource_names, wanted.resource_names):
        return False
    return all(any(_url_covers(held, url) for held in owner.non_resource_urls) for url in wanted.non_resource_urls)


def _names_covered(held: Sequence[str], wanted: Sequence[str]) -> bool:
    """No names means all objects, and those are more than any that are named."""
    return bool(wanted) and set(wanted) <= set(held)


def _all_in(held: Sequence[str], wanted: Sequence[str]) -> bool:
    return EVERY in held or set(wanted) <= set(held)


def _resource_covered(held: Sequence[str], wanted: str) -> bool:
    if EVERY in held or wanted in held:
        return True
    _resource, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Rules about the same thing as one rule with all their verbs; repeated ones once."""
    verbs: dict[Rule, dict[str, None]] = {}
    for rule in rules:
        about = Rule((), rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls)
        verbs.setdefault(about, {}).update(dict.fromkeys(rule.verbs))
    return [
        Rule(tuple(found), about.api_groups, about.resources, about.resource_names, about.non_resource_urls)
        for about, found in verbs.items()
    ]


def describe(rule: Rule) -> str:
    """A rule on one line, the way kubectl users know it."""
    named = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "ResourceNames": rule.resource_names,
        "NonResourceURLs": rule.non_resource_urls,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:[{_quoted(values)}]" for name, values in named.items() if values) + "}"


def _quoted(values: Sequence[str]) -> str:
    return " ".join(msgspec.json.encode(value).decode() for value in values)


def to_json(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = msgspec.to_builtins(list(rules))
    return result


def from_json(rules: Any) -> tuple[Rule, ...]:
    """Rules from their JSON, or from the Structs of the kinds turned to JSON."""
    return msgspec.convert(rules or (), tuple[Rule, ...])
