"""All links of a hub: one for every MultiKueueCluster, opened and closed as those come, change and go.

The kubeconfig is in a Secret of the configuration's namespace, under `kubeconfig`, or in a file of the hub's machine. A new kubeconfig (a
rotated token, say) is used at once; what ran goes on.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from fairway.api.client import Client, Item, Resource
from fairway.api.kubeconfig import Access, KubeconfigError, load, load_file
from fairway.control.adapters import Json
from fairway.control.mirror import Mirror
from fairway.core.model import SECOND, Time
from fairway.fleet.link.link import Guard, Link
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, SECRETS
from fairway.runtime.clock import Clock
from fairway.runtime.credentials import CredentialError, read_file

log = logging.getLogger("fairway.fleet")
KEY = "kubeconfig"
_FILE_SECONDS = 10.0
"""How often kubeconfigs that are files are looked at."""
Connect = Callable[[Access], Client]
MakeGuard = Callable[[str, Client], Guard | None]
"""Of a cluster's name and its client."""


class Links:
    """`start` once the mirror is true. Listeners are told the name of a cluster whose link changed."""

    def __init__(
        self,
        mirror: Mirror,
        namespace: str,
        origin: str,
        kinds: Sequence[Resource],
        clock: Clock,
        uniform: Callable[[], float],
        connect: Connect,
        guard: MakeGuard,
    ) -> None:
        self._mirror = mirror
        self._namespace = namespace
        self._origin = origin
        self._kinds = tuple(kinds)
        self._custom: list[Resource] = []
        self._clock = clock
        self._uniform = uniform
        self._connect = connect
        self._guard = guard
        self._links: dict[str, Link] = {}
        self._opened: dict[str, bytes] = {}
        self._dirty: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[str], None]] = []
        self._new: list[Callable[[Link], None]] = []
        mirror[MULTIKUEUE_CLUSTERS].on_change(lambda key, _before, _after: self._touch(key.partition("/")[2]))
        mirror[SECRETS].on_change(self._on_secret)

    def now(self) -> Time:
        return int(self._clock.now * SECOND)

    def get(self, name: str) -> Link | None:
        return self._links.get(name)

    def expects(self, name: str) -> bool:
        """Whether a cluster of that name is part of the fleet, whether or not there is a link to it yet."""
        return f"/{name}" in self._mirror[MULTIKUEUE_CLUSTERS]

    def names(self) -> list[str]:
        return sorted(self._links)

    def add(self, kind: Resource) -> None:
        """One more kind of job to be seen on every cluster that offers it."""
        self._custom.append(kind)
        for link in self._links.values():
            link.add(kind)

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def on_new(self, listener: Callable[[Link], None]) -> None:
        """Told of every link before it is opened, to listen to its tables."""
        self._new.append(listener)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="links")
        for key in self._mirror[MULTIKUEUE_CLUSTERS]:
            self._touch(key.partition("/")[2])

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for link in self._links.values():
            await link.close()

    # --- what changed -----------------------------------------------------------------------------------------------

    def _touch(self, name: str) -> None:
        self._dirty[name] = None
        self._wake.set()

    def _on_secret(self, key: str, _before: Item | None, _after: Item | None) -> None:
        namespace, _, name = key.partition("/")
        if namespace != self._namespace:
            return
        for each in self._mirror[MULTIKUEUE_CLUSTERS]:
            source = _source(self._mirror[MULTIKUEUE_CLUSTERS].get(each) or {})
            if source.get("locationType", "Secret") == "Secret" and source.get("location") == name:
                self._touch(each.partition("/")[2])

    def _renew(self, name: str) -> None:
        """Through other connections, as if the kubeconfig had changed."""
        self._opened.pop(name, None)
        self._touch(name)

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_FILE_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                for name in self._from_files():
                    self._dirty[name] = None
            self._wake.clear()
            for name in list(self._dirty):
                del self._dirty[name]
                try:
                    await self._sync(name)
                except Exception:
                    log.exception("link to %s: cannot be set up", name)

    def _from_files(self) -> list[str]:
        table = self._mirror[MULTIKUEUE_CLUSTERS]
        found = ((key, _source(table.get(key) or {})) for key in table)
        return [key.partition("/")[2] for key, source in found if source.get("locationType") == "Path"]

    # --- open and close ---------------------------------------------------------------------------------------------

    async def _sync(self, name: str) -> None:
        obj = self._mirror[MULTIKUEUE_CLUSTERS].get(f"/{name}")
        if obj is None or obj["metadata"].get("deletionTimestamp"):
            link = self._links.pop(name, None)
            self._opened.pop(name, None)
            if link is not None:
                await link.close()
                self._tell(name)
            return
        link = self._links.get(name)
        if link is None:
            link = Link(
                name,
                self._origin,
                self._kinds,
                now=self.now,
                uniform=self._uniform,
                on_state=self._tell,
                on_silence=self._renew,
            )
            for kind in self._custom:
                link.add(kind)
            self._links[name] = link
            for listener in self._new:
                listener(link)
        try:
            text, access = self._access(obj)
        except KubeconfigError as error:
            self._opened.pop(name, None)
            await link.close()
            link.fail(error.reason, str(error))
            return
        if self._opened.get(name) == text:
            return
        await link.close()
        self._opened[name] = text
        client = self._connect(access)
        link.open(client, self._guard(name, client))
        self._tell(name)

    def _access(self, obj: Json) -> tuple[bytes, Access]:
        source = _source(obj)
        location = str(source.get("location", ""))
        if not location:
            raise KubeconfigError("BadKubeConfig", "the cluster has no kubeConfig with a location")
        if source.get("locationType", "Secret") == "Path":
            try:
                text = read_file(Path(location))
            except CredentialError as error:
                raise KubeconfigError("BadKubeConfig", str(error)) from None
            return text, load_file(Path(location), self._clock)
        text = self._secret(location)
        return text, load(text, self._clock)

    def _secret(self, name: str) -> bytes:
        where = f"{self._namespace}/{name}"
        secret = self._mirror[SECRETS].get(where)
        if secret is None:
            raise KubeconfigError("BadKubeConfig", f"the Secret {where} with the kubeconfig does not exist")
        data = (secret.get("data") or {}).get(KEY)
        if data is None:
            raise KubeconfigError("BadKubeConfig", f"the Secret {where} has no key {KEY!r}")
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error:
            raise KubeconfigError("BadKubeConfig", f"the key {KEY!r} of Secret {where} is not base64") from None


def _source(obj: Json) -> Json:
    spec = obj.get("spec") or {}
    source: Json = (spec.get("clusterSource") or {}).get("kubeConfig") or {}
    return source


WATCHED = (MULTIKUEUE_CLUSTERS, SECRETS, CLUSTERS)
"""What the mirror of a hub has to know for its links."""
