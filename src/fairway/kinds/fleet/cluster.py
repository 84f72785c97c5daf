"""MemberCluster (a cluster of the fleet) and InternalMemberCluster (its twin that the member's agent reports to)."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.fleet.common import Condition
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Time, Type


class Subject(Type):
    """Who the member's agent is when it talks to the hub."""

    kind: Annotated[str, F("User, Group or ServiceAccount")]
    api_group: Opt[Annotated[str, F("API group of the subject; empty for a ServiceAccount")]] = UNSET
    name: Annotated[str, F("name of the subject")]
    namespace: Opt[Annotated[str, F("namespace, for a ServiceAccount")]] = UNSET


class Taint(Type):
    """Keeps work off a cluster unless a placement tolerates it."""

    key: Annotated[str, F("key of the taint, a label key")]
    value: Opt[Annotated[str, F("value of the taint, a label value")]] = UNSET
    effect: Annotated[Literal["NoSchedule"], F("what it does: nothing new is placed here")]


class DeleteOptions(Type):
    """What is checked before a cluster may leave."""

    validation_mode: Opt[
        Annotated[Literal["Skip", "Strict"], F("check that nothing on the cluster is still in use", default="Strict")]
    ] = UNSET


class PropertyValue(Type):
    """A property of a cluster, as last observed."""

    value: Annotated[str, F("the value, usually a quantity")]
    observation_time: Annotated[Time, F("when it was observed")]


class ResourceUsage(Type):
    """How much of each resource a cluster has."""

    capacity: Opt[Annotated[dict[str, Quantity], F("total of all nodes")]] = UNSET
    allocatable: Opt[Annotated[dict[str, Quantity], F("what pods may use in all")]] = UNSET
    available: Opt[Annotated[dict[str, Quantity], F("what is still free")]] = UNSET
    observation_time: Opt[Annotated[Time, F("when it was observed")]] = UNSET


class AgentStatus(Type):
    """What an agent on the member said last."""

    type: Annotated[str, F("which agent, for example MemberAgent")]
    conditions: Opt[Annotated[list[Condition], F("Joined and Healthy", keys=("type",))]] = UNSET
    last_received_heartbeat: Opt[Annotated[Time, F("when it was last heard of")]] = UNSET


class MemberClusterSpecV1(Type):
    """How a cluster takes part in the fleet."""

    identity: Annotated[Subject, F("who the member's agent is on the hub", atomic=True)]
    heartbeat_period_seconds: Opt[
        Annotated[int, F("seconds between two heartbeats of the agent", ge=1, le=600, default=60)]
    ] = UNSET
    taints: Opt[Annotated[list[Taint], F("keep work away that does not tolerate them", max_length=100)]] = UNSET


class MemberClusterSpec(MemberClusterSpecV1):
    """How a cluster takes part in the fleet."""

    delete_options: Opt[Annotated[DeleteOptions, F("what is checked when the cluster leaves")]] = UNSET


class MemberClusterStatusV1(Type):
    """What the hub knows about the cluster."""

    conditions: Opt[Annotated[list[Condition], F("ReadyToJoin, Joined and others", keys=("type",))]] = UNSET
    properties: Opt[Annotated[dict[str, PropertyValue], F("properties that placements may select by")]] = UNSET
    resource_usage: Opt[Annotated[ResourceUsage, F("how much of each resource there is")]] = UNSET
    agent_status: Opt[Annotated[list[AgentStatus], F("what the agents said last")]] = UNSET


class MemberClusterStatus(MemberClusterStatusV1):
    """What the hub knows about the cluster."""

    namespaces: Opt[Annotated[dict[str, str], F("namespaces on the member, each with the Work that created it")]] = (
        UNSET
    )


class MemberCluster(Object):
    """A cluster of the fleet, as the hub sees it."""

    spec: Annotated[MemberClusterSpec, F("how the cluster takes part in the fleet")]
    status: Opt[Annotated[MemberClusterStatus, F("what the hub knows about the cluster")]] = UNSET


class MemberClusterV1(Object):
    """A cluster of the fleet, as the hub sees it."""

    spec: Annotated[MemberClusterSpecV1, F("how the cluster takes part in the fleet")]
    status: Opt[Annotated[MemberClusterStatusV1, F("what the hub knows about the cluster")]] = UNSET


class InternalMemberClusterSpec(Type):
    """What the hub asks the member's agent to do."""

    state: Annotated[str, F("Join or Leave")]
    heartbeat_period_seconds: Opt[Annotated[int, F("seconds between two heartbeats", ge=1, le=600, default=60)]] = UNSET


class InternalMemberClusterStatusV1(Type):
    """What the member's agent reports."""

    conditions: Opt[Annotated[list[Condition], F("state of the member")]] = UNSET
    properties: Opt[Annotated[dict[str, PropertyValue], F("properties of the cluster")]] = UNSET
    resource_usage: Opt[Annotated[ResourceUsage, F("how much of each resource there is")]] = UNSET
    agent_status: Opt[Annotated[list[AgentStatus], F("what the agents said last")]] = UNSET


class InternalMemberClusterStatus(InternalMemberClusterStatusV1):
    """What the member's agent reports."""

    namespaces: Opt[Annotated[dict[str, str], F("namespaces on the member, each with the Work that created it")]] = (
        UNSET
    )


class InternalMemberCluster(Object):
    """A member's mailbox on the hub: orders in spec, reports in status."""

    spec: Annotated[InternalMemberClusterSpec, F("what the member's agent shall do")]
    status: Opt[Annotated[InternalMemberClusterStatus, F("what the member's agent reports")]] = UNSET


class InternalMemberClusterV1(Object):
    """A member's mailbox on the hub: orders in spec, reports in status."""

    spec: Annotated[InternalMemberClusterSpec, F("what the member's agent shall do")]
    status: Opt[Annotated[InternalMemberClusterStatusV1, F("what the member's agent reports")]] = UNSET
