"""The forest of queues and cohorts by name. A cohort that is only referred to exists with no quota of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.core.model import Cell, Cohort, Queue, Quota
from fairway.core.quota.node import Node


class CycleError(Exception):
    """A cohort is its own ancestor."""

    def __init__(self, name: str) -> None:
        super().__init__(f"cohort {name!r} is its own ancestor: change the parent of one cohort on the way")
        self.name = name


class QuotaTree:
    __slots__ = ("_defined", "_parent_name", "cohorts", "cyclic", "queues")

    def __init__(self) -> None:
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self.cyclic: set[str] = set()
        self._defined: set[str] = set()
        self._parent_name: dict[str, str] = {}

    def put_queue(self, queue: Queue) -> Node:
        node = self.queues.get(queue.name)
        if node is None:
            node = self.queues[queue.name] = Node(queue.name, is_queue=True)
        node.own, node.weight = queue.quotas, queue.weight
        self._move(node, queue.cohort)
        return node

    def remove_queue(self, name: str) -> None:
        node = self.queues.pop(name, None)
        if node is not None:
            self._move(node, None)

    def put_cohort(self, cohort: Cohort) -> Node:
        node = self._cohort(cohort.name)
        self._defined.add(cohort.name)
        node.own, node.weight = cohort.quotas, cohort.weight
        self._move(node, cohort.parent)
        return node

    def remove_cohort(self, name: str) -> None:
        node = self.cohorts.get(name)
        if node is None:
            return
        self._defined.discard(name)
        node.own, node.weight = {}, 1.0
        self._move(node, None)
        self._forget_if_unused(node)

    def set_quotas(self, node: Node, quotas: Mapping[Cell, Quota]) -> None:
        node.own = quotas
        self._refresh_up(node)
        self._forget_lendable(node)

    def ancestors(self, cohort: str) -> list[str]:
        """The cohort and what is above it, nearest first; nothing for a cohort that is not there."""
        node = self.cohorts.get(cohort)
        if node is None:
            return []
        if cohort in self.cyclic:
            raise CycleError(cohort)
        return [node.name, *(above.name for above in node.path())]

    def is_cyclic(self, queue: str) -> bool:
        node = self.queues.get(queue)
        return node is not None and node.parent is not None and node.parent.name in self.cyclic

    def queues_under(self, root: Node) -> Iterator[Node]:
        if root.is_queue:
            yield root
            return
        yield from root.queues
        for child in root.children:
            yield from self.queues_under(child)

    def _cohort(self, name: str) -> Node:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = Node(name, is_queue=False)
        return node

    def _move(self, node: Node, parent_name: str | None) -> None:
        old = node.parent
        new = self._cohort(parent_name) if parent_name else None
        if old is not new:
            if old is not None:
                (old.queues if node.is_queue else old.children).remove(node)
            if new is not None:
                (new.queues if node.is_queue else new.children).append(node)
            node.parent = new
        if not node.is_queue:
            self._find_cycles()
        self._refresh_up(node)
        if old is not None and old is not new:
            self._refresh_up(old)
            self._forget_if_unused(old)
        self._reroot(node)
        self._forget_lendable(old)
        self._forget_lendable(node)

    def _forget_lendable(self, node: Node | None) -> None:
        """What a tree could lend follows from its quotas alone: keep it until they change."""
        if node is None or self._hangs_in_cycle(node):
            return
        pending = [node.root]
        while pending:
            current = pending.pop()
            current.lendable = None
            pending.extend(current.children)
            pending.extend(current.queues)

    def _forget_if_unused(self, node: Node) -> None:
        if node.name in self._defined or node.queues or node.children:
            return
        parent = node.parent
        self.cohorts.pop(node.name, None)
        if parent is not None:
            parent.children.remove(node)
            node.parent = None
            self._refresh_up(parent)
            self._forget_if_unused(parent)

    def _find_cycles(self) -> None:
        self.cyclic = set()
        for start in self.cohorts.values():
            seen: set[int] = set()
            node: Node | None = start
            while node is not None:
                if id(node) in seen or node.name in self.cyclic:
                    self.cyclic.add(start.name)
                    break
                seen.add(id(node))
                node = node.parent

    def _refresh_up(self, node: Node) -> None:
        if not node.is_queue and node.name in self.cyclic:
            return
        node.refresh()
        for above in node.path():
            if above.name in self.cyclic:
                return
            above.refresh()

    def _reroot(self, node: Node) -> None:
        top = node
        if not self._hangs_in_cycle(node):
            while top.parent is not None:
                top = top.parent
        pending = [node]
        seen: set[int] = set()
        while pending:
            current = pending.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            current.root = top
            pending.extend(current.children)
            pending.extend(current.queues)

    def _hangs_in_cycle(self, node: Node) -> bool:
        start = node.parent if node.is_queue else node
        return start is not None and start.name in self.cyclic
