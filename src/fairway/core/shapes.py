"""One object per distinct shape of work, so that a million alike cost one shape and comparing shapes is `is`."""

from __future__ import annotations

from weakref import WeakValueDictionary

from fairway.core.model import PodSet, Shape


class Shapes:
    """Interns shapes; a shape that no workload has any more is forgotten."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: WeakValueDictionary[object, Shape] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def intern(
        self, priority: int, pod_sets: tuple[PodSet, ...], allowed_flavors: frozenset[str] | None = None
    ) -> Shape:
        key = (priority, tuple(_key(pod_set) for pod_set in pod_sets), allowed_flavors)
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = Shape(key, priority, pod_sets, allowed_flavors)
        return shape


def _key(pod_set: PodSet) -> tuple[object, ...]:
    return (
        pod_set.name,
        pod_set.count,
        pod_set.full_count,
        pod_set.min_count,
        tuple(sorted(pod_set.requests.items())),
        tuple(sorted(pod_set.node_selector.items())),
        pod_set.affinity,
        pod_set.tolerations,
        pod_set.group,
        pod_set.wants_topology,
        pod_set.topology_levels,
    )
