"""A quick look at a workload that only waits: what its place in line depends on, read without the rest.

A queue may hold a hundred thousand of them, and all are read at a start. Most are new, or were told once why they wait, and are made like
others; for anything beyond that `waiting` says nothing, and the whole object has to be read.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from fairway.control.times import parse_time
from fairway.core.model import Shape, Traits, Workload

_NOTHING = msgspec.Raw(b"")
_USUAL = ("QuotaReserved", "Admitted", "PodsReady")
"""Conditions that say no more than that it waits, where they are false."""


class Owner(msgspec.Struct, rename="camel", gc=False):
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


class Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""


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
    """One that waits, and nothing more."""

    __slots__ = ("_obj", "likeness")

    def __init__(self, obj: Glimpse) -> None:
        self._obj = obj
        self.likeness: bytes = _encode((obj.spec.priority, obj.spec.pod_sets))
        """Equal for those whose shape is."""

    def is_told(self, over: tuple[str, ...]) -> bool:
        """Whether it says why it waits, by a reason that is not over."""
        for each in self._obj.status.conditions:  # noqa: SIM110 (a generator here costs three times as much)
            if each.type == "QuotaReserved" and each.reason not in over:
                return True
        return False

    def workload(self, key: str, shape: Shape, misconfigured: str | None) -> Workload:
        meta = self._obj.metadata
        created = parse_time(meta.creation_timestamp)
        return Workload(
            key=key,
            uid=meta.uid,
            tenant_queue=_tenant(meta.namespace, self._obj.spec.queue_name),
            queue="",
            shape=shape,
            created=created,
            queued=created,
            traits=_traits(misconfigured, meta.generation),
        )


@lru_cache(maxsize=1024)  # one text for all that wait there
def _tenant(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


@lru_cache(maxsize=256)  # one for all that are alike
def _traits(misconfigured: str | None, generation: int) -> Traits | None:
    traits = Traits(misconfigured=misconfigured, generation=generation)
    return None if traits == Traits() else traits


def waiting(obj: Glimpse) -> Sketch | None:
    """Nothing unless it is certain that no rule but the usual ones applies."""
    meta, spec, status = obj.metadata, obj.spec, obj.status
    if (
        status.admission is not _NOTHING
        or meta.annotations is not _NOTHING
        or spec.preemption_gates is not _NOTHING
        or status.requeue_state is not _NOTHING
        or status.admission_checks is not _NOTHING
        or status.reclaimable_pods is not _NOTHING
        or meta.deletion_timestamp is not None
        or not spec.active
    ):
        return None
    for condition in status.conditions:
        if condition.type not in _USUAL or condition.status != "False" or condition.reason == "OnHold":
            return None
    return Sketch(obj)
