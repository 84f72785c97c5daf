"""core/v1 ConfigMap, Secret and ServiceAccount."""

from __future__ import annotations

from fairway.kinds.k8s.core.references import LocalObjectReference, ObjectReference
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Opt


class ConfigMap(Object):
    """Configuration as plain key-value pairs."""

    immutable: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET
    data: Opt[Annotated[dict[str, str], F(proto=2)]] = UNSET
    binary_data: Opt[Annotated[dict[str, Base64], F(proto=3)]] = UNSET


class Secret(Object):
    """Key-value pairs that few should read."""

    immutable: Opt[Annotated[bool, F(proto=5, zero=True)]] = UNSET
    data: Opt[Annotated[dict[str, Base64], F(proto=2)]] = UNSET
    string_data: Opt[Annotated[dict[str, str], F(proto=4)]] = UNSET
    type: Opt[Annotated[str, F(proto=3)]] = UNSET


class ServiceAccount(Object):
    """An identity for programs rather than people."""

    secrets: Opt[Annotated[list[ObjectReference], F(proto=2, keys=("name",), merge="name")]] = UNSET
    image_pull_secrets: Opt[Annotated[list[LocalObjectReference], F(proto=3, list_type="atomic")]] = UNSET
    automount_service_account_token: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET
