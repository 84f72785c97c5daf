"""The least that an ASGI application can do, on the same server as the node: the yardstick for the API.

    python -m benchmarks.hello --fd N

GET answers a page of 1.3 kB; POST and PATCH read the body and answer the same page; GET /stream?N sends the page N times as it
can, each a chunk of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
from typing import TYPE_CHECKING, Any, cast

import uvloop

from fairway.cli import serving

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

PAGE = b'{"hello":"%s"}\n' % (b"x" * 1284)
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(PAGE))]


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["path"] == "/stream":
        await send({"type": "http.response.start", "status": 200, "headers": [_HEADERS[0]]})
        for _ in range(int(scope["query_string"])):
            await send({"type": "http.response.body", "body": PAGE, "more_body": True})
            await asyncio.sleep(0)  # the others get their turn, as with events
        await send({"type": "http.response.body", "body": b""})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": PAGE})


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    sock = socket.socket(fileno=parser.parse_args().fd)
    await serving.serve(
        cast("ASGI3Application", app), [sock], certificate=None, started=lambda: None, stopping=stopping
    )


if __name__ == "__main__":
    uvloop.run(main())
