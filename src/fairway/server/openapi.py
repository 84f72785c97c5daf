"""OpenAPI v3, one document per group and version: what `kubectl apply`, `explain` and client generators read.

Strategic merge patch is spoken but not advertised: kubectl then uses its own compiled-in types, which are always right.
"""

from __future__ import annotations

import hashlib
from typing import Any

from fairway import __version__
from fairway.kinds.kind import Kind, Version
from fairway.kinds.openapi import Definitions
from fairway.kinds.registry import Registry
from fairway.kinds.types import encode
from fairway.server.discovery import VIRTUAL

_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"


def _query(name: str, kind: str = "string", description: str = "") -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": True}}


_WRITE_QUERY = [
    _query("dryRun", description="All: check and answer, but change nothing"),
    _query("fieldManager", description="name of the writer"),
    _query("fieldValidation", description="what to do about unknown fields: Ignore, Warn or Strict"),
]
_LIST_QUERY = [
    _query("labelSelector", description="which labels the objects must have"),
    _query("fieldSelector", description="which fields the objects must have"),
    _query("limit", "integer", "how many objects at the most"),
    _query("continue", description="go on after the page that returned this"),
    _query("resourceVersion", description="not older than this"),
    _query("resourceVersionMatch", description="how resourceVersion is meant: Exact or NotOlderThan"),
    _query("timeoutSeconds", "integer", "how long a watch may last"),
    _query("watch", "boolean", "stream changes instead of listing"),
    _query("allowWatchBookmarks", "boolean", "send bookmarks on a quiet watch"),
    _query("sendInitialEvents", "boolean", "start a watch with the objects that are there"),
]
_DELETE_QUERY = [
    _query("dryRun", description="All: check and answer, but change nothing"),
    _query("gracePeriodSeconds", "integer", "seconds the object may take to end"),
    _query("propagationPolicy", description="what happens to dependents: Background, Foreground or Orphan"),
]


class OpenApi:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._documents: dict[str, tuple[bytes, str]] = {}

    def index(self, prefix: str = "") -> dict[str, Any]:
        self._refresh()
        return {
            "paths": {
                name: {"serverRelativeURL": f"{prefix}/openapi/v3/{name}?hash={self.document(name)[1]}"}
                for name in self._names()
            }
        }

    def document(self, name: str) -> tuple[bytes, str]:
        """A document and its hash. Raises KeyError for a group and version that is not served."""
        self._refresh()
        found = self._documents.get(name)
        if found is None:
            if name not in self._names():
                raise KeyError(name)
            body = encode(self._make(name))
            found = self._documents[name] = (body, hashlib.sha256(body).hexdigest()[:32].upper())
        return found

    def _refresh(self) -> None:
        if self._generation != self._registry.generation:
            self._documents.clear()
            self._generation = self._registry.generation

    def _names(self) -> list[str]:
        served = {(kind.group, version.name) for kind in self._registry for version in kind.versions if version.served}
        served |= {(group, version) for group, version, *_ in VIRTUAL}
        return [f"apis/{group}/{version}" if group else f"api/{version}" for group, version in sorted(served)]

    def _make(self, name: str) -> dict[str, Any]:
        group, _slash, version = name.removeprefix("apis/").rpartition("/")
        if name.startswith("api/"):
            group, version = "", name.removeprefix("api/")
        definitions = Definitions()
        paths: dict[str, Any] = {}
        for kind in self._registry:
            for served in kind.versions:
                if kind.group == group and served.name == version and served.served:
                    self._add(paths, definitions, kind, served, f"/{name}")
        return {
            "openapi": "3.0.0",
            "info": {"title": "Fairway", "version": __version__},
            "paths": paths,
            "components": {
                "schemas": {**definitions.schemas, _STATUS: {"type": "object", "description": "the outcome of a call"}},
                "securitySchemes": {
                    "BearerToken": {"type": "apiKey", "in": "header", "name": "authorization", "description": "a token"}
                },
            },
            "security": [{"BearerToken": []}],
        }

    def _add(self, paths: dict[str, Any], definitions: Definitions, kind: Kind, version: Version, root: str) -> None:
        operations = _Operations(kind, version, definitions.add(kind, version))
        base = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
        parameters = [_path("namespace")] if kind.namespaced else []
        paths[base] = {
            "get": operations.list(),
            "post": operations.write("post"),
            "delete": operations.delete(collection=True),
            "parameters": parameters,
        }
        if kind.namespaced:
            paths[f"{root}/{kind.plural}"] = {"get": operations.list()}
        parameters = [*parameters, _path("name")]
        paths[f"{base}/{{name}}"] = {
            "get": operations.get(),
            "put": operations.write("put"),
            "patch": operations.patch(),
            "delete": operations.delete(),
            "parameters": parameters,
        }
        if kind.has_status:
            paths[f"{base}/{{name}}/status"] = {
                "get": operations.get(),
                "put": operations.write("put"),
                "patch": operations.patch(),
                "parameters": parameters,
            }


class _Operations:
    """The calls on one kind in one version."""

    def __init__(self, kind: Kind, version: Version, name: str) -> None:
        self._kind = kind
        self._gvk = {"group": kind.group, "version": version.name, "kind": kind.name}
        self._schema = {"$ref": f"#/components/schemas/{name}"}
        self._items = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "items": {"type": "array", "items": self._schema},
            },
        }

    def _operation(self, action: str, schema: dict[str, Any], *, created: bool = False) -> dict[str, Any]:
        ok = {"description": "OK", "content": {"application/json": {"schema": schema}}}
        failed = {
            "description": "a Status that says what is wrong",
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{_STATUS}"}}},
        }
        responses = {"200": ok, "default": failed}
        if created:
            responses["201"] = {**ok, "description": "Created"}
        return {
            "tags": [self._kind.group or "core"],
            "responses": responses,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self._gvk,
        }

    def get(self) -> dict[str, Any]:
        return self._operation("get", self._schema)

    def list(self) -> dict[str, Any]:
        return {**self._operation("list", self._items), "parameters": _LIST_QUERY}

    def write(self, method: str) -> dict[str, Any]:
        body = {"content": {"application/json": {"schema": self._schema}}, "required": True}
        operation = self._operation(method, self._schema, created=True)
        return {**operation, "parameters": _WRITE_QUERY, "requestBody": body}

    def patch(self) -> dict[str, Any]:
        body = {"content": {media: {"schema": {"type": "object"}} for media in _PATCHES}, "required": True}
        force = _query("force", "boolean", "take fields over from other managers (apply patches only)")
        operation = self._operation("patch", self._schema, created=True)
        return {**operation, "parameters": [*_WRITE_QUERY, force], "requestBody": body}

    def delete(self, *, collection: bool = False) -> dict[str, Any]:
        operation = self._operation("deletecollection" if collection else "delete", {"type": "object"})
        parameters = [*_DELETE_QUERY, *_LIST_QUERY[:4]] if collection else _DELETE_QUERY
        return {**operation, "parameters": parameters}


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
