"""The shape of the code base, kept by a test: who imports whom, who may touch the world, and how long things are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "fairway"

# What each room may import of fairway. core knows nobody; imports point downwards.
ALLOWED = {
    "core": {"core"},
    "kinds": {"kinds", "core"},
    "runtime": {"runtime"},
    "store": {"store", "runtime"},
    "api": {"api", "kinds", "store", "runtime", "core"},
    "server": {"server", "api", "kinds", "store", "runtime", "core"},
    "control": {"control", "api", "kinds", "runtime", "core", "engines"},
    "engines": {"engines", "runtime"},
    "fleet": {"fleet", "control", "api", "kinds", "runtime", "core"},
    "sim": {"sim", "node", "fleet", "server", "api", "store", "engines", "core", "control", "kinds", "runtime"},
    "cli": {
        "cli",
        "engines",
        "sdk",
        "node",
        "fleet",
        "sim",
        "server",
        "api",
        "kinds",
        "store",
        "runtime",
        "core",
        "control",
    },
    "sdk": {"sdk", "api", "kinds", "runtime", "core"},
    "node": {"node", "engines", "fleet", "server", "api", "kinds", "store", "runtime", "core", "control"},
}

# Doors to the world outside: time, chance, threads, sockets, processes.
WORLD = {
    "time",
    "random",
    "secrets",
    "uuid",
    "socket",
    "threading",
    "subprocess",
    "multiprocessing",
    "concurrent",
    "signal",
    "aiohttp",
    "urllib.request",
    "http.client",
    "sqlite3",
}
WORLDLY_ROOMS = {"runtime", "cli", "engines", "sdk"}
ADAPTERS = {"store/sqlite.py": {"sqlite3"}}
NOW = {("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("loop", "run_in_executor")}

# core stays plain: the standard library, and no I/O of it.
CORE_FORBIDDEN = WORLD | {"asyncio", "io", "os", "pathlib", "logging", "tempfile", "shutil"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = room(path)
    name = str(path.relative_to(SOURCE))
    if here in ("__init__", "__main__"):
        return
    assert here in ALLOWED, f"{name}: a new room; say in ALLOWED what it may import"
    for module in imports(tree):
        top, _, rest = module.partition(".")
        if top == "fairway" and rest:
            assert rest.split(".")[0] in ALLOWED[here], (
                f"{name} imports {module}: {here} may import {sorted(ALLOWED[here])}"
            )
        if here not in WORLDLY_ROOMS:
            allowed = ADAPTERS.get(name, set())
            worldly = next((door for door in WORLD if module == door or module.startswith(door + ".")), None)
            assert worldly is None or worldly in allowed, (
                f"{name} imports {module}: only runtime/, cli/ and adapters may"
            )
        if here == "core":
            assert top not in CORE_FORBIDDEN, f"{name} imports {module}: core does no I/O"
            assert top == "fairway" or top in __import__("sys").stdlib_module_names, (
                f"{name} imports {module}: not standard"
            )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_reads_the_clock_behind_the_back_of_the_runtime(path: Path) -> None:
    if room(path) in WORLDLY_ROOMS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            assert (node.func.value.id, node.func.attr) not in NOW, f"{path}:{node.lineno} calls {node.func.attr}()"


def test_every_room_says_what_lives_there() -> None:
    for package in sorted(SOURCE.rglob("__init__.py")):
        assert ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))), f"{package} has no docstring"


def test_every_module_opens_with_what_it_is_for() -> None:
    for path in modules():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    root = SOURCE.parents[1]
    for path in [*modules(), *sorted((root / "docs").rglob("*.md")), root / "README.md"]:
        text = path.read_text(encoding="utf-8")
        assert "/work/" not in text, f"{path} names a path of one machine"


def test_no_test_measures_time() -> None:
    """Machines are busy: speed is shown by benchmarks, beside a probe of the same run."""
    for path in sorted(Path(__file__).resolve().parents[1].rglob("*.py")):
        for module in imports(ast.parse(path.read_text(encoding="utf-8"))):
            assert module != "timeit", f"{path} measures time; write a benchmark instead"
