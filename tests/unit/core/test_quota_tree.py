"""The quota tree, changed step by step, is the tree that one would build from what it has come to."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.core.model import UNLIMITED, Cohort, Queue, Quota, is_unlimited
from fairway.core.quota.node import Node
from fairway.core.quota.share import dominant_share
from fairway.core.quota.tree import CycleError, QuotaTree

CELLS = ("a/cpu", "b/cpu")


def _quotas(rng: random.Random) -> dict[str, Quota]:
    return {
        cell: Quota(rng.randint(0, 8), rng.choice([None, 0, 4]), rng.choice([None, 0, 2]))
        for cell in CELLS
        if rng.random() < 0.8
    }


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=150, deadline=None)
def test_a_tree_changed_step_by_step_equals_one_built_at_once(seed: int) -> None:
    rng = random.Random(seed)
    tree = QuotaTree()
    cohorts: dict[str, Cohort] = {}
    queues: dict[str, Queue] = {}
    usage: dict[str, dict[str, int]] = {}
    names = ["c0", "c1", "c2", "c3"]
    for _ in range(30):
        action = rng.random()
        if action < 0.35:
            cohort = Cohort(rng.choice(names), rng.choice([None, *names]), _quotas(rng), 1.0)
            cohorts[cohort.name] = cohort
            tree.put_cohort(cohort)
        elif action < 0.65:
            queue = Queue(f"q{rng.randint(0, 4)}", rng.choice([None, *names]), quotas=_quotas(rng))
            queues[queue.name] = queue
            tree.put_queue(queue)
        elif action < 0.72 and cohorts:
            name = rng.choice(sorted(cohorts))
            del cohorts[name]
            tree.remove_cohort(name)
        elif action < 0.77 and queues:
            name = rng.choice(sorted(queues))
            del queues[name]
            usage.pop(name, None)
            tree.remove_queue(name)
        elif queues:
            _use(rng, tree, usage, rng.choice(sorted(queues)))
    assert _picture(tree) == _picture(_built(cohorts, queues, usage))


def _use(rng: random.Random, tree: QuotaTree, usage: dict[str, dict[str, int]], name: str) -> None:
    cell, held = rng.choice(CELLS), usage.setdefault(name, {})
    if tree.is_cyclic(name):
        return
    if held.get(cell, 0) and rng.random() < 0.4:
        tree.queues[name].remove(cell, held.pop(cell))
    else:
        amount = rng.randint(1, 5)
        tree.queues[name].add(cell, amount)
        held[cell] = held.get(cell, 0) + amount


def _built(cohorts: dict[str, Cohort], queues: dict[str, Queue], usage: dict[str, dict[str, int]]) -> QuotaTree:
    tree = QuotaTree()
    for queue in queues.values():
        tree.put_queue(queue, usage.get(queue.name))
    for cohort in cohorts.values():
        tree.put_cohort(cohort)
    return tree


def _picture(tree: QuotaTree) -> object:
    def node(each: Node) -> object:
        parent = each.parent.name if each.parent is not None else None
        if each.name in tree.cyclic:
            return parent
        over = {cell: sorted(n.name for n in nodes) for cell, nodes in each.over.items() if nodes}
        amounts = [_nonzero(each.subtree), _nonzero(each.usage), _nonzero(each.reserve)]
        return (parent, each.root.name, amounts, each.height, over, [each.available(cell) for cell in CELLS])

    queues = {name: node(each) for name, each in tree.queues.items() if not tree.is_cyclic(name)}
    return ({name: node(each) for name, each in tree.cohorts.items()}, queues, tree.cyclic)


def _nonzero(amounts: dict[str, int]) -> dict[str, int]:
    return {cell: amount for cell, amount in amounts.items() if amount}


def test_a_cohort_that_is_its_own_ancestor_is_said_to_be_so() -> None:
    tree = QuotaTree()
    tree.put_cohort(Cohort("a", "b"))
    tree.put_cohort(Cohort("b", "a"))
    tree.put_queue(Queue("q", "a", quotas={"f/cpu": Quota(4)}))
    assert tree.is_cyclic("q")
    with pytest.raises(CycleError, match="change the parent of one cohort"):
        tree.ancestors("a")
    tree.put_cohort(Cohort("b"))
    assert not tree.is_cyclic("q")
    assert tree.cohorts["b"].subtree == {"f/cpu": 4}


def test_unlimited_quota_stays_unlimited_whatever_is_used_of_it() -> None:
    tree = QuotaTree()
    node = tree.put_queue(Queue("q", "c", quotas={"f/cpu": Quota(UNLIMITED)}))
    tree.put_queue(Queue("other", "c", quotas={"f/cpu": Quota(0)}))
    node.add("f/cpu", 10**15)
    assert is_unlimited(node.available("f/cpu"))
    assert is_unlimited(tree.queues["other"].available("f/cpu"))
    tree.queues["other"].add("f/cpu", 1000)
    assert dominant_share(tree.queues["other"]).borrowing
    node.remove("f/cpu", 10**15)
    assert node.usage["f/cpu"] == 0
