"""What every demo needs: folders that go away, and commands that are shown as a person would type them."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

console = Console(highlight=False)
LIMIT_SECONDS = 180


class Stage:
    """One folder with a node or a fleet in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fairway(self, *arguments: str, quiet: bool = False) -> str:
        """Runs a command and returns what it printed. Quiet: it is part of the scenery, and not shown."""
        if not quiet:
            console.print(f"[bold]$ fairway {shlex.join(arguments)}[/bold]", soft_wrap=True)
        done = self._run(*arguments)
        if done.returncode:
            raise SystemExit(f"fairway {shlex.join(arguments)} failed:\n{done.stderr or done.stdout}")
        return done.stdout

    def clear(self) -> None:
        self._run("down")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fairway", *arguments, "--data", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@contextlib.contextmanager
def stages(*names: str) -> Iterator[tuple[Stage, ...]]:
    root = Path(tempfile.mkdtemp(prefix="fairway-demo-"))
    made = tuple(Stage(root / name) for name in names)
    try:
        yield made
    finally:
        for stage in made:
            stage.clear()
        shutil.rmtree(root, ignore_errors=True)
