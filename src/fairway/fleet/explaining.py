"""Why a workload of a hub waits, looked through to the clusters: what keeps each of them from taking it.

The hub's own reasons come first, as on any cluster. Then every cluster that its queue leads to says where it stands: from what is known here of
its queues, from what it says of its copy, and from how it can be reached. Works for every dispatcher, and before the hub has reserved anything.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from fairway.control import compile
from fairway.control.adapters import Json
from fairway.control.conditions import find_condition, is_true
from fairway.control.pods import RequestRules
from fairway.control.resources import WORKLOADS
from fairway.control.times import render_time, time_of_day
from fairway.core.dispatch.standing import Copy, Standing, View, standing, summary
from fairway.fleet.dispatch import offers
from fairway.fleet.dispatch.dispatcher import Dispatcher
from fairway.fleet.dispatch.facts import Scene
from fairway.fleet.link.links import Links

Explain = Callable[[str, Set[str]], dict[str, Any]]


class FleetExplanations:
    def __init__(self, hub: Explain, dispatcher: Dispatcher, links: Links, rules: RequestRules) -> None:
        """hub: what the hub's own queues say. rules: how requests are counted here."""
        self._hub = hub
        self._dispatcher = dispatcher
        self._links = links
        self._rules = rules

    def explain(self, key: str, visible: Set[str]) -> dict[str, Any]:
        found = self._hub(key, visible)
        known = self._dispatcher.known
        scene = known.scene(key, frozenset()) or self._not_reserved(key)
        if scene is None or is_true(scene.workload, "Finished"):
            return found
        standings = [standing(self._view(key, scene, name)) for name in self._clusters(scene)]
        say = {each.cluster: _timed(each) for each in standings}
        found["clusters"] = [_document(each, say[each.cluster]) for each in standings]
        found["cluster"] = (scene.workload.get("status") or {}).get("clusterName") or ""
        found["summary"] = summary(self._lead(scene, found), self._telling(scene, standings), say)
        return found

    def _not_reserved(self, key: str) -> Scene | None:
        """A workload that waits on the hub and would be dispatched from there."""
        known = self._dispatcher.known
        workload = known.hub[WORKLOADS].get(key)
        check = known.check_for(workload) if workload is not None else ""
        return known.scene(key, frozenset(), check) if check else None

    def _clusters(self, scene: Scene) -> list[str]:
        bound = (scene.workload.get("status") or {}).get("clusterName") or ""
        configured = self._dispatcher.known.clusters(scene.check)
        return [bound] if bound else list(dict.fromkeys((*configured, *sorted(scene.remotes))))

    def _lead(self, scene: Scene, found: dict[str, Any]) -> str:
        workload = scene.workload
        if not is_true(workload, "QuotaReserved"):
            return f"not reserved on the hub: {found['summary']}"
        others = [
            each["name"]
            for each in (workload.get("status") or {}).get("admissionChecks") or ()
            if each["name"] != scene.check and each.get("state") != "Ready"
        ]
        first = f", and waits for {', '.join(others)} before clusters are asked" if others else ""
        none = "" if self._clusters(scene) else f"; check {scene.check} leads to no cluster"
        return f"reserved on the hub{first}{none}"

    def _telling(self, scene: Scene, standings: list[Standing]) -> list[Standing]:
        """While the hub itself is in the way, what clusters have is no reason yet; unless it was them for whom it was put back."""
        evicted = find_condition(scene.workload, "Evicted") or {}
        put_back = evicted.get("status") == "True" and evicted.get("reason") == "AdmissionCheck"
        return standings if put_back or is_true(scene.workload, "QuotaReserved") else []

    # --- one cluster ------------------------------------------------------------------------------------------------

    def _view(self, key: str, scene: Scene, name: str) -> View:
        status = scene.workload.get("status") or {}
        nominator = self._dispatcher.nominator
        link = self._links.get(name)
        if link is None:
            return View(name, known=False)
        bound = status.get("clusterName") == name
        barred = nominator.barred(scene, [name]).get(name, "")
        if not link.connected:
            trouble = link.trouble.message if link.trouble is not None else ""
            safe_at = self._dispatcher.safe_at(name) if bound else None
            return View(name, True, False, link.lost_since, trouble, safe_at, bound, barred)
        short = "" if barred else nominator.shortcoming(key, name, scene, self._requests(scene.workload))
        return View(
            name,
            bound=bound,
            barred=barred,
            refusal=self._dispatcher.errands.refusals.get((key, name), ""),
            short=short,
            asked=name in (status.get("nominatedClusterNames") or ()),
            copy=_copy(scene.remotes.get(name)),
        )

    def _requests(self, workload: Json) -> dict[str, int]:
        reserved = offers.requests_of(workload)
        if reserved:
            return reserved
        total: dict[str, int] = {}
        for pod_set in compile.pod_sets(workload, self._rules):
            for resource, amount in pod_set.requests.items():
                total[resource] = total.get(resource, 0) + amount * pod_set.count
        return total


def _copy(remote: Json | None) -> Copy | None:
    if remote is None:
        return None
    checks = (remote.get("status") or {}).get("admissionChecks") or ()
    reserved = find_condition(remote, "QuotaReserved") or {}
    return Copy(
        is_true(remote, "QuotaReserved"),
        is_true(remote, "Admitted"),
        tuple(each["name"] for each in checks if each.get("state") != "Ready"),
        str(reserved.get("message", "")) if reserved.get("status") == "False" else "",
    )


def _timed(each: Standing) -> str:
    return each.text.replace("{since}", time_of_day(each.since or 0)).replace("{until}", time_of_day(each.until or 0))


def _document(each: Standing, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": each.cluster, "state": each.stand.value, "text": text}
    if each.detail:
        found["detail"] = each.detail
    for name, at in (("since", each.since), ("until", each.until)):
        if at is not None:
            found[name] = render_time(at)
    return found
