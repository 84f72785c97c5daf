"""apiregistration.k8s.io/v1: APIService."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from fairway.kinds import names
from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Int32, Opt, Time, Type


class ServiceReference(Type):
    namespace: Opt[Annotated[str, F(proto=1)]] = UNSET
    name: Opt[Annotated[str, F(proto=2)]] = UNSET
    port: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET


class APIServiceSpec(Type):
    service: Opt[Annotated[ServiceReference, F(proto=1)]] = UNSET
    group: Opt[Annotated[str, F(proto=2)]] = UNSET
    version: Opt[Annotated[str, F(proto=3)]] = UNSET
    insecure_skip_tls_verify: Opt[Annotated[bool, F(proto=4)]] = field(default=UNSET, name="insecureSkipTLSVerify")
    ca_bundle: Opt[Annotated[Base64, F(proto=5, list_type="atomic")]] = UNSET
    group_priority_minimum: Annotated[Int32, F(proto=7)] = 0
    version_priority: Annotated[Int32, F(proto=8)] = 0


class APIServiceCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class APIServiceStatus(Type):
    conditions: Opt[Annotated[list[APIServiceCondition], F(proto=1, keys=("type",), merge="type")]] = UNSET


class APIService(Object):
    """A group and version served by another server. Kept as written: nothing is forwarded."""

    spec: Annotated[APIServiceSpec, F(proto=2)] = field(default_factory=APIServiceSpec)
    status: Annotated[APIServiceStatus, F(proto=3)] = field(default_factory=APIServiceStatus)


def _default(new: APIService, _old: APIService | None) -> None:
    service = new.spec.service
    if service is not UNSET and service.port is UNSET:
        service.port = 443


def _service(obj: Mapping[str, Any], _moment: Moment) -> str:
    service = at(obj, "spec.service")
    return "Local" if service is None else f"{service.get('namespace')}/{service.get('name')}"


def _available(obj: Mapping[str, Any], _moment: Moment) -> str:
    for condition in at(obj, "status.conditions") or ():
        if condition.get("type") == "Available":
            status, reason = str(condition.get("status")), condition.get("reason")
            return f"{status} ({reason})" if status != "True" and reason else status
    return "Unknown"


API_SERVICE = Kind(
    group="apiregistration.k8s.io",
    name="APIService",
    plural="apiservices",
    singular="apiservice",
    versions=(Version("v1", APIService, (NAME, Column("Service", _service), Column("Available", _available), AGE)),),
    namespaced=False,
    categories=("api-extensions",),
    subresources=("status",),
    native=True,
    spec_fields=(),
    default=_default,
    name_rule=names.path_segment,
)

KINDS: tuple[Kind, ...] = (API_SERVICE,)
