"""Whether a queue can admit at all, and what is missing if not. The first reason counts, the message has them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairway.core.model import Flavor, Queue, StopPolicy

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


@dataclass(slots=True, frozen=True)
class Check:
    """An admission check: something outside that must agree before work starts."""

    name: str
    active: bool = False
    controller: str = ""


@dataclass(slots=True, frozen=True)
class Readiness:
    active: bool
    reason: str
    message: str


READY = Readiness(True, "Ready", "Can admit new workloads")
TERMINATING = Readiness(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")


def readiness(
    queue: Queue,
    flavors: Mapping[str, Flavor],
    checks: Mapping[str, Check],
    topologies: frozenset[str] = frozenset(),
    terminating: bool = False,
    topology: bool = True,
) -> Readiness:
    if terminating:
        return TERMINATING
    problems = [*_stopped(queue), *_missing_flavors(queue, flavors), *_bad_checks(queue, checks)]
    if topology:
        problems += _missing_topologies(queue, flavors, checks, topologies)
    if not problems:
        return READY
    message = ", ".join(text for _, text in problems)
    return Readiness(False, problems[0][0], f"Can't admit new workloads: {message}.")


def _stopped(queue: Queue) -> list[tuple[str, str]]:
    return [] if queue.stop is StopPolicy.NONE else [("Stopped", "is stopped")]


def _missing_flavors(queue: Queue, flavors: Mapping[str, Flavor]) -> list[tuple[str, str]]:
    missing = [name for group in queue.groups for name in group.flavors if name not in flavors]
    if not missing:
        return []
    return [("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}")]


def _bad_checks(queue: Queue, checks: Mapping[str, Check]) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    names = sorted(ref.name for ref in queue.checks)
    known = [checks[name] for name in names if name in checks]
    missing = [name for name in names if name not in checks]
    inactive = [check.name for check in known if not check.active]
    remote = [check.name for check in known if check.controller == MULTIKUEUE]
    provisioning = [check.name for check in known if check.controller == PROVISIONING]
    per_flavor = [name for name in remote if _is_partial(queue, name)]
    if missing:
        problems.append(("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(missing)}"))
    if inactive:
        problems.append(("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}"))
    if len(remote) > 1:
        text = f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {','.join(remote)}"
        problems.append(("MultipleMultiKueueAdmissionChecks", text))
    if per_flavor:
        text = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(per_flavor)}"
        problems.append(("MultiKueueAdmissionCheckAppliedPerFlavor", text))
    if remote and provisioning:
        text = (
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
            f"found: {','.join(remote)}, {','.join(provisioning)}"
        )
        problems.append(("MultiKueueWithProvisioningRequest", text))
    return problems


def _is_partial(queue: Queue, check: str) -> bool:
    every = {name for group in queue.groups for name in group.flavors}
    return any(ref.name == check and ref.flavors and set(ref.flavors) != every for ref in queue.checks)


def _missing_topologies(
    queue: Queue, flavors: Mapping[str, Flavor], checks: Mapping[str, Check], topologies: frozenset[str]
) -> list[tuple[str, str]]:
    if any(ref.name in checks and checks[ref.name].controller == MULTIKUEUE for ref in queue.checks):
        return []
    names = [name for group in queue.groups for name in group.flavors if name in flavors]
    return [
        ("TopologyNotFound", f'there is no Topology "{flavors[name].topology}" for TAS flavor "{name}"')
        for name in names
        if flavors[name].topology is not None and flavors[name].topology not in topologies
    ]
