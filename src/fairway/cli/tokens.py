"""token create, list and revoke."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote

import typer

from fairway.cli import options
from fairway.cli.client import TABLE, Api, Refused, connect
from fairway.cli.output import Output, note, say, show_json, show_table
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

TOKENS = "/apis/fairway.dev/v1/tokens"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_RBAC_GROUP = "rbac.authorization.k8s.io"
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_NAME_LENGTH_MAX = 50

commands = typer.Typer(
    name="token",
    help="Let people and programs in: make, list and revoke tokens.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@commands.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        say(context.get_help())


@commands.command()
def create(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whom the token speaks for.")],
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="G", help="A group of that user; can be repeated.", show_default=False),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", metavar="NS", help="Also let the user into this namespace.", show_default=False
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE",
            help="What the user may do there: view, edit, admin, or a ClusterRole. Default: edit.",
            show_default=False,
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="How long it is valid: 12h, 30d, 8w. Default: until it is revoked.", show_default=False
        ),
    ] = None,
    data: options.Data = None,
    space: options.Space = None,
    output: options.Format = Output.TEXT,
) -> None:
    """Make a token and print it, this once.

    The token alone goes to stdout, so that TOKEN=$(fairway token create ann) works.
    """
    if role and not namespace:
        raise Problem("--role needs --namespace", "say where the role holds: --namespace NS --role " + role)
    until = None if expires is None else expiry(expires, datetime.now(UTC))
    api = connect(DataDir.at(data), space)
    bound = _bind(api, user, namespace, role or "edit") if namespace else None
    try:
        made = api.call("POST", TOKENS, token_object(user, group or [], until))
    except Problem:
        if bound is not None:
            api.call("DELETE", bound)
        raise
    name, secret = made["metadata"]["name"], made["status"]["token"]
    if output is Output.JSON:
        show_json({"name": name, "user": user, "groups": group or [], "expires": until, "token": secret})
        return
    note(f"token {name} for {user}" + (f", valid until {until}" if until else "") + "; it is shown only now:")
    say(secret)
    note(f"kubectl --token=TOKEN uses it; fairway token revoke {name} ends it")


@commands.command("list")
def list_(data: options.Data = None, space: options.Space = None, output: options.Format = Output.TEXT) -> None:
    """List the tokens. The secrets themselves are not kept anywhere."""
    api = connect(DataDir.at(data), space)
    if output is Output.JSON:
        show_json(api.call("GET", TOKENS)["items"])
        return
    table = api.call("GET", TOKENS, accept=TABLE)
    shown = [index for index, column in enumerate(table["columnDefinitions"]) if not column.get("priority")]
    headings = [str(table["columnDefinitions"][index]["name"]).upper() for index in shown]
    show_table(headings, [[str(row["cells"][index]) for index in shown] for row in table.get("rows") or ()])


@commands.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The token's name, as fairway token list shows it.")],
    data: options.Data = None,
    space: options.Space = None,
    output: options.Format = Output.TEXT,
) -> None:
    """End a token. It is refused from then on."""
    api = connect(DataDir.at(data), space)
    try:
        api.call("DELETE", f"{TOKENS}/{quote(name, safe='')}")
    except Refused as refused:
        if refused.code == 404:
            raise Problem(f"there is no token {name!r}", "fairway token list shows them all") from refused
        raise
    show_json({"revoked": name}) if output is Output.JSON else say(f"revoked {name}")


def expiry(text: str, now: datetime) -> str:
    """`30d` from now, as the API writes times."""
    parts = re.fullmatch(r"([0-9]{1,6})([smhdw])", text.strip())
    if parts is None or not int(parts[1]):
        raise Problem(f"{text!r} is no time span", "give a number and a unit: 90m, 12h, 30d, 8w")
    try:
        until = now + timedelta(seconds=int(parts[1]) * _UNIT_S[parts[2]])
    except OverflowError as error:
        raise Problem(f"{text!r} is too far away", "leave --expires out for a token that does not expire") from error
    return until.strftime("%Y-%m-%dT%H:%M:%SZ")


def token_object(user: str, groups: list[str], until: str | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"user": user}
    if groups:
        spec["groups"] = groups
    if until is not None:
        spec["expirationTimestamp"] = until
    return {
        "apiVersion": "fairway.dev/v1",
        "kind": "Token",
        "metadata": {"generateName": f"{object_name(user)}-"},
        "spec": spec,
    }


def object_name(user: str) -> str:
    """A valid object name that still reminds of the user."""
    return re.sub(r"[^a-z0-9]+", "-", user.lower())[:_NAME_LENGTH_MAX].strip("-") or "user"


def _bind(api: Api, user: str, namespace: str, role: str) -> str | None:
    """Lets the user into the namespace. The path of the binding if it was made now, None if it was there."""
    bindings = f"{_RBAC}/namespaces/{quote(namespace, safe='')}/rolebindings"
    subject = {"kind": "User", "name": user, "apiGroup": _RBAC_GROUP}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": _RBAC_GROUP}
    for existing in api.call("GET", bindings)["items"]:
        subjects = existing.get("subjects") or ()
        if existing.get("roleRef") == reference and any(
            (each.get("kind"), each.get("name")) == ("User", user) for each in subjects
        ):
            return None
    body = {
        "apiVersion": f"{_RBAC_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"generateName": f"{object_name(user)}-{object_name(role)}-"},
        "subjects": [subject],
        "roleRef": reference,
    }
    return f"{bindings}/{api.call('POST', bindings, body)['metadata']['name']}"
