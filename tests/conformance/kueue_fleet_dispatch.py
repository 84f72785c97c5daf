"""Suite F, dispatching: one look of the production dispatcher at one workload, over tables filled with the vector's objects."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from fairway.api.client import Item, Resource
from fairway.control.adapters import ADAPTERS, names
from fairway.control.conditions import is_true
from fairway.control.configuration import Configuration, IncrementalDispatcher, MultiKueue
from fairway.control.mirror import Mirror
from fairway.control.resources import CHECKS, WORKLOADS
from fairway.control.times import parse_time
from fairway.core.dispatch import nominate
from fairway.core.model import SECOND
from fairway.fleet.dispatch.dispatcher import Dispatcher
from fairway.fleet.dispatch.facts import check_of
from fairway.fleet.dispatch.writes import Op, Outcome
from fairway.fleet.link.link import Link
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CONFIGS
from tests.conformance.kueue_world import Json, check
from tests.conformance.runner import adapter

JOBS = Resource("batch", "v1", "jobs")
KINDS = {"Workload": WORKLOADS, "Job": JOBS, "AdmissionCheck": CHECKS, "MultiKueueConfig": MULTIKUEUE_CONFIGS}
ORIGIN = "multikueue"


class _Clock:
    def __init__(self, now: str) -> None:
        self.now = parse_time(now) / SECOND
        self.monotonic = self.now


class _Links:
    """Links whose tables the vector fills, and whose connections it declares."""

    def __init__(self) -> None:
        self.all: dict[str, Link] = {}

    def get(self, name: str) -> Link | None:
        return self.all.get(name)

    def names(self) -> list[str]:
        return sorted(self.all)

    def on_change(self, listener: Any) -> None: ...

    def on_new(self, listener: Any) -> None: ...


class _Nobody:
    """No client: nothing is written but what the test writes."""


class Scene:
    """A hub and its workers, from a vector."""

    def __init__(self, vector: Json, config: Json) -> None:
        self.now = parse_time(vector["now"])
        self.vector = vector
        frameworks = [each for each in ADAPTERS if each.kind != "Pod"]
        step = (config.get("incrementalDispatcher") or {}).get("stepSize")
        settings = MultiKueue(
            origin=config.get("origin", ORIGIN),
            worker_lost_timeout=config.get("workerLostTimeout", "15m"),
            dispatcher_name=config.get("dispatcher", nominate.ALL_AT_ONCE),
            incremental_dispatcher_config=IncrementalDispatcher(step_size=step) if step else None,
        )
        configuration = Configuration(multi_kueue=settings, feature_gates=config.get("featureGates") or {})
        resources = (WORKLOADS, CHECKS, MULTIKUEUE_CONFIGS, CLUSTERS, *(each.resource for each in frameworks))
        self.hub = Mirror(_Nobody(), resources, lambda: 0.0)  # type: ignore[arg-type]
        self.links = _Links()
        self.dispatcher = Dispatcher(
            _Nobody(),  # type: ignore[arg-type]
            self.hub,
            self.hub,
            self.links,  # type: ignore[arg-type]
            configuration,
            settings.origin,
            _Clock(vector["now"]),  # type: ignore[arg-type]
            lambda _note: None,
            lambda: 1,
            frameworks,
        )
        self._kinds = [each.resource for each in frameworks]

    def fill(self, objects: list[Json], version: int = 1) -> None:
        for obj in objects:
            if obj["kind"] in KINDS:
                self.hub[KINDS[obj["kind"]]].put(_item(obj, version))
        self.dispatcher.known.load()

    def worker(self, name: str, objects: list[Json], *, connected: bool = True, since: str | None = None) -> None:
        link = Link(name, ORIGIN, self._kinds, now=lambda: self.now, uniform=lambda: 0.0, on_state=lambda _name: None)
        link.connected = link.ever_synced = connected
        link.lost_since = parse_time(since) if since else self.now
        self.links.all[name] = link
        self.dispatcher._on_link(link)
        for obj in objects:
            if connected and names.labels(obj).get(names.MULTIKUEUE_ORIGIN) == ORIGIN and obj["kind"] in KINDS:
                link.table(KINDS[obj["kind"]]).put(_item(obj))

    def look(self, key: str) -> Outcome:
        return self.dispatcher._look(key, self.now)


def _item(obj: Json, version: int = 1) -> Item:
    filled = copy.deepcopy(obj)
    filled["metadata"] = {"uid": "", **filled["metadata"], "resourceVersion": str(version)}
    return Item(json.dumps(filled).encode())


def _key(obj: Json) -> tuple[str, str]:
    return obj["kind"], f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _plain(obj: Json) -> Json:
    """An object without what the vectors do not compare: revisions, times, and annotations of our own."""
    result: Json = json.loads(json.dumps(obj))
    metadata = result["metadata"]
    for field in ("resourceVersion", "uid"):
        metadata.pop(field, None)
    notes = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if "fairway.dev" not in key}
    if notes:
        metadata["annotations"] = notes
    status = result.get("status") or {}
    for entry in (*(status.get("conditions") or ()), *(status.get("admissionChecks") or ())):
        entry.pop("lastTransitionTime", None)
        entry.pop("observedGeneration", None)
    for entry in status.get("preemptionGates") or ():
        entry.pop("lastTransitionTime", None)
    if "nominatedClusterNames" in status:
        status["nominatedClusterNames"] = sorted(status["nominatedClusterNames"])
    if not status:
        result.pop("status", None)
    if result["kind"] == "Job":
        result["spec"].pop("ttlSecondsAfterFinished", None)
    return _without_empty(result)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in found.items() if each not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value


def _apply(objects: list[Json], outcome: Outcome) -> list[Json]:
    found = {_key(obj): obj for obj in objects}
    for write in outcome.writes:
        body = {**write.body}
        key = _key(body)
        if write.verb == "delete":
            found.pop(key, None)
        else:
            found[key] = body
    return list(found.values())


def _send(objects: list[Json], ops: list[Op], fails: bool) -> list[Json]:
    found = {_key(obj): obj for obj in objects}
    for op in ops:
        if op.verb == "delete":
            found.pop(_key(op.body), None)
        elif not (fails and op.verb == "create"):
            found[_key(op.body)] = op.body
    return list(found.values())


def _compare(got: list[Json], want: list[Json], what: str) -> None:
    compared = ("Workload", "Job")
    ours = {_key(obj): _unmarked(_plain(obj)) for obj in got if obj["kind"] in compared}
    theirs = {_key(obj): _plain(obj) for obj in want if obj["kind"] in compared}
    check(ours, theirs, what)


def _unmarked(obj: Json) -> Json:
    """Pods of dispatched jobs carry the origin's label here, so that the hub can watch them and nothing else; Kueue shows no pods."""
    template = (obj.get("spec") or {}).get("template") or {}
    if obj["kind"] != "Job" or template.get("metadata") != {"labels": {names.MULTIKUEUE_ORIGIN: "multikueue"}}:
        return obj
    return {**obj, "spec": {**obj["spec"], "template": {"spec": template["spec"]}}}


def _in_loop(test: Any) -> None:
    async def run() -> None:
        test()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(run())


@adapter("multiKueueWorkloadReconcile", suites="F")
def workload_reconcile(vector: Json) -> None:
    _in_loop(lambda: _reconcile(vector))


def _reconcile(vector: Json) -> None:
    scene = Scene(vector, vector["config"])
    given, want = vector["input"], vector["expect"]
    scene.fill(vector["objects"])
    workers: dict[str, Json] = given["workers"]
    for name, worker in workers.items():
        # A cluster that cannot be read from is out of reach.
        connected = worker["connected"] and "getError" not in worker
        scene.worker(name, worker["objects"], connected=connected, since=worker.get("disconnectedSince"))
    key = given["reconcile"]
    deleted = {_key(each)[1]: each for each in given.get("deletedWorkloads") or ()}
    if key in deleted and not check_of(deleted[key], scene.dispatcher.known.controllers):
        outcome = Outcome()
    elif key in deleted and _is_rejected(deleted[key]):
        outcome = Outcome()  # what is left of it is collected when it is an orphan
    else:
        outcome = scene.look(key)
    objects = _apply(vector["objects"], outcome)
    if _asks_whom_it_will_bind(key, objects, workers) and not outcome.ops:
        # A cluster may be bound only if it was asked: that is an API's rule, which the vectors do not know. It is bound in the next look.
        scene.fill(objects, version=2)
        outcome = scene.look(key)
        objects = _apply(objects, outcome)
    _compare(objects, want["managerObjects"], "the hub's objects")
    for name, worker in workers.items():
        ops = [op for op in outcome.ops if op.cluster == name]
        after = _send(worker["objects"], ops, "createError" in worker)
        _compare(after, want["workers"][name]["objects"], f"the objects of {name}")
    told = [
        {"key": key, "type": note.type, "reason": note.reason, "message": note.message}
        for write in outcome.writes
        for note in write.notes
    ]
    check(told, want.get("events") or [], "events")
    after = (want.get("result") or {}).get("requeueAfter")
    if after is not None:
        check(after, "5m0s", "the only time in the vectors")
        check(min(at for at, _key in scene.dispatcher._due), scene.now + 300 * SECOND, "when to look again")


def _asks_whom_it_will_bind(key: str, objects: list[Json], workers: dict[str, Json]) -> bool:
    local = next((obj for obj in objects if _key(obj) == ("Workload", key)), {})
    asked = (local.get("status") or {}).get("nominatedClusterNames") or ()
    copies = [obj for name in asked for obj in workers[name]["objects"] if _key(obj) == ("Workload", key)]
    return len(asked) == 1 and any(is_true(copy, "Admitted") for copy in copies)


def _is_rejected(workload: Json) -> bool:
    states = (workload.get("status") or {}).get("admissionChecks") or ()
    return any(each["state"] == "Rejected" for each in states)


@adapter("nominateAndSynchronizeWorkers", suites="F")
def nominate_and_synchronize(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    local = given["local"]
    nominated = list((local.get("status") or {}).get("nominatedClusterNames") or ())
    if given["dispatcherMode"] == nominate.ALL_AT_ONCE:
        nominated = list(nominate.all_at_once(list(given["remotes"])).clusters)
    created = [name for name in nominated if name in given["remotes"] and given["remotes"][name] is None]
    check(sorted(created), sorted(want["wantCreated"] or ()), "copies made")
    check(any(name not in given["remotes"] for name in nominated), want["wantErr"], "a nominated cluster is missing")
    if want.get("wantNominatedClusterNames") is not None:
        check(sorted(nominated), sorted(want["wantNominatedClusterNames"]), "nominated")


@adapter("incrementalDispatcherNominate", suites="F")
def incremental_nominate(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    nominated = (given["workload"].get("status") or {}).get("nominatedClusterNames") or []
    step = (vector["config"].get("incrementalDispatcher") or {}).get("stepSize", 3)
    in_order = vector["config"]["featureGates"].get("MultiKueueIncrementalDispatcherRespectConfigOrder", True)
    try:
        chosen: list[str] = list(
            nominate.incremental(given["remoteClusters"], nominated, given["roundExpired"], step, in_order)
        )
        error = None
    except nominate.NoMoreClusters:
        chosen, error = nominated, "no more workers to nominate"
    check((error, chosen), (want["error"], want["nominatedClusterNames"]), "nominated")


@adapter("incrementalDispatcherReconcile", suites="F")
def incremental_reconcile(vector: Json) -> None:
    def test() -> None:
        scene = Scene(vector, {**vector["config"], "dispatcher": nominate.INCREMENTAL})
        scene.fill(vector["objects"])
        key = vector["input"]["reconcile"]
        outcome = scene.look(key)
        check(outcome.ops, [], "nothing is sent: there is no cluster")
        missing = key not in scene.hub[WORKLOADS]
        check(missing, vector["expect"]["error"] is not None, "whether the workload is there")

    _in_loop(test)


@adapter("remoteClientGC", suites="F")
def garbage(vector: Json) -> None:
    def test() -> None:
        given, want = vector["input"], vector["expect"]
        scene = Scene(vector, vector["config"])
        scene.fill([*(given.get("managersWorkloads") or ()), *(given.get("managersJobs") or ())])
        there = [*(given.get("workersWorkloads") or ()), *(given.get("workersJobs") or ())]
        scene.worker("worker", there)
        ops = [op for key in list(scene.dispatcher._dirty) for op in scene.look(key).ops]
        wanted = [*(want.get("wantWorkersWorkloads") or ()), *(want.get("wantWorkersJobs") or ())]
        _compare(_send(there, ops, False), wanted, "the worker's objects")

    _in_loop(test)


def _queued(vector: Json, change: Any) -> None:
    def test() -> None:
        given, want = vector["input"], vector["expect"]
        scene = Scene(vector, vector["config"])
        before = given.get("oldAdmissionCheck")
        checks = [
            each
            for each in given.get("admissionChecks") or ()
            if before is None or each["metadata"]["name"] != before["metadata"]["name"]
        ]
        known = [*checks, *([before] if before else []), *([given["oldConfig"]] if "oldConfig" in given else [])]
        scene.fill([*known, *given["workloads"]])
        for key in list(scene.dispatcher._dirty):
            scene.look(key)
        scene.dispatcher._dirty.clear()
        change(scene, given)
        queued = {key.partition("/")[2] for key in scene.dispatcher._dirty}
        check(sorted(queued), sorted(want["expectedQueuedWLs"] or ()), "workloads looked at again")

    _in_loop(test)


def _replace(scene: Scene, obj: Json) -> None:
    item = _item(obj)
    changed = json.loads(item.value)
    changed["metadata"]["resourceVersion"] = "2"
    scene.hub[KINDS[obj["kind"]]].put(Item(json.dumps(changed).encode()))


@adapter("admissionCheckHandlerUpdate", suites="F")
def check_updated(vector: Json) -> None:
    _queued(vector, lambda scene, given: _replace(scene, given["newAdmissionCheck"]))


@adapter("admissionCheckHandlerCreate", suites="F")
def check_created(vector: Json) -> None:
    _queued(vector, lambda scene, given: _replace(scene, given["admissionCheck"]))


@adapter("configHandlerUpdate", suites="F")
def config_updated(vector: Json) -> None:
    _queued(vector, lambda scene, given: _replace(scene, given["newConfig"]))
