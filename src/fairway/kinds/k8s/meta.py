"""Types of meta/v1 beyond the metadata of an object: selectors, conditions, options and statuses."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Time, Type


class Envelope(Type):
    """What is sent or answered without being an object: it names its kind but has no identity."""

    api_version: Opt[Annotated[str, F("group and version of this representation")]] = UNSET
    kind: Opt[Annotated[str, F("what kind of message this is")]] = UNSET


class LabelSelectorRequirement(Type):
    key: Annotated[str, F(proto=1)] = ""
    operator: Annotated[str, F(proto=2)] = ""
    values: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET


class LabelSelector(Type):
    match_labels: Opt[Annotated[dict[str, str], F(proto=1)]] = UNSET
    match_expressions: Opt[Annotated[list[LabelSelectorRequirement], F(proto=2, list_type="atomic")]] = UNSET


class FieldSelectorRequirement(Type):
    key: Annotated[str, F(proto=1)] = ""
    operator: Annotated[str, F(proto=2)] = ""
    values: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET


class Condition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    observed_generation: Opt[Annotated[Int64, F(proto=3)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Annotated[str, F(proto=5)] = ""
    message: Annotated[str, F(proto=6)] = ""


class ShardInfo(Type):
    selector: Annotated[str, F(proto=1)] = ""


class ListMeta(Type):
    self_link: Opt[Annotated[str, F(proto=1)]] = UNSET
    resource_version: Opt[Annotated[str, F(proto=2)]] = UNSET
    continue_: Opt[Annotated[str, F(proto=3)]] = field(default=UNSET, name="continue")
    remaining_item_count: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET
    shard_info: Opt[Annotated[ShardInfo, F(proto=5)]] = UNSET


class Preconditions(Type):
    uid: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    resource_version: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class DeleteOptions(Envelope):
    grace_period_seconds: Opt[Annotated[Int64, F(proto=1, zero=True)]] = UNSET
    preconditions: Opt[Annotated[Preconditions, F(proto=2)]] = UNSET
    orphan_dependents: Opt[Annotated[bool, F(proto=3, zero=True)]] = UNSET
    propagation_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    dry_run: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = UNSET
    ignore_store_read_error_with_cluster_breaking_potential: Opt[Annotated[bool, F(proto=6, zero=True)]] = UNSET


class StatusCause(Type):
    reason: Opt[Annotated[str, F(proto=1)]] = UNSET
    message: Opt[Annotated[str, F(proto=2)]] = UNSET
    field: Opt[Annotated[str, F(proto=3)]] = UNSET


class StatusDetails(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    group: Opt[Annotated[str, F(proto=2)]] = UNSET
    kind: Opt[Annotated[str, F(proto=3)]] = UNSET
    uid: Opt[Annotated[str, F(proto=6)]] = UNSET
    causes: Opt[Annotated[list[StatusCause], F(proto=4, list_type="atomic")]] = UNSET
    retry_after_seconds: Opt[Annotated[Int32, F(proto=5)]] = UNSET


class Status(Envelope):
    metadata: Annotated[ListMeta, F(proto=1)] = field(default_factory=ListMeta)
    status: Opt[Annotated[str, F(proto=2)]] = UNSET
    message: Opt[Annotated[str, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    details: Opt[Annotated[StatusDetails, F(proto=5)]] = UNSET
    code: Opt[Annotated[Int32, F(proto=6)]] = UNSET
