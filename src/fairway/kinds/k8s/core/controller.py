"""core/v1 ReplicationController."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.pod import PodTemplateSpec
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Time, Type


class ReplicationControllerSpec(Type):
    replicas: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    min_ready_seconds: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    selector: Opt[Annotated[dict[str, str], F(proto=2, atomic=True)]] = UNSET
    template: Opt[Annotated[PodTemplateSpec, F(proto=3)]] = UNSET


class ReplicationControllerCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_transition_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4)]] = UNSET
    message: Opt[Annotated[str, F(proto=5)]] = UNSET


class ReplicationControllerStatus(Type):
    replicas: Annotated[Int32, F(proto=1)] = 0
    fully_labeled_replicas: Opt[Annotated[Int32, F(proto=2)]] = UNSET
    ready_replicas: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    available_replicas: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    observed_generation: Opt[Annotated[Int64, F(proto=3)]] = UNSET
    conditions: Opt[Annotated[list[ReplicationControllerCondition], F(proto=6, keys=("type",), merge="type")]] = UNSET


class ReplicationController(Object):
    """A fixed number of equal pods, the old way. Kept as written."""

    spec: Annotated[ReplicationControllerSpec, F(proto=2)] = field(default_factory=ReplicationControllerSpec)
    status: Annotated[ReplicationControllerStatus, F(proto=3)] = field(default_factory=ReplicationControllerStatus)
