"""JSON patch (RFC 6902): a list of operations on JSON pointers, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.api.patch.errors import NESTED_TOO_DEEP, PatchError, PatchTooLarge
from fairway.api.patch.merge import same

OPERATIONS_MAX = 10_000
COPIED_MAX = 1_000_000
"""Values that all copy operations of one patch may write together; doubling a document twenty times gets there."""


def apply(target: Any, patch: Any) -> Any:
    """The target after all operations. Raises at the first that fails, naming its index and path."""
    if not isinstance(patch, list):
        raise PatchError("a JSON patch is a list of operations, each with op and path")
    if len(patch) > OPERATIONS_MAX:
        raise PatchTooLarge(
            f"the patch has {len(patch)} operations and at most {OPERATIONS_MAX} are allowed: send it in parts"
        )
    document = _Document(target)
    for index, operation in enumerate(patch):
        try:
            document.run(operation)
        except RecursionError:
            raise PatchError(f"operation {index}: {NESTED_TOO_DEEP}") from None
        except PatchError as error:
            raise type(error)(f"operation {index}{_title(operation)}: {error.message}") from None
    return document.root


def parse_pointer(pointer: Any) -> list[str]:
    """The reference tokens of a JSON pointer (RFC 6901), unescaped."""
    if not isinstance(pointer, str):
        raise PatchError("the path must be a string")
    if not pointer:
        return []
    if pointer[0] != "/":
        raise PatchError("the path must be empty or start with /")
    if "~" not in pointer:
        return pointer[1:].split("/")
    return [_unescape(token) for token in pointer[1:].split("/")]


def _unescape(token: str) -> str:
    if "~" in token.replace("~0", "").replace("~1", ""):
        raise PatchError(f"~ in {token!r} must be followed by 0 (for ~) or 1 (for /)")
    return token.replace("~1", "/").replace("~0", "~")


class _Document:
    """A value under change. Containers are copied when first written to, and only then."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._own: dict[int, Any] = {}  # by id; holding them keeps the ids from being used again
        self._copied = 0

    def run(self, operation: Any) -> None:
        if not isinstance(operation, Mapping):
            raise PatchError("must be an object with op and path")
        path = parse_pointer(operation.get("path"))
        match operation.get("op"):
            case "add":
                self.add(path, _value(operation))
            case "remove":
                self.remove(path)
            case "replace":
                self.replace(path, _value(operation))
            case "move":
                self.move(_source(operation), path)
            case "copy":
                self.copy(_source(operation), path)
            case "test":
                if not same(self.get(path), _value(operation)):
                    raise PatchError("the value there is another one")
            case unknown:
                raise PatchError(f"op {unknown!r} is unknown: use add, remove, replace, move, copy or test")

    def get(self, path: list[str]) -> Any:
        value = self.root
        for depth, token in enumerate(path):
            if isinstance(value, dict):
                if token not in value:
                    raise _missing(path[: depth + 1])
                value = value[token]
            elif isinstance(value, list):
                value = value[_index(token, len(value) - 1, path[: depth + 1])]
            else:
                raise _missing(path[: depth + 1])
        return value

    def add(self, path: list[str], value: Any) -> None:
        if not path:
            self.root = value
            return
        parent = self._writable(path[:-1])
        token = path[-1]
        if isinstance(parent, dict):
            parent[token] = value
        elif token == "-":
            parent.append(value)
        else:
            parent.insert(_index(token, len(parent), path), value)

    def remove(self, path: list[str]) -> None:
        if not path:
            raise PatchError("the whole document cannot be removed: delete the object instead")
        self.get(path)
        parent = self._writable(path[:-1])
        if isinstance(parent, dict):
            del parent[path[-1]]
        else:
            del parent[int(path[-1])]

    def replace(self, path: list[str], value: Any) -> None:
        if not path:
            self.root = value
            return
        self.get(path)
        parent = self._writable(path[:-1])
        if isinstance(parent, dict):
            parent[path[-1]] = value
        else:
            parent[int(path[-1])] = value

    def move(self, source: list[str], path: list[str]) -> None:
        value = self.get(source)
        if source == path:
            return
        if path[: len(source)] == source:
            raise PatchError("a value cannot be moved into itself")
        self.remove(source)
        self.add(path, value)

    def copy(self, source: list[str], path: list[str]) -> None:
        value = self.get(source)
        self._copied += _size(value, COPIED_MAX - self._copied)
        if self._copied > COPIED_MAX:
            raise PatchTooLarge(f"the patch copies more than {COPIED_MAX} values")
        self._own.clear()  # the value is now in two places: neither may be written to as it is
        self.add(path, value)

    def _writable(self, path: list[str]) -> Any:
        """The container at the path, it and all above it our own."""
        value = self.root = self._owned(self.root, [])
        for depth, token in enumerate(path):
            if isinstance(value, dict):
                if token not in value:
                    raise _missing(path[: depth + 1])
                key: Any = token
            else:
                key = _index(token, len(value) - 1, path[: depth + 1])
            below = self._owned(value[key], path[: depth + 1])
            value[key] = below
            value = below
        return value

    def _owned(self, value: Any, path: list[str]) -> Any:
        if id(value) in self._own:
            return value
        if isinstance(value, dict):
            twin: Any = dict(value)
        elif isinstance(value, list):
            twin = list(value)
        else:
            raise PatchError(f"{_pointer(path)} is neither an object nor a list, so it has nothing below it")
        self._own[id(twin)] = twin
        return twin


def _index(token: str, last: int, path: list[str]) -> int:
    if not (token.isascii() and token.isdigit()) or (token[0] == "0" and token != "0"):
        raise PatchError(f"{_pointer(path)}: {token!r} is no index of a list")
    index = int(token) if len(token) < 10 else last + 1
    if index > last:
        raise PatchError(f"{_pointer(path)}: the list has no such index" + (f" (0 to {last})" if last >= 0 else ""))
    return index


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError("value is missing")
    return operation["value"]


def _source(operation: Mapping[str, Any]) -> list[str]:
    if "from" not in operation:
        raise PatchError("from is missing")
    return parse_pointer(operation["from"])


def _size(value: Any, limit: int) -> int:
    """How many values there are, counted only a little past the limit (sharing can make a value huge and cheap)."""
    size, waiting = 0, [value]
    while waiting and size <= limit:
        each = waiting.pop()
        size += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return size


def _missing(path: list[str]) -> PatchError:
    return PatchError(f"{_pointer(path)} does not exist")


def _pointer(path: list[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path) or "the document"


def _title(operation: Any) -> str:
    """Which operation it is, as far as it can be read."""
    if not isinstance(operation, Mapping):
        return ""
    op, path = operation.get("op"), operation.get("path")
    return f" ({op[:20]} {path[:200]})" if isinstance(op, str) and isinstance(path, str) else ""
