"""The official Python client: typed, dynamic, watching, informed and asynchronous."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import kubernetes.dynamic
import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Node, eventually

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def api(shared_node: Node) -> Iterator[client.ApiClient]:
    made = config.new_client_from_config(str(shared_node.kubeconfig))
    yield made
    made.close()


@pytest.fixture
def here(api: client.ApiClient) -> str:
    """A new namespace."""
    name = f"python-{next(_numbers)}"
    client.CoreV1Api(api).create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    return name


def _code(error: pytest.ExceptionInfo[ApiException]) -> int:
    code: int = error.value.status
    return code


def test_typed_objects_are_created_read_listed_in_pages_replaced_and_deleted(api: client.ApiClient, here: str) -> None:
    batch = client.BatchV1Api(api)
    container = client.V1Container(name="main", image="ubuntu:22.04", command=["true"])
    pod = client.V1PodTemplateSpec(spec=client.V1PodSpec(restart_policy="Never", containers=[container]))
    for number in range(5):
        made = batch.create_namespaced_job(
            here,
            client.V1Job(
                metadata=client.V1ObjectMeta(name=f"j{number}"), spec=client.V1JobSpec(template=pod, suspend=True)
            ),
        )
        assert made.spec.completion_mode == "NonIndexed"
    page = batch.list_namespaced_job(here, limit=2)
    names = [each.metadata.name for each in page.items]
    while page.metadata._continue:
        page = batch.list_namespaced_job(here, limit=2, _continue=page.metadata._continue)
        names += [each.metadata.name for each in page.items]
    assert names == [f"j{number}" for number in range(5)]
    read, replaced = _replace(batch, "j0", here)
    assert (replaced.spec.parallelism, replaced.metadata.labels["seen"]) == (3, "yes")
    assert replaced.metadata.creation_timestamp == read.metadata.creation_timestamp
    with pytest.raises(ApiException, match="the object has been modified") as stale:
        batch.replace_namespaced_job("j0", here, read)
    assert _code(stale) == 409
    batch.delete_namespaced_job("j0", here, propagation_policy="Background")
    with pytest.raises(ApiException, match='jobs.batch \\\\"j0\\\\" not found') as gone:
        batch.read_namespaced_job("j0", here)
    assert _code(gone) == 404
    batch.delete_collection_namespaced_job(here)
    assert batch.list_namespaced_job(here).items == []


def _replace(batch: client.BatchV1Api, name: str, here: str) -> tuple[client.V1Job, client.V1Job]:
    """Read, change and write back; again if the job's controller wrote in between."""
    while True:
        read = batch.read_namespaced_job(name, here)
        read.metadata.labels["seen"] = "yes"
        read.spec.parallelism = 3
        try:
            return read, batch.replace_namespaced_job(name, here, read)
        except ApiException as error:
            if error.status != 409:
                raise


def test_patches_of_every_type_and_status(api: client.ApiClient, here: str) -> None:
    batch, core = client.BatchV1Api(api), client.CoreV1Api(api)
    batch.create_namespaced_job(here, job("j", parallelism=1))
    assert batch.patch_namespaced_job("j", here, {"spec": {"parallelism": 2}}).spec.parallelism == 2
    operations = [{"op": "replace", "path": "/spec/parallelism", "value": 3}]
    assert batch.patch_namespaced_job("j", here, operations).spec.parallelism == 3
    status = batch.patch_namespaced_job_status("j", here, {"status": {"active": 1}})
    assert (status.status.active, status.metadata.generation) == (1, 3)
    core.create_namespaced_config_map(here, config_map("c", a="1", b="2"))
    merged = core.patch_namespaced_config_map("c", here, {"data": {"a": None, "c": "3"}})
    assert merged.data == {"b": "2", "c": "3"}
    assert core.create_namespaced_config_map(here, config_map("d"), dry_run="All").metadata.name == "d"
    with pytest.raises(ApiException):
        core.read_namespaced_config_map("d", here)


def test_custom_objects_in_either_version(api: client.ApiClient) -> None:
    custom = client.CustomObjectsApi(api)
    queues = {"group": "kueue.x-k8s.io", "plural": "clusterqueues"}
    made = custom.create_cluster_custom_object(version="v1beta2", body=cluster_queue("from-python"), **queues)
    assert made["spec"]["queueingStrategy"] == "BestEffortFIFO"
    older = custom.get_cluster_custom_object(version="v1beta1", name="from-python", **queues)
    assert older["spec"]["cohort"] == "all"
    patch = {"spec": {"cohortName": "some"}}
    patched = custom.patch_cluster_custom_object(version="v1beta2", name="from-python", body=patch, **queues)
    assert patched["spec"]["cohortName"] == "some"
    condition = {
        "type": "Active",
        "status": "True",
        "reason": "Ready",
        "message": "open",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"status": {"conditions": [condition]}}
    shown = custom.patch_cluster_custom_object_status(version="v1beta2", name="from-python", body=status, **queues)
    assert shown["status"]["conditions"][0]["type"] == "Active"
    custom.delete_cluster_custom_object(version="v1beta2", name="from-python", **queues)


def test_watches_resume_from_a_version_and_say_when_it_is_too_old(api: client.ApiClient, here: str) -> None:
    core = client.CoreV1Api(api)
    start = core.list_namespaced_config_map(here).metadata.resource_version
    core.create_namespaced_config_map(here, config_map("c", a="1"))
    core.patch_namespaced_config_map("c", here, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("c", here)
    seen = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_config_map, here, resource_version=start, timeout_seconds=20):
        if event["object"].metadata.name == "c":
            seen.append((event["type"], event["object"].data))
        if event["type"] == "DELETED":
            stream.stop()
    assert seen == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]


def test_the_dynamic_client_applies_on_the_server(api: client.ApiClient, here: str) -> None:
    dynamic = kubernetes.dynamic.DynamicClient(api)
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    applied = maps.server_side_apply(body=config_map("c", a="1"), name="c", namespace=here, field_manager="me")
    assert applied.data.a == "1"
    with pytest.raises(ApiException, match='conflict with \\\\"me\\\\": .data.a'):
        maps.server_side_apply(body=config_map("c", a="2"), name="c", namespace=here, field_manager="you")
    forced = maps.server_side_apply(
        body=config_map("c", a="2"), name="c", namespace=here, field_manager="you", force_conflicts=True
    )
    assert forced.data.a == "2"
    queues = dynamic.resources.get(api_version="kueue.x-k8s.io/v1beta2", kind="ClusterQueue")
    queues.server_side_apply(body=cluster_queue("dynamic"), name="dynamic", field_manager="me")
    assert "dynamic" in [each.metadata.name for each in queues.get().items]
    assert dynamic.resources.search(short_names=["crp"])
    queues.delete(name="dynamic")


def test_pods_start_pending_and_logs_of_none_are_not_found(api: client.ApiClient, here: str) -> None:
    core = client.CoreV1Api(api)
    pod = {
        "metadata": {"generateName": "p-"},
        "spec": {"schedulingGates": [{"name": "example.com/later"}], "containers": [{"name": "c", "image": "i"}]},
    }
    made = core.create_namespaced_pod(here, pod)
    assert made.metadata.name.startswith("p-")
    assert made.status.phase == "Pending"
    with pytest.raises(ApiException, match='pods \\\\"nope\\\\" not found') as missing:
        core.read_namespaced_pod_log("nope", here)
    assert _code(missing) == 404
    core.delete_namespaced_pod(made.metadata.name, here, grace_period_seconds=0)
    assert core.list_namespaced_pod(here).items == []


def test_an_informer_keeps_a_mirror(api: client.ApiClient, here: str) -> None:
    module = pytest.importorskip("kubernetes.informer", reason="this kubernetes client has no informer")
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(here, config_map("before"))
    seen: list[tuple[str, str]] = []
    informer = module.SharedInformer(core.list_namespaced_config_map, namespace=here)
    for kind in (module.ADDED, module.MODIFIED, module.DELETED):
        informer.add_event_handler(kind, lambda obj, kind=kind: seen.append((kind, obj.metadata.name)))
    informer.start()
    try:
        eventually(lambda: ("ADDED", "before") in seen, "the informer has listed")
        core.create_namespaced_config_map(here, config_map("c"))
        core.patch_namespaced_config_map("c", here, {"data": {"a": "1"}})
        eventually(lambda: ("MODIFIED", "c") in seen, "the informer has seen the change")
        assert {each.metadata.name for each in informer.cache.list()} == {"before", "c"}
        core.delete_namespaced_config_map("c", here)
        eventually(lambda: ("DELETED", "c") in seen, "the informer has seen the deletion")
    finally:
        informer.stop()


def test_the_asynchronous_client_does_the_same(shared_node: Node, here: str) -> None:
    aio = pytest.importorskip("kubernetes.aio", reason="this kubernetes client has no asynchronous side")
    asyncio.run(_asynchronously(aio, shared_node, here))


async def _asynchronously(aio: Any, node: Node, here: str) -> None:
    from kubernetes.aio import client as aclient
    from kubernetes.aio import config as aconfig
    from kubernetes.aio import watch as awatch

    assert aio is not None
    await aconfig.load_kube_config(str(node.kubeconfig))
    async with aclient.ApiClient() as api:
        core = aclient.CoreV1Api(api)
        made = await core.create_namespaced_config_map(here, config_map("c", a="1"))
        assert made.data == {"a": "1"}
        start = made.metadata.resource_version
        await core.patch_namespaced_config_map("c", here, {"data": {"a": "2"}})
        await core.delete_namespaced_config_map("c", here)
        seen = []
        async with awatch.Watch() as stream:
            async for event in stream.stream(
                core.list_namespaced_config_map, here, resource_version=start, timeout_seconds=20
            ):
                seen.append(event["type"])
                if event["type"] == "DELETED":
                    break
        assert seen == ["MODIFIED", "DELETED"]
