"""Where pods go, in v1beta1: a flat list of domains. Folding it into v1beta2's slices and back loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from fairway.kinds.kueue.v1beta2 import topology_assignment as v2
from fairway.kinds.kueue.v1beta2.shared import Positive
from fairway.kinds.types import Annotated, F, Type


class TopologyDomain(Type):
    """One domain and its pods."""

    values: Annotated[list[v2.Value], F("one value per level", list_type="atomic", min_length=1, max_length=16)]
    count: Annotated[Positive, F("pods in the domain")]


class TopologyAssignment(Type):
    """Domains that the pods go to."""

    levels: Annotated[
        list[Annotated[str, F(max_length=317)]],
        F("node labels of the levels, widest first", list_type="atomic", min_length=1, max_length=16),
    ]
    domains: Annotated[list[TopologyDomain], F("the domains", list_type="atomic")]

    def __post_init__(self) -> None:
        for index, domain in enumerate(self.domains):
            if len(domain.values) != len(self.levels):
                raise ValueError(
                    f"domains[{index}].values must have one value for each of the {len(self.levels)} levels"
                )


def fold(flat: TopologyAssignment) -> v2.TopologyAssignment:
    """One slice, or as few as its size limit allows, with everything that its domains share written once."""
    chunks = [flat.domains[start : start + v2.DOMAINS_MAX] for start in range(0, len(flat.domains), v2.DOMAINS_MAX)]
    return v2.TopologyAssignment(levels=flat.levels, slices=[_slice(chunk, len(flat.levels)) for chunk in chunks])


def unfold(folded: v2.TopologyAssignment) -> TopologyAssignment:
    domains = [domain for part in folded.slices for domain in _domains(part)]
    return TopologyAssignment(levels=folded.levels, domains=domains)


def _slice(domains: Sequence[TopologyDomain], levels: int) -> v2.TopologyAssignmentSlice:
    counts = [domain.count for domain in domains]
    same = all(count == counts[0] for count in counts)
    return v2.TopologyAssignmentSlice(
        domain_count=len(domains),
        values_per_level=[_level([domain.values[level] for domain in domains]) for level in range(levels)],
        pod_counts=v2.PodCounts(universal=counts[0]) if same else v2.PodCounts(individual=counts),
    )


def _level(values: list[str]) -> v2.LevelValues:
    first = values[0]
    if all(value == first for value in values):
        return v2.LevelValues(universal=first)
    suffix = _common_prefix([value[::-1] for value in values])[::-1]
    shortest = min(len(value) for value in values)
    # Prefix and suffix must not claim the same letters: "aba" and "ababa" share both of "aba".
    prefix = _common_prefix(values)[: shortest - len(suffix)]
    return v2.LevelValues(
        individual=v2.IndividualValues(
            prefix=prefix or UNSET,
            suffix=suffix or UNSET,
            roots=[value[len(prefix) : len(value) - len(suffix)] for value in values],
        )
    )


def _common_prefix(values: list[str]) -> str:
    low, high = min(values), max(values)
    for index, letter in enumerate(low):
        if high[index : index + 1] != letter:
            return low[:index]
    return low


def _domains(part: v2.TopologyAssignmentSlice) -> Iterator[TopologyDomain]:
    levels = [_values(level, part.domain_count) for level in part.values_per_level]
    counts = part.pod_counts
    if counts.individual is not UNSET:
        pods = counts.individual
    else:
        assert counts.universal is not UNSET
        pods = [counts.universal] * part.domain_count
    for index, values in enumerate(zip(*levels, strict=True)):
        yield TopologyDomain(values=list(values), count=pods[index])


def _values(level: v2.LevelValues, count: int) -> list[str]:
    several = level.individual
    if several is UNSET:
        assert level.universal is not UNSET
        return [level.universal] * count
    prefix, suffix = several.prefix or "", several.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in several.roots]
