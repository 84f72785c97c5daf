"""Which node has room for which pod: counted as pods come and go, never by looking at all of them. No I/O.

Waiting pods are kept by shape (what they ask for and where they may go): where one of a shape does not fit, no other of it does, so a step costs
as many tries as there are shapes, however many pods wait. Order is by priority, then by age.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairway.control.pods.requests import Nanos, pod_requests
from fairway.core.labels import Requirement, Taint, Toleration, tolerations, untolerated
from fairway.core.quantity import NANO, parse, render

Json = Mapping[str, Any]
NOT_READY = Taint("node.kubernetes.io/not-ready", "NoSchedule")
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
NO_NODES = "no nodes available to schedule pods"
_DETAILS_MAX = 3
_Order = tuple[int, str, int, str]
"""Priority (negative), creation time, number, uid."""


@dataclass(slots=True)
class Node:
    name: str
    allocatable: Nanos
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    used: Nanos = field(default_factory=dict)

    def lacks(self, requests: Nanos) -> list[str]:
        """Resources of which there is not enough."""
        return [name for name, amount in requests.items() if amount > 0 and amount > self.free(name)]

    def free(self, name: str) -> int:
        return self.allocatable.get(name, 0) - self.used.get(name, 0)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a pod asks for, and where it may go."""

    requests: Nanos
    selector: Mapping[str, str]
    terms: tuple[tuple[tuple[Requirement, ...], tuple[Requirement, ...]], ...] | None
    """Alternatives of required node affinity: on labels, on fields. None: anywhere."""
    tolerations: tuple[Toleration, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Unfit:
    uid: str
    message: str


@dataclass(slots=True)
class _Shape:
    wish: Wish
    line: list[_Order] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    """Pods that have not been told why they wait."""
    told: str = ""


class Room:
    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._held: dict[str, tuple[str, Nanos]] = {}
        self._shapes: dict[bytes, _Shape] = {}
        self._waiting: dict[str, bytes] = {}
        self._open: dict[bytes, None] = {}
        """Shapes that may fit since something changed."""
        self._count = 0

    # --- what changes ---------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        known = self.nodes.get(node.name)
        node.used = known.used if known is not None else self._usage(node.name)
        self.nodes[node.name] = node
        self._reopen()

    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self._reopen()

    def _usage(self, name: str) -> Nanos:
        """Of a node that is new: pods may have named it before it came."""
        used: Nanos = {}
        for node, amounts in self._held.values():
            if node == name:
                _add(used, amounts, 1)
        return used

    def hold(self, uid: str, node: str, requests: Nanos) -> None:
        """A pod is on a node, or is about to be."""
        self.forget(uid)
        if uid in self._held:
            return
        amounts = {**requests, "pods": NANO}
        self._held[uid] = (node, amounts)
        if node in self.nodes:
            _add(self.nodes[node].used, amounts, 1)

    def holds(self, uid: str) -> bool:
        return uid in self._held

    def release(self, uid: str) -> None:
        found = self._held.pop(uid, None)
        if found is not None and found[0] in self.nodes:
            _add(self.nodes[found[0]].used, found[1], -1)
            self._reopen()

    def wait(self, uid: str, pod: Json) -> None:
        """A pod wants a node. What it asks for may have changed since it was last seen."""
        wish, key = wish_of(pod["spec"])
        if self._waiting.get(uid) == key or uid in self._held:
            return
        self.forget(uid)
        shape = self._shapes.setdefault(key, _Shape(wish))
        self._count += 1
        priority = int(pod["spec"].get("priority") or 0)
        created = pod["metadata"].get("creationTimestamp", "")
        heapq.heappush(shape.line, (-priority, created, self._count, uid))
        shape.untold.append(uid)
        self._waiting[uid] = key
        self._open[key] = None

    def waits(self, uid: str) -> bool:
        return uid in self._waiting

    def place(self, uid: str, wish: Wish) -> str | None:
        """A node for a pod that comes now, which it then holds room on. None where it has to wait, or others do already."""
        node = self._choose(wish) if not self._waiting else None
        if node is not None:
            self.hold(uid, node, wish.requests)
        return node

    def untold(self, uid: str) -> None:
        """What the pod was told did not reach it."""
        key = self._waiting.get(uid)
        if key is not None:
            self._shapes[key].untold.append(uid)
            self._open[key] = None

    def forget(self, uid: str) -> None:
        """A pod does not wait any more. Its place in the line is passed over when its turn comes."""
        self._waiting.pop(uid, None)

    def _reopen(self) -> None:
        self._open = dict.fromkeys(self._shapes)

    # --- what follows ---------------------------------------------------------------------------------------------

    def step(self, most: int = 256) -> list[Bind | Unfit]:
        """The next decisions; room that they take counts as taken. Empty: nothing more can be decided now."""
        found: list[Bind | Unfit] = []
        turns = [(head, key) for key in list(self._open) if (head := self._head(key)) is not None]
        heapq.heapify(turns)
        while turns and len(found) < most:
            head, key = heapq.heappop(turns)
            shape = self._shapes[key]
            node = self._choose(shape.wish)
            if node is None:
                found += self._tell(key, shape)
                self._open.pop(key, None)
                continue
            heapq.heappop(shape.line)
            self.hold(head[3], node, shape.wish.requests)
            found.append(Bind(head[3], node))
            following = self._head(key)
            if following is not None:
                heapq.heappush(turns, (following, key))
        return found

    def _head(self, key: bytes) -> _Order | None:
        """The first of a shape that still waits."""
        shape = self._shapes[key]
        while shape.line and self._waiting.get(shape.line[0][3]) != key:
            heapq.heappop(shape.line)
        if shape.line:
            return shape.line[0]
        del self._shapes[key]
        self._open.pop(key, None)
        return None

    def _choose(self, wish: Wish) -> str | None:
        fitting = [node for node in self.nodes.values() if not _refusals(node, wish)]
        return min(fitting, key=lambda node: (_fullness(node), node.name)).name if fitting else None

    def _tell(self, key: bytes, shape: _Shape) -> list[Unfit]:
        headline, details = explain(self.nodes.values(), shape.wish)
        if headline != shape.told:
            shape.told = headline
            shape.untold = [order[3] for order in shape.line]
        uids, shape.untold = dict.fromkeys(shape.untold), []
        return [Unfit(uid, headline + details) for uid in uids if self._waiting.get(uid) == key]


def explain(nodes: Iterable[Node], wish: Wish) -> tuple[str, str]:
    """Why no node takes a pod: the scheduler's words, and how much is missing where."""
    reasons: Counter[str] = Counter()
    details: list[str] = []
    total = 0
    for node in nodes:
        total += 1
        found = _refusals(node, wish)
        reasons.update(found)
        for name in node.lacks({**wish.requests, "pods": NANO}):
            asked = NANO if name == "pods" else wish.requests[name]
            free, all_of = _shown(name, node.free(name)), _shown(name, node.allocatable.get(name, 0))
            details.append(
                f"node {node.name} has {free} of {all_of} {name} free and {_shown(name, asked)} is requested"
            )
    if not total:
        return NO_NODES, ""
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    more = f"; and {len(details) - _DETAILS_MAX} more" if len(details) > _DETAILS_MAX else ""
    shown = f" ({'; '.join(details[:_DETAILS_MAX])}{more})" if details else ""
    return f"0/{total} nodes are available: {listed}.", shown


def _shown(name: str, nanos: int) -> str:
    return render(nanos, "binary" if name in ("memory", "ephemeral-storage") else "decimal")


def _refusals(node: Node, wish: Wish) -> list[str]:
    if node.unschedulable and untolerated((UNSCHEDULABLE,), wish.tolerations):
        return ["node(s) were unschedulable"]
    taints = node.taints if node.ready else (NOT_READY, *node.taints)
    taint = untolerated(taints, wish.tolerations)
    if taint is not None:
        return [f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"]
    if not _may_go(node, wish):
        return ["node(s) didn't match Pod's node affinity/selector"]
    short = [] if node.free("pods") >= NANO else ["Too many pods"]
    return short + [f"Insufficient {name}" for name in node.lacks(wish.requests)]


def _may_go(node: Node, wish: Wish) -> bool:
    if any(node.labels.get(key) != value for key, value in wish.selector.items()):
        return False
    if wish.terms is None:
        return True
    fields = {"metadata.name": node.name}
    return any(
        (on_labels or on_fields)
        and all(requirement.matches(node.labels) for requirement in on_labels)
        and all(requirement.matches(fields) for requirement in on_fields)
        for on_labels, on_fields in wish.terms
    )


def _fullness(node: Node) -> float:
    total = node.allocatable.get("cpu", 0)
    return node.used.get("cpu", 0) / total if total else 1.0


def wish_of(spec: Json) -> tuple[Wish, bytes]:
    """A pod's wish, and a key that equal wishes share."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    requests = pod_requests(spec)
    key = msgspec.json.encode(
        [requests, spec.get("nodeSelector") or {}, affinity, spec.get("tolerations") or []], order="sorted"
    )
    return Wish(requests, spec.get("nodeSelector") or {}, _terms(affinity), tolerations(spec)), key


def _terms(affinity: Json | None) -> tuple[tuple[tuple[Requirement, ...], tuple[Requirement, ...]], ...] | None:
    if affinity is None:
        return None
    return tuple(
        (_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")))
        for term in affinity.get("nodeSelectorTerms") or ()
    )


def _requirements(found: Any) -> tuple[Requirement, ...]:
    return tuple(Requirement(one["key"], one["operator"], tuple(one.get("values") or ())) for one in found or ())


def node_of(obj: Json) -> Node:
    """A Node object as it counts here."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = next((c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"), "True")
    return Node(
        obj["metadata"]["name"],
        {name: parse(str(text)).nanos for name, text in (status.get("allocatable") or {}).items()},
        obj["metadata"].get("labels") or {},
        tuple(Taint(one["key"], one["effect"], one.get("value", "")) for one in spec.get("taints") or ()),
        bool(spec.get("unschedulable")),
        ready == "True",
    )


def _add(total: Nanos, amounts: Nanos, sign: int) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount
