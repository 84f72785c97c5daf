"""What it takes to be let in by another server: certificates to trust and to show, and tokens that may be renewed in a file."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from fairway.runtime.clock import Clock

_LOOK_AGAIN_SECONDS = 10.0
_TOKEN_BYTES_MAX = 64 << 10


class CredentialError(Exception):
    """A certificate, key or token that cannot be used."""


def tls_context(authority: bytes, certificate: bytes = b"", key: bytes = b"") -> ssl.SSLContext:
    """A context that trusts the authority (PEM), or whom the system trusts if there is none, and shows a certificate if there is one."""
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
    except (ssl.SSLError, ValueError) as error:
        raise CredentialError(f"the certificate authority cannot be read: {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate:
        _show(context, certificate, key)
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL reads a certificate to show from files only. Nobody else can read this one, and it is gone at once.
    fd, name = tempfile.mkstemp(prefix="fairway-", suffix=".pem")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise CredentialError(f"the client certificate and its key cannot be used: {error}") from None
    finally:
        os.unlink(name)


class TokenFile:
    """A token in a file that someone renews, as Kubernetes does for its pods. It is read anew when it is some seconds old; while it
    cannot be read, the last one is used."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._token = read_token(path)
        self._read = clock.monotonic

    def __call__(self) -> str:
        if self._clock.monotonic - self._read >= _LOOK_AGAIN_SECONDS:
            self._read = self._clock.monotonic
            try:
                self._token = read_token(self._path)
            except CredentialError:
                return self._token
        return self._token


def read_token(path: Path) -> str:
    try:
        data = read_file(path, _TOKEN_BYTES_MAX).strip()
        token = data.decode("ascii")
    except UnicodeDecodeError:
        raise CredentialError(f"{path} holds no token: it is not plain text") from None
    if not token or any(character.isspace() or not character.isprintable() for character in token):
        raise CredentialError(f"{path} holds no token: it is empty or has several words")
    return token


def read_file(path: Path, bytes_max: int = 1 << 20) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise CredentialError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > bytes_max:
        raise CredentialError(f"{path} is larger than {bytes_max >> 10} KiB")
    return data
