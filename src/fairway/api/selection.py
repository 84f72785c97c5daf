"""Selectors as text, made into a selection of a kind's objects."""

from __future__ import annotations

from fairway.api import selectors
from fairway.api.errors import bad_request
from fairway.api.reads import EVERYTHING, Selection
from fairway.kinds.kind import Kind

_ALWAYS = ("metadata.name", "metadata.namespace")


def select(kind: Kind, labels: str = "", fields: str = "") -> Selection:
    if not labels and not fields:
        return EVERYTHING
    selectable = kind.home.selectable
    try:
        return Selection(
            selectors.parse(labels) if labels else None,
            selectors.parse_fields(fields, (*_ALWAYS, *selectable), kind.name) if fields else None,
            selectable,
        )
    except selectors.SelectorError as error:
        raise bad_request(error.message) from None
