"""Which kinds a space serves. Built-in ones are there from the start; a user's CRD adds and removes kinds while it runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from fairway.kinds.kind import Kind, Version


class Registry:
    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._by_bucket: dict[str, Kind] = {}
        self._by_route: dict[tuple[str, str, str], tuple[Kind, Version]] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        self.generation = 0
        """Changes when the set of kinds does: for caches of discovery and OpenAPI."""
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        self.remove(kind.bucket)
        self._by_bucket[kind.bucket] = kind
        self._by_name[kind.group, kind.name] = kind
        for version in kind.versions:
            if version.served:
                self._by_route[kind.group, version.name, kind.plural] = (kind, version)
        self.generation += 1

    def remove(self, bucket: str) -> None:
        kind = self._by_bucket.pop(bucket, None)
        if kind is None:
            return
        self._by_name.pop((kind.group, kind.name), None)
        for version in kind.versions:
            self._by_route.pop((kind.group, version.name, kind.plural), None)
        self.generation += 1

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_bucket.values())

    def route(self, group: str, version: str, plural: str) -> tuple[Kind, Version] | None:
        return self._by_route.get((group, version, plural))

    def bucket(self, name: str) -> Kind | None:
        return self._by_bucket.get(name)

    def named(self, group: str, name: str) -> Kind | None:
        """The kind of a group by its name (Job, ClusterQueue …)."""
        return self._by_name.get((group, name))

    def of(self, api_version: str, name: str) -> Kind | None:
        group, slash, _version = api_version.rpartition("/")
        return self._by_name.get((group if slash else "", name))

    def close_to(self, plural: str) -> str:
        """A resource name that may have been meant, or empty."""
        names = [kind.plural for kind in self] + [short for kind in self for short in kind.short_names]
        return next(iter(difflib.get_close_matches(plural, names, n=1)), "")
