"""The kubeconfig that is written is the one that is read, and nobody else's to read."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from fairway.cli.contexts import SpaceContext, kubeconfig, write_kubeconfig
from fairway.cli.kubeconfig import access
from fairway.runtime.certificates import ensure
from fairway.runtime.datadir import DataDir

HUB = SpaceContext("fairway", "https://127.0.0.1:6443", b"-----BEGIN CERTIFICATE-----\n", "fwt_secret")
EAST = SpaceContext("fairway-east", "https://127.0.0.1:6443/spaces/east", b"-----BEGIN CERTIFICATE-----\n", "fwt_other")


def test_one_cluster_user_and_context_per_space() -> None:
    document = yaml.safe_load(kubeconfig([HUB, EAST]))
    assert (document["apiVersion"], document["kind"], document["current-context"]) == ("v1", "Config", "fairway")
    assert [item["name"] for item in document["clusters"]] == ["fairway", "fairway-east"]
    assert document["contexts"][1]["context"] == {
        "cluster": "fairway-east",
        "user": "fairway-east",
        "namespace": "default",
    }
    cluster = document["clusters"][1]["cluster"]
    assert cluster["server"] == EAST.server
    assert base64.b64decode(cluster["certificate-authority-data"]) == EAST.authority
    assert document["users"][1]["user"] == {"token": "fwt_other"}


def test_another_current_context() -> None:
    assert yaml.safe_load(kubeconfig([HUB, EAST], "fairway-east"))["current-context"] == "fairway-east"
    with pytest.raises(ValueError, match="nowhere"):
        kubeconfig([HUB], "nowhere")


def test_without_tls_there_is_no_authority() -> None:
    plain = SpaceContext("fairway", "http://127.0.0.1:8080", token="fwt_secret")
    assert yaml.safe_load(kubeconfig([plain]))["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:8080"}


def test_the_file_is_for_its_owner_and_holds_what_the_commands_need(tmp_path: Path) -> None:
    made = ensure(tmp_path / "tls")
    folder = DataDir(tmp_path)
    folder.kubeconfig.write_text("old")
    folder.kubeconfig.chmod(0o644)
    space = SpaceContext("fairway", "https://127.0.0.1:6443", made.authority_pem, "fwt_secret")
    write_kubeconfig(folder.kubeconfig, [space, EAST])
    assert folder.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    found = access(folder, None)
    assert (found.server, found.token) == (space.server, "fwt_secret")
    assert found.authority.encode() == made.authority_pem
    assert found.ssl_context().cert_store_stats()["x509_ca"] == 1


def test_the_token_is_in_the_file_and_in_no_repr() -> None:
    assert "fwt_secret" not in repr(HUB)
    assert "fwt_secret" in kubeconfig([HUB])
