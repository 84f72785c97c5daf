"""Feature gates of Kueue's Configuration decide what a node accepts and fills in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control import configuration
from fairway.control.resources import WORKLOADS
from fairway.node import Node

Json = dict[str, Any]


def workload(requests: Json | None = None, annotations: Json | None = None, **pod_set: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {"cpu": "1"}}}
    template = {"metadata": pod_set.pop("metadata", {}), "spec": {"containers": [container], "restartPolicy": "Never"}}
    metadata = {"name": "w", "namespace": "default", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"podSets": [{"name": "main", "count": 2, "template": template, **pod_set}]}}


def written(folder: Path, gates: str, body: Json) -> Json | str:
    """The object as it is stored, or why it is refused."""

    async def scenario() -> Json | str:
        text = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {{{gates}}}\n"
        node = Node(folder, config=configuration.load(text))
        await node.start()
        try:
            return (await LocalClient(node.spaces[0]).create(WORKLOADS, body, "default")).json()
        except ApiError as error:
            return error.message
        finally:
            await node.stop()

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("gate", "body", "why"),
    [
        (
            "WorkloadValidateResourcesAreNonNegative",
            workload({"cpu": "-1"}),
            "must be greater than or equal to 0",
        ),
        (
            "AdmissionGatedBy",
            workload(annotations={"kueue.x-k8s.io/admission-gated-by": "no domain"}),
            "admission-gated-by",
        ),
        (
            "WorkloadValidationForPodSetMetadata",
            workload(metadata={"labels": {"not a label": "x"}}),
            "not a label",
        ),
    ],
)
def test_a_gate_that_is_closed_lets_pass_what_it_would_refuse(tmp_path: Path, gate: str, body: Json, why: str) -> None:
    refused = written(tmp_path / "open", "", body)
    assert isinstance(refused, str), refused
    assert why in refused
    passed = written(tmp_path / "closed", f"{gate}: false", body)
    assert isinstance(passed, dict), passed


def test_a_gate_that_is_open_refuses_what_nobody_looks_at_without_it(tmp_path: Path) -> None:
    body = workload(annotations={"kueue.x-k8s.io/priority-boost": "high"})
    assert isinstance(written(tmp_path / "closed", "", body), dict)
    assert "priority-boost" in str(written(tmp_path / "open", "PriorityBoost: true", body))


def test_without_partial_admission_a_smaller_count_is_not_kept(tmp_path: Path) -> None:
    body = workload(minCount=1)
    kept = written(tmp_path / "open", "", body)
    assert isinstance(kept, dict)
    assert kept["spec"]["podSets"][0]["minCount"] == 1
    dropped = written(tmp_path / "closed", "PartialAdmission: false", body)
    assert isinstance(dropped, dict)
    assert "minCount" not in dropped["spec"]["podSets"][0]
