"""core/v1 ResourceQuota and LimitRange."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Type


class ScopedResourceSelectorRequirement(Type):
    scope_name: Annotated[str, F(proto=1)] = ""
    operator: Annotated[str, F(proto=2)] = ""
    values: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET


class ScopeSelector(Type):
    match_expressions: Opt[Annotated[list[ScopedResourceSelectorRequirement], F(proto=1, list_type="atomic")]] = UNSET


class ResourceQuotaSpec(Type):
    hard: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    scopes: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    scope_selector: Opt[Annotated[ScopeSelector, F(proto=3, atomic=True)]] = UNSET


class ResourceQuotaStatus(Type):
    hard: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    used: Opt[Annotated[dict[str, Quantity], F(proto=2)]] = UNSET


class ResourceQuota(Object):
    """Limits on what a namespace may use. Kept as written: the queues' quota is what counts."""

    spec: Annotated[ResourceQuotaSpec, F(proto=2)] = field(default_factory=ResourceQuotaSpec)
    status: Annotated[ResourceQuotaStatus, F(proto=3)] = field(default_factory=ResourceQuotaStatus)


class LimitRangeItem(Type):
    type: Annotated[str, F(proto=1)] = ""
    max: Opt[Annotated[dict[str, Quantity], F(proto=2)]] = UNSET
    min: Opt[Annotated[dict[str, Quantity], F(proto=3)]] = UNSET
    default: Opt[Annotated[dict[str, Quantity], F(proto=4)]] = UNSET
    default_request: Opt[Annotated[dict[str, Quantity], F(proto=5)]] = UNSET
    max_limit_request_ratio: Opt[Annotated[dict[str, Quantity], F(proto=6)]] = UNSET


class LimitRangeSpec(Type):
    limits: Annotated[list[LimitRangeItem], F(proto=1, list_type="atomic")] = field(default_factory=list)


class LimitRange(Object):
    """Default and extreme requests in a namespace. Kept as written."""

    spec: Annotated[LimitRangeSpec, F(proto=2)] = field(default_factory=LimitRangeSpec)
