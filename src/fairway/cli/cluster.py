"""cluster invite, join, drain, activate, rotate and rm; ls and show are in fairway.cli.clusters, what is not ours in fairway.cli.foreign."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from fairway.api import patching
from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.cli import clusters as looking
from fairway.cli import foreign, invitation, join, options
from fairway.cli.clusters import WORKLOADS, Name, done, unknown
from fairway.cli.members import Local, client_of, locals_of
from fairway.cli.output import Output, note, say, show_json
from fairway.cli.people import talk
from fairway.fleet import access, joining
from fairway.fleet.joining import Joining, Way
from fairway.fleet.resources import CLUSTERS, SECRETS
from fairway.runtime import layout, machine, sockets
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem
from fairway.sdk.aio import AsyncClient

_HANDOVER_S = 2.0
"""What the hub gets to take up a new token before the old one is refused."""
_SHOWN = 5
Json = dict[str, Any]

commands = typer.Typer(
    name="cluster",
    help="The clusters of a fleet: invite, join, list, drain, remove.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Pool = Annotated[str, typer.Option(metavar="POOL", help="The pool that it belongs to.")]
LeaseSeconds = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="How long its work runs on when the hub is out of reach; then it starts elsewhere. A minute, unless told otherwise.",
        show_default=False,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="K=V", help="A label of the cluster; can be repeated.", show_default=False),
]


@commands.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        say(context.get_help())


# --- join -----------------------------------------------------------------------------------------------------------


@commands.command()
def invite(
    name: Name,
    pool: Pool = joining.DEFAULT_POOL,
    label: Labels = None,
    lease_seconds: LeaseSeconds = None,
    expires: Annotated[str, typer.Option(metavar="AGE", help="How long it is good for: 30m, 12h, 7d.")] = "1h",
    url: Annotated[
        str, typer.Option(metavar="URL", help="How the cluster reaches this hub, if not where it listens.")
    ] = "",
    again: Annotated[
        bool, typer.Option("--again", help="For a cluster that is joined already: renew its token.")
    ] = False,
    data: options.Data = None,
    output: options.Format = Output.TEXT,
) -> None:
    """On the hub: print the command that joins a cluster, to be run on the cluster's machine.

    Its token is good for one cluster of that name, once, for an hour unless --expires says otherwise.
    """
    join.check_name(name)
    labels = _labels(label)
    folder = DataDir.at(data)

    async def work(client: AsyncClient) -> invitation.Invitation:
        if not again and await invitation.taken(client.api, name):
            raise Problem(
                f"the fleet has a cluster {name} already", "choose another name; --again renews the token of that one"
            )
        return await invitation.invite(client.api, name, expires)

    _require_hub(folder)
    made = talk(data, "default", work)
    server, authority = _address(folder, url)
    words = ["fairway", "cluster", "join", "--hub", server, "--token", made.secret, "--name", name]
    words += ["--pool", pool] if pool != joining.DEFAULT_POOL else []
    words += [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
    words += ["--lease-seconds", str(lease_seconds)] if lease_seconds else []
    words += ["--ca-hash", authority] if authority else []
    if output is Output.JSON:
        shown = {"name": name, "hub": server, "token": made.secret, "expires": made.until, "caHash": authority}
        show_json({**shown, "pool": pool, "command": shlex.join(words)})
        return
    note(f"run this on the machine of {name}, before {made.until}:")
    say(shlex.join(words))


def _address(folder: DataDir, url: str) -> tuple[str, str]:
    """Where others reach this hub, and the hash of its certificate authority."""
    state = folder.running()
    assert state is not None, "it just answered"
    authority = invitation.authority_hash(invitation.own_authority(folder)) if state.tls else ""
    if url:
        return url.rstrip("/"), authority
    if state.host in ("0.0.0.0", "::"):
        return sockets.url(machine.look().address, state.port, tls=state.tls), authority
    if sockets.is_loopback(state.host):
        note(
            f"note: this hub listens on {state.host} only: the command works on this machine, and nowhere else. "
            "Let others in with: fairway down, then fairway up --host 0.0.0.0"
        )
    return state.url, authority


@commands.command("join")
def join_(
    hub: Annotated[str, typer.Option(metavar="URL", help="Where the hub is.")],
    token: Annotated[str, typer.Option(metavar="TOKEN", help="A token of the hub's, as an invitation has it.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What the cluster is called there.")],
    pool: Pool = joining.DEFAULT_POOL,
    label: Labels = None,
    lease_seconds: LeaseSeconds = None,
    ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The hub's certificate authority.", show_default=False)
    ] = None,
    ca_hash: Annotated[
        str, typer.Option(metavar="sha256:…", help="Its hash, as an invitation has it; instead of --ca.")
    ] = "",
    advertise: Annotated[
        str, typer.Option(metavar="ADDR", help="How the hub reaches this node, if not where it listens.")
    ] = "",
    data: options.Data = None,
    output: options.Format = Output.TEXT,
) -> None:
    """On the machine of a cluster: make it one of a hub's clusters. Starts the node if it does not run.

    fairway cluster invite NAME, on the hub, prints this command complete. Joining again renews the hub's token here.
    """
    if ca is not None and ca_hash:
        raise Problem("--ca and --ca-hash say the same thing twice", "give one of them")
    described = Joining(name, pool, _labels(label), lease_s=lease_seconds or 0)
    joined = join.join(data, join.Hub(hub, token, ca, ca_hash), described, advertise)
    if output is Output.JSON:
        show_json(joined)
        return
    say(f"joined {joined['hub']} as {name}, in pool {pool}")
    if joined["health"] != "Healthy":
        why = "; ".join(joined["reasons"]) or "it has not looked yet"
        note(f"the hub does not dispatch here yet: {why} (it reaches this node at {joined['address']})")


commands.command("kubeconfig")(foreign.kubeconfig_)
commands.command("permissions")(foreign.permissions)
commands.command("ls")(looking.ls)
commands.command("show")(looking.show)


# --- change ---------------------------------------------------------------------------------------------------------


@commands.command()
def drain(name: Name, data: options.Data = None) -> None:
    """Send nothing new to a cluster; what runs there runs on."""
    _set_state(data, name, "Draining")
    say(f"{name} is draining: what runs there runs on, nothing new is sent. fairway cluster activate {name} ends that")


@commands.command()
def activate(name: Name, data: options.Data = None) -> None:
    """Send work to a cluster again."""
    _set_state(data, name, "Active")
    say(f"{name} is active")


def _set_state(data: str | None, name: str, state: str) -> None:
    async def work(client: AsyncClient) -> None:
        await _patch(client.api, name, {"spec": {"state": state}})

    talk(data, "default", work)


async def _patch(client: Client, name: str, change: Json) -> None:
    try:
        await client.patch(CLUSTERS, name, change, media=patching.MERGE_PATCH)
    except ApiError as error:
        if error.code == 404:
            raise unknown(name) from None
        raise


@commands.command()
def rm(
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Even if work runs there; it is started elsewhere.")] = False,
    data: options.Data = None,
    output: options.Format = Output.TEXT,
) -> None:
    """Take a cluster out of the fleet. Refuses while work of the hub runs there, unless --force.

    The cluster itself and its data stay. One that runs beside the hub (fairway up --clusters) is stopped.
    """
    folder = DataDir.at(data)
    local = _local(folder, name)

    async def work(client: AsyncClient) -> list[str]:
        running = await _running(client.api, name)
        if running and not force:
            shown = ", ".join(running[:_SHOWN]) + (" …" if len(running) > _SHOWN else "")
            raise Problem(
                f"{len(running)} workloads run on {name}: {shown}",
                f"fairway cluster drain {name} lets them finish, and keeps new ones away; --force removes it now, and "
                "starts them elsewhere as soon as they have certainly ended there",
            )
        await _patch(client.api, name, {"spec": {"state": "Draining"}})
        if local is not None:
            layout.write(folder, layout.without(layout.read(folder), name))
        await client.api.delete(CLUSTERS, name)
        await _forget(client.api, name, local)
        return running

    moved = talk(data, "default", work)
    if output is Output.JSON:
        show_json({"removed": name, "workloads": moved, "stopped": local is not None})
        return
    say(f"{name} is no longer part of the fleet")
    if moved:
        note(f"{len(moved)} workloads that ran there are started elsewhere, once they have certainly ended")
    if local is not None:
        note(f"its node is being stopped; its data stays in {local.data.path}")
    else:
        note(f"it runs on; on its machine, fairway token list shows the hub's token ({access.USER}), revoke it there")


async def _running(client: Client, name: str) -> list[str]:
    workloads = [item.json() for item in (await client.list(WORKLOADS)).items]
    return [
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in workloads
        if (each.get("status") or {}).get("clusterName") == name and not done(each)
    ]


async def _forget(hub: Client, name: str, local: Local | None) -> None:
    """What let the hub in: its token there, as far as we can reach that, and where it kept it."""
    if local is not None:
        try:
            cluster = client_of(local.access(), SystemClock())
            try:
                await joining.shut_out(cluster, joining.origin(await joining.identity(hub)))
            finally:
                await cluster.close()
        except (ApiError, Problem) as error:
            note(f"the hub's token on {name} could not be revoked: {error.message}")
    try:
        await hub.delete(SECRETS, joining.secret_name(name), access.NAMESPACE)
    except ApiError as error:
        if error.code != 404:
            raise


@commands.command()
def rotate(name: Name, data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """Give the hub a new token on a cluster of this machine, and revoke the one before. What runs notices nothing."""
    folder = DataDir.at(data)
    local = next((each for each in locals_of(folder, layout.read(folder)) if each.name == name), None)

    async def work(client: AsyncClient) -> list[str]:
        if local is None:
            if not await invitation.taken(client.api, name):
                raise unknown(name)
            raise Problem(
                f"{name} is not on this machine, and a hub makes no tokens elsewhere",
                f"join it again, which renews the token: fairway cluster invite {name} --again",
            )
        to = local.access()
        cluster = client_of(to, SystemClock())
        try:
            own = joining.origin(await joining.identity(client.api))
            admitted = await joining.let_in(cluster, own)
            await joining.write_way(client.api, name, Way(to.server, to.authority.encode(), admitted.secret))
            await asyncio.sleep(_HANDOVER_S)
            return await joining.shut_out(cluster, own, keep=admitted.name)
        finally:
            await cluster.close()

    revoked = talk(data, "default", work)
    if output is Output.JSON:
        show_json({"cluster": name, "revoked": revoked})
        return
    say(f"{name} has a new token for the hub; revoked: {', '.join(revoked) or 'none'}")


# --- shared ---------------------------------------------------------------------------------------------------------


def _local(folder: DataDir, name: str) -> Local | None:
    """The cluster of that name beside the hub, if there is one. The hub's own machine is no such cluster."""
    known = layout.read(folder)
    if name == layout.OWN and known.own:
        raise Problem(f"{name} is the hub's own machine", f"send nothing more to it: fairway cluster drain {name}")
    return next((each for each in locals_of(folder, known) if each.name == name), None)


def _require_hub(folder: DataDir) -> None:
    if not layout.read(folder).hub:
        raise Problem(
            f"{folder.path} is one cluster, not a hub", "put a hub in front of it: fairway down, then fairway up --hub"
        )


def _labels(pairs: list[str] | None) -> dict[str, str]:
    for pair in pairs or ():
        if "=" not in pair or pair.startswith("="):
            raise Problem(f"--label {pair!r} is not KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs or ())
