"""Which representation the client wants, from its Accept header."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, cast

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
Shape = Literal["object", "Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]


class Accepted(NamedTuple):
    media: str
    shape: Shape = "object"
    version: str = ""
    """Version of the shape: v1 of a Table, v2 or v2beta1 of a discovery document."""


DEFAULT = Accepted(JSON)
_SHAPES = {
    ("Table", "meta.k8s.io"): ("v1", "v1beta1"),
    ("PartialObjectMetadata", "meta.k8s.io"): ("v1",),
    ("PartialObjectMetadataList", "meta.k8s.io"): ("v1",),
    ("APIGroupDiscoveryList", "apidiscovery.k8s.io"): ("v2", "v2beta1"),
}
_REMEMBERED_MAX = 512
_ANY = {"*/*", "application/*"}
YAML_NAMES = {YAML, "application/x-yaml", "text/yaml"}


def accept(header: str) -> Accepted | None:
    """The first representation in the client's order that we can write; None if there is none (406)."""
    if not header:
        return DEFAULT
    return _known(header) if len(header) <= _REMEMBERED_MAX else _negotiate(header)


def _negotiate(header: str) -> Accepted | None:
    choices = sorted(enumerate(header.split(",")), key=lambda item: (-_quality(item[1]), item[0]))
    for _index, choice in choices:
        found = _one(choice)
        if found is not None:
            return found
    return None


def _parameters(choice: str) -> tuple[str, dict[str, str]]:
    media, *rest = (part.strip() for part in choice.split(";"))
    return media.lower(), {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}


def _quality(choice: str) -> float:
    try:
        return float(_parameters(choice)[1].get("q", "1"))
    except ValueError:
        return 0.0


def _one(choice: str) -> Accepted | None:
    media, parameters = _parameters(choice)
    if media in _ANY:
        return DEFAULT
    if media in YAML_NAMES:
        media = YAML
    elif media != JSON:
        return None
    shape = parameters.get("as")
    if shape is None:
        return Accepted(media)
    versions = _SHAPES.get((shape, parameters.get("g", "")))
    if versions is None or parameters.get("v") not in versions or media != JSON:
        return None
    return Accepted(media, cast(Shape, shape), parameters["v"])


_known = lru_cache(maxsize=1024)(_negotiate)
