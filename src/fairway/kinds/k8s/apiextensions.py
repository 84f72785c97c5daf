"""apiextensions.k8s.io/v1: CustomResourceDefinition."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.columns import NAME
from fairway.kinds.k8s.columns import CREATED
from fairway.kinds.k8s.crd_schema import JSONSchemaProps
from fairway.kinds.kind import Kind, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Int32, Int64, Json, Opt, Time, Type


class ServiceReference(Type):
    namespace: Annotated[str, F(proto=1)] = ""
    name: Annotated[str, F(proto=2)] = ""
    path: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    port: Opt[Annotated[Int32, F(proto=4, zero=True)]] = UNSET


class WebhookClientConfig(Type):
    url: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    service: Opt[Annotated[ServiceReference, F(proto=1)]] = UNSET
    ca_bundle: Opt[Annotated[Base64, F(proto=2)]] = UNSET


class WebhookConversion(Type):
    client_config: Opt[Annotated[WebhookClientConfig, F(proto=2)]] = UNSET
    conversion_review_versions: Annotated[list[str], F(proto=3, list_type="atomic")] = field(default_factory=list)


class CustomResourceConversion(Type):
    strategy: Annotated[str, F(proto=1)] = ""
    webhook: Opt[Annotated[WebhookConversion, F(proto=2)]] = UNSET


class SelectableField(Type):
    json_path: Annotated[str, F(proto=1)] = ""


class CustomResourceColumnDefinition(Type):
    name: Annotated[str, F(proto=1)] = ""
    type: Annotated[str, F(proto=2)] = ""
    format: Opt[Annotated[str, F(proto=3)]] = UNSET
    description: Opt[Annotated[str, F(proto=4)]] = UNSET
    priority: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    json_path: Annotated[str, F(proto=6)] = ""


class CustomResourceSubresourceStatus(Type):
    pass


class CustomResourceSubresourceScale(Type):
    spec_replicas_path: Annotated[str, F(proto=1)] = ""
    status_replicas_path: Annotated[str, F(proto=2)] = ""
    label_selector_path: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET


class CustomResourceSubresources(Type):
    status: Opt[Annotated[CustomResourceSubresourceStatus, F(proto=1)]] = UNSET
    scale: Opt[Annotated[CustomResourceSubresourceScale, F(proto=2)]] = UNSET


class CustomResourceValidation(Type):
    PROTO_AS: ClassVar[dict[str, type[Type]]] = {"openAPIV3Schema": JSONSchemaProps}

    open_api_v3_schema: Opt[Annotated[Json, F(proto=1)]] = field(default=UNSET, name="openAPIV3Schema")


class CustomResourceDefinitionVersion(Type):
    name: Annotated[str, F(proto=1)] = ""
    served: Annotated[bool, F(proto=2)] = False
    storage: Annotated[bool, F(proto=3)] = False
    deprecated: Opt[Annotated[bool, F(proto=7)]] = UNSET
    deprecation_warning: Opt[Annotated[str, F(proto=8, zero=True)]] = UNSET
    schema: Opt[Annotated[CustomResourceValidation, F(proto=4)]] = UNSET
    subresources: Opt[Annotated[CustomResourceSubresources, F(proto=5)]] = UNSET
    additional_printer_columns: Opt[Annotated[list[CustomResourceColumnDefinition], F(proto=6, list_type="atomic")]] = (
        UNSET
    )
    selectable_fields: Opt[Annotated[list[SelectableField], F(proto=9, list_type="atomic")]] = UNSET


class CustomResourceDefinitionNames(Type):
    plural: Annotated[str, F(proto=1)] = ""
    singular: Opt[Annotated[str, F(proto=2)]] = UNSET
    short_names: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    kind: Annotated[str, F(proto=4)] = ""
    list_kind: Opt[Annotated[str, F(proto=5)]] = UNSET
    categories: Opt[Annotated[list[str], F(proto=6, list_type="atomic")]] = UNSET


class CustomResourceDefinitionSpec(Type):
    group: Annotated[str, F(proto=1)] = ""
    names: Annotated[CustomResourceDefinitionNames, F(proto=3)] = field(default_factory=CustomResourceDefinitionNames)
    scope: Annotated[str, F(proto=4)] = ""
    versions: Annotated[list[CustomResourceDefinitionVersion], F(proto=7, list_type="atomic")] = field(
        default_factory=list
    )
    conversion: Opt[Annotated[CustomResourceConversion, F(proto=9)]] = UNSET
    preserve_unknown_fields: Opt[Annotated[bool, F(proto=10)]] = UNSET


class CustomResourceDefinitionCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET
    observed_generation: Opt[Annotated[Int64, F(proto=6)]] = UNSET


class CustomResourceDefinitionStatus(Type):
    conditions: Annotated[list[CustomResourceDefinitionCondition], F(proto=1, keys=("type",))] = field(
        default_factory=list
    )
    accepted_names: Annotated[CustomResourceDefinitionNames, F(proto=2)] = field(
        default_factory=CustomResourceDefinitionNames
    )
    stored_versions: Annotated[list[str], F(proto=3, list_type="atomic")] = field(default_factory=list)
    observed_generation: Opt[Annotated[Int64, F(proto=4)]] = UNSET


class CustomResourceDefinition(Object):
    """A kind that a user adds to the API."""

    spec: Annotated[CustomResourceDefinitionSpec, F(proto=2)] = field(default_factory=CustomResourceDefinitionSpec)
    status: Annotated[CustomResourceDefinitionStatus, F(proto=3)] = field(
        default_factory=CustomResourceDefinitionStatus
    )


def _default(new: CustomResourceDefinition, _old: CustomResourceDefinition | None) -> None:
    names = new.spec.names
    names.singular = names.singular or names.kind.lower()
    names.list_kind = names.list_kind or f"{names.kind}List"
    if new.spec.conversion is UNSET:
        new.spec.conversion = CustomResourceConversion(strategy="None")
    webhook = new.spec.conversion.webhook
    if webhook is not UNSET and webhook.client_config is not UNSET:
        service = webhook.client_config.service
        if service is not UNSET and service.port is UNSET:
            service.port = 443


CUSTOM_RESOURCE_DEFINITION = Kind(
    group="apiextensions.k8s.io",
    name="CustomResourceDefinition",
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    versions=(Version("v1", CustomResourceDefinition, (NAME, CREATED)),),
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    native=True,
    default=_default,
)

KINDS: tuple[Kind, ...] = (CUSTOM_RESOURCE_DEFINITION,)
