"""A process that serves many clusters: each a space with its own API, queues and TLS, and nothing to run anything on.

`python -m benchmarks.light_clusters --fd N --count N --tls DIR` prints a line of JSON for each: name, server, authority and token.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, cast

import uvloop

from fairway.cli import serving
from fairway.node import Node
from fairway.runtime import certificates
from fairway.runtime.memory import keep_what_is_loaded

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application


async def serve(listening: socket.socket, count: int, folder: Path) -> None:
    tls = certificates.ensure(folder, ["127.0.0.1"])
    node = Node(None, [f"light-{number + 1}" for number in range(count)])
    app = await node.start()
    keep_what_is_loaded()
    port = listening.getsockname()[1]
    tokens = [await node.admin_token(space, "") for space in node.spaces]

    def started() -> None:
        for space, token in zip(node.spaces, tokens, strict=True):
            server = f"https://127.0.0.1:{port}/spaces/{space.name}"
            line = {"name": space.name, "server": server, "authority": tls.authority_pem.decode(), "token": token}
            print(json.dumps(line), flush=True)

    try:
        await serving.serve(
            cast("ASGI3Application", app),
            [listening],
            certificate=serving.Certificate(tls.server, tls.server),
            started=started,
            stopping=asyncio.Event(),
        )
    finally:
        await node.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.light_clusters")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--tls", type=Path, required=True)
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(socket.socket(fileno=arguments.fd), arguments.count, arguments.tls))


if __name__ == "__main__":
    main()
