"""apiregistration.k8s.io/v1: APIService."""

from __future__ import annotations

from msgspec import field

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
