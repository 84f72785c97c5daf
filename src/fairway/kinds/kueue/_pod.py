"""Types of Kubernetes' own kinds that this group embeds: the same types, with what a CRD adds to them.

Here their fields have descriptions, and what Kubernetes reads as an empty string when it is missing (a taint's key) is required.
"""

from __future__ import annotations

from fairway.kinds.k8s import meta
from fairway.kinds.k8s.core import affinity
from fairway.kinds.k8s.core.pod import PodTemplateSpec
from fairway.kinds.types import UNSET, Annotated, F, Opt, Time

__all__ = ["LabelSelector", "LabelSelectorRequirement", "PodTemplateSpec", "Taint", "Toleration"]


class LabelSelectorRequirement(meta.LabelSelectorRequirement, kw_only=True):
    """A condition on one label."""

    key: Annotated[str, F("label that the condition is about")]
    operator: Annotated[str, F("In, NotIn, Exists or DoesNotExist")]
    values: Opt[Annotated[list[str], F("values for In and NotIn", list_type="atomic")]] = UNSET


class LabelSelector(meta.LabelSelector):
    """Selects objects by their labels; all conditions must hold, and an empty one selects everything."""

    match_labels: Opt[Annotated[dict[str, str], F("labels with exactly these values")]] = UNSET
    # Items are narrower here than in the base; nobody puts a wider one into the list in place.
    match_expressions: Opt[
        Annotated[list[LabelSelectorRequirement], F("further conditions on labels", list_type="atomic")]
    ] = UNSET  # type: ignore[assignment]


class Taint(affinity.Taint, kw_only=True):
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: Annotated[str, F("name of the mark")]
    value: Opt[Annotated[str, F("value of the mark")]] = UNSET
    effect: Annotated[str, F("NoSchedule, PreferNoSchedule or NoExecute")]
    time_added: Opt[Annotated[Time, F("when it was set, for NoExecute")]] = UNSET


class Toleration(affinity.Toleration):
    """Lets a pod run in spite of taints that it matches."""

    key: Opt[Annotated[str, F("taint to tolerate; absent, with Exists, tolerates all")]] = UNSET
    operator: Opt[Annotated[str, F("Equal (the default) or Exists")]] = UNSET
    value: Opt[Annotated[str, F("value of the taint, for Equal")]] = UNSET
    effect: Opt[Annotated[str, F("effect to tolerate; absent tolerates all effects")]] = UNSET
    toleration_seconds: Opt[Annotated[int, F("how long to stay after a NoExecute taint is set")]] = UNSET
