"""Run the benchmarks and print what they say."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.result import Result, Skipped

BUSY = 0.9


def questions() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("how_*.py"))


def chosen(names: list[str]) -> list[str]:
    found = [question for question in questions() if not names or any(name in question for name in names)]
    if not found:
        sys.exit(f"no benchmark is called {' or '.join(names)}; there are:\n  " + "\n  ".join(questions()))
    return found


def machine() -> dict[str, str]:
    return {
        "processor": f"{os.cpu_count()} × {_processor()}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "disk": _filesystem(os.environ.get("FAIRWAY_BENCH_DIR") or tempfile.gettempdir()),
        "ours": f"{processor_share():.0%} of a processor",
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def processor_share(seconds: float = 0.5) -> float:
    """How much of a processor this process gets when it wants all of one: what others leave."""
    start, cpu = time.perf_counter(), time.process_time()
    while (elapsed := time.perf_counter() - start) < seconds:
        pass
    return (time.process_time() - cpu) / elapsed


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _filesystem(path: str) -> str:
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return path
    here = os.path.realpath(path)
    under = [mount for mount in mounts if os.path.commonpath([mount[1], here]) == mount[1]]
    return f"{path} on {max(under, key=lambda mount: len(mount[1]))[2]}" if under else path


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def share(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.0%}" if ratio < 10 else f"{ratio:.0f} ×"


def table(results: list[Result]) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    columns = ("", "measured", "", "cpu µs", "beside it", "", "ratio", "by cpu", "aim", "")
    for column, justify in zip(columns, "lrlrrlrrrl", strict=True):
        drawn.add_column(column, justify="right" if justify == "r" else "left", no_wrap=True)
    for result in results:
        drawn.add_row(
            result.name,
            number(result.value),
            Text(result.unit, "dim"),
            "" if result.cpu_us is None else number(result.cpu_us),
            "" if result.probe_value is None else number(result.probe_value),
            Text(result.probe, "dim"),
            share(result.ratio),
            share(result.cpu_ratio),
            _aim(result),
            {True: Text("reached", "green"), False: Text("missed", "red"), None: Text("")}[result.met],
        )
    return drawn


def _aim(result: Result) -> str:
    if result.aim is None:
        return ""
    sign = "≥" if result.more_is_better else "≤"
    return f"{sign} {result.aim:.0%}" if result.aim_for != "value" else f"{sign} {number(result.aim)}"


def question_of(name: str) -> tuple[str, Callable[[bool], list[Result]]]:
    module = importlib.import_module(f"benchmarks.{name}")
    return (module.__doc__ or name).strip().splitlines()[0], module.run


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="How fast is it? One script per question."
    )
    parser.add_argument("names", nargs="*", help="questions to ask (a part of the name is enough); all without")
    parser.add_argument("--json", action="store_true", help="for other programs")
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter rounds: to see that it works, not to compare"
    )
    arguments = parser.parse_args()
    console, facts, answers = Console(stderr=arguments.json, width=None if sys.stdout.isatty() else 140), machine(), {}
    console.print("   ".join(f"[dim]{name}[/dim] {value}" for name, value in facts.items()), soft_wrap=True)
    if processor_share() < BUSY:
        console.print(
            "[yellow]The machine is busy with other things: take the ratios, not the absolute numbers.[/yellow]"
        )
    for name in chosen(arguments.names):
        question, run = question_of(name)
        start = time.perf_counter()
        console.print(f"\n[bold]{question}[/bold]")
        gc.collect()
        try:
            results = answers[name] = run(arguments.quick)
        except Skipped as why:
            console.print(Text(f"  skipped: {why}", "yellow"))
            continue
        console.print(table(results))
        console.print(f"  [dim]{time.perf_counter() - start:.0f} s[/dim]")
        for note in dict.fromkeys(f"{result.name}: {result.note}" for result in results if result.note):
            console.print(Text(f"  {note}", "dim italic"))
    if arguments.json:
        report = {"machine": facts, "results": {name: [r.as_json() for r in of] for name, of in answers.items()}}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")


if __name__ == "__main__":
    main()
