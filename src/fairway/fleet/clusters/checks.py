"""Whether an AdmissionCheck of MultiKueue can do anything: its configuration is there, some cluster is reached, no pool is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairway.control.adapters import Json
from fairway.control.conditions import is_true
from fairway.control.resources import KUEUE
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.fleet.clusters import pools
from fairway.fleet.clusters.ports import Said
from fairway.kinds.own.pool import DEFAULT_POOL

ACTIVE = Said("True", "Active", "The admission check is active")
_KIND = "MultiKueueConfig"


class BadParameters(Exception):
    """The parameters of a check name no configuration; the message says why."""


class NoSuchConfig(BadParameters):
    """They name one that is not there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a check is judged by."""

    configs: Mapping[str, Json]
    clusters: Mapping[str, Json]
    """MultiKueueClusters by name."""
    pools: Mapping[str, str] = field(default_factory=dict)
    """The pool of each cluster that there is a Cluster for."""
    queues: Mapping[str, str] = field(default_factory=dict)
    """The pool of each ClusterQueue that uses the check."""


def is_ours(check: Json) -> bool:
    return (check.get("spec") or {}).get("controllerName") == MULTIKUEUE


def config_of(check: Json, configs: Mapping[str, Json]) -> Json:
    """The configuration that a check names. Raises BadParameters."""
    reference = (check.get("spec") or {}).get("parameters")
    if reference is None:
        raise BadParameters("missing parameters reference")
    name, group, kind = (str(reference.get(key) or "") for key in ("name", "apiGroup", "kind"))
    if not name:
        raise BadParameters("empty name: bad parameters reference")
    if group != KUEUE:
        raise BadParameters(f'wrong group "{group}", expecting "{KUEUE}": bad parameters reference')
    if kind != _KIND:
        raise BadParameters(f'wrong kind "{kind}", expecting "{_KIND}": bad parameters reference')
    if name not in configs:
        raise NoSuchConfig(f'multikueueconfigs.{KUEUE} "{name}" not found')
    return configs[name]


def clusters_of(config: Json) -> list[str]:
    return list((config.get("spec") or {}).get("clusters") or ())


def active(check: Json, around: Surroundings) -> Said | None:
    """The Active condition of a check; None for one that is not ours."""
    if not is_ours(check):
        return None
    try:
        config = config_of(check, around.configs)
    except BadParameters as error:
        return Said("False", "BadConfig", f"Cannot load the AdmissionChecks parameters: {error}")
    names = clusters_of(config)
    known = {name: around.pools.get(name, DEFAULT_POOL) for name in names if _is_known(name, around)}
    crossing = pools.crossing(config["metadata"]["name"], known, around.queues)
    if crossing:
        return Said("False", "CrossesPools", crossing)
    missing = [name for name in names if name not in around.clusters]
    inactive = [name for name in names if name in around.clusters and not is_true(around.clusters[name], "Active")]
    if not missing and not inactive:
        return ACTIVE
    message = ", ".join([*_listed("Missing", missing), *_listed("Inactive", inactive)])
    if len(missing) + len(inactive) < len(names):
        return Said("True", "SomeActiveClusters", message)
    return Said("False", "NoUsableClusters", message)


def _is_known(name: str, around: Surroundings) -> bool:
    return name in around.pools or name in around.clusters


def _listed(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what} clusters: [{' '.join(names)}]"] if names else []


def checks_of(queue: Json) -> list[str]:
    """The checks that a ClusterQueue names."""
    strategy = (queue.get("spec") or {}).get("admissionChecksStrategy") or {}
    return [str(rule["name"]) for rule in strategy.get("admissionChecks") or ()]
