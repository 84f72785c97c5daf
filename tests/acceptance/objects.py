"""Objects that several tests use."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def job(name: str, **spec: Any) -> Obj:
    container = {"name": "main", "image": "ubuntu:22.04", "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": template, **spec},
    }


def config_map(name: str, /, **data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def cluster_queue(name: str, **spec: Any) -> Obj:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"cohortName": "all", "namespaceSelector": {}, **spec},
    }


def event(name: str, about: Obj, *, reason: str, message: str, namespace: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "name": about["metadata"]["name"],
            "namespace": about["metadata"].get("namespace", ""),
            "uid": about["metadata"]["uid"],
        },
        "reason": reason,
        "message": message,
        "type": "Normal",
        "count": 2,
        "source": {"component": "harbour-master"},
        "firstTimestamp": about["metadata"]["creationTimestamp"],
        "lastTimestamp": about["metadata"]["creationTimestamp"],
    }
