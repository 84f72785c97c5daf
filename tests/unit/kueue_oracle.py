"""What a real Kueue served: its objects in both versions, its tables and its discovery, read from the shared folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("FAIRWAY_SHARED", ROOT.parent / "shared")) / "spec" / "kueue-oracle"
GROUP = "kueue.x-k8s.io"

needs_oracle = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"{FOLDER} is missing: set FAIRWAY_SHARED to the folder that holds spec/kueue-oracle"
)


@cache
def items(path: str) -> list[dict[str, Any]]:
    """The objects of one dump."""
    text = (FOLDER / path).read_text()
    return list(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["items"])


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the group in every dump, with the name of its file."""
    for path in sorted(FOLDER.glob("*/*.yaml")):
        name = str(path.relative_to(FOLDER))
        for item in items(name):
            if item["apiVersion"].startswith(f"{GROUP}/"):
                yield name, item
    for path in sorted(FOLDER.glob("*-watch.json")):
        for event in _stream(path.read_text()):
            if event["object"].get("apiVersion", "").startswith(f"{GROUP}/"):
                yield path.name, event["object"]


def _stream(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1
