"""Selectors of labels and of cluster properties: well formed, and possible to satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fairway.core.quantity import Quantity, QuantityError, canonical, parse
from fairway.kinds import names
from fairway.kinds.errors import FieldError, invalid, not_supported
from fairway.kinds.fleet.common import LabelSelector, LabelSelectorRequirement
from fairway.kinds.fleet.policy import PropertySelector, PropertySelectorRequirement, PropertySorter
from fairway.kinds.types import UNSET, Opt

RESOURCE_PREFIX = "resources.kubernetes-fleet.io/"
CAPACITY_TYPES = ("allocatable", "available", "total")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_LOWER, _UPPER = ("Gt", "Ge"), ("Lt", "Le")
_OPERATORS = (*_LOWER, "Eq", "Ne", *_UPPER)


def label_selector_errors(selector: Opt[LabelSelector], path: str) -> list[FieldError]:
    if selector is UNSET:
        return []
    errors = []
    for key, value in (selector.match_labels or {}).items():
        errors += [invalid(f"{path}.matchLabels", key, problem) for problem in names.qualified_name(key)]
        errors += [invalid(f"{path}.matchLabels[{key}]", value, problem) for problem in names.label_value(value)]
    for index, requirement in enumerate(selector.match_expressions or ()):
        errors += _label_requirement_errors(requirement, f"{path}.matchExpressions[{index}]")
    return errors


def _label_requirement_errors(requirement: LabelSelectorRequirement, path: str) -> list[FieldError]:
    errors = [invalid(f"{path}.key", requirement.key, problem) for problem in names.qualified_name(requirement.key)]
    values = requirement.values or []
    if requirement.operator not in _LABEL_OPERATORS:
        errors.append(not_supported(f"{path}.operator", requirement.operator, _LABEL_OPERATORS))
    elif requirement.operator in ("In", "NotIn"):
        if not values:
            errors.append(invalid(f"{path}.values", [], "for 'in', 'notin' operators, values set can't be empty"))
    elif values:
        errors.append(invalid(f"{path}.values", values, "values set must be empty for exists and does not exist"))
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, problem) for problem in names.label_value(value)]
    return errors


def property_name_errors(name: str, path: str) -> list[FieldError]:
    problem = _resource_property_problem(name) if name.startswith(RESOURCE_PREFIX) else _property_problem(name)
    return [invalid(path, name, problem)] if problem else []


def _resource_property_problem(name: str) -> str:
    capacity, dash, _resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
    if not dash:
        return f"invalid resource property name {name}, expected format is [PREFIX]/[CAPACITY_TYPE]-[RESOURCE_NAME]"
    if capacity not in CAPACITY_TYPES:
        known = " ".join(CAPACITY_TYPES)
        return f"invalid capacity type in resource property name {name}, supported values are [{known}]"
    problems = names.qualified_name(name)
    return f"property name {name} is not valid: {'; '.join(problems)}" if problems else ""


def _property_problem(name: str) -> str:
    """Segments between slashes are names; the first may also be a DNS subdomain."""
    first, *rest = name.split("/")
    if not rest:
        problems = names.qualified_name(name)
        return f"property name {name} is not valid: {'; '.join(problems)}" if problems else ""
    subdomain, qualified = names.dns_subdomain(first), names.qualified_name(first)
    if subdomain and qualified:
        return (
            f"property name first segment {first} is not valid: it is neither a valid DNS subdomain"
            f" ({'; '.join(subdomain)}) nor a valid qualified name ({'; '.join(qualified)})"
        )
    for segment in rest:
        problems = names.qualified_name(segment)
        if problems:
            return f"property name segment {segment} is not valid: {'; '.join(problems)}"
    return ""


def property_sorter_errors(sorter: PropertySorter, path: str) -> list[FieldError]:
    return property_name_errors(sorter.name, f"{path}.name")


def property_selector_errors(selector: PropertySelector, path: str) -> list[FieldError]:
    errors = []
    by_name: dict[str, list[PropertySelectorRequirement]] = {}
    for index, requirement in enumerate(selector.match_expressions):
        at = f"{path}.matchExpressions[{index}]"
        errors += property_name_errors(requirement.name, f"{at}.name")
        errors += operator_errors(requirement.operator, requirement.values, at)
        by_name.setdefault(requirement.name, []).append(requirement)
    for name, requirements in by_name.items():
        problem = contradiction(requirements)
        if problem:
            detail = f"inconsistent requirements on property {name}: {problem}"
            errors.append(invalid(f"{path}.matchExpressions", name, detail))
    return errors


def operator_errors(operator: str, values: Sequence[str], path: str) -> list[FieldError]:
    if operator not in _OPERATORS:
        return [not_supported(f"{path}.operator", operator, _OPERATORS)]
    if len(values) != 1:
        return [
            invalid(
                f"{path}.values", list(values), f"operator {operator} requires exactly one value, got {len(values)}"
            )
        ]
    try:
        parse(values[0])
    except QuantityError as error:
        return [invalid(f"{path}.values[0]", values[0], str(error))]
    return []


@dataclass(slots=True)
class _Bound:
    """The tightest bound on one side; `tighter` is +1 where a larger value is tighter."""

    tighter: int
    quantity: Quantity | None = None
    text: str = ""
    strict: bool = False

    def tighten(self, quantity: Quantity, text: str, strict: bool) -> None:
        if self.quantity is not None:
            step = (quantity.nanos - self.quantity.nanos) * self.tighter
            if step < 0 or (step == 0 and self.strict >= strict):
                return
        self.quantity, self.text, self.strict = quantity, text, strict

    def excludes(self, quantity: Quantity) -> bool:
        if self.quantity is None:
            return False
        step = (quantity.nanos - self.quantity.nanos) * self.tighter
        return step < 0 or (step == 0 and self.strict)


@dataclass(slots=True)
class _Interval:
    lower: _Bound = field(default_factory=lambda: _Bound(1))
    upper: _Bound = field(default_factory=lambda: _Bound(-1))
    equal: list[Quantity] = field(default_factory=list)
    unequal: list[Quantity] = field(default_factory=list)

    def add(self, operator: str, quantity: Quantity, text: str) -> None:
        if operator in _LOWER:
            self.lower.tighten(quantity, text, operator == "Gt")
        elif operator in _UPPER:
            self.upper.tighten(quantity, text, operator == "Lt")
        else:
            (self.equal if operator == "Eq" else self.unequal).append(quantity)


def contradiction(requirements: Sequence[PropertySelectorRequirement]) -> str:
    """Why no value can meet all requirements on one property; empty if some value can. Malformed ones are left out."""
    interval = _Interval()
    spelled: dict[int, str] = {}
    for requirement in requirements:
        if not operator_errors(requirement.operator, requirement.values, ""):
            text = requirement.values[0]
            quantity = parse(text)
            spelled.setdefault(quantity.nanos, canonical(text))
            interval.add(requirement.operator, quantity, canonical(text))
    equal = {quantity.nanos for quantity in interval.equal}
    if len(equal) > 1:
        return "conflicting Eq values " + " and ".join(spelled[nanos] for nanos in sorted(equal))
    for quantity in interval.unequal:
        if quantity.nanos in equal:
            return f"conflicting Eq and Ne on same value {spelled[quantity.nanos]}"
    return _interval_problem(interval, spelled)


def _interval_problem(interval: _Interval, spelled: dict[int, str]) -> str:
    lower, upper = interval.lower, interval.upper
    if lower.quantity is not None and upper.quantity is not None:
        empty = upper.excludes(lower.quantity) or lower.excludes(upper.quantity)
        if empty:
            return f"lower bound ({lower.text}) and upper bound ({upper.text}) exclude all values"
    for quantity in interval.equal:
        if lower.excludes(quantity):
            return f"eq value {spelled[quantity.nanos]} violates lower bound {lower.text}"
        if upper.excludes(quantity):
            return f"eq value {spelled[quantity.nanos]} violates upper bound {upper.text}"
    return ""
