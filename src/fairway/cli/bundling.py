"""What a job brings along: the script that its command names with its modules, or a folder; packed and put into the object store of its pool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from modulefinder import ModuleFinder
from pathlib import Path

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES
from fairway.engines import bundles
from fairway.engines.bundles import BundleError, Reference
from fairway.fleet.joining import DEFAULT_POOL
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CONFIGS, POOLS
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

BYTES_MAX = 256 << 20
"""Of all files of a bundle, before they are packed."""
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|lua|julia|Rscript|R|bash|dash|zsh|ksh|sh)[0-9.]*")
_NO_SCRIPT = {"-c", "-m", "-e", "-"}
"""What follows says the program itself, or where else it is."""
_SKIPPED = {".git", "__pycache__", ".DS_Store"}
Files = list[tuple[str, Path]]


def script_of(command: Sequence[str], here: Path) -> Path | None:
    """The local script that a command runs, if it does: `./train.sh`, `python train.py`. Absolute paths mean the cluster's machine."""
    word = command[0]
    if not _INTERPRETER.fullmatch(os.path.basename(word)):
        return _local(word, here) if "/" in word else None
    for word in command[1:]:
        if word in _NO_SCRIPT:
            return None
        if not word.startswith("-"):
            return _local(word, here)
    return None


def _local(word: str, here: Path) -> Path | None:
    path = here / word
    return path if not os.path.isabs(word) and path.is_file() else None


def files_of(command: Sequence[str], folder: Path | None, here: Path) -> Files:
    """What to pack, by the names it has there: the folder, or the script with what it imports from beside it, or nothing."""
    if folder is not None:
        if not folder.is_dir():
            raise Problem(f"--bundle {folder}: there is no such folder")
        return _checked(list(_walk(folder)), folder)
    script = script_of(command, here)
    if script is None:
        return []
    name = os.path.relpath(os.path.normpath(script), here)
    if name.startswith(".."):
        raise Problem(
            f"{script} is outside of this folder, so its name would mean nothing where the job runs",
            "go to its folder and name it from there; or bring the folder along: --bundle DIR",
        )
    brought = {name: script.resolve()}
    if script.suffix == ".py":
        for module in _imported(script):
            brought.setdefault(os.path.relpath(module, here), module)
    return _checked(sorted(brought.items()), here)


def _imported(script: Path) -> Iterator[Path]:
    """The modules beside a Python script that it imports, and those that they import. It is read, not run."""
    beside = os.path.normpath(script.parent)
    finder = ModuleFinder(path=[beside])
    try:
        finder.run_script(str(script))
    except (SyntaxError, ValueError, OSError, RecursionError):
        return  # Whatever is wrong with it, its job will say it best.
    for module in finder.modules.values():
        file = getattr(module, "__file__", None)
        if file is not None and os.path.normpath(file) != os.path.normpath(script):
            yield Path(os.path.normpath(file))


def _checked(found: Files, folder: Path) -> Files:
    if len(found) > bundles.FILES_MAX:
        raise Problem(f"{folder} has {len(found)} files; a bundle has at most {bundles.FILES_MAX}", _TOO_MUCH)
    sizes = sorted(((path.lstat().st_size, name) for name, path in found), reverse=True)
    total = sum(size for size, _name in sizes)
    if total > BYTES_MAX:
        largest = ", ".join(f"{name} ({size >> 20} MiB)" for size, name in sizes[:3])
        raise Problem(
            f"{folder} has {total >> 20} MiB to bring along; the limit is {BYTES_MAX >> 20} MiB. The largest: {largest}",
            _TOO_MUCH,
        )
    return found


_TOO_MUCH = "leave out what is no code with a .gitignore, and keep data where the clusters can read it"


async def reference_of(client: Client, data: DataDir, found: Files, pool: str = DEFAULT_POOL) -> Reference:
    """Pack and keep them. Raises Problem."""
    try:
        packed = bundles.pack(found)
        return bundles.put(await _store(client, data, pool), packed)
    except BundleError as error:
        raise Problem(f"code bundle: {error}", _TOO_MUCH if "limit" in str(error) else "") from None


async def pool_of(client: Client, namespace: str, queue: str) -> str:
    """The pool whose clusters a queue dispatches to; the default one where it runs things itself, or nobody can tell."""
    try:
        found = (await client.get(LOCAL_QUEUES, queue or "default", namespace)).json()
        spec = (await client.get(CLUSTER_QUEUES, found["spec"]["clusterQueue"])).json()["spec"]
        for check in (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ():
            named = (await client.get(CHECKS, check["name"])).json()["spec"].get("parameters") or {}
            if named.get("kind") == "MultiKueueConfig":
                config = (await client.get(MULTIKUEUE_CONFIGS, named["name"])).json()
                cluster = (await client.get(CLUSTERS, config["spec"]["clusters"][0])).json()
                return str((cluster.get("spec") or {}).get("pool") or DEFAULT_POOL)
    except ApiError as error:
        if error.code not in (403, 404):
            raise
    return DEFAULT_POOL


async def _store(client: Client, data: DataDir, pool: str) -> Path:
    """The object store of a pool: where it says, else a folder of the hub's."""
    try:
        spec = (await client.get(POOLS, pool)).json().get("spec") or {}
    except ApiError as error:
        if error.code not in (403, 404):
            raise
        spec = {}
    uri = (spec.get("objectStore") or {}).get("uri", "")
    return bundles.folder_of(uri) if uri else data.path / "objects" / pool


# --- a folder, without what git would not keep -----------------------------------------------------------------------


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    rules: list[_Rule] = []
    for where, folders, files in os.walk(folder):
        here = Path(where)
        inside = here.relative_to(folder).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        rules += _rules(here / ".gitignore", prefix)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED and name not in links and not _ignored(f"{prefix}{name}", rules, folder=True)
        )
        for name in sorted([*files, *links]):
            path = here / name
            if name not in _SKIPPED and not _ignored(f"{prefix}{name}", rules, folder=False) and _packable(path):
                yield f"{prefix}{name}", path


def _packable(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


class _Rule:
    """One line of a .gitignore."""

    def __init__(self, line: str, prefix: str) -> None:
        self.keeps = line.startswith("!")
        pattern = line.removeprefix("!")
        self.folders_only = pattern.endswith("/")
        pattern = pattern.rstrip("/")
        anchored = "/" in pattern
        pattern = pattern.lstrip("/")
        start = re.escape(prefix) + ("" if anchored else "(?:.*/)?")
        self.matches = re.compile(start + _glob(pattern)).fullmatch


def _rules(file: Path, prefix: str) -> list[_Rule]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = [line.rstrip() for line in lines]
    return [_Rule(line, prefix) for line in words if line and not line.startswith("#")]


def _ignored(name: str, rules: Sequence[_Rule], *, folder: bool) -> bool:
    """The last rule that matches counts."""
    for rule in reversed(rules):
        if (folder or not rule.folders_only) and rule.matches(name):
            return not rule.keeps
    return False


def _glob(pattern: str) -> str:
    found, index = "", 0
    while index < len(pattern):
        if pattern.startswith("**/", index):
            found, index = found + "(?:.*/)?", index + 3
        elif pattern.startswith("**", index):
            found, index = found + ".*", index + 2
        else:
            char = pattern[index]
            found += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
            index += 1
    return found
