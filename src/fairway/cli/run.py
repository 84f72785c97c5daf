"""`fairway run`: one command, queued and run, with its output here and its exit code as ours."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from fairway.api.errors import ApiError
from fairway.cli import bundling, lifecycle, options
from fairway.cli.kubeconfig import HOME
from fairway.cli.output import Output, note, show_json
from fairway.cli.people import Namespace, problem
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem
from fairway.sdk.aio import AsyncClient, current_user
from fairway.sdk.request import JobRequest, RequestError
from fairway.sdk.view import JobView, State

_INTERRUPTED = 130
_LOOK_SECONDS = 2


def run(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="What to run.")],
    queue: Annotated[str, typer.Option(metavar="Q", help="Which queue. Default: the namespace's own.")] = "",
    cpu: Annotated[str, typer.Option(metavar="N", help="CPUs, like 2 or 500m.")] = "1",
    mem: Annotated[str, typer.Option(metavar="SIZE", help="Memory, like 4Gi.")] = "",
    gpus: Annotated[int, typer.Option(metavar="N", help="GPUs.")] = 0,
    name: Annotated[str, typer.Option(metavar="NAME", help="Default: made from the command.")] = "",
    array: Annotated[str, typer.Option(metavar="0-N[%M]", help="One pod per index, at most M at a time.")] = "",
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Can be repeated.", show_default=False)] = None,
    detach: Annotated[
        bool, typer.Option("--detach/--follow", "-d/-f", help="Submit and leave, or print its output until it ends.")
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder to bring along: the command starts in a copy of it.", show_default=False
        ),
    ] = None,
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> int:
    """Run a command in a queue: wait for its turn, print its output, exit with its code.

    Starts a node if none runs. Ctrl-C asks whether to leave the job or to cancel it. A local script that the command
    names (./train.sh, python train.py) goes with the job, wherever it runs, and so do the modules beside it that it
    imports; --bundle DIR takes a whole folder.

    With -o json the job is printed as fairway show does: when it has ended or, with -d, as it was submitted. What it
    prints itself goes to stderr then.
    """
    files = bundling.files_of(command, bundle, Path.cwd())
    folder = DataDir.at(data)
    if not lifecycle.is_up(folder):
        note("no node runs yet; starting one")
        note(lifecycle.start(folder))
    request = JobRequest(
        command,
        name,
        namespace,
        queue,
        cpu=cpu,
        memory=mem,
        gpus=gpus,
        array=array,
        env=_environment(env or []),
        user=current_user(),
    )
    try:
        return asyncio.run(_run(folder, request, files, detach, output))
    except RequestError as error:
        raise Problem(str(error)) from None
    except ApiError as error:
        raise Problem(error.message) from None


async def _run(folder: DataDir, request: JobRequest, files: bundling.Files, detach: bool, output: Output) -> int:
    async with AsyncClient(kubeconfig=folder.kubeconfig, context=HOME, namespace=request.namespace) as client:
        if files:
            pool = await bundling.pool_of(client.api, request.namespace, request.queue)
            request = replace(request, bundle=str(await bundling.reference_of(client.api, folder, files, pool)))
        try:
            job = await client.submit(request)
        except ApiError as error:
            raise await problem(client, error) from None
        note(f"job {job.name} submitted")
        if detach:
            if output is Output.JSON:
                show_json(asdict(await client.view(job.name, request.namespace)))
            return 0
        interrupted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
        following = asyncio.ensure_future(_follow(client, job.name, request.namespace, output))
        stopping = asyncio.ensure_future(interrupted.wait())
        await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            stopping.cancel()
            try:
                return following.result()
            except ApiError as error:
                if error.code != 404:
                    raise
                raise Problem(f"job {job.name} was cancelled") from None
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        interrupted.clear()
        return await _leave(client, job.name, request.namespace, interrupted)


async def _follow(client: AsyncClient, name: str, namespace: str, output: Output) -> int:
    told = ""
    printed = (sys.stderr if output is Output.JSON else sys.stdout).buffer

    def tell(job: JobView) -> None:
        nonlocal told
        words = f"{job.state.value}: {job.reason}" if job.reason else job.state.value
        if words != told and job.state in (State.QUEUED, State.HELD, State.CHECKING, State.STARTING):
            note(words)
            told = words

    def begun(job: JobView) -> bool:
        tell(job)
        return job.state in (State.RUNNING, State.DONE, State.FAILED)

    def over(job: JobView) -> bool:
        tell(job)
        return job.state.final

    await client.until(name, namespace, begun, every=_LOOK_SECONDS)
    # It may have to stop for others, or be held, and begin again.
    ending = asyncio.ensure_future(client.until(name, namespace, over))
    try:
        async for chunk in client.logs(name, namespace, follow=True):
            printed.write(chunk)
            printed.flush()
        final = await ending
    finally:
        ending.cancel()
    if output is Output.JSON:
        show_json(asdict(final))
    if final.state is State.FAILED:
        note(f"job {name} failed ({final.reason})")
    return final.exit_code if final.exit_code is not None else 0


async def _leave(client: AsyncClient, name: str, namespace: str, interrupted: asyncio.Event) -> int:
    answer = ""
    if sys.stdin.isatty():
        note(f"\njob {name} goes on without you: (d)etach, or (c)ancel it? [d] ")
        answer = await _answer(interrupted)
    if answer.strip().lower().startswith("c"):
        await client.cancel(name, namespace)
        note(f"job {name} cancelled")
    else:
        note(f"job {name} goes on; see it with: fairway show {name}")
    return _INTERRUPTED


async def _answer(interrupted: asyncio.Event) -> str:
    """A line from the terminal; nothing if it is closed, or if Ctrl-C is pressed once more. Reading in a thread could not be given up."""
    loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()
    readable = asyncio.Event()
    loop.add_reader(stdin, readable.set)
    waits = [asyncio.ensure_future(event.wait()) for event in (readable, interrupted)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(stdin)
        for wait in waits:
            wait.cancel()
    return "" if interrupted.is_set() else os.read(stdin, 1024).decode(errors="replace")


def _environment(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair or pair.startswith("="):
            raise Problem(f"--env {pair!r} is not NAME=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)
