"""admissionregistration.k8s.io/v1: webhook configurations and admission policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.columns import field as column
from fairway.kinds.k8s.columns import selector
from fairway.kinds.k8s.meta import Condition, LabelSelector
from fairway.kinds.k8s.opt import items
from fairway.kinds.kind import Column, Kind, Moment, Version
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


UNSET_CELL = "<unset>"


def _default_validating(new: ValidatingWebhookConfiguration, _old: ValidatingWebhookConfiguration | None) -> None:
    for webhook in items(new.webhooks):
        _default_webhook(webhook)


def _default_mutating(new: MutatingWebhookConfiguration, _old: MutatingWebhookConfiguration | None) -> None:
    for webhook in items(new.webhooks):
        _default_webhook(webhook)
        webhook.reinvocation_policy = webhook.reinvocation_policy or "Never"


def _default_webhook(webhook: ValidatingWebhook | MutatingWebhook) -> None:
    webhook.failure_policy = webhook.failure_policy or "Fail"
    webhook.match_policy = webhook.match_policy or "Equivalent"
    if webhook.namespace_selector is UNSET:
        webhook.namespace_selector = LabelSelector()
    if webhook.object_selector is UNSET:
        webhook.object_selector = LabelSelector()
    if webhook.timeout_seconds is UNSET:
        webhook.timeout_seconds = 10
    service = webhook.client_config.service
    if service is not UNSET and service.port is UNSET:
        service.port = 443
    _default_rules([*items(webhook.rules)])


def _default_rules(rules: Sequence[Rule]) -> None:
    for rule in rules:
        if rule.scope is UNSET:
            rule.scope = "*"


def _default_match(match: Opt[MatchResources]) -> None:
    if match is not UNSET:
        match.match_policy = match.match_policy or "Equivalent"
        if match.namespace_selector is UNSET:
            match.namespace_selector = LabelSelector()
        if match.object_selector is UNSET:
            match.object_selector = LabelSelector()
        _default_rules([*items(match.resource_rules), *items(match.exclude_resource_rules)])


def _default_policy(
    new: ValidatingAdmissionPolicy | MutatingAdmissionPolicy,
    _old: ValidatingAdmissionPolicy | MutatingAdmissionPolicy | None,
) -> None:
    new.spec.failure_policy = new.spec.failure_policy or "Fail"
    _default_match(new.spec.match_constraints)


def _default_binding(
    new: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding,
    _old: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding | None,
) -> None:
    _default_match(new.spec.match_resources)


def _size(name: str, path: str) -> Column:
    return Column(name, lambda obj, _moment: len(at(obj, path) or ()), type="integer")


def _param_kind(obj: Mapping[str, Any], _moment: Moment) -> str:
    kind = at(obj, "spec.paramKind")
    return UNSET_CELL if kind is None else f"{kind.get('apiVersion')}/{kind.get('kind')}"


def _param_ref(obj: Mapping[str, Any], _moment: Moment) -> str:
    reference = at(obj, "spec.paramRef") or {}
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector(reference["selector"]) if "selector" in reference else UNSET_CELL


_kind = partial(
    Kind, group="admissionregistration.k8s.io", native=True, namespaced=False, categories=("api-extensions",)
)
_WEBHOOK_COLUMNS = (NAME, _size("Webhooks", "webhooks"), AGE)
_BINDING_COLUMNS = (NAME, column("PolicyName", "spec.policyName"), Column("ParamRef", _param_ref), AGE)

VALIDATING_WEBHOOKS = _kind(
    name="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    singular="validatingwebhookconfiguration",
    versions=(Version("v1", ValidatingWebhookConfiguration, _WEBHOOK_COLUMNS),),
    spec_fields=("webhooks",),
    default=_default_validating,
)

MUTATING_WEBHOOKS = _kind(
    name="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    singular="mutatingwebhookconfiguration",
    versions=(Version("v1", MutatingWebhookConfiguration, _WEBHOOK_COLUMNS),),
    spec_fields=("webhooks",),
    default=_default_mutating,
)

VALIDATING_POLICY = _kind(
    name="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    singular="validatingadmissionpolicy",
    versions=(
        Version(
            "v1",
            ValidatingAdmissionPolicy,
            (NAME, _size("Validations", "spec.validations"), Column("ParamKind", _param_kind), AGE),
        ),
    ),
    subresources=("status",),
    default=_default_policy,
)

VALIDATING_POLICY_BINDING = _kind(
    name="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    singular="validatingadmissionpolicybinding",
    versions=(Version("v1", ValidatingAdmissionPolicyBinding, _BINDING_COLUMNS),),
    default=_default_binding,
)

MUTATING_POLICY = _kind(
    name="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    singular="mutatingadmissionpolicy",
    versions=(
        Version(
            "v1",
            MutatingAdmissionPolicy,
            (NAME, _size("Mutations", "spec.mutations"), Column("ParamKind", _param_kind), AGE),
        ),
    ),
    default=_default_policy,
)

MUTATING_POLICY_BINDING = _kind(
    name="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    singular="mutatingadmissionpolicybinding",
    versions=(Version("v1", MutatingAdmissionPolicyBinding, _BINDING_COLUMNS),),
    default=_default_binding,
)

KINDS: tuple[Kind, ...] = (
    VALIDATING_WEBHOOKS,
    MUTATING_WEBHOOKS,
    VALIDATING_POLICY,
    VALIDATING_POLICY_BINDING,
    MUTATING_POLICY,
    MUTATING_POLICY_BINDING,
)
