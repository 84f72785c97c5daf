"""Label selectors, node affinity, taints and tolerations, as Kubernetes defines them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple


class Requirement(NamedTuple):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        raise ValueError(
            f"operator {self.operator!r} of label {self.key!r} is unknown: use In, NotIn, Exists, DoesNotExist, Gt or Lt"
        )

    def _compares(self, value: str | None) -> bool:
        if value is None or len(self.values) != 1:
            return False
        try:
            left, right = int(value), int(self.values[0])
        except ValueError:
            return False
        return left > right if self.operator == "Gt" else left < right


class Selector(NamedTuple):
    """All requirements must hold; none matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)


class Affinity(NamedTuple):
    """Terms of a required node affinity, of which one must hold."""

    terms: tuple[tuple[Requirement, ...], ...]


class Taint(NamedTuple):
    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return "{" + " ".join((self.key, self.value, self.effect)) + " <nil>}"


class Toleration(NamedTuple):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value


def tolerations(spec: Mapping[str, Any]) -> tuple[Toleration, ...]:
    """Those of a pod's spec."""
    return tuple(
        Toleration(
            each.get("key") or "", each.get("operator") or "Equal", each.get("value") or "", each.get("effect") or ""
        )
        for each in spec.get("tolerations") or ()
    )


def untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps pods away and that nothing tolerates."""
    for taint in taints:
        if taint.effect not in ("NoSchedule", "NoExecute"):
            continue
        if not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def matches_flavor(
    node_selector: Mapping[str, str], affinity: Affinity | None, labels: Mapping[str, str], keys: Set[str]
) -> bool:
    """Whether pods may go to nodes with these labels, asking only about the label keys that the flavor names.

    A term of which nothing is left matches every node, and so makes its alternatives moot.
    """
    for key, value in node_selector.items():
        if key in keys and labels.get(key) != value:
            return False
    if affinity is None or not affinity.terms:
        return True
    for term in affinity.terms:
        known = [requirement for requirement in term if requirement.key in keys]
        if not known:
            return True
        if all(requirement.matches(labels) for requirement in known):
            return True
    return False
