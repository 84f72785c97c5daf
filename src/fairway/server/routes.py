"""From a URL path to what is meant by it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_REMEMBERED_MAX = 512
_NAMESPACE_SUBRESOURCES = {"status", "finalize"}


class ResourcePath(NamedTuple):
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def resource_path(path: str) -> ResourcePath | None:
    """/api/v1/… and /apis/GROUP/VERSION/…, or None for every other path."""
    # Only what a client may mean is remembered: long paths would fill the memory.
    return _known(path) if len(path) <= _REMEMBERED_MAX else _read(path)


def _read(path: str) -> ResourcePath | None:
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or not all(parts):
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    return ResourcePath(group, version, rest[0], namespace, name, subresource)


_known = lru_cache(maxsize=8192)(_read)
