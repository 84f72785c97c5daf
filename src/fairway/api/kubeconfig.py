"""Kubeconfigs: how to reach a cluster, ours or a real one, and whether that way is safe enough to take.

What is refused: connections that anybody could listen to or answer (no TLS but to this machine, unchecked certificates), passwords, and
plugins that run programs (exec, auth-provider: not supported). A kubeconfig that came over the network, in a Secret say, may name no
files either: it could make this node read, and send, what is on its own disk.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import ipaddress
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

from fairway.api.remote import RemoteClient
from fairway.runtime.clock import Clock
from fairway.runtime.credentials import CredentialError, TokenFile, read_file, tls_context

T = TypeVar("T")
Why = Literal["BadKubeConfig", "InsecureKubeConfig"]
_BYTES_MAX = 1 << 20
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\.?", re.IGNORECASE)


class KubeconfigError(Exception):
    """A kubeconfig that cannot, or must not, be used. reason: as the Active condition of a MultiKueueCluster says it."""

    def __init__(self, reason: Why, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority_data: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _User(msgspec.Struct, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate_data: str = ""
    client_certificate: str = ""
    client_key_data: str = ""
    client_key: str = ""
    username: str = ""
    password: str = ""
    exec: Any = None
    auth_provider: Any = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: _User


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _Kubeconfig(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """A way to a cluster that was found safe."""

    server: str
    tls: ssl.SSLContext | None
    """None: without TLS, to this machine only."""
    token: Callable[[], str]
    namespace: str
    tls_server_name: str = ""

    def connect(
        self,
        manager: str = "fairway",
        pauses: Sequence[float] = (),
        strictness: str = "",
        *,
        answer_seconds: float = 60.0,
    ) -> RemoteClient:
        """answer_seconds: within which a request has its whole answer, unless it is a stream."""
        from fairway.runtime.http_transport import HttpTransport

        transport = HttpTransport(self.server, self.tls, total_seconds=answer_seconds, server_name=self.tls_server_name)
        return RemoteClient(transport, self.token, manager, pauses, strictness)


def load(text: bytes | str, clock: Clock, *, context: str = "", folder: Path | None = None) -> Access:
    """The way that a context (the current one, if none is named) leads. folder: where its relative file names begin; without one, the
    kubeconfig is not from this machine and may name no files. Raises KubeconfigError."""
    config = _parse(text)
    chosen = _choose(config, context)
    cluster = _named([(each.name, each.cluster) for each in config.clusters], chosen.cluster, "cluster")
    user = _named([(each.name, each.user) for each in config.users], chosen.user, "user") if chosen.user else _User()
    _refuse_unsafe(cluster, user, files=folder is not None)
    files = _Files(folder)
    tls = _tls(cluster, user, files)
    return Access(
        cluster.server.rstrip("/"),
        tls,
        _token(user, files, clock),
        chosen.namespace or "default",
        cluster.tls_server_name,
    )


def load_file(path: Path, clock: Clock, *, context: str = "") -> Access:
    """From a file of this machine."""
    try:
        return load(read_file(path, _BYTES_MAX), clock, context=context, folder=path.parent)
    except CredentialError as error:
        raise KubeconfigError("BadKubeConfig", str(error)) from None


# --- read --------------------------------------------------------------------------------------------------------


def _parse(text: bytes | str) -> _Kubeconfig:
    if len(text) > _BYTES_MAX:
        raise KubeconfigError("BadKubeConfig", f"the kubeconfig is larger than {_BYTES_MAX >> 10} KiB")
    try:
        document = yaml.load(text, Loader=yaml.CSafeLoader)
        if not isinstance(document, dict):
            raise KubeconfigError("BadKubeConfig", "the kubeconfig is not a mapping with clusters, users and contexts")
        return msgspec.convert({key: value for key, value in document.items() if value is not None}, _Kubeconfig)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise KubeconfigError(
            "BadKubeConfig", f"the kubeconfig cannot be read: {' '.join(str(error).split())}"
        ) from None


def _choose(config: _Kubeconfig, name: str) -> _Context:
    name = name or config.current_context
    if not name:
        raise KubeconfigError("BadKubeConfig", "the kubeconfig has no current-context: set one, or name a context")
    return _named([(each.name, each.context) for each in config.contexts], name, "context")


def _named(entries: Sequence[tuple[str, T]], name: str, what: str) -> T:
    for known, entry in entries:
        if known == name:
            return entry
    names = [known for known, _entry in entries]
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"
    raise KubeconfigError("BadKubeConfig", f"the kubeconfig has no {what} {name!r}; {hint}")


# --- safe? -------------------------------------------------------------------------------------------------------


def _refuse_unsafe(cluster: _Cluster, user: _User, *, files: bool) -> None:
    for why in (_unsafe_server(cluster), _unsafe_user(user), "" if files else _names_files(cluster, user)):
        if why:
            raise KubeconfigError("InsecureKubeConfig", why)


def _unsafe_server(cluster: _Cluster) -> str:
    if not cluster.server:
        return "the cluster has no server: give its URL, https://HOST:PORT"
    try:
        url = urlsplit(cluster.server)
        host, _port = url.hostname or "", url.port
    except ValueError as error:
        return f"the server {cluster.server!r} is not a URL: {error}"
    if url.scheme not in ("https", "http"):
        return f"the server {cluster.server!r} must be a URL that begins with https://"
    if url.username or url.password or url.query or url.fragment:
        return "the server must be host, port and path alone, without user, password or query"
    if not _is_host(host):
        return f"the host {host!r} of the server is neither an IP address nor a DNS name"
    if url.scheme == "http" and not _is_here(host):
        return f"{cluster.server} has no TLS, so anybody on the way could read the token: use https"
    if cluster.insecure_skip_tls_verify:
        return "insecure-skip-tls-verify lets anybody pose as the cluster: give certificate-authority-data instead"
    if cluster.proxy_url:
        return "proxy-url is not supported: the server must be reachable directly"
    return ""


def _unsafe_user(user: _User) -> str:
    if user.username or user.password:
        return "passwords (username, password) are not supported: use a token or a client certificate"
    if user.exec is not None:
        return (
            "exec plugins are not supported: they run programs here; use a token, a tokenFile or a client certificate"
        )
    if user.auth_provider is not None:
        return "auth-provider is not supported: use a token, a tokenFile or a client certificate"
    if any(character.isspace() or not character.isprintable() for character in user.token):
        return "the token has characters that no token has"
    return ""


def _names_files(cluster: _Cluster, user: _User) -> str:
    named = {
        "certificate-authority": cluster.certificate_authority,
        "tokenFile": user.token_file,
        "client-certificate": user.client_certificate,
        "client-key": user.client_key,
    }
    for field, value in named.items():
        if value:
            return f"{field} names a file ({value}), which would be read on this machine: put the content into the kubeconfig"
    return ""


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= 253 and _HOST.fullmatch(host) is not None
    return True


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# --- credentials -------------------------------------------------------------------------------------------------


class _Files:
    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name

    def content(self, data: str, name: str, field: str) -> bytes:
        """What is in the kubeconfig itself counts before what is in a file."""
        try:
            if data:
                return base64.b64decode(data, validate=True)
            return read_file(self.path(name)) if name else b""
        except binascii.Error:
            raise KubeconfigError("BadKubeConfig", f"{field}-data is not base64") from None
        except CredentialError as error:
            raise KubeconfigError("BadKubeConfig", f"{field}: {error}") from None


def _tls(cluster: _Cluster, user: _User, files: _Files) -> ssl.SSLContext | None:
    if cluster.server.startswith("http://"):
        return None
    authority = files.content(
        cluster.certificate_authority_data, cluster.certificate_authority, "certificate-authority"
    )
    certificate = files.content(user.client_certificate_data, user.client_certificate, "client-certificate")
    key = files.content(user.client_key_data, user.client_key, "client-key")
    if bool(certificate) != bool(key):
        raise KubeconfigError("BadKubeConfig", "client-certificate and client-key go together: one of them is missing")
    try:
        return tls_context(authority, certificate, key)
    except CredentialError as error:
        raise KubeconfigError("BadKubeConfig", str(error)) from None


def _token(user: _User, files: _Files, clock: Clock) -> Callable[[], str]:
    if (
        user.token_file
    ):  # as in kubectl, the file counts before a token that is written out: it is the one that is renewed
        try:
            return TokenFile(files.path(user.token_file), clock)
        except CredentialError as error:
            raise KubeconfigError("BadKubeConfig", f"tokenFile: {error}") from None
    token = user.token
    return lambda: token
