"""kubectl 1.29 to 1.33, each through the same short script. They lie beside the cloud SDK's kubectl; without it, this is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Kubectl, Node, find_versions

VERSIONS = find_versions()
KEPT = "Warning: Deployments are only kept here: nothing runs because of them"


@pytest.mark.skipif(not VERSIONS, reason="no kubectl.1.29 … kubectl.1.33 beside the kubectl on the PATH")
@pytest.mark.parametrize("program", VERSIONS, ids=lambda path: path.name)
def test_every_version_of_kubectl_works_without_a_warning(shared_node: Node, program: Path) -> None:
    name = program.name.replace(".", "-")
    cluster = shared_node.kubectl(program)
    cluster("create", "namespace", name)
    kubectl = cluster.with_("-n", name)
    _applies(kubectl, name)
    _creates_and_asks(kubectl)
    assert cluster("delete", "cq", name).err == ""
    assert cluster("delete", "namespace", name).out == f'namespace "{name}" deleted\n'


def _applies(kubectl: Kubectl, queue: str) -> None:
    objects = yaml.safe_dump_all([job("a", parallelism=1), cluster_queue(queue)])
    first = kubectl("apply", "-f", "-", stdin=objects)
    assert (first.lines, first.err) == (["job.batch/a created", f"clusterqueue.kueue.x-k8s.io/{queue} created"], "")
    assert [line.split()[-1] for line in kubectl("apply", "-f", "-", stdin=objects).lines] == ["unchanged", "unchanged"]
    changed = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(job("a", parallelism=2)))
    assert (changed.out, changed.err) == ("job.batch/a configured\n", "")
    assert kubectl("get", "job", "a").rows[0][0] == "a"
    assert "Parallelism:" in kubectl("describe", "job", "a").out
    assert "cohortName" in kubectl("explain", "clusterqueue.spec").out
    kubectl("wait", "--for=jsonpath={.spec.parallelism}=2", "job/a", "--timeout=5s")
    assert kubectl.apply(config_map("c", a="1"), flags=("--server-side",)) == ["configmap/c serverside-applied"]
    moved = kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(job("a", parallelism=2)))
    assert (moved.out, moved.err) == ("job.batch/a serverside-applied\n", "")
    kubectl("label", "job", "a", "x=y")
    kubectl("patch", "cq", queue, "--type=merge", "-p", '{"spec":{"stopPolicy":"Hold"}}')


def _creates_and_asks(kubectl: Kubectl) -> None:
    for command in (
        ("create", "job", "hello", "--image=busybox", "--", "true"),
        ("create", "configmap", "made", "--from-literal=a=b"),
        ("create", "secret", "generic", "s", "--from-literal=a=b"),
        ("create", "serviceaccount", "robot"),
        ("create", "quota", "q", "--hard=cpu=1"),
        ("create", "role", "r", "--verb=get", "--resource=pods"),
        ("create", "rolebinding", "rb", "--role=r", "--user=bob"),
        ("create", "deployment", "web", "--image=nginx"),
        ("create", "token", "robot"),
        ("run", "p", "--image=nginx"),
        ("auth", "can-i", "create", "jobs"),
        ("auth", "can-i", "--list"),
        ("auth", "whoami"),
        ("scale", "deployment", "web", "--replicas=2"),
        ("events",),
        ("api-resources",),
    ):
        said = kubectl(*command)
        strange = [line for line in said.err.splitlines() if "arning" in line and line != KEPT]
        assert not strange, str(said)
    assert kubectl("get", "all", "-o", "name").lines
