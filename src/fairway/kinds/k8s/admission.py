"""admissionregistration.k8s.io/v1: webhook configurations and admission policies."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.k8s.meta import Condition, LabelSelector
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Int32, Int64, Opt, Type


class Rule(Type):
    api_groups: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET
    api_versions: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    resources: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    scope: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class RuleWithOperations(Rule):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {2: Rule}

    operations: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET


class NamedRuleWithOperations(RuleWithOperations):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {2: RuleWithOperations}

    resource_names: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET


class ServiceReference(Type):
    namespace: Annotated[str, F(proto=1)] = ""
    name: Annotated[str, F(proto=2)] = ""
    path: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    port: Opt[Annotated[Int32, F(proto=4, zero=True)]] = UNSET


class WebhookClientConfig(Type):
    url: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    service: Opt[Annotated[ServiceReference, F(proto=1)]] = UNSET
    ca_bundle: Opt[Annotated[Base64, F(proto=2)]] = UNSET


class MatchCondition(Type):
    name: Annotated[str, F(proto=1)] = ""
    expression: Annotated[str, F(proto=2)] = ""


class ValidatingWebhook(Type):
    name: Annotated[str, F(proto=1)] = ""
    client_config: Annotated[WebhookClientConfig, F(proto=2)] = field(default_factory=WebhookClientConfig)
    rules: Opt[Annotated[list[RuleWithOperations], F(proto=3, list_type="atomic")]] = UNSET
    failure_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    match_policy: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET
    namespace_selector: Opt[Annotated[LabelSelector, F(proto=5, atomic=True)]] = UNSET
    object_selector: Opt[Annotated[LabelSelector, F(proto=10, atomic=True)]] = UNSET
    side_effects: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    timeout_seconds: Opt[Annotated[Int32, F(proto=7, zero=True)]] = UNSET
    admission_review_versions: Annotated[list[str], F(proto=8, list_type="atomic")] = field(default_factory=list)
    match_conditions: Opt[Annotated[list[MatchCondition], F(proto=11, keys=("name",), merge="name")]] = UNSET


class MutatingWebhook(Type):
    name: Annotated[str, F(proto=1)] = ""
    client_config: Annotated[WebhookClientConfig, F(proto=2)] = field(default_factory=WebhookClientConfig)
    rules: Opt[Annotated[list[RuleWithOperations], F(proto=3, list_type="atomic")]] = UNSET
    failure_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    match_policy: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET
    namespace_selector: Opt[Annotated[LabelSelector, F(proto=5, atomic=True)]] = UNSET
    object_selector: Opt[Annotated[LabelSelector, F(proto=11, atomic=True)]] = UNSET
    side_effects: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    timeout_seconds: Opt[Annotated[Int32, F(proto=7, zero=True)]] = UNSET
    admission_review_versions: Annotated[list[str], F(proto=8, list_type="atomic")] = field(default_factory=list)
    reinvocation_policy: Opt[Annotated[str, F(proto=10, zero=True)]] = UNSET
    match_conditions: Opt[Annotated[list[MatchCondition], F(proto=12, keys=("name",), merge="name")]] = UNSET


class ValidatingWebhookConfiguration(Object):
    """Webhooks that may refuse a write. Kept as written: none is called."""

    webhooks: Opt[Annotated[list[ValidatingWebhook], F(proto=2, keys=("name",), merge="name")]] = UNSET


class MutatingWebhookConfiguration(Object):
    """Webhooks that may change a write. Kept as written: none is called."""

    webhooks: Opt[Annotated[list[MutatingWebhook], F(proto=2, keys=("name",), merge="name")]] = UNSET


class ParamKind(Type):
    api_version: Opt[Annotated[str, F(proto=1)]] = UNSET
    kind: Opt[Annotated[str, F(proto=2)]] = UNSET


class ParamRef(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    namespace: Opt[Annotated[str, F(proto=2)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=3, atomic=True)]] = UNSET
    parameter_not_found_action: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class MatchResources(Type):
    namespace_selector: Opt[Annotated[LabelSelector, F(proto=1, atomic=True)]] = UNSET
    object_selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    resource_rules: Opt[Annotated[list[NamedRuleWithOperations], F(proto=3, list_type="atomic")]] = UNSET
    exclude_resource_rules: Opt[Annotated[list[NamedRuleWithOperations], F(proto=4, list_type="atomic")]] = UNSET
    match_policy: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET


class Validation(Type):
    expression: Annotated[str, F(proto=1)] = ""
    message: Opt[Annotated[str, F(proto=2)]] = UNSET
    reason: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    message_expression: Opt[Annotated[str, F(proto=4)]] = UNSET


class Variable(Type):
    name: Annotated[str, F(proto=1)] = ""
    expression: Annotated[str, F(proto=2)] = ""


class AuditAnnotation(Type):
    key: Annotated[str, F(proto=1)] = ""
    value_expression: Annotated[str, F(proto=2)] = ""


class ExpressionWarning(Type):
    field_ref: Annotated[str, F(proto=2)] = ""
    warning: Annotated[str, F(proto=3)] = ""


class TypeChecking(Type):
    expression_warnings: Opt[Annotated[list[ExpressionWarning], F(proto=1, list_type="atomic")]] = UNSET


class ValidatingAdmissionPolicySpec(Type):
    param_kind: Opt[Annotated[ParamKind, F(proto=1, atomic=True)]] = UNSET
    match_constraints: Opt[Annotated[MatchResources, F(proto=2, atomic=True)]] = UNSET
    validations: Opt[Annotated[list[Validation], F(proto=3, list_type="atomic")]] = UNSET
    failure_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    audit_annotations: Opt[Annotated[list[AuditAnnotation], F(proto=5, list_type="atomic")]] = UNSET
    match_conditions: Opt[Annotated[list[MatchCondition], F(proto=6, keys=("name",), merge="name")]] = UNSET
    variables: Opt[Annotated[list[Variable], F(proto=7, keys=("name",), merge="name")]] = UNSET


class ValidatingAdmissionPolicyStatus(Type):
    observed_generation: Opt[Annotated[Int64, F(proto=1)]] = UNSET
    type_checking: Opt[Annotated[TypeChecking, F(proto=2)]] = UNSET
    conditions: Opt[Annotated[list[Condition], F(proto=3, keys=("type",))]] = UNSET


class ValidatingAdmissionPolicy(Object):
    """Expressions that may refuse a write. Kept as written."""

    spec: Annotated[ValidatingAdmissionPolicySpec, F(proto=2)] = field(default_factory=ValidatingAdmissionPolicySpec)
    status: Annotated[ValidatingAdmissionPolicyStatus, F(proto=3)] = field(
        default_factory=ValidatingAdmissionPolicyStatus
    )


class ValidatingAdmissionPolicyBindingSpec(Type):
    policy_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    param_ref: Opt[Annotated[ParamRef, F(proto=2, atomic=True)]] = UNSET
    match_resources: Opt[Annotated[MatchResources, F(proto=3, atomic=True)]] = UNSET
    validation_actions: Opt[Annotated[list[str], F(proto=4, list_type="set")]] = UNSET


class ValidatingAdmissionPolicyBinding(Object):
    """Where a ValidatingAdmissionPolicy applies. Kept as written."""

    spec: Annotated[ValidatingAdmissionPolicyBindingSpec, F(proto=2)] = field(
        default_factory=ValidatingAdmissionPolicyBindingSpec
    )


class ApplyConfiguration(Type):
    expression: Opt[Annotated[str, F(proto=1)]] = UNSET


class JSONPatch(Type):
    expression: Opt[Annotated[str, F(proto=1)]] = UNSET


class Mutation(Type):
    patch_type: Annotated[str, F(proto=2)] = ""
    apply_configuration: Opt[Annotated[ApplyConfiguration, F(proto=3)]] = UNSET
    json_patch: Opt[Annotated[JSONPatch, F(proto=4)]] = UNSET


class MutatingAdmissionPolicySpec(Type):
    param_kind: Opt[Annotated[ParamKind, F(proto=1, atomic=True)]] = UNSET
    match_constraints: Opt[Annotated[MatchResources, F(proto=2, atomic=True)]] = UNSET
    variables: Opt[Annotated[list[Variable], F(proto=3, list_type="atomic")]] = UNSET
    mutations: Opt[Annotated[list[Mutation], F(proto=4, list_type="atomic")]] = UNSET
    failure_policy: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET
    match_conditions: Opt[Annotated[list[MatchCondition], F(proto=6, keys=("name",), merge="name")]] = UNSET
    reinvocation_policy: Opt[Annotated[str, F(proto=7)]] = UNSET


class MutatingAdmissionPolicy(Object):
    """Expressions that may change a write. Kept as written."""

    spec: Annotated[MutatingAdmissionPolicySpec, F(proto=2)] = field(default_factory=MutatingAdmissionPolicySpec)


class MutatingAdmissionPolicyBindingSpec(Type):
    policy_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    param_ref: Opt[Annotated[ParamRef, F(proto=2, atomic=True)]] = UNSET
    match_resources: Opt[Annotated[MatchResources, F(proto=3, atomic=True)]] = UNSET


class MutatingAdmissionPolicyBinding(Object):
    """Where a MutatingAdmissionPolicy applies. Kept as written."""

    spec: Annotated[MutatingAdmissionPolicyBindingSpec, F(proto=2)] = field(
        default_factory=MutatingAdmissionPolicyBindingSpec
    )
