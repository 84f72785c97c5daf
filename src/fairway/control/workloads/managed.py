"""Which jobs queueing is about: those that name a queue, and where it is configured so, those that name none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairway.control.adapters import JobAdapter, Json
from fairway.control.configuration import Configuration

_MARKS = (b"kueue.x-k8s.io/queue-name", b"kueue.x-k8s.io/prebuilt-workload-name", b"kueue.x-k8s.io/managed")

NamespaceLabels = Callable[[str], Mapping[str, str] | None]


class Managed:
    def __init__(self, config: Configuration, adapters: Sequence[JobAdapter], labels_of: NamespaceLabels) -> None:
        self._everything = config.manage_jobs_without_queue_name
        self._namespaces = config.managed_namespaces()
        self._labels_of = labels_of
        self._kinds = {(adapter.resource.group, adapter.kind) for adapter in adapters}
        self._kinds |= {(each.group, each.kind) for each in config.external_kinds()}

    def maybe(self, value: bytes) -> bool:
        """A cheap look at an object's bytes: False is certain."""
        if self._everything:
            return True
        for mark in _MARKS:  # noqa: SIM110 (a generator here costs three times as much)
            if mark in value:
                return True
        return False

    def is_managed(self, adapter: JobAdapter, obj: Json) -> bool:
        if adapter.skip(obj) or self.is_child(obj):
            return False
        return bool(adapter.queue_name([obj]) or adapter.prebuilt_workload([obj])) or self.by_namespace(obj)

    def by_namespace(self, obj: Json) -> bool:
        """Whether it is managed although it names no queue."""
        if not self._everything:
            return False
        labels = self._labels_of((obj.get("metadata") or {}).get("namespace", ""))
        return labels is not None and self._namespaces.matches(labels)

    def is_child(self, obj: Json) -> bool:
        """What another kind of job made follows that job."""
        owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
        return any(
            owner.get("controller") and self.is_job(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
            for owner in owners
        )

    def is_job(self, api_version: str, kind: str) -> bool:
        return (api_version.rpartition("/")[0], kind) in self._kinds
