"""A hub and clusters, each a process of its own that can be killed and stopped; what the launcher holds in life, the test holds here."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from fairway.api.errors import ApiError
from fairway.api.kubeconfig import KubeconfigError, load_file
from fairway.api.remote import RemoteClient
from fairway.runtime import sockets
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir
from fairway.runtime.layout import Layout
from fairway.runtime.layout import write as write_layout
from tests.integration.engine_support import end_zygote, processes_of
from tests.integration.support import ROOT

_LOOK_S = 0.05


def live(folder: Path, listener: socket.socket, arguments: list[str]) -> None:
    """One life of a node."""
    from fairway.cli import node  # loaded once, where lives are forked from

    log = os.open(folder / "node.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    words = ["--data", str(folder), "--fd", str(listener.detach()), "--no-tls", "--traces", *arguments]
    sys.exit(node.main(words))


class NodeProcess:
    """`start` and `kill` it as often as you like: its folder and its address stay."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self.folder = folder
        self._arguments = list(arguments)
        self._listener = sockets.listen(sockets.LOOPBACK, 0)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.chaos.nodes", "fairway.cli.node"])
        self._process: BaseProcess | None = None
        self._client: RemoteClient | None = None
        self.kills = self.stops = 0
        folder.mkdir(parents=True)

    @property
    def port(self) -> int:
        return sockets.port_of(self._listener)

    @property
    def engine(self) -> Path:
        return self.folder / "spaces" / "default" / "engine"

    @property
    def client(self) -> RemoteClient:
        """As its administrator, past all proxies."""
        assert self._client is not None
        return self._client

    async def start(self) -> None:
        """Returns when it answers."""
        os.environ["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
        process = self._context.Process(target=live, args=(self.folder, self._listener, self._arguments))
        await asyncio.to_thread(process.start)
        self._process = process
        while not await self._answers():  # noqa: ASYNC110 - it is another process
            assert process.is_alive(), f"{self.name} ended: {(self.folder / 'node.log').read_text()[-4000:]}"
            await asyncio.sleep(_LOOK_S)

    async def _answers(self) -> bool:
        if self._client is None:
            try:
                access = load_file(self.folder / "kubeconfig", SystemClock())
            except KubeconfigError:
                return False
            self._client = access.connect("chaos")
        try:
            async with asyncio.timeout(1):
                await self._client.document("/version")
        except (ApiError, TimeoutError):
            return False
        return True

    # --- faults -----------------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """SIGKILL. What it started lives on."""
        assert self._process is not None
        self.kills += 1
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        assert self._process is not None
        assert self._process.pid is not None
        self.stops += 1
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGCONT)

    # --- the end ----------------------------------------------------------------------------------------------------

    def left(self) -> list[str]:
        """Processes of its runs that still live."""
        return processes_of(self.engine)

    def troubles(self) -> list[str]:
        """What it should not have had to say."""
        log = (self.folder / "node.log").read_text()
        return [line for line in log.splitlines() if "Traceback" in line or " ERROR " in line]

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._listener.close()
        end_zygote(self.engine)


def hub(folder: Path) -> NodeProcess:
    node = NodeProcess("hub", folder, "--no-engine")
    write_layout(DataDir(folder), Layout(hub=True))
    return node


def cluster(name: str, folder: Path, cpu: int) -> NodeProcess:
    return NodeProcess(name, folder, "--cpu", str(cpu), "--memory", "1Gi", "--node-name", name)
