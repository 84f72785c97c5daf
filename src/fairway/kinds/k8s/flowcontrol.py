"""flowcontrol.apiserver.k8s.io/v1: FlowSchema and PriorityLevelConfiguration."""

from __future__ import annotations

from msgspec import field

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
