"""Certificates that real TLS clients accept, and that stay what they are until they must change."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from fairway.runtime import certificates
from fairway.runtime.certificates import Certificates, ensure
from fairway.runtime.status import Problem

DAY = 86_400.0


class FakeClock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC).timestamp()
        self.monotonic = 0.0


def handshake(made: Certificates, name: str, authority: bytes | None = None) -> str:
    """The TLS version that a client which trusts only the authority agrees on; raises as such a client would."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.server, made.server)
    client = ssl.create_default_context(cadata=(authority or made.authority_pem).decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    near, far = socket.socketpair()

    def accept() -> None:
        try:
            with server.wrap_socket(far, server_side=True) as wrapped:
                wrapped.recv(1)
        except OSError:
            far.close()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        with client.wrap_socket(near, server_hostname=name) as wrapped:
            version = wrapped.version()
            assert version is not None
            return version
    finally:
        near.close()
        thread.join(10)


def test_clients_that_trust_the_authority_accept_the_node_by_every_name(tmp_path: Path) -> None:
    made = ensure(tmp_path / "tls", ["node.example.com", "192.0.2.7", "bücher.example", "0.0.0.0", "fd00::1"])
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), "node.example.com", "192.0.2.7", "fd00::1"]
    for name in names:
        assert handshake(made, name) == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(made, "evil.example.com")


def test_clients_that_trust_another_authority_do_not(tmp_path: Path) -> None:
    made, other = ensure(tmp_path / "a"), ensure(tmp_path / "b")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(made, "localhost", other.authority_pem)


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    ensure(tmp_path / "tls")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "tls").iterdir()}
    assert modes == {"ca.pem": 0o600, "server.pem": 0o600, "ca.crt": 0o644}
    assert (tmp_path / "tls").stat().st_mode & 0o777 == 0o700
    (tmp_path / "tls" / "ca.pem").chmod(0o644)
    ensure(tmp_path / "tls")
    assert (tmp_path / "tls" / "ca.pem").stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in (tmp_path / "tls" / "ca.crt").read_bytes()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    first = ensure(tmp_path, ["a.example"])
    before = content(tmp_path)
    assert ensure(tmp_path, ["a.example"]) == first
    assert content(tmp_path) == before


def test_another_name_renews_the_node_and_keeps_the_authority(tmp_path: Path) -> None:
    first = ensure(tmp_path)
    before = content(tmp_path)
    second = ensure(tmp_path, ["a.example"])
    after = content(tmp_path)
    assert (after["ca.pem"], second.authority_pem) == (before["ca.pem"], first.authority_pem)
    assert after["server.pem"] != before["server.pem"]
    assert handshake(second, "a.example", first.authority_pem)


def test_a_certificate_is_renewed_before_it_expires(tmp_path: Path) -> None:
    clock = FakeClock()
    first = ensure(tmp_path, clock=clock)
    clock.now += certificates.SERVER_LIFE.total_seconds() - certificates.RENEW_BEFORE.total_seconds() - DAY
    assert ensure(tmp_path, clock=clock).expires == first.expires
    clock.now += 2 * DAY
    second = ensure(tmp_path, clock=clock)
    assert second.expires > first.expires
    assert second.authority_pem == first.authority_pem


def test_a_certificate_never_outlives_its_authority_and_is_not_renewed_over_and_over(tmp_path: Path) -> None:
    clock = FakeClock()
    ensure(tmp_path, clock=clock)
    clock.now += certificates.AUTHORITY_LIFE.total_seconds() - 30 * DAY
    last = ensure(tmp_path, clock=clock)
    authority = x509.load_pem_x509_certificate(last.authority_pem)
    assert last.expires == authority.not_valid_after_utc
    before = content(tmp_path)
    clock.now += DAY
    ensure(tmp_path, clock=clock)
    assert content(tmp_path) == before
    clock.now += 40 * DAY
    with pytest.raises(Problem, match="expired"):
        ensure(tmp_path, clock=clock)


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_damaged_node_certificate_is_made_anew_but_an_authority_is_not(tmp_path: Path, damage: bytes) -> None:
    ensure(tmp_path)
    (tmp_path / "server.pem").write_bytes(damage)
    assert handshake(ensure(tmp_path), "localhost")
    (tmp_path / "ca.crt").write_bytes(damage)
    assert handshake(ensure(tmp_path), "localhost")
    (tmp_path / "ca.pem").write_bytes(damage)
    with pytest.raises(Problem, match="cannot be read") as caught:
        ensure(tmp_path)
    assert "kubeconfigs" in caught.value.remedy


def test_a_node_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    ensure(tmp_path / "a")
    ensure(tmp_path / "b")
    (tmp_path / "b" / "server.pem").write_bytes((tmp_path / "a" / "server.pem").read_bytes())
    assert handshake(ensure(tmp_path / "b"), "localhost")


def test_a_crash_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(tmp_path)
    before = content(tmp_path)

    def no_space(_source: object, _target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        ensure(tmp_path, ["a.example"])
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["two words", "a/b", "."])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Problem, match="neither a host name nor an address"):
        ensure(tmp_path, [name])
