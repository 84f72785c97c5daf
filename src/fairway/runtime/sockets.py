"""The listening socket: bound once by the launcher, served by one node after the other."""

from __future__ import annotations

import contextlib
import errno
import http.client
import ipaddress
import socket
import ssl

from fairway.runtime.status import Problem

LOOPBACK = "127.0.0.1"
BACKLOG = 4096
_PROBE_TIMEOUT_S = 0.5
_PROBE_BYTES_MAX = 1 << 16


class PortTaken(Problem):
    def __init__(self, host: str, port: int, by: str = "another program", remedy: str = "") -> None:
        super().__init__(
            f"port {port} on {host} is in use by {by}",
            f"{remedy}choose another port with --port N; --port 0 picks a free one",
        )
        self.host = host
        self.port = port

    def examined(self) -> PortTaken:
        """The same, having asked whoever has the port who it is."""
        if not is_fairway(self.host, self.port):
            return self
        return PortTaken(
            self.host, self.port, "another Fairway", "stop that one (fairway down, with its own --data), or "
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, not inheritable. Port 0 takes any free one."""
    family, address = _resolve(host, port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _explain(error, host, port) from error
    return sock


def is_free(host: str, port: int) -> bool:
    try:
        listen(host, port).close()
    except PortTaken:
        return False
    return True


def port_of(sock: socket.socket) -> int:
    return int(sock.getsockname()[1])


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def reachable_host(host: str) -> str:
    """The address to connect to on this machine for a server that listens on host."""
    if host in ("0.0.0.0", ""):
        return LOOPBACK
    return "::1" if host == "::" else host


def url(host: str, port: int, *, tls: bool) -> str:
    target = reachable_host(host)
    shown = f"[{target}]" if ":" in target else target
    return f"{'https' if tls else 'http'}://{shown}:{port}"


def is_fairway(host: str, port: int) -> bool:
    """Whether what answers there says that it is Fairway."""
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    target = reachable_host(host)
    for connection in (
        http.client.HTTPSConnection(target, port, timeout=_PROBE_TIMEOUT_S, context=unverified),
        http.client.HTTPConnection(target, port, timeout=_PROBE_TIMEOUT_S),
    ):
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", "/version")
            if b"fairway" in connection.getresponse().read(_PROBE_BYTES_MAX).lower():
                return True
    return False


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise Problem(
            f"{host!r} is no address to listen on: {getattr(error, 'strerror', None) or error}",
            "give an address of this machine with --host, such as 127.0.0.1, or 0.0.0.0 for all of them",
        ) from error
    family, _, _, _, address = found[0]
    return family, address  # type: ignore[return-value]


def _explain(error: OSError, host: str, port: int) -> Problem:
    if error.errno == errno.EADDRINUSE:
        return PortTaken(host, port)
    if error.errno == errno.EADDRNOTAVAIL:
        return Problem(
            f"this machine has no address {host}", "give one of its own with --host, or 0.0.0.0 for all of them"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Problem(
            f"not allowed to listen on port {port}", "ports below 1024 are often reserved: choose another with --port N"
        )
    return Problem(
        f"cannot listen on {host} port {port}: {error.strerror or error}", "choose another with --host and --port"
    )
