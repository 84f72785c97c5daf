"""A kubeconfig leads to a cluster by a safe way, or it is said why not."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import KubeconfigError, load, load_file

CONFIGMAPS = Resource("", "v1", "configmaps")


class Clock:
    now = 0.0
    monotonic = 0.0


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any) -> bytes:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}},
            {"name": "d", "cluster": {"server": "https://d.example/clusters/d/"}},
        ],
        "users": [
            {"name": "u", "user": {"token": "secret", **(user or {})}},
            {"name": "v", "user": {"token": "other"}},
        ],
        "contexts": [
            {"name": "first", "context": {"cluster": "c", "user": "u"}},
            {"name": "second", "context": {"cluster": "d", "user": "v", "namespace": "team"}},
        ],
        "current-context": "first",
        "preferences": {},
        **more,
    }
    return yaml.safe_dump(document).encode()


def refusal(text: bytes, **more: Any) -> KubeconfigError:
    with pytest.raises(KubeconfigError) as refused:
        load(text, Clock(), **more)
    return refused.value


def test_the_current_context_or_the_named_one_is_taken() -> None:
    access = load(kubeconfig(), Clock())
    assert (access.server, access.token(), access.namespace) == ("https://10.0.0.1:6443", "secret", "default")
    assert access.tls is not None
    assert access.tls.verify_mode is ssl.CERT_REQUIRED
    assert access.tls.check_hostname
    second = load(kubeconfig(), Clock(), context="second")
    assert (second.server, second.token(), second.namespace) == ("https://d.example/clusters/d", "other", "team")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "not a mapping"),
        (b"- a", "not a mapping"),
        (b"{", "cannot be read"),
        (b"clusters: 5", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"a: " + b"[" * 5000, "cannot be read"),
        (b"x" * (2 << 20), "larger than 1024 KiB"),
        (kubeconfig(**{"current-context": ""}), "no current-context"),
        (kubeconfig(**{"current-context": "frist"}), "did you mean first?"),
        (kubeconfig(**{"current-context": "zzz"}), "there are: first, second"),
        (kubeconfig(clusters=[]), "no cluster 'c'"),
        (kubeconfig(users=None), "no user 'u'"),
        (kubeconfig({"certificate-authority-data": "%%"}), "certificate-authority-data is not base64"),
        (kubeconfig({"certificate-authority-data": "aGVsbG8="}), "certificate authority cannot be read"),
        (kubeconfig(user={"client-certificate-data": "aGVsbG8="}), "go together"),
        (kubeconfig(user={"client-certificate-data": "aGk=", "client-key-data": "aGk="}), "cannot be used"),
    ],
    ids=lambda value: repr(value[:25]) if isinstance(value, bytes) else value,
)
def test_a_kubeconfig_that_cannot_be_used_is_bad(text: bytes, what: str) -> None:
    error = refusal(text)
    assert (error.reason, what in str(error)) == ("BadKubeConfig", True), error


@pytest.mark.parametrize(
    ("cluster", "user", "what"),
    [
        ({"server": ""}, {}, "has no server"),
        ({"server": "http://10.0.0.1"}, {}, "use https"),
        ({"server": "ftp://10.0.0.1"}, {}, "begins with https://"),
        ({"server": "https://me:pw@host"}, {}, "without user, password"),
        ({"server": "https://host/?a=b"}, {}, "without user, password or query"),
        ({"server": "https://under_score.example"}, {}, "neither an IP address nor a DNS name"),
        ({"server": "https://[::1"}, {}, "is not a URL"),
        ({"server": "https://host:99999"}, {}, "is not a URL"),
        ({"server": "https://"}, {}, "neither an IP address nor a DNS name"),
        ({"insecure-skip-tls-verify": True}, {}, "lets anybody pose as the cluster"),
        ({"proxy-url": "http://proxy"}, {}, "proxy-url is not supported"),
        ({}, {"username": "me", "password": "pw"}, "passwords"),
        ({}, {"exec": {"command": "aws"}}, "exec plugins are not supported"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth-provider is not supported"),
        ({}, {"token": "a\r\nX-Evil: b"}, "characters that no token has"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_way_that_is_not_safe_is_refused_with_the_reason(
    cluster: dict[str, Any], user: dict[str, Any], what: str
) -> None:
    error = refusal(kubeconfig(cluster, user), folder=Path("/"))
    assert (error.reason, what in str(error)) == ("InsecureKubeConfig", True), error


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"certificate-authority": "/etc/ca.crt"}, {}),
        ({}, {"tokenFile": "/var/run/secrets/token"}),
        ({}, {"client-certificate": "c.pem"}),
        ({}, {"client-key": "../k.pem"}),
    ],
)
def test_a_kubeconfig_from_elsewhere_may_not_name_files_of_this_machine(
    cluster: dict[str, Any], user: dict[str, Any]
) -> None:
    error = refusal(kubeconfig(cluster, user))
    assert error.reason == "InsecureKubeConfig"
    assert "would be read on this machine" in str(error)


def test_without_tls_only_this_machine_is_reached() -> None:
    for host in ("127.0.0.1:8080", "[::1]:8080", "localhost"):
        assert load(kubeconfig({"server": f"http://{host}"}), Clock()).tls is None


def test_files_are_looked_for_beside_the_kubeconfig_and_content_counts_before_them(tmp_path: Path) -> None:
    chain = write_certificate(tmp_path)
    (tmp_path / "config").write_bytes(kubeconfig({"certificate-authority": "tls/server.crt"}, {"token": ""}))
    access = load_file(tmp_path / "config", Clock())
    assert access.tls is not None
    assert len(access.tls.get_ca_certs()) in (0, 1)
    assert access.token() == ""
    inline = {"certificate-authority-data": _base64(chain), "certificate-authority": "absent"}
    (tmp_path / "config").write_bytes(kubeconfig(inline))
    load_file(tmp_path / "config", Clock())
    (tmp_path / "config").write_bytes(kubeconfig({"certificate-authority": "absent"}))
    with pytest.raises(KubeconfigError, match="certificate-authority: .*absent cannot be read: No such file"):
        load_file(tmp_path / "config", Clock())
    with pytest.raises(KubeconfigError, match="nowhere cannot be read"):
        load_file(tmp_path / "nowhere", Clock())


def test_a_token_in_a_file_is_read_again_when_it_was_renewed(tmp_path: Path) -> None:
    clock = Clock()
    token = tmp_path / "token"
    token.write_text("one\n")
    (tmp_path / "config").write_bytes(kubeconfig(user={"tokenFile": "token", "token": "written-out"}))
    access = load_file(tmp_path / "config", clock)
    assert access.token() == "one"
    token.write_text("two\n")
    assert access.token() == "one"
    clock.monotonic = 11.0
    assert access.token() == "two"
    for broken in ("", "two words", "\x00"):
        token.write_text(broken)
        clock.monotonic += 11.0
        assert access.token() == "two", "the last good one is used"
    token.unlink()
    clock.monotonic += 11.0
    assert access.token() == "two"
    with pytest.raises(KubeconfigError, match="tokenFile: .* cannot be read"):
        load_file(tmp_path / "config", clock)


def write_certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    tls = folder / "tls"
    tls.mkdir(parents=True)
    (tls / "server.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    (tls / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    )
    return tls / "server.crt"


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


ANSWER = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}'


def test_both_sides_show_their_certificates_and_check_the_others(tmp_path: Path) -> None:
    server = write_certificate(tmp_path / "server")
    client = write_certificate(tmp_path / "client")
    stranger = write_certificate(tmp_path / "stranger")
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER)
        writer.write(head + ANSWER)
        await writer.drain()
        writer.close()

    async def body() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(server, tmp_path / "server" / "tls" / "server.key")
        listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = listener.sockets[0].getsockname()[1]

        async def ask(authority: Path, shown: Path | None) -> str:
            user: dict[str, Any] = {"token": "t"}
            if shown is not None:
                key = shown.with_name("server.key")
                user |= {"client-certificate-data": _base64(shown), "client-key-data": _base64(key)}
            cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": _base64(authority)}
            remote = load(kubeconfig(cluster, user), Clock()).connect("tests")
            try:
                return (await remote.list(CONFIGMAPS)).revision
            finally:
                await remote.close()

        assert await ask(server, client) == "7"
        for authority, shown in ((stranger, client), (server, None), (server, stranger)):
            with pytest.raises(ApiError) as refused:
                await ask(authority, shown)
            assert (refused.value.code, refused.value.reason) == (0, "Unreachable")
        listener.close()

    asyncio.run(body())
    assert len(seen) == 1
    assert b"bearer t" in seen[0].lower()


def test_a_server_that_takes_a_request_and_never_answers_is_given_up() -> None:
    async def body() -> None:
        asked = asyncio.Event()

        async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()
            writer.close()

        listener = await asyncio.start_server(swallow, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        remote = load(kubeconfig({"server": f"http://127.0.0.1:{port}"}), Clock()).connect(answer_seconds=0.3)
        with pytest.raises(ApiError) as refused:
            await remote.list(CONFIGMAPS)
        assert asked.is_set()
        assert (refused.value.code, refused.value.reason) == (0, "Unreachable")
        await remote.close()
        listener.close()

    asyncio.run(asyncio.wait_for(body(), 30))
