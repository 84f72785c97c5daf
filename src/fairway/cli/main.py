"""`fairway`: the commands, and what becomes of their errors."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Protocol, runtime_checkable

import typer

from fairway import __version__
from fairway.cli import cluster, clusters, lifecycle, options, people, tokens
from fairway.cli.kubeconfig import kubeconfig
from fairway.cli.output import Output, note, say, show_json, show_problem
from fairway.cli.run import run
from fairway.cli.simulate import simulate
from fairway.cli.submit import submit
from fairway.runtime.status import Problem

_INTERRUPTED = 130

cli = typer.Typer(
    name="fairway",
    help="A batch queue for a fleet of clusters: submit once, wait fairly, run where it may and can run.",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)


@runtime_checkable
class _Usage(Protocol):
    """What typer raises for a command line that it does not understand; from which package depends on its version."""

    exit_code: int

    def format_message(self) -> str: ...


@cli.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version_: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version_:
        say(f"fairway {__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


def version(output: options.Format = Output.TEXT) -> None:
    """Print the version."""
    if output is Output.JSON:
        show_json({"version": __version__, "python": platform.python_version(), "platform": platform.platform()})
    else:
        say(f"fairway {__version__}")


_COMMANDS: tuple[Callable[..., object], ...] = (
    lifecycle.up,
    lifecycle.down,
    lifecycle.status,
    run,
    submit,
    *people.COMMANDS,
    clusters.clusters,
    simulate,
    kubeconfig,
)
for command in _COMMANDS:
    cli.command()(command)
cli.add_typer(cluster.commands)
cli.add_typer(tokens.commands)
cli.command()(version)


def app(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; its exit code. Errors are a line or two, and a stack trace only with FAIRWAY_DEBUG=1."""
    try:
        arguments = list(sys.argv[1:] if argv is None else argv)
        result = typer.main.get_command(cli).main(arguments, prog_name="fairway", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("FAIRWAY_DEBUG"):
            raise
        show_problem(_explain(error))
        return 1


def _explain(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, _Usage):
        return Problem(
            error.format_message().rstrip("."),
            "fairway --help shows the commands, fairway COMMAND --help their options",
        )
    return Problem(
        f"{type(error).__name__}: {error}", "this should not happen; FAIRWAY_DEBUG=1 shows where it comes from"
    )


if __name__ == "__main__":
    sys.exit(app())
