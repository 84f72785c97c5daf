"""`fairway cluster join`: from the side of the cluster. Everything that can go wrong on the way has a word of its own."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import KubeconfigError, load
from fairway.cli import invitation, kubeconfig, lifecycle
from fairway.cli.kubeconfig import HOME
from fairway.cli.members import client_of
from fairway.cli.output import note
from fairway.fleet import joining
from fairway.fleet.joining import Joining, NameTaken, Way
from fairway.fleet.resources import CLUSTERS, POOLS
from fairway.runtime import layout, machine, sockets
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir, LauncherState
from fairway.runtime.status import Problem

_TIMEOUT_S = 10.0
_HEALTHY_S = 15.0
_POLL_S = 0.5
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hub:
    """Where to join, as the command line says."""

    url: str
    token: str
    authority_file: Path | None = None
    authority_hash: str = ""


def join(data: str | None, hub: Hub, described: Joining, advertise: str) -> Json:
    """What became of it, for programs."""
    check_name(described.name)
    way_to_hub = _way_to(hub)
    folder = DataDir.at(data)
    if folder.running() is None:
        note("no node runs here yet; starting one")
        note(lifecycle.start(folder))
    state = folder.running()
    assert state is not None, "it was just started"
    back = way_back(folder, state, advertise, hub.url)
    to = kubeconfig.access(folder, context_of(folder))
    return asyncio.run(_join(way_to_hub, to, described, back))


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Problem(
            f"{name!r} cannot be the name of a cluster", "use small letters, digits and dashes, at most 63: east-1"
        )


def context_of(folder: DataDir) -> str:
    """Of the space that is a cluster."""
    known = layout.read(folder)
    if not known.hub:
        return HOME
    if known.own:
        return layout.OWN
    raise Problem(
        f"{folder.path} is a hub and runs nothing itself, so there is nothing to join",
        "run this with the --data of the cluster that is to join",
    )


async def _join(way: Way, to: kubeconfig.Access, described: Joining, back: Way) -> Json:
    async with _connected(way) as hub:
        cluster = client_of(to, SystemClock())
        try:
            with _explained(way.server, described.name):
                async with asyncio.timeout(_TIMEOUT_S * 3):
                    await _check_pool(hub, described.pool)
                    identity = await joining.identity(cluster)
                    own = replace(described, identity=identity)
                    admitted = await joining.join(hub, cluster, own, back)
                    status = await _await_health(hub, described.name)
                    await invitation.use_up(hub)
        finally:
            await cluster.close()
    return {
        "name": described.name,
        "pool": described.pool,
        "hub": way.server,
        "address": back.server,
        "token": admitted.name,
        "health": status.get("health", "Unknown"),
        "reasons": status.get("reasons") or [],
    }


async def _await_health(hub: Client, name: str) -> Json:
    """How the hub finds it, once it has looked; whatever it last said if that takes long."""
    status: Json = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_HEALTHY_S):
            while status.get("health") != "Healthy":
                await asyncio.sleep(_POLL_S)
                status = (await hub.get(CLUSTERS, name)).json().get("status") or {}
    return status


async def _check_pool(hub: Client, pool: str) -> None:
    if pool == joining.DEFAULT_POOL:
        return
    names = [item.meta.name for item in (await hub.list(POOLS)).items]
    if pool not in names:
        raise Problem(
            f"the hub has no pool {pool!r}",
            f"there are: {', '.join(names) or joining.DEFAULT_POOL}; the hub's administrator makes more of them",
        )


# --- to the hub -----------------------------------------------------------------------------------------------------


def _way_to(hub: Hub) -> Way:
    authority = ""
    if hub.authority_file is not None:
        try:
            authority = hub.authority_file.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"cannot read the certificate {hub.authority_file}: {error}") from None
    elif hub.authority_hash:
        authority = invitation.checked_authority(_shown_authority(hub.url), hub.authority_hash, hub.url)
    return Way(hub.url.rstrip("/"), authority.encode(), hub.token)


def _shown_authority(url: str) -> bytes:
    """What the hub says its certificate authority is. Anybody could say that: it is compared with the invitation before it is used."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise Problem(f"--ca-hash goes with https, and {url} is not", "give the hub's URL as the invitation has it")
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port or 443, timeout=_TIMEOUT_S, context=unverified
    )
    try:
        with contextlib.closing(connection):
            connection.request("GET", "/ca.crt")
            return connection.getresponse().read(1 << 16)
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(url, getattr(error, "strerror", None) or str(error) or type(error).__name__) from None


@contextlib.asynccontextmanager
async def _connected(way: Way) -> AsyncIterator[Client]:
    try:
        client = load(joining.kubeconfig("hub", way), SystemClock()).connect("fairway-join")
    except KubeconfigError as error:
        raise Problem(f"cannot use {way.server} as a hub: {error}") from None
    try:
        yield client
    finally:
        await client.close()


@contextlib.contextmanager
def _explained(server: str, name: str) -> Any:
    try:
        yield
    except NameTaken as error:
        raise Problem(
            str(error), f"choose another --name; or remove that one on the hub: fairway cluster rm {name}"
        ) from None
    except TimeoutError:
        raise _unreachable(server, "it took too long") from None
    except ApiError as error:
        raise _problem(error, server, name) from None


def _problem(error: ApiError, server: str, name: str) -> Problem:
    fresh = f"make a new invitation on the hub: fairway cluster invite {name}"
    if error.code == 0 and "certificate" in error.message.lower():
        return Problem(
            f"the certificate of {server} is not one that can be trusted: {error.message}",
            "give --ca-hash sha256:… as the invitation has it, or the hub's own certificate authority with --ca FILE",
        )
    if error.code == 0:
        return _unreachable(server, error.message)
    if error.code == 401:
        return Problem(f"{server} refuses the token: {error.message}", f"it was used, revoked, or is too old: {fresh}")
    if error.code == 403:
        return Problem(
            f"{server} does not let this token join {name}: {error.message}", f"it is for another name: {fresh}"
        )
    return Problem(f"{server}: {error.message}")


def _unreachable(server: str, why: str) -> Problem:
    return Problem(
        f"no answer from the hub at {server}: {why}",
        "check the URL; is the hub up, and does it listen for others (there: fairway up --host 0.0.0.0)?",
    )


# --- back to the cluster --------------------------------------------------------------------------------------------


def way_back(folder: DataDir, state: LauncherState, advertise: str, hub: str = "") -> Way:
    """How the hub reaches this cluster: where it listens, as others see it. hub: its URL, if that is known."""
    authority = invitation.own_authority(folder).encode() if state.tls else b""
    prefix = f"/spaces/{layout.read(folder).own}" if layout.read(folder).hub else ""
    if advertise:
        url = advertise if "://" in advertise else sockets.url(advertise, state.port, tls=state.tls)
        # Its certificate need not know that address; the authority signs for this node alone, and always for localhost.
        return Way(url.rstrip("/") + prefix, authority, server_name="localhost" if state.tls else "")
    host = urlsplit(hub).hostname or ""
    if sockets.is_loopback(state.host or sockets.LOOPBACK):
        if hub and not sockets.is_loopback(host) and not _is_this_machine(host):
            raise Problem(
                f"this node listens on {state.host} only, so the hub at {hub} cannot reach it",
                "let others in and try again: fairway down, then fairway up --host 0.0.0.0 --detach",
            )
        return Way(state.url + prefix, authority)
    if state.host in ("0.0.0.0", "::"):
        seen = _address_towards(hub) if hub else machine.look().address
        return Way(
            sockets.url(seen, state.port, tls=state.tls) + prefix,
            authority,
            server_name="localhost" if state.tls else "",
        )
    return Way(state.url + prefix, authority)


def _address_towards(url: str) -> str:
    """The address of this machine that the other side sees; nothing is sent to find it."""
    parts = urlsplit(url)
    try:
        family, kind, _proto, _name, address = socket.getaddrinfo(
            parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise _unreachable(url, error.strerror or str(error)) from None


def _is_this_machine(host: str) -> bool:
    try:
        address = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)[0][4][0]
        with socket.socket(socket.AF_INET6 if ":" in str(address) else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
