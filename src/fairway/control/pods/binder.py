"""Binds waiting pods to nodes that have room, and tells those that fit nowhere why.

A pod that comes while nobody waits and for which there is room is on its node from the start, as an admission hook of the space sees to: most
pods are like that, and a binding of its own would cost each a write, a commit and a round of news. Its room is promised until the watch tells
of the pod; what is refused after all gives it back at once, and what could not be written, after a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairway.api.client import Client, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.reflector import Reflector
from fairway.api.request import Admission
from fairway.api.subresources import scheduled
from fairway.api.worker import Worker
from fairway.control import conditions
from fairway.control.events import Recorder
from fairway.control.pods.containers import stamp
from fairway.control.pods.requests import pod_requests
from fairway.control.pods.room import Bind, Room, Unfit, Wish, node_of, wish_of
from fairway.kinds.k8s.core.pod import Pod, PodSpec
from fairway.kinds.types import encode, format_time, to_json
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes", namespaced=False)
SCHEDULER = "default-scheduler"
STRANDED_SECONDS = 40.0
PROMISED_SECONDS = 60.0
STRANDED = "PodGC: node no longer exists"
_TERMINAL = ("Succeeded", "Failed")
_WISHES_MAX = 1024


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: list[Any] | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str = ""


class _Pod(msgspec.Struct, gc=False):
    """The little that every change of a pod is looked at for."""

    metadata: _Meta
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


_look = msgspec.json.Decoder(_Pod).decode


class Binder:
    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]],
        uniform: Callable[[], float],
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._room = Room()
        self._names: dict[str, tuple[str, str]] = {}
        self._pods = Reflector(client, PODS, _Pods(self), sleep=sleep, uniform=uniform)
        self._nodes = Reflector(client, NODES, _Nodes(self), sleep=sleep, uniform=uniform)
        self._worker = Worker("pod-binder", self._step)
        self._tasks: list[asyncio.Task[None]] = []
        self._sleep = sleep
        self._lost = asyncio.Event()
        """There may be pods on nodes that are not there."""
        self._promised: dict[str, float] = {}
        """Pods that were given a node as they were created and have not been seen since, by when that was."""
        self._wishes: dict[bytes, Wish] = {}
        self._begun = False

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(one.run()) for one in (self._nodes, self._pods)]
        self._tasks += [loop.create_task(work) for work in (self._begin(), self._free_the_stranded())]

    async def _begin(self) -> None:
        await self._nodes.synced.wait()
        await self._pods.synced.wait()
        self._worker.start()
        self._begun = True

    async def _free_the_stranded(self) -> None:
        """Pods on a node that is no more run nowhere: after a while they are failed and removed, so that others take their place."""
        await self._pods.synced.wait()
        while True:
            await self._lost.wait()
            self._lost.clear()
            await self._sleep(STRANDED_SECONDS)
            for item in list(self._pods.items.values()):
                pod = _look(item.value)
                if pod.spec.node_name and pod.spec.node_name not in self._room.nodes:
                    await self._free(item)

    async def _free(self, item: Item) -> None:
        pod = item.json()
        name, namespace = pod["metadata"]["name"], pod["metadata"].get("namespace", "")
        now = stamp(self._clock.now)
        try:
            if pod["status"].get("phase") not in _TERMINAL:
                conditions.set_condition(pod, "DisruptionTarget", "True", "DeletionByPodGC", STRANDED, now)
                pod["status"]["phase"] = "Failed"
                await self._client.update(PODS, pod, subresource="status")
            how = Deletion(uid=pod["metadata"]["uid"], grace_seconds=0)
            await self._client.delete(PODS, name, namespace, how)
        except ApiError as error:
            if error.code != 404:
                log.warning("pod %s/%s on a node that is gone: %s", namespace, name, error.message)
                self._lost.set()

    async def stop(self) -> None:
        self._begun = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._worker.stop()

    # --- observe ------------------------------------------------------------------------------------------------------

    def on_node(self, item: Item) -> None:
        self._room.set_node(node_of(item.json()))
        self._worker.wake()

    def on_node_gone(self, item: Item) -> None:
        self._room.remove_node(item.meta.name)
        self._lost.set()
        self._worker.wake()

    def on_pod(self, item: Item) -> None:
        pod = _look(item.value)
        uid = pod.metadata.uid
        if self._promised.pop(uid, None) is not None:
            self._tell_bound(uid, pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)
        if pod.status.phase in _TERMINAL:
            self._drop(uid)
        elif pod.spec.node_name:
            self._names.pop(uid, None)
            if not self._room.holds(uid):
                self._room.hold(uid, pod.spec.node_name, pod_requests(item.json()["spec"]))
            if pod.spec.node_name not in self._room.nodes:
                self._lost.set()
        elif pod.metadata.deletion_timestamp or pod.spec.scheduling_gates or pod.spec.scheduler_name != SCHEDULER:
            self._drop(uid)
        elif not self._room.holds(uid):
            self._names[uid] = (pod.metadata.namespace, pod.metadata.name)
            self._room.wait(uid, item.json())
            self._worker.wake()

    def on_pod_gone(self, item: Item) -> None:
        self._drop(_look(item.value).metadata.uid)

    def _drop(self, uid: str) -> None:
        self._names.pop(uid, None)
        self._promised.pop(uid, None)
        self._room.forget(uid)
        self._room.release(uid)
        self._worker.wake()

    # --- at creation --------------------------------------------------------------------------------------------------

    def place(self, admission: Admission) -> None:
        """The hook."""
        pod = admission.new
        if admission.operation != "CREATE" or not isinstance(pod, Pod) or admission.options.dry_run or not self._begun:
            return
        spec = pod.spec
        if spec.node_name or spec.scheduling_gates or spec.scheduler_name != SCHEDULER:
            return
        uid = str(pod.metadata.uid)
        node = self._room.place(uid, self._wish(spec))
        if node is None:
            return
        spec.node_name = node
        scheduled(pod, format_time(datetime.fromtimestamp(int(self._clock.now), UTC)))
        if not self._promised:
            asyncio.get_running_loop().call_later(PROMISED_SECONDS, self._take_back)
        self._promised[uid] = self._clock.monotonic
        admission.refused.append(lambda: self._drop(uid))

    def _wish(self, spec: PodSpec) -> Wish:
        asked = [[one.resources or None, one.restart_policy or None] for one in (spec.init_containers or ())]
        asked += [[one.resources or None] for one in spec.containers]
        where = [spec.node_selector or None, spec.affinity or None, spec.tolerations or None]
        key = encode([asked, where, spec.resources or None, spec.overhead or None])
        found = self._wishes.get(key)
        if found is None:
            if len(self._wishes) >= _WISHES_MAX:
                self._wishes.clear()
            found = self._wishes[key] = wish_of(to_json(spec))[0]
        return found

    def _take_back(self) -> None:
        """Promises to pods that never came: what could not be written."""
        until = self._clock.monotonic - PROMISED_SECONDS
        for uid, at in list(self._promised.items()):
            if at <= until:
                self._drop(uid)
        if self._promised and self._begun:
            asyncio.get_running_loop().call_later(PROMISED_SECONDS, self._take_back)

    # --- apply --------------------------------------------------------------------------------------------------------

    async def _step(self) -> bool:
        decisions = self._room.step()
        await asyncio.gather(*(self._bind(one) if isinstance(one, Bind) else self._explain(one) for one in decisions))
        return bool(decisions)

    async def _bind(self, decision: Bind) -> None:
        namespace, name = self._names.get(decision.uid, ("", ""))
        if not name:
            return
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": decision.uid},
            "target": {"kind": "Node", "name": decision.node},
        }
        try:
            await self._client.post(PODS, name, "binding", body, namespace)
        except ApiError as error:
            self._room.release(decision.uid)
            self._again(decision.uid, (namespace, name))
            if error.code not in (404, 409):
                log.warning("binding pod %s/%s: %s", namespace, name, error.message)
            return
        self._tell_bound(decision.uid, namespace, name, decision.node)

    def _tell_bound(self, uid: str, namespace: str, name: str, node: str) -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"uid": uid, "namespace": namespace, "name": name}}
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self._recorder.note(about, "Normal", "Scheduled", message, SCHEDULER)

    def _again(self, uid: str, key: tuple[str, str]) -> None:
        """A binding was refused: what is known of the pod by now decides whether it still waits."""
        item = self._pods.get(key[1], key[0])
        if item is not None and item.meta.uid == uid:
            self.on_pod(item)

    async def _explain(self, decision: Unfit) -> None:
        key = self._names.get(decision.uid)
        item = self._pods.get(key[1], key[0]) if key is not None else None
        if item is None or item.meta.uid != decision.uid:
            return
        pod = item.json()
        now = stamp(self._clock.now)
        if conditions.set_condition(pod, "PodScheduled", "False", "Unschedulable", decision.message, now):
            try:
                await self._client.update(PODS, pod, subresource="status")
            except ApiError as error:
                if error.code == 409:
                    self._room.untold(decision.uid)
                return
        self._recorder.note(pod, "Warning", "FailedScheduling", decision.message, SCHEDULER)


class _Pods:
    def __init__(self, binder: Binder) -> None:
        self._binder = binder

    def added(self, item: Item) -> None:
        self._binder.on_pod(item)

    def modified(self, _before: Item, item: Item) -> None:
        self._binder.on_pod(item)

    def deleted(self, item: Item) -> None:
        self._binder.on_pod_gone(item)


class _Nodes:
    def __init__(self, binder: Binder) -> None:
        self._binder = binder

    def added(self, item: Item) -> None:
        self._binder.on_node(item)

    def modified(self, _before: Item, item: Item) -> None:
        self._binder.on_node(item)

    def deleted(self, item: Item) -> None:
        self._binder.on_node_gone(item)
