"""Where a workload of a hub stands with each of the clusters that might take it: for people who ask why it waits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from fairway.core.model import Time


class Stand(StrEnum):
    HAS_IT = "has-it"
    RESERVED = "reserved"
    REFUSED = "refused"
    SHORT = "short"
    WAITING = "waiting"
    """It has a copy, and has not said why it waits."""
    NOT_ASKED = "not-asked"
    BARRED = "barred"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"
    """No such cluster."""


class Copy(NamedTuple):
    """What a cluster says of its copy."""

    reserved: bool
    admitted: bool
    waits_for: tuple[str, ...]
    """Admission checks that are not ready there."""
    message: str


@dataclass(frozen=True, slots=True)
class View:
    """What is known of one cluster with regard to one workload."""

    name: str
    known: bool = True
    connected: bool = True
    lost_since: Time = 0
    trouble: str = ""
    safe_at: Time | None = None
    """While it is out of reach: from when on nothing of the workload can run there any more."""
    bound: bool = False
    """Whether the workload was given to it."""
    barred: str = ""
    refusal: str = ""
    short: str = ""
    """What its queue has too little of, with numbers."""
    asked: bool = False
    copy: Copy | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    cluster: str
    stand: Stand
    text: str
    """What to say after the cluster's name. Times stand in it as {since} and {until}: how they are written is not decided here."""
    detail: str = ""
    since: Time | None = None
    until: Time | None = None


def standing(view: View) -> Standing:
    name = view.name
    if not view.known:
        return Standing(name, Stand.UNKNOWN, "is not part of the fleet")
    if not view.connected:
        moves = (
            "; its run there is over by {until}, and then it may start elsewhere" if view.bound and view.safe_at else ""
        )
        text = "unreachable since {since}" + moves
        return Standing(name, Stand.UNREACHABLE, text, view.trouble, view.lost_since, view.safe_at if moves else None)
    if view.bound:
        return Standing(name, Stand.HAS_IT, "has it")
    if view.barred:
        return Standing(name, Stand.BARRED, view.barred)
    said = view.copy.message if view.copy is not None else ""
    if view.copy is not None and view.copy.admitted:
        return Standing(name, Stand.RESERVED, "has admitted it")
    if view.copy is not None and view.copy.reserved:
        checks = ", ".join(view.copy.waits_for)
        return Standing(name, Stand.RESERVED, f"has quota for it and waits for {checks or 'its checks'}", said)
    if view.refusal:
        return Standing(name, Stand.REFUSED, f"refused it: {view.refusal}")
    if view.short:
        return Standing(name, Stand.SHORT, view.short, said)
    if view.copy is not None:
        return Standing(name, Stand.WAITING, f"says: {said}" if said else "has been asked and has not answered yet")
    if view.asked:
        return Standing(name, Stand.WAITING, "is being asked")
    return Standing(name, Stand.NOT_ASKED, "has room and has not been asked yet")


def summary(before: str, standings: Sequence[Standing], say: dict[str, str]) -> str:
    """One sentence for all. before: how it stands on the hub. say: the text of each cluster, times filled in."""
    parts = [before, *(f"{each.cluster} {say[each.cluster]}" for each in standings)]
    return "; ".join(part for part in parts if part)
