"""What makes a space a hub: links to clusters, and what hands workloads to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from fairway.api.client import Client, Query
from fairway.api.kubeconfig import Access
from fairway.control.adapters import ADAPTERS, JobAdapter
from fairway.control.admission.queueing import Queueing
from fairway.control.apply import Note
from fairway.control.configuration import Configuration
from fairway.control.events import Recorder
from fairway.control.mirror import Mirror
from fairway.fleet.dispatch.dispatcher import Dispatcher
from fairway.fleet.link.link import Guard
from fairway.fleet.link.links import Connect, Links
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids

log = logging.getLogger("fairway.fleet")
MANAGER = "kueue-admission"


def connect(access: Access) -> Client:
    return access.connect("fairway-hub")


class Fleet:
    """`start` it after queueing: they share what they know."""

    def __init__(
        self,
        client: Callable[[str], Client],
        queueing: Queueing,
        config: Configuration,
        origin: str,
        clock: Clock,
        ids: Ids,
        revision: Callable[[], int],
        connect: Connect = connect,
        adapters: Sequence[JobAdapter] = ADAPTERS,
    ) -> None:
        """client: one for each name under which something is written."""
        enabled = [each for each in adapters if each.framework in config.integrations.frameworks]
        self._queueing = queueing
        self.origin = origin
        self._revision = revision
        self.recorder = Recorder(client(MANAGER), clock)
        self.mirror = Mirror(
            client(MANAGER),
            (CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS, MULTIKUEUE_CLUSTERS),
            ids.uniform,
            {SECRETS: Query(namespace=config.namespace)},
        )
        self.links = Links(
            self.mirror,
            config.namespace,
            origin,
            [each.resource for each in enabled],
            clock,
            ids.uniform,
            connect,
            self._guard,
        )
        self.dispatcher = Dispatcher(
            client(MANAGER),
            queueing.mirror,
            self.mirror,
            self.links,
            config,
            origin,
            clock,
            self._record,
            revision,
            enabled,
        )
        self._task: asyncio.Task[None] | None = None

    def _guard(self, _cluster: str, _client: Client) -> Guard | None:
        return None

    def _record(self, note: Note) -> None:
        self.recorder.note(note.about, note.type, note.reason, note.message, note.component)

    def start(self) -> None:
        self.recorder.start()
        self._task = asyncio.get_running_loop().create_task(self._start(), name="fleet")

    async def _start(self) -> None:
        await self._queueing.known.wait()
        await self.mirror.start((CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS))
        self.links.start()
        self.dispatcher.start()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.dispatcher.stop()
        await self.links.stop()
        await self.mirror.stop()
        await self.recorder.stop()
