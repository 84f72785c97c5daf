"""The node's process: started by a launcher, serves on the socket it inherits, ends with the launcher.

`python -m fairway.cli.node --data DIR --fd N --status-fd M --life-fd L --lock-fd K [--host ADDR] [--no-tls] [--traces] [--no-engine]
[--cpu N] [--memory SIZE] [--gpus N] [--node-name NAME]`
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import uvloop

from fairway.api.local import LocalClient
from fairway.cli import configuration, kubeconfig, launch, serving
from fairway.cli.contexts import SpaceContext
from fairway.cli.members import FIRST_S, Members, locals_of
from fairway.control.configuration import Configuration
from fairway.control.pods.machine import Declared
from fairway.node import Node
from fairway.runtime import certificates, layout, machine
from fairway.runtime import sockets as listening
from fairway.runtime.certificates import Certificates
from fairway.runtime.datadir import DataDir
from fairway.runtime.layout import Layout
from fairway.runtime.memory import keep_what_is_loaded
from fairway.runtime.status import Fatal, Problem, Progress, Ready, Reporter, SpaceInfo
from fairway.store.log import StoreError

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

log = logging.getLogger("fairway.node")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    data: DataDir
    host: str
    """As the launcher listens; `0.0.0.0` and `::` mean all addresses of the machine."""
    port: int
    tls: bool
    machine: Declared | None = field(default_factory=Declared)
    """What there is to run things on; None: nothing, the node only serves its API."""
    queueing: Configuration | None = None
    default_queue: bool = True
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the node is to stop: streams end, background work winds up."""
    progress: Callable[[str], None] = lambda _: None
    """Says what a long start is busy with."""
    background: list[asyncio.Future[None]] = field(default_factory=list)


ReadyCall = Callable[[Sequence[SpaceInfo]], None]


async def serve(config: NodeConfig, sockets: Sequence[socket.socket], ready: ReadyCall) -> None:
    """Serves until config.stopping. Calls ready once requests are answered. Raises Problem or StoreError if it cannot start."""
    tls = _certificates(config) if config.tls else None
    config.progress("loading")
    known = layout.read(config.data)
    node = Node(
        config.data.path,
        known.spaces,
        machine=config.machine,
        config=config.queueing,
        with_default_queue=config.default_queue,
        hub=layout.HUB if known.hub else "",
    )
    members: Members | None = None
    try:
        app = await node.start()
        app.authority = tls.authority_pem if tls else b""
        keep_what_is_loaded()
        contexts = await _contexts(config, node, known, tls.authority_pem if tls else b"")
        infos = [SpaceInfo(space.name, each.name) for space, each in zip(node.spaces, contexts, strict=True)]
        members = Members(config.data, LocalClient(node.spaces[0], "fairway-join"), contexts)
        members.write(locals_of(config.data, known))

        def started() -> None:
            if not known.hub:
                ready(infos)
                return
            members.start()
            config.background.append(asyncio.ensure_future(_announce(members, lambda: ready(infos))))

        await serving.serve(
            cast("ASGI3Application", app),
            sockets,
            certificate=serving.Certificate(tls.server, tls.server) if tls else None,
            started=started,
            stopping=config.stopping,
        )
    finally:
        if members is not None:
            await members.stop()
        await node.stop()


async def _announce(members: Members, ready: Callable[[], None]) -> None:
    """A hub is up when its clusters are there to dispatch to; one that cannot be had does not hold it up for long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_S):
            await members.first.wait()
    ready()


def _certificates(config: NodeConfig) -> Certificates:
    everywhere = config.host in ("0.0.0.0", "::")
    return certificates.ensure(config.data.tls, [machine.look().address if everywhere else config.host])


async def _contexts(config: NodeConfig, node: Node, known: Layout, authority: bytes) -> list[SpaceContext]:
    """One context per space, with a token that may do everything there; a token that still works is kept."""
    url = listening.url(config.host, config.port, tls=config.tls)
    contexts = []
    for index, space in enumerate(node.spaces):
        context = kubeconfig.HOME if index == 0 else layout.OWN
        token = await node.admin_token(space, _known_token(config.data, context))
        server = url if index == 0 else f"{url}/spaces/{space.name}"
        aliases = (layout.HUB,) if known.hub and index == 0 else ()
        contexts.append(SpaceContext(context, server, authority, token, aliases=aliases))
    return contexts


def _known_token(data: DataDir, context: str) -> str:
    try:
        return kubeconfig.access(data, context).token
    except Problem:
        return ""


async def _run(config: NodeConfig, arguments: argparse.Namespace, sock: socket.socket, reporter: Reporter) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, config.stopping.set)
    if arguments.life_fd is not None:
        # Nothing is ever written there: it becomes readable when the launcher is gone.
        loop.add_reader(arguments.life_fd, _orphaned, loop, arguments.life_fd, config)

    def ready(spaces: Sequence[SpaceInfo]) -> None:
        reporter.send(Ready(config.port, tuple(spaces)))

    await serve(config, [sock], ready)


def _orphaned(loop: asyncio.AbstractEventLoop, life_fd: int, config: NodeConfig) -> None:
    loop.remove_reader(life_fd)
    log.warning("the launcher is gone; stopping")
    config.stopping.set()


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parse(argv)
    for fd in (arguments.fd, arguments.status_fd, arguments.life_fd, arguments.lock_fd):
        if fd is not None:
            os.set_inheritable(fd, False)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    reporter = Reporter(arguments.status_fd)
    sock = socket.socket(fileno=arguments.fd)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            config = NodeConfig(
                data=DataDir.at(arguments.data),
                host=arguments.host,
                port=listening.port_of(sock),
                tls=not arguments.no_tls,
                machine=_machine(arguments),
                queueing=configuration.read(Path(arguments.config)) if arguments.config else None,
                default_queue=not arguments.no_default_queue,
                progress=lambda message: reporter.send(Progress(message)),
            )
            runner.run(_run(config, arguments, sock, reporter))
    except Exception as error:
        reporter.send(_explain(error, traces=arguments.traces))
        return 1
    return 0


def _machine(arguments: argparse.Namespace) -> Declared | None:
    if arguments.no_engine:
        return None
    return Declared(
        cpu=arguments.cpu or None, memory=arguments.memory or None, gpus=arguments.gpus, name=arguments.node_name
    )


def _explain(error: Exception, *, traces: bool) -> Fatal:
    if isinstance(error, Problem):
        return Fatal(error.message, error.remedy)
    if isinstance(error, StoreError):
        return Fatal(str(error))
    if traces:
        log.error("the node failed", exc_info=error)
    where = "the log has the details" if traces else "FAIRWAY_DEBUG=1 shows where it comes from"
    return Fatal(f"the node failed: {type(error).__name__}: {error}", where)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fairway.cli.node", description="Serves; started by `fairway up`.")
    parser.add_argument("--data", required=True)
    parser.add_argument("--host", default=listening.LOOPBACK)
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--status-fd", type=int)
    parser.add_argument("--life-fd", type=int)
    parser.add_argument("--lock-fd", type=int)
    parser.add_argument("--no-tls", action="store_true")
    parser.add_argument("--traces", action="store_true")
    launch.add_machine_arguments(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
