"""cluster kubeconfig and permissions: for managers and clusters that are not Fairway's own.

A manager of others (Kueue's MultiKueue) gets a kubeconfig for a cluster of ours, with a token of its own that may do what dispatching needs. A
cluster of others gets the manifests that let a hub of ours in.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import typer
import yaml

from fairway.api.errors import ApiError
from fairway.cli import join, kubeconfig, options
from fairway.cli.members import client_of
from fairway.cli.output import note, say
from fairway.cli.tokens import expiry
from fairway.fleet import access, joining
from fairway.fleet.joining import Admitted, Way
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

_TIMEOUT_S = 30.0


def kubeconfig_(
    manager: Annotated[str, typer.Argument(metavar="MANAGER", help="Who will use it; a name to revoke it by.")],
    advertise: Annotated[
        str, typer.Option(metavar="ADDR", help="How the manager reaches this node, if not where it listens.")
    ] = "",
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="How long it is valid: 12h, 30d. Default: until it is revoked.", show_default=False
        ),
    ] = None,
    data: options.Data = None,
) -> None:
    """On the machine of a cluster: print a kubeconfig with which a MultiKueue manager may use it as a worker.

    Its token may create, watch and delete work, read queues and nodes, and nothing else. Put it into a Secret of the manager:
    kubectl create secret generic NAME -n kueue-system --from-file=kubeconfig=FILE
    """
    join.check_name(manager)
    folder = DataDir.at(data)
    state = folder.running()
    if state is None:
        raise Problem(f"nothing is running in {folder.path}", "start it with: fairway up --detach")
    until = None if expires is None else expiry(expires, datetime.now(UTC))
    way = join.way_back(folder, state, advertise)
    to = kubeconfig.access(folder, join.context_of(folder))
    admitted = asyncio.run(_let_in(to, manager, until))
    say(joining.kubeconfig(manager, Way(way.server, way.authority, admitted.secret, way.server_name)).rstrip("\n"))
    note(
        f"token {admitted.name}"
        + (f", valid until {until}" if until else "")
        + f"; fairway token revoke {admitted.name} ends it"
    )


async def _let_in(to: kubeconfig.Access, manager: str, until: str | None) -> Admitted:
    cluster = client_of(to, SystemClock())
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await joining.let_in(cluster, manager, until)
    except ApiError as error:
        raise Problem(f"no token for {manager}: {error.message}") from None
    except TimeoutError:
        raise Problem(f"{to.server} does not answer", "see fairway status") from None
    finally:
        await cluster.close()


def permissions(
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NS", help="Where Kueue is installed on that cluster.")
    ] = access.NAMESPACE,
) -> None:
    """Print what lets a hub into a Kubernetes cluster with Kueue: a service account with the permissions that dispatching needs.

    fairway cluster permissions | kubectl apply -f -, on that cluster; then kubectl create token fairway-hub -n kueue-system.
    """
    say("---\n".join(yaml.safe_dump(each, sort_keys=False) for each in access.manifests(namespace)).rstrip("\n"))
