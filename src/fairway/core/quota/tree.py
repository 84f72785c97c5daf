"""The forest of queues and cohorts by name. A cohort that is only referred to exists with no quota of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from fairway.core.model import Amounts, Cell, Cohort, Queue, Quota
from fairway.core.quota.node import Contribution, Node


class CycleError(Exception):
    """A cohort is its own ancestor."""

    def __init__(self, name: str) -> None:
        super().__init__(f"cohort {name!r} is its own ancestor: change the parent of one cohort on the way")
        self.name = name


_NOTHING: Contribution = ({}, {})


class QuotaTree:
    """A change of one node is passed up its path as a difference; siblings are not looked at."""

    __slots__ = ("_defined", "_epochs", "cohorts", "cyclic", "queues")

    def __init__(self) -> None:
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self.cyclic: set[str] = set()
        self._defined: set[str] = set()
        self._epochs = count(1)

    def put_queue(self, queue: Queue, usage: Amounts | None = None) -> Node:
        """A new or changed queue; `usage` is what is held already in one that was not known."""
        node = self.queues.get(queue.name)
        if node is None:
            node = self.queues[queue.name] = Node(queue.name, is_queue=True)
            node.usage = dict(usage or {})
        self._put(node, queue.quotas, queue.weight, queue.cohort)
        return node

    def remove_queue(self, name: str) -> None:
        node = self.queues.pop(name, None)
        if node is not None:
            self._put(node, {}, 1.0, None)

    def put_cohort(self, cohort: Cohort) -> Node:
        node = self._cohort(cohort.name)
        self._defined.add(cohort.name)
        self._put(node, cohort.quotas, cohort.weight, cohort.parent)
        return node

    def remove_cohort(self, name: str) -> None:
        node = self.cohorts.get(name)
        if node is None:
            return
        self._defined.discard(name)
        self._put(node, {}, 1.0, None)
        self._forget_if_unused(node)

    def set_quotas(self, node: Node, quotas: Mapping[Cell, Quota]) -> None:
        before = node.contribution()
        node.own = quotas
        node.refresh()
        self._pass_up(node, before)

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
        return node is not None and self._hangs_in_cycle(node)

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

    def _put(self, node: Node, quotas: Mapping[Cell, Quota], weight: float, parent_name: str | None) -> None:
        node.weight = weight
        new = self._cohort(parent_name) if parent_name else None
        if node.parent is new:
            self.set_quotas(node, quotas)
            return
        old = node.parent
        self._detach(node)
        node.own = quotas
        node.refresh()
        self._attach(node, new)
        if old is not None:
            self._forget_if_unused(old)

    def _detach(self, node: Node) -> None:
        parent = node.parent
        if parent is None:
            return
        above = parent.contribution()
        self._siblings(parent, node).remove(node)
        parent.child_changed(node, node.contribution(), _NOTHING, gone=True)
        parent.refresh()
        node.parent = None
        if not self._after_move(node):
            self._pass_up(parent, above)

    def _attach(self, node: Node, parent: Node | None) -> None:
        if parent is None:
            self._after_move(node)
            self._pass_up(node, node.contribution())
            return
        above = parent.contribution()
        self._siblings(parent, node).append(node)
        node.parent = parent
        if self._after_move(node):
            return
        parent.child_changed(node, _NOTHING, node.contribution())
        parent.refresh()
        self._pass_up(parent, above)

    def _siblings(self, parent: Node, node: Node) -> list[Node]:
        return parent.queues if node.is_queue else parent.children

    def _pass_up(self, node: Node, before: Contribution) -> None:
        """Ancestors take over the difference, each from the one below; in a cycle there is no up."""
        while node.parent is not None and node.parent.name not in self.cyclic:
            parent = node.parent
            above = parent.contribution()
            parent.child_changed(node, before, node.contribution())
            parent.refresh()
            node, before = parent, above
        node.root.quota_epoch = next(self._epochs)

    def _forget_if_unused(self, node: Node) -> None:
        if node.name in self._defined or node.queues or node.children or node.name not in self.cohorts:
            return
        parent = node.parent
        self._detach(node)
        self.cohorts.pop(node.name, None)
        if parent is not None:
            self._forget_if_unused(parent)

    def _after_move(self, node: Node) -> bool:
        """Says whether all was added up anew, so that there is no difference left to pass on."""
        cyclic = self.cyclic if node.is_queue else self._find_cycles()
        rebuilds = cyclic != self.cyclic
        if rebuilds:
            self.cyclic = cyclic
            self._rebuild()
        self._reroot(node)
        return rebuilds

    def _find_cycles(self) -> set[str]:
        cyclic: set[str] = set()
        for start in self.cohorts.values():
            seen: set[int] = set()
            node: Node | None = start
            while node is not None:
                if id(node) in seen or node.name in cyclic:
                    cyclic.add(start.name)
                    break
                seen.add(id(node))
                node = node.parent
        return cyclic

    def _rebuild(self) -> None:
        """A cycle came or went, which differences cannot express: add up again what is in no cycle."""
        for cohort in self.cohorts.values():
            cohort.lent, cohort.usage, cohort.over = {}, {}, {}
        for cohort in self.cohorts.values():
            if cohort.name not in self.cyclic and cohort.parent is None:
                self._add_up(cohort)
        for cohort in self.cohorts.values():
            if cohort.name in self.cyclic:
                cohort.refresh()
            elif cohort.parent is None:
                self._reroot(cohort)

    def _add_up(self, cohort: Node) -> None:
        for child in cohort.children:
            self._add_up(child)
        for child in (*cohort.children, *cohort.queues):
            cohort.child_changed(child, _NOTHING, child.contribution())
        cohort.refresh()

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
        top.quota_epoch = next(self._epochs)

    def _hangs_in_cycle(self, node: Node) -> bool:
        start = node.parent if node.is_queue else node
        return start is not None and start.name in self.cyclic
