"""Types that several KubeFleet kinds share."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.types import UNSET, Annotated, F, IntOrString, Opt, Time, Type

PLACEMENT_GROUP = "placement.kubernetes-fleet.io"
CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
STORAGE = "v1beta1"
PLACEMENT_CATEGORIES = ("fleet", "fleet-placement")
NAME_MAX = 63


class LabelSelectorRequirement(Type):
    """One condition on a label."""

    key: Annotated[str, F("label that is looked at")]
    operator: Annotated[str, F("In, NotIn, Exists or DoesNotExist")]
    values: Opt[Annotated[list[str], F("values for In and NotIn; empty otherwise", list_type="atomic")]] = UNSET


class LabelSelector(Type):
    """Picks objects by their labels; all conditions must hold, and an empty selector picks everything."""

    match_labels: Opt[Annotated[dict[str, str], F("labels with exactly these values")]] = UNSET
    match_expressions: Opt[
        Annotated[list[LabelSelectorRequirement], F("further conditions on labels", list_type="atomic")]
    ] = UNSET


class Condition(Type):
    """One aspect of an object's state, as last observed."""

    type: Annotated[str, F("aspect that is described", max_length=316)]
    status: Annotated[Literal["True", "False", "Unknown"], F("whether it holds")]
    observed_generation: Opt[Annotated[int, F("generation of the object that this is about", ge=0)]] = UNSET
    last_transition_time: Annotated[Time, F("when the status last changed")]
    reason: Annotated[str, F("why, as one CamelCase word", min_length=1, max_length=1024)]
    message: Annotated[str, F("why, as a sentence for people", max_length=32768)]


class NamespacedName(Type):
    """An object in a namespace."""

    name: Annotated[str, F("name of the object")]
    namespace: Annotated[str, F("namespace of the object")]


class ServerSideApplyConfig(Type):
    """Settings for server-side apply."""

    force: Opt[Annotated[bool, F("take over fields that another manager owns instead of failing")]] = UNSET


class ApplyStrategy(Type):
    """How objects are written on a member cluster, and what happens when they differ there."""

    comparison_option: Opt[
        Annotated[
            Literal["PartialComparison", "FullComparison"],
            F("compare only the fields of the manifest, or the whole object", default="PartialComparison"),
        ]
    ] = UNSET
    when_to_apply: Opt[
        Annotated[
            Literal["Always", "IfNotDrifted"],
            F("write on every pass, or only while nobody changed the object on the member", default="Always"),
        ]
    ] = UNSET
    type: Opt[
        Annotated[
            Literal["ClientSideApply", "ServerSideApply", "ReportDiff"],
            F("three-way merge, server-side apply, or report differences and write nothing", default="ClientSideApply"),
        ]
    ] = UNSET
    allow_co_ownership: Opt[Annotated[bool, F("accept objects on the member that have other owners too")]] = UNSET
    server_side_apply_config: Opt[Annotated[ServerSideApplyConfig, F("settings of type ServerSideApply")]] = UNSET
    when_to_take_over: Opt[
        Annotated[
            Literal["Always", "IfNoDiff", "Never"],
            F("whether an object that already exists on the member is adopted", default="Always"),
        ]
    ] = UNSET


class ReportBackStrategy(Type):
    """Whether the status of placed objects is copied back to the hub."""

    type: Opt[Annotated[Literal["Disabled", "Mirror"], F("copy nothing, or mirror the status", default="Disabled")]] = (
        UNSET
    )
    destination: Opt[
        Annotated[Literal["OriginalResource", "WorkAPI"], F("onto the hub's own object, or only into Work; for Mirror")]
    ] = UNSET


def text(value: Opt[str]) -> str:
    """A string field's value, with absent and empty being the same, as they are in Go."""
    return value if isinstance(value, str) else ""


def percent_or_count(value: IntOrString, *, highest: int = 100) -> tuple[int, bool] | None:
    """(amount, whether it is a percentage) of "25%" or 3; None if the value is neither."""
    if isinstance(value, int):
        return value, False
    digits = value.removesuffix("%")
    if digits == value or not digits.isascii() or not digits.isdigit() or int(digits) > highest:
        return None
    return int(digits), True
