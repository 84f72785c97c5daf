"""The folder's kubeconfig: read, narrowed to one space, shown."""

from __future__ import annotations

import base64
import binascii
import difflib
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import typer
import yaml

from fairway.cli import options
from fairway.cli.output import Output, say, show_json
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

HOME = "fairway"
"""The context of a folder's first space: the hub of a fleet, or the one cluster."""


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str
    certificate_authority_data: str = ""


class _User(msgspec.Struct):
    token: str = ""


class _Context(msgspec.Struct):
    cluster: str
    user: str


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: _User


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _Kubeconfig(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster]
    users: list[_NamedUser]
    contexts: list[_NamedContext]
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """What it takes to talk to a space."""

    server: str
    authority: str
    """Certificates to trust, PEM; empty: the server speaks without TLS."""
    token: str

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.authority:
            context = ssl.create_default_context(cadata=self.authority)
        return context


def kubeconfig(
    data: options.Data = None,
    space: options.Space = None,
    print_: Annotated[bool, typer.Option("--print", help="Print its content; this is the default.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print where it is.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="As YAML (text), or as JSON.")] = Output.TEXT,
) -> None:
    """Print the kubeconfig that kubectl and other clients need.

    For this shell: export KUBECONFIG=$(fairway kubeconfig --path)
    """
    folder = DataDir.at(data)
    if path and (print_ or space):
        raise Problem("--path goes with neither --print nor --space", "one file holds the contexts of all spaces")
    text = _read(folder)
    if path:
        show_json({"path": str(folder.kubeconfig)}) if output is Output.JSON else say(str(folder.kubeconfig))
        return
    document = _parse(folder, text)
    if space:
        document = _narrowed(document, _context_of(folder, document, space))
    if output is Output.JSON:
        show_json(document)
    else:
        say((yaml.safe_dump(document, sort_keys=False) if space else text).rstrip("\n"))


def access(folder: DataDir, space: str | None) -> Access:
    """How to reach a space as its administrator."""
    document = _parse(folder, _read(folder))
    try:
        config = msgspec.convert(document, _Kubeconfig)
        context_name = _context_of(folder, document, space) if space else _home(config)
        context = next(each.context for each in config.contexts if each.name == context_name)
        cluster = next(each.cluster for each in config.clusters if each.name == context.cluster)
        user = next(each.user for each in config.users if each.name == context.user)
        authority = base64.b64decode(cluster.certificate_authority_data, validate=True).decode("ascii")
    except (msgspec.ValidationError, StopIteration, binascii.Error, UnicodeDecodeError) as error:
        raise _broken(folder) from error
    return Access(cluster.server, authority, user.token)


def current(folder: DataDir) -> str:
    """The context that kubectl uses where none is named."""
    return str(_parse(folder, _read(folder)).get("current-context") or "")


def _home(config: _Kubeconfig) -> str:
    """Whatever kubectl was told to use: our own commands go to the folder's first space."""
    return HOME if any(each.name == HOME for each in config.contexts) else config.current_context


def _read(folder: DataDir) -> str:
    try:
        return folder.kubeconfig.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Problem(f"there is no kubeconfig in {folder.path}", "it is written by: fairway up") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {folder.kubeconfig}: {getattr(error, 'strerror', None) or error}") from error


def _parse(folder: DataDir, text: str) -> dict[str, Any]:
    try:
        document = _document(text)
    except yaml.YAMLError as error:
        raise _broken(folder) from error
    if not isinstance(document, dict) or not isinstance(document.get("contexts"), list):
        raise _broken(folder)
    return document


@lru_cache(maxsize=64)
def _document(text: str) -> Any:
    """A hub looks at the kubeconfigs of its machine's clusters every second, and reading YAML takes milliseconds."""
    return yaml.safe_load(text)


def _broken(folder: DataDir) -> Problem:
    return Problem(
        f"{folder.kubeconfig} is not a kubeconfig of Fairway's", "remove it and start anew (fairway down, fairway up)"
    )


def _context_of(folder: DataDir, document: dict[str, Any], space: str) -> str:
    """The context of a space. A context's own name will do too."""
    state = folder.read_state()
    known = {each.name: each.context for each in state.spaces} if state else {}
    contexts = [each["name"] for each in document["contexts"] if isinstance(each, dict) and "name" in each]
    found = known.get(space, space)
    if found in contexts:
        return found
    names = list(known) or contexts
    close = difflib.get_close_matches(space, names, 1)
    remedy = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"
    raise Problem(f"there is no space {space!r} in {folder.path}", remedy)


def _narrowed(document: dict[str, Any], context_name: str) -> dict[str, Any]:
    """Only what that context needs, and current."""

    def named(section: str, name: str) -> list[dict[str, Any]]:
        return [each for each in document.get(section) or () if isinstance(each, dict) and each.get("name") == name]

    contexts = named("contexts", context_name)
    context = contexts[0].get("context") or {}
    return {
        **document,
        "clusters": named("clusters", context.get("cluster", "")),
        "users": named("users", context.get("user", "")),
        "contexts": contexts,
        "current-context": context_name,
    }
