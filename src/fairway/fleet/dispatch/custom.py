"""Kinds of jobs that only their users know, dispatched by their spec.managedBy.

The configuration names them (`multiKueue.externalFrameworks: [{name: Kind.version.group}]`); what they are called in paths is in their
CustomResourceDefinitions. Such a kind is dispatched from the moment on that its definition is there; work of it waits until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from fairway.api.client import Client, Item, Resource
from fairway.api.reflector import Reflector
from fairway.control.configuration import KindName
from fairway.control.mirror import Mirror
from fairway.fleet.dispatch.dispatcher import Dispatcher
from fairway.fleet.dispatch.facts import CustomKind

DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)


class CustomKinds:
    """`start` returns once every kind whose definition is there is known with all its objects."""

    def __init__(
        self, client: Client, wanted: Sequence[KindName], uniform: Callable[[], float], dispatcher: Dispatcher
    ) -> None:
        self._client = client
        self._wanted = {(each.api_version, each.kind): each for each in wanted}
        self._uniform = uniform
        self._dispatcher = dispatcher
        self._mirrors: list[Mirror] = []
        self._tasks: list[asyncio.Task[None]] = []
        dispatcher.known.awaited |= self._wanted.keys()

    async def start(self) -> None:
        if not self._wanted:
            return
        reflector = Reflector(self._client, DEFINITIONS, self, sleep=asyncio.sleep, uniform=self._uniform)
        loop = asyncio.get_running_loop()
        watching = loop.create_task(reflector.run(), name="custom-kinds")
        await reflector.synced.wait()
        await asyncio.gather(*self._tasks)
        self._tasks.append(watching)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for mirror in self._mirrors:
            await mirror.stop()

    # --- as the handler of the definitions' reflector -----------------------------------------------------------------

    def added(self, item: Item) -> None:
        spec = item.json()["spec"]
        for version in spec["versions"]:
            kind = self._wanted.get((f"{spec['group']}/{version['name']}", spec["names"]["kind"]))
            if kind is not None and version.get("served", True):
                del self._wanted[kind.api_version, kind.kind]
                plural, namespaced = spec["names"]["plural"], spec.get("scope", "Namespaced") == "Namespaced"
                found = CustomKind(Resource(kind.group, kind.version, plural, namespaced), kind.kind)
                self._tasks.append(asyncio.get_running_loop().create_task(self._adopt(found), name=f"adopt-{plural}"))

    def modified(self, _before: Item, item: Item) -> None:
        self.added(item)

    def deleted(self, item: Item) -> None:
        """Its objects have gone before it; should it come back, they are listed again."""

    async def _adopt(self, kind: CustomKind) -> None:
        mirror = Mirror(self._client, (kind.resource,), self._uniform)
        self._mirrors.append(mirror)
        await mirror.start()
        self._dispatcher.adopt(kind, mirror[kind.resource])
