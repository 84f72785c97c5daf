"""A quick look at a workload in one of its usual states: it waits, it runs, it is over. What its place depends on is read without the rest.

A queue may hold a hundred thousand that wait, and all are read at a start; and each that is admitted and ends is read each time. Most are
made like others, and nobody has said anything about them but what queueing says of all; for anything beyond that `sketched` says nothing, and the
whole object has to be read.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import msgspec

from fairway.control import compile as compiler
from fairway.control.times import parse_time
from fairway.core.model import Reservation, Shape, Traits, Workload

_NOTHING = msgspec.Raw(b"")
_WAITS = {"QuotaReserved": ("False",), "Admitted": ("False",), "PodsReady": ("False",)}
"""Conditions that say no more than that it waits, by what they may say."""
_RUNS = {
    "QuotaReserved": ("True",),
    "Admitted": ("True",),
    "PodsReady": ("True", "False"),
    "Evicted": ("False",),
    "Preempted": ("False",),
    "Requeued": ("True",),
}
"""Conditions that say no more than that it holds quota and may run."""
_GRANTS = ("QuotaReserved", "Admitted")
_ADMITTED = ("Admitted", "The workload is admitted")
_DELAYED = b"delayedTopologyRequest"


class Stage(Enum):
    WAITS = 1
    RUNS = 2
    OVER = 3


class Owner(msgspec.Struct, rename="camel", frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    owner_references: list[Owner] = []
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: msgspec.Raw = _NOTHING


class _Container(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    resources: msgspec.Raw = _NOTHING
    restart_policy: str = ""


class _PodSpec(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    """Whatever a pod set's shape is made of; not the command, which is different for each."""

    containers: list[_Container] = []
    init_containers: list[_Container] = []
    node_selector: msgspec.Raw = _NOTHING
    affinity: msgspec.Raw = _NOTHING
    tolerations: msgspec.Raw = _NOTHING
    resources: msgspec.Raw = _NOTHING
    overhead: msgspec.Raw = _NOTHING


class _Template(msgspec.Struct, gc=False):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _PodSet(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    name: str = ""
    count: int = 0
    min_count: int | None = None
    topology_request: msgspec.Raw = _NOTHING
    template: _Template = msgspec.field(default_factory=_Template)


class _Spec(msgspec.Struct, rename="camel", gc=False):
    queue_name: str = ""
    priority: int = 0
    active: bool = True
    pod_sets: list[_PodSet] = []
    preemption_gates: msgspec.Raw = _NOTHING
    maximum_execution_time_seconds: int | None = None


class Condition(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    conditions: list[Condition] = []
    admission: msgspec.Raw = _NOTHING
    requeue_state: msgspec.Raw = _NOTHING
    admission_checks: msgspec.Raw = _NOTHING
    reclaimable_pods: msgspec.Raw = _NOTHING


class Glimpse(msgspec.Struct, gc=False):
    """What is read of every workload that comes by."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_live(self) -> bool:
        """Whether it holds quota, or seems to: for whoever wants to know who comes first."""
        return self.status.admission is not _NOTHING and not self.is_over

    @property
    def is_over(self) -> bool:
        for each in self.status.conditions:  # noqa: SIM110 (a generator here costs three times as much)
            if each.type == "Finished" and each.status == "True":
                return True
        return False


class _Strange(msgspec.Struct, gc=False):
    metadata: _Meta


_decode = msgspec.json.Decoder(Glimpse).decode
_decode_strange = msgspec.json.Decoder(_Strange).decode
_encode = msgspec.json.Encoder().encode


def glimpse(value: bytes) -> Glimpse:
    """Of one that is written in a way we do not expect only whose it is, and that it does not just wait."""
    try:
        return _decode(value)
    except msgspec.MsgspecError:
        return Glimpse(metadata=_decode_strange(value).metadata, status=_Status(admission=msgspec.Raw(b"{}")))


class Sketch:
    """One in a usual state, and nothing more."""

    __slots__ = ("_obj", "likeness", "stage")

    def __init__(self, obj: Glimpse, stage: Stage) -> None:
        self._obj = obj
        self.stage = stage
        self.likeness: bytes = _encode((obj.spec.priority, obj.spec.pod_sets)) if stage is not Stage.OVER else b""
        """Equal for those whose shape is."""

    def is_told(self, over: tuple[str, ...]) -> bool:
        """Whether it says why it waits, by a reason that is not over."""
        said = self._said("QuotaReserved")
        return said is not None and said.reason not in over

    @property
    def is_ready(self) -> bool:
        said = self._said("PodsReady")
        return said is not None and said.status == "True"

    @property
    def is_complete(self) -> bool:
        """Whether what it says of itself is what the rules of its life would say, as long as its queues go on as they do."""
        meta = self._obj.metadata
        if meta.deletion_timestamp is not None:
            return False
        if self.stage is not Stage.RUNS:
            return True
        said, ready = self._said("Admitted"), self._said("PodsReady")
        return (
            (ready is None or ready.status == "True")  # else it is waited for, and not for ever
            and said is not None
            and (said.reason, said.message) == _ADMITTED
            and said.observed_generation == meta.generation
            and self._obj.spec.maximum_execution_time_seconds is None
            and _DELAYED not in bytes(self._obj.status.admission)
        )

    @property
    def tenant(self) -> str:
        return _tenant(self._obj.metadata.namespace, self._obj.spec.queue_name)

    def workload(self, key: str, shape: Shape, misconfigured: str | None) -> Workload:
        meta = self._obj.metadata
        created = parse_time(meta.creation_timestamp)
        reserved = self._reservation() if self.stage is Stage.RUNS else None
        return Workload(
            key=key,
            uid=meta.uid,
            tenant_queue=self.tenant,
            queue=reserved.queue if reserved is not None else "",
            shape=shape,
            created=created,
            queued=created,
            reservation=reserved,
            traits=_traits(misconfigured, meta.generation),
        )

    def _reservation(self) -> Reservation:
        counts = tuple((each.name, each.count) for each in self._obj.spec.pod_sets)
        alike = _reservation(bytes(self._obj.status.admission), counts)
        said = self._said("QuotaReserved")
        assert said is not None
        since = parse_time(said.last_transition_time)
        return Reservation(alike.queue, alike.pod_sets, alike.usage, alike.cells, since, admitted=True)

    def _said(self, kind: str) -> Condition | None:
        for each in self._obj.status.conditions:  # a generator here costs three times as much
            if each.type == kind:
                return each
        return None


@lru_cache(maxsize=1024)  # one text for all that wait there
def _tenant(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


@lru_cache(maxsize=4096)  # one for all that are alike
def _reservation(admission: bytes, counts: tuple[tuple[str, int], ...]) -> Reservation:
    pod_sets = [{"name": name, "count": count} for name, count in counts]
    reserved = compiler.reservation(
        {"spec": {"podSets": pod_sets}, "status": {"admission": msgspec.json.decode(admission)}}
    )
    assert reserved is not None
    return reserved


@lru_cache(maxsize=256)  # one for all that are alike
def _traits(misconfigured: str | None, generation: int) -> Traits | None:
    traits = Traits(misconfigured=misconfigured, generation=generation)
    return None if traits == Traits() else traits


def sketched(obj: Glimpse) -> Sketch | None:
    """Nothing unless it is certain that no rule but the usual ones applies."""
    meta, spec, status = obj.metadata, obj.spec, obj.status
    runs = status.admission is not _NOTHING
    usual = _RUNS if runs else _WAITS
    strange, grants = False, 0
    for each in status.conditions:
        if each.type == "Finished":
            return Sketch(obj, Stage.OVER) if each.status == "True" else None
        strange = strange or each.status not in usual.get(each.type, ()) or each.reason == "OnHold"
        grants += each.type in _GRANTS
    if (
        strange
        or (runs and grants != len(_GRANTS))
        or meta.annotations is not _NOTHING
        or spec.preemption_gates is not _NOTHING
        or status.requeue_state is not _NOTHING
        or status.admission_checks is not _NOTHING
        or status.reclaimable_pods is not _NOTHING
        or meta.deletion_timestamp is not None
        or not spec.active
    ):
        return None
    return Sketch(obj, Stage.RUNS if runs else Stage.WAITS)
