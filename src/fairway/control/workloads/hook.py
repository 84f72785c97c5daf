"""Holds a new job back before it is stored: the part of Kueue's webhooks that changes or refuses jobs.

A job that names no queue gets the LocalQueue `default` of its namespace, if there is one. A queue name that is only an annotation becomes
a label too, so that selectors find it. A job that is managed starts suspended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.api.request import Admission
from fairway.api.space import Space
from fairway.control.adapters import JobAdapter, Json, names
from fairway.control.configuration import Configuration
from fairway.control.workloads.managed import Managed
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.kinds.kind import convert

DEFAULT = "default"
_WEBHOOK = 'admission webhook "v{kind}.kb.io" denied the request: '


class JobHook:
    """An admission hook of a space."""

    def __init__(self, space: Space, config: Configuration, adapters: Sequence[JobAdapter]) -> None:
        self._space = space
        self._config = config
        self._managed = Managed(config, adapters, self._namespace_labels)
        self._adapters = {
            (adapter.resource.group, adapter.resource.plural): adapter
            for adapter in adapters
            if adapter.framework in config.integrations.frameworks
        }

    def __call__(self, admission: Admission) -> None:
        kind = admission.target.kind
        adapter = self._adapters.get((kind.group, kind.plural))
        if adapter is None or admission.target.subresource:
            return
        if admission.operation == "CREATE":
            self._on_create(adapter, admission.new)
            admission.warnings += self._missing_priority(admission.new)
        elif admission.operation == "UPDATE" and admission.old is not None:
            self._on_update(adapter, admission.new, admission.old)

    # --- create -----------------------------------------------------------------------------------------------------

    def _on_create(self, adapter: JobAdapter, new: Any) -> None:
        for owner in new.metadata.owner_references or ():
            if owner.controller is True and self._managed.is_job(owner.api_version, owner.kind):
                return
        self._name_queue(new)
        labels = _pairs(new.metadata.labels)
        annotations = _pairs(new.metadata.annotations)
        marked = (
            names.QUEUE_NAME in labels or names.PREBUILT_WORKLOAD in labels or names.PREBUILT_WORKLOAD in annotations
        )
        if not marked and not self._config.manage_jobs_without_queue_name:
            return
        if not marked and not self._managed.by_namespace(codec.as_json(new)):
            return
        self._default_priority(new, labels)
        if self._is_dispatched(new.metadata.namespace or "default", labels.get(names.QUEUE_NAME, "")):
            _dispatch(new)
        path = getattr(adapter, "suspend_path", None)
        if path == ("spec", "suspend"):
            new.spec.suspend = True
            return
        _overwrite(new, adapter.suspend(codec.as_json(new)))

    def _name_queue(self, new: Any) -> None:
        labels, annotations = _pairs(new.metadata.labels), _pairs(new.metadata.annotations)
        if labels.get(names.QUEUE_NAME):
            return
        name = annotations.get(names.QUEUE_NAME, "")
        if not name:
            namespace = new.metadata.namespace or "default"
            if self._find("LocalQueue", f"{namespace}/{DEFAULT}") is None:
                return
            name = DEFAULT
        new.metadata.labels = {**labels, names.QUEUE_NAME: name}

    def _default_priority(self, new: Any, labels: dict[str, str]) -> None:
        if names.PRIORITY_CLASS in labels or not self._config.gate("WorkloadPriorityClassDefaulting"):
            return
        if self._find("WorkloadPriorityClass", f"/{DEFAULT}") is not None:
            new.metadata.labels = {**_pairs(new.metadata.labels), names.PRIORITY_CLASS: DEFAULT}

    def _missing_priority(self, new: Any) -> list[str]:
        """A class that comes later counts from then on; who mistyped one should not have to wait to find out."""
        name = _pairs(new.metadata.labels).get(names.PRIORITY_CLASS, "")
        if not name or self._find("WorkloadPriorityClass", f"/{name}") is not None:
            return []
        return [
            f"there is no WorkloadPriorityClass {name}: until there is, the label {names.PRIORITY_CLASS} means nothing"
        ]

    def _is_dispatched(self, namespace: str, queue: str) -> bool:
        """Whether the queue hands its work to other clusters."""
        tenant = self._find("LocalQueue", f"{namespace}/{queue}") if queue else None
        name = ((tenant or {}).get("spec") or {}).get("clusterQueue")
        cluster_queue = self._find("ClusterQueue", f"/{name}") if name else None
        strategy = ((cluster_queue or {}).get("spec") or {}).get("admissionChecksStrategy") or {}
        for each in strategy.get("admissionChecks") or ():
            check = self._find("AdmissionCheck", f"/{each['name']}")
            if check is not None and (check.get("spec") or {}).get("controllerName") == MULTIKUEUE:
                return True
        return False

    # --- update -----------------------------------------------------------------------------------------------------

    def _on_update(self, adapter: JobAdapter, new: Any, old: Any) -> None:
        before, after = _pairs(old.metadata.labels), _pairs(new.metadata.labels)
        queues = before.get(names.QUEUE_NAME, ""), after.get(names.QUEUE_NAME, "")
        prebuilt = before.get(names.PREBUILT_WORKLOAD, ""), after.get(names.PREBUILT_WORKLOAD, "")
        if queues[0] == queues[1] and prebuilt[0] == prebuilt[1]:
            return
        if adapter.is_suspended([codec.as_json(old)]):
            return
        for label, (was, wanted) in ((names.QUEUE_NAME, queues), (names.PREBUILT_WORKLOAD, prebuilt)):
            if was != wanted and was:
                why = f'metadata.labels[{label}]: Invalid value: "{wanted}": field is immutable'
                raise ApiError(403, "Forbidden", _WEBHOOK.format(kind=adapter.kind.lower()) + why)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _find(self, kind: str, path: str) -> Json | None:
        found = self._space.registry.of("kueue.x-k8s.io/v1beta2", kind)
        record = self._space.store.latest(found.home.bucket, path) if found is not None else None
        if record is None:
            return None
        result: Json = msgspec.json.decode(record.value)
        return result

    def _namespace_labels(self, name: str) -> dict[str, str] | None:
        record = self._space.store.latest("namespaces", f"/{name}")
        if record is None:
            return None
        labels: dict[str, str] = msgspec.json.decode(record.value)["metadata"].get("labels") or {}
        return labels


def _pairs(given: Any) -> dict[str, str]:
    return dict(given) if given else {}


def _dispatch(new: Any) -> None:
    spec = getattr(new, "spec", None)
    if spec is not None and hasattr(spec, "managed_by") and not spec.managed_by:
        spec.managed_by = MULTIKUEUE


def _overwrite(new: Any, wanted: Json) -> None:
    """Take over what an adapter made of the object, field by field, since whoever called holds on to it."""
    typed = convert(wanted, type(new))
    for field in msgspec.structs.fields(type(new)):
        value = getattr(typed, field.name)
        if value is not UNSET:
            setattr(new, field.name, value)


__all__ = ["DEFAULT", "JobHook"]
