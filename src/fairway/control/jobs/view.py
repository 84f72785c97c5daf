"""What the rules of Jobs see of a pod: the few facts that count, read once when the pod changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec

from fairway.api.client import Item
from fairway.control.fencing.names import LEASE_EXPIRED
from fairway.control.times import parse_time
from fairway.core.model import SECOND

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
NO_INDEX = -1
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PodView:
    name: str
    uid: str
    version: str = ""
    phase: str = "Pending"
    index: int = NO_INDEX
    tracked: bool = True
    """Carries our finalizer: it has not been counted for good."""
    deleting: bool = False
    ready: bool = False
    scheduled: bool = False
    restarts: int = 0
    failures: int = 0
    """Failures of its index that came before it."""
    ignored: int = 0
    created_at: float = 0.0
    finished_at: float = 0.0
    exits: tuple[tuple[str, int], ...] = ()
    """Containers that ended badly, with their exit codes; init containers last."""
    conditions: tuple[tuple[str, str], ...] = ()
    expired: bool = False
    """Ended because the lease that it ran under was not renewed: no failure of its own."""

    @property
    def terminal(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        return not self.terminal and not self.deleting

    @property
    def terminating(self) -> bool:
        return self.deleting and not self.terminal


class _Owner(msgspec.Struct, gc=False):
    uid: str = ""
    kind: str = ""
    name: str = ""
    controller: bool = False


_NOBODY = _Owner()


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] = []
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    owner_references: list[_Owner] = []


class _Terminated(msgspec.Struct, rename="camel", gc=False):
    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class _State(msgspec.Struct, gc=False):
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    restart_count: int = 0
    state: _State = msgspec.field(default_factory=_State)


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _InitContainer(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    restart_policy: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""
    init_containers: list[_InitContainer] = []


class _Status(msgspec.Struct, rename="camel", gc=False):
    phase: str = "Pending"
    conditions: list[_Condition] = []
    container_statuses: list[_ContainerStatus] = []
    init_container_statuses: list[_ContainerStatus] = []


class PodFacts(msgspec.Struct, gc=False):
    """The part of a pod that is read."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def owner(self) -> str:
        """The uid of the Job that controls it, or nothing."""
        return self._job.uid

    @property
    def owner_name(self) -> str:
        return self._job.name

    @property
    def _job(self) -> _Owner:
        for reference in self.metadata.owner_references:
            if reference.controller:
                return reference if reference.kind == "Job" else _NOBODY
        return _NOBODY

    @property
    def orphan(self) -> bool:
        return not any(reference.controller for reference in self.metadata.owner_references)


_decoder = msgspec.json.Decoder(PodFacts)


def read(item: Item) -> PodFacts:
    return _decoder.decode(item.value)


def view(pod: PodFacts) -> PodView:
    meta, status = pod.metadata, pod.status
    statuses = (*status.container_statuses, *status.init_container_statuses)
    return PodView(
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        phase=status.phase,
        index=_number(meta.annotations.get(INDEX), NO_INDEX),
        tracked=FINALIZER in meta.finalizers,
        deleting=meta.deletion_timestamp is not None,
        ready=any(one.type == "Ready" and one.status == "True" for one in status.conditions),
        scheduled=bool(pod.spec.node_name),
        restarts=sum(one.restart_count for one in statuses),
        failures=_number(meta.annotations.get(FAILURE_COUNT), 0),
        ignored=_number(meta.annotations.get(IGNORED_COUNT), 0),
        created_at=_seconds(meta.creation_timestamp),
        finished_at=_finished_at(pod),
        exits=tuple(
            (one.name, one.state.terminated.exit_code)
            for one in statuses
            if one.state.terminated is not None and one.state.terminated.exit_code != 0
        ),
        conditions=tuple((one.type, one.status) for one in status.conditions),
        expired=any(
            one.state.terminated is not None and one.state.terminated.reason == LEASE_EXPIRED for one in statuses
        ),
    )


def _finished_at(pod: PodFacts) -> float:
    """When its last container ended; failing that, when it ceased to be ready, was deleted, or came to be."""
    meta = pod.metadata
    ended = _containers_ended(pod)
    if ended:
        return ended
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time:
            return _seconds(condition.last_transition_time)
    if meta.deletion_timestamp is not None:
        return _seconds(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0)
    return _seconds(meta.creation_timestamp)


def _containers_ended(pod: PodFacts) -> float:
    """Zero unless all have. Sidecars, which end last, are among the init containers."""
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    waited = [*pod.status.container_statuses]
    waited += [one for one in pod.status.init_container_statuses if one.name in sidecars]
    latest = 0.0
    for one in waited:
        if one.state.terminated is None or not one.state.terminated.finished_at:
            return 0.0
        latest = max(latest, _seconds(one.state.terminated.finished_at))
    return latest


@lru_cache(maxsize=4096)  # pods of one moment have the same times
def _seconds(text: str | None) -> float:
    return parse_time(text) / SECOND


def _number(text: str | None, otherwise: int) -> int:
    if text is None or not (text.isascii() and text.isdecimal()):
        return otherwise
    value = int(text)
    return value if value <= INT32_MAX else otherwise
