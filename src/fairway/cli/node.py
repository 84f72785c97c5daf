"""The node's process: started by a launcher, serves on the socket it inherits, ends with the launcher.

`python -m fairway.cli.node --data DIR --fd N --status-fd M --life-fd L --lock-fd K [--host ADDR] [--no-tls] [--traces]`
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import uvloop

from fairway import __version__
from fairway.cli import serving
from fairway.runtime import sockets as listening
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Fatal, Problem, Progress, Ready, Reporter, SpaceInfo
from fairway.store.log import StoreError

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

log = logging.getLogger("fairway.node")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    data: DataDir
    host: str
    """As the launcher listens; `0.0.0.0` and `::` mean all addresses of the machine."""
    port: int
    tls: bool
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the node is to stop: streams end, background work winds up."""
    progress: Callable[[str], None] = lambda _: None
    """Says what a long start is busy with."""


ReadyCall = Callable[[Sequence[SpaceInfo]], None]


async def serve(config: NodeConfig, sockets: Sequence[socket.socket], ready: ReadyCall) -> None:
    """Serves until config.stopping. Calls ready once requests are answered. Raises Problem or StoreError if it cannot start."""
    await serving.serve(
        hello(config),
        sockets,
        certificate=_certificate(config),
        started=lambda: ready([SpaceInfo("default", "fairway")]),
        stopping=config.stopping,
    )


def _certificate(config: NodeConfig) -> serving.Certificate | None:
    if not config.tls:
        return None
    found = serving.Certificate(config.data.tls / "server.crt", config.data.tls / "server.key")
    if not (found.chain.exists() and found.key.exists()):
        raise Problem(f"there is no certificate in {config.data.tls}", "start with --no-tls to try without encryption")
    return found


def hello(config: NodeConfig) -> ASGI3Application:
    version = msgspec.json.encode({"major": "1", "minor": "33", "gitVersion": f"v1.33.0+fairway-{__version__}"})

    async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        answers = {"/version": (200, version), "/healthz": (200, b"ok"), "/stream": (200, b"open\n")}
        status, body = answers.get(scope["path"], (404, b"not found"))
        await send({"type": "http.response.start", "status": status, "headers": []})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await config.stopping.wait()
            body = b""
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return app


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
                progress=lambda message: reporter.send(Progress(message)),
            )
            runner.run(_run(config, arguments, sock, reporter))
    except Exception as error:
        reporter.send(_explain(error, traces=arguments.traces))
        return 1
    return 0


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
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
