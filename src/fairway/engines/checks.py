"""A look at how a run does: a command beside it, a connection, a request. Each ends within its time and leaves nothing behind.

A command gets the run's variables and folder, and the run's mark: what outlives everything else is found and ended with the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import ssl
from collections.abc import Mapping

from fairway.engines.engine import Check
from fairway.engines.launch import PATH

_OUTPUT_MAX = 1024
_ENDS_AFTER = shutil.which("timeout")
"""Ends the command on its own, should the node die in between."""


async def look(check: Check, env: Mapping[str, str], cwd: str, seconds: float) -> str:
    """Empty if all is well, otherwise what is not."""
    try:
        async with asyncio.timeout(seconds):
            if check.argv:
                return await _execute(check.argv, env, cwd, seconds)
            if check.path:
                return await _request(check)
            return await _connect(check)
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except (OSError, ValueError) as error:
        return str(error)


async def _execute(argv: tuple[str, ...], env: Mapping[str, str], cwd: str, seconds: float) -> str:
    guard = (_ENDS_AFTER, "-s", "KILL", f"{seconds + 1:g}") if _ENDS_AFTER else ()
    process = await asyncio.create_subprocess_exec(
        *guard,
        *argv,
        env={"PATH": PATH, **env},
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        said = b""
        while len(piece := await process.stdout.read(_OUTPUT_MAX)):
            said = (said + piece)[:_OUTPUT_MAX]
        code = await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            await asyncio.shield(process.wait())
    return "" if code == 0 else said.decode(errors="replace").strip() or f"exit code {code}"


async def _connect(check: Check) -> str:
    _, writer = await asyncio.open_connection(check.host, check.port)
    writer.close()
    return ""


async def _request(check: Check) -> str:
    secure = None
    if check.secure:
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # as a kubelet: whoever answers is taken at its word
        secure.check_hostname, secure.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(check.host, check.port, ssl=secure)
    try:
        headers = {"Host": f"{check.host}:{check.port}", "User-Agent": "fairway-probe", "Accept": "*/*"}
        headers |= dict(check.headers)
        lines = [f"GET {check.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode("latin-1", "replace"))
        await writer.drain()
        status = (await reader.readline()).split(b" ", 2)
    finally:
        writer.close()
    if len(status) < 2 or not status[1].isdigit():
        return "what answers does not speak HTTP"
    code = int(status[1])
    return "" if 200 <= code < 400 else f"HTTP probe failed with statuscode: {code}"
