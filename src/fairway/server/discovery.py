"""Discovery: which groups, versions and resources there are, in the aggregated and in the older form."""

from __future__ import annotations

import hashlib
from typing import Any

from fairway.kinds.kind import Kind, Version
from fairway.kinds.registry import Registry
from fairway.kinds.types import encode

# Subresources that are not the object itself: what they take or return, and their verbs.
SUBRESOURCES: dict[tuple[str, str], tuple[str, str, str, tuple[str, ...]]] = {
    ("pods", "log"): ("", "v1", "Pod", ("get",)),
    ("pods", "eviction"): ("policy", "v1", "Eviction", ("create",)),
    ("pods", "binding"): ("", "v1", "Binding", ("create",)),
    ("serviceaccounts", "token"): ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    ("namespaces", "finalize"): ("", "v1", "Namespace", ("update",)),
}
# Kinds that are asked and answered, never stored.
VIRTUAL: tuple[tuple[str, str, str, str, bool], ...] = (
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", False),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", False),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", True),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False),
    ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", False),
)
# Subresources of kinds that have another home: listed without the kind itself, so that its name stays unambiguous.
PARTS: tuple[tuple[str, str, str, str, str, bool], ...] = tuple(
    ("visibility.kueue.x-k8s.io", version, plural, "pendingworkloads", "PendingWorkloadsSummary", namespaced)
    for version in ("v1beta2", "v1beta1")
    for plural, namespaced in (("clusterqueues", False), ("localqueues", True))
)
_STATUS_VERBS = ("get", "patch", "update")


class Discovery:
    """Documents of one registry, made when asked for and kept until its kinds change."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._cache: dict[tuple[str, ...], tuple[bytes, str]] = {}

    def aggregated(self, *, core: bool, version: str) -> tuple[bytes, str]:
        return self._cached("aggregated", str(core), version, make=lambda: self._aggregated(core, version))

    def core_versions(self) -> tuple[bytes, str]:
        return self._cached(
            "api",
            make=lambda: {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
            },
        )

    def groups(self) -> tuple[bytes, str]:
        return self._cached(
            "apis",
            make=lambda: {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [self._group(name) for name in self._groups() if name],
            },
        )

    def group(self, name: str) -> tuple[bytes, str] | None:
        if not name or name not in self._groups():
            return None
        return self._cached("group", name, make=lambda: {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)})

    def resources(self, group: str, version: str) -> tuple[bytes, str] | None:
        if version not in self._groups().get(group, ()):
            return None
        return self._cached("resources", group, version, make=lambda: self._resource_list(group, version))

    def _cached(self, *key: str, make: Any) -> tuple[bytes, str]:
        if self._generation != self._registry.generation:
            self._cache.clear()
            self._generation = self._registry.generation
        found = self._cache.get(key)
        if found is None:
            body = encode(make())
            found = self._cache[key] = (body, f'"{hashlib.sha256(body).hexdigest().upper()}"')
        return found

    # --- what there is --------------------------------------------------------------------------------------------

    def _groups(self) -> dict[str, list[str]]:
        """Groups and their versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for kind in self._registry:
            versions = found.setdefault(kind.group, [])
            for version in kind.versions:
                if version.served and version.name not in versions:
                    versions.append(version.name)
        for group, name in [(each[0], each[1]) for each in VIRTUAL] + [(each[0], each[1]) for each in PARTS]:
            versions = found.setdefault(group, [])
            if name not in versions:
                versions.append(name)
        return {group: sorted(versions, key=_rank) for group, versions in sorted(found.items())}

    def _of(self, group: str, version: str) -> list[tuple[Kind, Version]]:
        return [
            (kind, served)
            for kind in sorted(self._registry, key=lambda kind: kind.plural)
            for served in kind.versions
            if kind.group == group and served.name == version and served.served
        ]

    # --- aggregated -----------------------------------------------------------------------------------------------

    def _aggregated(self, core: bool, version: str) -> dict[str, Any]:
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": group, "creationTimestamp": None},
                    "versions": [
                        {"version": name, "freshness": "Current", "resources": self._aggregated_resources(group, name)}
                        for name in versions
                    ],
                }
                for group, versions in self._groups().items()
                if (group == "") == core
            ],
        }

    def _aggregated_resources(self, group: str, version: str) -> list[dict[str, Any]]:
        entries = []
        for kind, served in self._of(group, version):
            entry: dict[str, Any] = {
                "resource": kind.plural,
                "responseKind": {"group": group, "version": served.name, "kind": kind.name},
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "singularResource": singular(kind),
                "verbs": list(kind.verbs),
            }
            if kind.short_names:
                entry["shortNames"] = list(kind.short_names)
            if kind.categories:
                entry["categories"] = list(kind.categories)
            subresources = [
                {
                    "subresource": name,
                    "responseKind": {"group": part[0], "version": part[1], "kind": part[2]},
                    "verbs": list(part[3]),
                }
                for name in kind.subresources
                for part in (subresource(kind, served, name),)
            ]
            if subresources:
                entry["subresources"] = subresources
            entries.append(entry)
        for virtual_group, name, plural, kind_name, namespaced in VIRTUAL:
            if (virtual_group, name) == (group, version):
                entries.append(
                    {
                        "resource": plural,
                        "responseKind": {"group": group, "version": version, "kind": kind_name},
                        "scope": "Namespaced" if namespaced else "Cluster",
                        "singularResource": kind_name.lower(),
                        "verbs": ["create"],
                    }
                )
        for home, name, plural, piece, kind_name, namespaced in PARTS:
            if (home, name) == (group, version):
                response = {"group": group, "version": version, "kind": kind_name}
                entries.append(
                    {
                        "resource": plural,
                        "scope": "Namespaced" if namespaced else "Cluster",
                        "singularResource": "",
                        "verbs": [],
                        "subresources": [{"subresource": piece, "responseKind": response, "verbs": ["get"]}],
                    }
                )
        return entries

    # --- the older form -------------------------------------------------------------------------------------------

    def _group(self, name: str) -> dict[str, Any]:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._groups()[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> dict[str, Any]:
        resources: list[dict[str, Any]] = []
        for kind, served in self._of(group, version):
            entry: dict[str, Any] = {
                "name": kind.plural,
                "singularName": singular(kind),
                "namespaced": kind.namespaced,
                "kind": kind.name,
                "verbs": list(kind.verbs),
            }
            if kind.short_names:
                entry["shortNames"] = list(kind.short_names)
            if kind.categories:
                entry["categories"] = list(kind.categories)
            resources.append(entry)
            for name in kind.subresources:
                part_group, part_version, part_kind, verbs = subresource(kind, served, name)
                part: dict[str, Any] = {
                    "name": f"{kind.plural}/{name}",
                    "singularName": "",
                    "namespaced": kind.namespaced,
                    "kind": part_kind,
                    "verbs": list(verbs),
                }
                if (part_group, part_version) != (group, version):
                    part |= {"group": part_group, "version": part_version}
                resources.append(part)
        for virtual_group, name, plural, kind_name, namespaced in VIRTUAL:
            if (virtual_group, name) == (group, version):
                resources.append(
                    {
                        "name": plural,
                        "singularName": kind_name.lower(),
                        "namespaced": namespaced,
                        "kind": kind_name,
                        "verbs": ["create"],
                    }
                )
        for home, name, plural, piece, kind_name, namespaced in PARTS:
            if (home, name) == (group, version):
                resources.append(
                    {
                        "name": f"{plural}/{piece}",
                        "singularName": "",
                        "namespaced": namespaced,
                        "kind": kind_name,
                        "verbs": ["get"],
                    }
                )
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": resources,
        }


def singular(kind: Kind) -> str:
    return kind.singular or kind.name.lower()


def subresource(kind: Kind, version: Version, name: str) -> tuple[str, str, str, tuple[str, ...]]:
    if name == "scale":
        return ("autoscaling", "v1", "Scale", _STATUS_VERBS)
    return SUBRESOURCES.get((kind.plural, name), (kind.group, version.name, kind.name, _STATUS_VERBS))


def _rank(version: str) -> tuple[int, int, int]:
    """Newest stable first, then beta, then alpha: v2, v1, v1beta2, v1beta1, v1alpha1."""
    body = version.removeprefix("v")
    for stage, word in enumerate(("alpha", "beta")):
        major, found, minor = body.partition(word)
        if found:
            return (2 - stage, -int(major or 0), -int(minor or 0))
    return (0, -int(body) if body.isdigit() else 0, 0)
