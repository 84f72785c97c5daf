"""Nodes, kubectls and namespaces for acceptance tests."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import SEED, Kubectl, Node, find_kubectl, seed_blocks

_numbers = itertools.count(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed is told of with what its nodes had to say: nobody can ask them any more afterwards."""
    report = yield
    if report.when == "call" and report.failed:
        used: dict[str, Any] = getattr(item, "funcargs", {})
        for name, node in used.items():
            if isinstance(node, Node):
                report.sections.append((f"what {name} had to say", node.story()))
    return report


@pytest.fixture(scope="session")
def shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The node that most tests share. Whatever they do to it, it must never meet an error that it did not expect."""
    node = Node(tmp_path_factory.mktemp("node")).start()
    try:
        yield node
        assert "Traceback" not in node.log(), node.log()
    finally:
        node.stop()


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[Node]:
    """A node of the test's own, to kill."""
    node = Node(tmp_path).start()
    try:
        yield node
    finally:
        node.stop()


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    found = find_kubectl()
    if found is None:
        pytest.skip("kubectl is not on the PATH: install it to run this test")
    return found


@pytest.fixture
def cluster(shared_node: Node, kubectl_program: Path) -> Kubectl:
    """kubectl as the administrator of the shared node."""
    return shared_node.kubectl(kubectl_program)


@pytest.fixture
def namespace(cluster: Kubectl) -> str:
    """A new namespace."""
    name = f"space-{next(_numbers)}"
    cluster("create", "namespace", name)
    return name


@pytest.fixture
def kubectl(cluster: Kubectl, namespace: str) -> Kubectl:
    """kubectl as the administrator, in a new namespace."""
    return cluster.with_("-n", namespace)


@pytest.fixture(scope="session")
def seed() -> list[str]:
    if not SEED.is_file():
        pytest.skip(f"{SEED} is missing: set FAIRWAY_SHARED to the folder that has it")
    return seed_blocks()
