"""flowcontrol.apiserver.k8s.io/v1: FlowSchema and PriorityLevelConfiguration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.columns import field as column
from fairway.kinds.k8s.columns import NONE, either
from fairway.kinds.k8s.opt import number
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Time, Type


class FlowDistinguisherMethod(Type):
    type: Annotated[str, F(proto=1)] = ""


class PriorityLevelConfigurationReference(Type):
    name: Annotated[str, F(proto=1)] = ""


class UserSubject(Type):
    name: Annotated[str, F(proto=1)] = ""


class GroupSubject(Type):
    name: Annotated[str, F(proto=1)] = ""


class ServiceAccountSubject(Type):
    namespace: Annotated[str, F(proto=1)] = ""
    name: Annotated[str, F(proto=2)] = ""


class Subject(Type):
    kind: Annotated[str, F(proto=1)] = ""
    user: Opt[Annotated[UserSubject, F(proto=2)]] = UNSET
    group: Opt[Annotated[GroupSubject, F(proto=3)]] = UNSET
    service_account: Opt[Annotated[ServiceAccountSubject, F(proto=4)]] = UNSET


class ResourcePolicyRule(Type):
    verbs: Annotated[list[str], F(proto=1, list_type="set")] = field(default_factory=list)
    api_groups: Annotated[list[str], F(proto=2, list_type="set")] = field(default_factory=list)
    resources: Annotated[list[str], F(proto=3, list_type="set")] = field(default_factory=list)
    cluster_scope: Opt[Annotated[bool, F(proto=4)]] = UNSET
    namespaces: Annotated[list[str], F(proto=5, list_type="set")] = field(default_factory=list)


class NonResourcePolicyRule(Type):
    verbs: Annotated[list[str], F(proto=1, list_type="set")] = field(default_factory=list)
    non_resource_urls: Annotated[list[str], F(proto=6, list_type="set")] = field(
        default_factory=list, name="nonResourceURLs"
    )


class PolicyRulesWithSubjects(Type):
    subjects: Annotated[list[Subject], F(proto=1, list_type="atomic")] = field(default_factory=list)
    resource_rules: Opt[Annotated[list[ResourcePolicyRule], F(proto=2, list_type="atomic")]] = UNSET
    non_resource_rules: Opt[Annotated[list[NonResourcePolicyRule], F(proto=3, list_type="atomic")]] = UNSET


class FlowSchemaSpec(Type):
    priority_level_configuration: Annotated[PriorityLevelConfigurationReference, F(proto=1)] = field(
        default_factory=PriorityLevelConfigurationReference
    )
    matching_precedence: Annotated[Int32, F(proto=2)] = 0
    distinguisher_method: Opt[Annotated[FlowDistinguisherMethod, F(proto=3)]] = UNSET
    rules: Opt[Annotated[list[PolicyRulesWithSubjects], F(proto=4, list_type="atomic")]] = UNSET


class FlowSchemaCondition(Type):
    type: Opt[Annotated[str, F(proto=1)]] = UNSET
    status: Opt[Annotated[str, F(proto=2)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class FlowSchemaStatus(Type):
    conditions: Opt[Annotated[list[FlowSchemaCondition], F(proto=1, keys=("type",), merge="type")]] = UNSET


class FlowSchema(Object):
    """Sorts requests into priority levels. Kept as written."""

    spec: Annotated[FlowSchemaSpec, F(proto=2)] = field(default_factory=FlowSchemaSpec)
    status: Annotated[FlowSchemaStatus, F(proto=3)] = field(default_factory=FlowSchemaStatus)


class QueuingConfiguration(Type):
    queues: Annotated[Int32, F(proto=1)] = 0
    hand_size: Annotated[Int32, F(proto=2)] = 0
    queue_length_limit: Annotated[Int32, F(proto=3)] = 0


class LimitResponse(Type):
    type: Annotated[str, F(proto=1)] = ""
    queuing: Opt[Annotated[QueuingConfiguration, F(proto=2)]] = UNSET


class LimitedPriorityLevelConfiguration(Type):
    nominal_concurrency_shares: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    limit_response: Annotated[LimitResponse, F(proto=2)] = field(default_factory=LimitResponse)
    lendable_percent: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    borrowing_limit_percent: Opt[Annotated[Int32, F(proto=4, zero=True)]] = UNSET


class ExemptPriorityLevelConfiguration(Type):
    nominal_concurrency_shares: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    lendable_percent: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET


class PriorityLevelConfigurationSpec(Type):
    type: Annotated[str, F(proto=1)] = ""
    limited: Opt[Annotated[LimitedPriorityLevelConfiguration, F(proto=2)]] = UNSET
    exempt: Opt[Annotated[ExemptPriorityLevelConfiguration, F(proto=3)]] = UNSET


class PriorityLevelConfigurationCondition(Type):
    type: Opt[Annotated[str, F(proto=1)]] = UNSET
    status: Opt[Annotated[str, F(proto=2)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class PriorityLevelConfigurationStatus(Type):
    conditions: Opt[Annotated[list[PriorityLevelConfigurationCondition], F(proto=1, keys=("type",), merge="type")]] = (
        UNSET
    )


class PriorityLevelConfiguration(Object):
    """A share of the server for some requests. Kept as written."""

    spec: Annotated[PriorityLevelConfigurationSpec, F(proto=2)] = field(default_factory=PriorityLevelConfigurationSpec)
    status: Annotated[PriorityLevelConfigurationStatus, F(proto=3)] = field(
        default_factory=PriorityLevelConfigurationStatus
    )


def _default_schema(new: FlowSchema, _old: FlowSchema | None) -> None:
    new.spec.matching_precedence = new.spec.matching_precedence or 1000


def _default_level(new: PriorityLevelConfiguration, _old: PriorityLevelConfiguration | None) -> None:
    for share in (new.spec.limited, new.spec.exempt):
        if share is not UNSET:
            share.lendable_percent = number(share.lendable_percent)
    if new.spec.exempt is not UNSET:
        new.spec.exempt.nominal_concurrency_shares = number(new.spec.exempt.nominal_concurrency_shares)
    if new.spec.limited is UNSET:
        return
    if new.spec.limited.nominal_concurrency_shares is UNSET:
        new.spec.limited.nominal_concurrency_shares = 30
    queuing = new.spec.limited.limit_response.queuing
    if queuing is not UNSET:
        queuing.queues = queuing.queues or 64
        queuing.hand_size = queuing.hand_size or 8
        queuing.queue_length_limit = queuing.queue_length_limit or 50


def _missing_level(obj: Mapping[str, Any], _moment: Moment) -> str:
    conditions = at(obj, "status.conditions") or ()
    return next((str(one.get("status")) for one in conditions if one.get("type") == "Dangling"), "?")


def _limit(name: str, path: str) -> Column:
    def value(obj: Mapping[str, Any], _moment: Moment) -> Any:
        found = at(obj, f"spec.limited.{path}")
        return NONE if found is None else found

    return Column(name, value)


_kind = partial(Kind, group="flowcontrol.apiserver.k8s.io", native=True, namespaced=False, subresources=("status",))

FLOW_SCHEMA = _kind(
    name="FlowSchema",
    plural="flowschemas",
    singular="flowschema",
    versions=(
        Version(
            "v1",
            FlowSchema,
            (
                NAME,
                column("PriorityLevel", "spec.priorityLevelConfiguration.name"),
                column("MatchingPrecedence", "spec.matchingPrecedence"),
                either("DistinguisherMethod", "spec.distinguisherMethod.type", NONE),
                AGE,
                Column("MissingPL", _missing_level),
            ),
        ),
    ),
    default=_default_schema,
)

PRIORITY_LEVEL = _kind(
    name="PriorityLevelConfiguration",
    plural="prioritylevelconfigurations",
    singular="prioritylevelconfiguration",
    versions=(
        Version(
            "v1",
            PriorityLevelConfiguration,
            (
                NAME,
                column("Type", "spec.type"),
                _limit("NominalConcurrencyShares", "nominalConcurrencyShares"),
                _limit("Queues", "limitResponse.queuing.queues"),
                _limit("HandSize", "limitResponse.queuing.handSize"),
                _limit("QueueLengthLimit", "limitResponse.queuing.queueLengthLimit"),
                AGE,
            ),
        ),
    ),
    default=_default_level,
)

KINDS: tuple[Kind, ...] = (FLOW_SCHEMA, PRIORITY_LEVEL)
