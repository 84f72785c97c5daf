"""A certificate authority of one's own, and the certificate of a node that it signs.

Clients get the authority's certificate with their kubeconfig, so it lives long; the node's is renewed in time, or when its names change,
and clients notice nothing. Key and certificate are in one file each, so that they can never be those of two different moments:

    ca.pem      the authority, with its key (only its owner can read it)
    ca.crt      its certificate alone, to hand out
    server.pem  the node's key and certificate
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairway.runtime.clock import Clock, SystemClock, moment
from fairway.runtime.files import write_atomically
from fairway.runtime.status import Problem

AUTHORITY_LIFE = timedelta(days=20 * 365)
SERVER_LIFE = timedelta(days=2 * 365)
RENEW_BEFORE = timedelta(days=240)
"""A node that runs on for months without a restart has a valid certificate still."""
_CLOCK_SKEW = timedelta(hours=1)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
_EVERYWHERE = ("", "0.0.0.0", "::")

Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where they are. `server` is the file for both the chain and the key of a TLS server."""

    authority: Path
    authority_pem: bytes
    server: Path
    expires: datetime
    """When the server's certificate does."""


@dataclass(frozen=True, slots=True)
class _Pair:
    key: Key
    certificate: x509.Certificate

    def pem(self) -> bytes:
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + self.certificate.public_bytes(serialization.Encoding.PEM)


def ensure(folder: Path, names: Iterable[str] = (), clock: Clock | None = None) -> Certificates:
    """Make sure that a folder has an authority and a certificate for localhost, this host's name and the names and addresses given.

    Changes nothing that is still good. Raises Problem if the authority cannot be read: a new one would lock out every client.
    """
    now = moment(clock or SystemClock())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _authority(folder / "ca.pem", now)
    public = authority.certificate.public_bytes(serialization.Encoding.PEM)
    if _read(folder / "ca.crt") != public:
        write_atomically(folder / "ca.crt", public, mode=0o644)
    own = socket.gethostname().lower()
    wanted = _alternatives([*_LOOPBACK, *([own] if _HOST.fullmatch(own) else []), *names])
    server = _load(folder / "server.pem")
    if server is None or not _still_good(server, authority, wanted, now):
        server = _sign_server(authority, wanted, now)
        write_atomically(folder / "server.pem", server.pem())
    return Certificates(folder / "ca.crt", public, folder / "server.pem", server.certificate.not_valid_after_utc)


def _authority(path: Path, now: datetime) -> _Pair:
    found = _load(path)
    if found is None:
        if path.exists():
            raise Problem(
                f"the certificate authority in {path} cannot be read",
                "restore the file from a backup; or remove it to make a new one, and hand out the new kubeconfigs",
            )
        found = _make_authority(now)
        write_atomically(path, found.pem())
    elif now >= found.certificate.not_valid_after_utc:
        raise Problem(
            f"the certificate authority in {path} expired on {found.certificate.not_valid_after_utc:%Y-%m-%d}",
            "remove it to make a new one, and hand out the new kubeconfigs",
        )
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return found


def _make_authority(now: datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Fairway certificate authority")
    builder = (
        _builder(name, name, key, now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=False, certify=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _Pair(key, builder.sign(key, hashes.SHA256()))


def _sign_server(authority: _Pair, names: list[x509.GeneralName], now: datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    life = min(SERVER_LIFE, issuer.not_valid_after_utc - now)
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(_name("Fairway node"), issuer.subject, key, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign=True, certify=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    return _Pair(key, builder.sign(authority.key, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
    )


def _still_good(server: _Pair, authority: _Pair, names: list[x509.GeneralName], now: datetime) -> bool:
    certificate = server.certificate
    try:
        certificate.verify_directly_issued_by(authority.certificate)
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    if set(held) != set(names) or now < certificate.not_valid_before_utc:
        return False
    # One that ends with the authority cannot be renewed for longer.
    final = certificate.not_valid_after_utc >= authority.certificate.not_valid_after_utc
    return now < certificate.not_valid_after_utc - (timedelta() if final else RENEW_BEFORE)


def _alternatives(names: Iterable[str]) -> list[x509.GeneralName]:
    found: dict[x509.GeneralName, None] = {}
    for name in names:
        if name not in _EVERYWHERE:
            found.setdefault(_alternative(name.strip("[]")))
    return list(found)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name.partition("%")[0]))
    except ValueError:
        pass
    try:
        host = name.encode("idna").decode().lower()
    except UnicodeError:
        host = ""
    if not _HOST.fullmatch(host):
        raise Problem(
            f"{name!r} is neither a host name nor an address", "give the name by which clients reach the node"
        )
    return x509.DNSName(host)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, sign: bool, certify: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certify,
        crl_sign=certify,
        encipher_only=False,
        decipher_only=False,
    )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _load(path: Path) -> _Pair | None:
    """A key with its certificate; None if the file is missing, or is not that."""
    data = _read(path)
    if data is None:
        return None
    try:
        key = serialization.load_pem_private_key(data, None)
        certificate = x509.load_pem_x509_certificate(data)
    except (ValueError, TypeError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        return None
    return _Pair(key, certificate)
