"""Token commands against an API over TLS that keeps what it is sent."""

from __future__ import annotations

import base64
import json
import os
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.cli.main import app
from fairway.cli.tokens import expiry
from fairway.runtime import certificates, process
from fairway.runtime.datadir import DataDir, LauncherState
from fairway.runtime.status import Problem

TOKENS = "/s/default/apis/fairway.dev/v1/tokens"
BINDINGS = "/s/default/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"


class Api(ThreadingHTTPServer):
    """As much of the API as the commands need: lists, creates with generated names, deletes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, dict[str, Any]] = {}
        self.refuse: dict[str, tuple[int, str]] = {}
        self.authorizations: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    server: Api

    def log_message(self, *_: object) -> None:
        return

    def answer(self, code: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self) -> None:
        self.server.authorizations.add(self.headers.get("authorization", ""))
        if self.path in self.server.refuse:
            code, message = self.server.refuse[self.path]
            self.answer(code, {"kind": "Status", "code": code, "message": message})
            return
        {"GET": self.list, "POST": self.create, "DELETE": self.delete}[self.command]()

    do_GET = do_POST = do_DELETE = handle_one

    def list(self) -> None:
        found = [obj for path, obj in self.server.objects.items() if path.startswith(self.path + "/")]
        if "as=Table" in self.headers["accept"]:
            columns = [{"name": "Name"}, {"name": "User"}, {"name": "Hidden", "priority": 1}]
            rows = [{"cells": [obj["metadata"]["name"], obj["spec"]["user"], "x"]} for obj in found]
            self.answer(200, {"kind": "Table", "columnDefinitions": columns, "rows": rows})
        else:
            self.answer(200, {"items": found})

    def create(self) -> None:
        obj = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = f"{obj['metadata'].pop('generateName')}{len(self.server.objects)}"
        obj["metadata"]["name"] = name
        self.server.objects[f"{self.path}/{name}"] = obj
        self.answer(201, {**obj, "status": {"token": f"secret-of-{name}"}} if obj["kind"] == "Token" else obj)

    def delete(self) -> None:
        if self.server.objects.pop(self.path, None) is None:
            self.answer(404, {"message": "not found"})
        else:
            self.answer(200, {"status": "Success"})


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A folder in which this very process claims to be the launcher."""
    data = DataDir(tmp_path)
    made = certificates.ensure(data.tls)
    server = Api()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    cluster = {
        "server": f"https://127.0.0.1:{server.server_port}/s/default",
        "certificate-authority-data": base64.b64encode(made.authority_pem).decode(),
    }
    data.kubeconfig.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": "admin-secret"}}],
                "contexts": [{"name": "fairway", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "fairway",
            }
        )
    )
    data.write_state(LauncherState(pid=os.getpid(), identity=process.identity(os.getpid()) or "", phase="serving"))
    monkeypatch.setenv("FAIRWAY_DATA", str(tmp_path))
    monkeypatch.delenv("FAIRWAY_DEBUG", raising=False)
    # A proxy that is set for the world outside is not for the node next door.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_new_token_alone_is_on_stdout_and_the_words_are_not(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["token", "create", "ann", "--group", "team-a", "--group", "team-b"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "secret-of-ann-0\n"
    assert "token ann-0 for ann; it is shown only now:" in shown.err
    assert api.objects[f"{TOKENS}/ann-0"]["spec"] == {"user": "ann", "groups": ["team-a", "team-b"]}
    assert api.authorizations == {"Bearer admin-secret"}


def test_a_token_with_an_end_for_programs(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["token", "create", "ann", "--expires", "30d", "-o", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    spec = api.objects[f"{TOKENS}/ann-0"]["spec"]
    assert made == {
        "name": "ann-0",
        "user": "ann",
        "groups": [],
        "expires": spec["expirationTimestamp"],
        "token": "secret-of-ann-0",
    }


def test_a_namespace_and_a_role_bind_the_user_once(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    bindings = BINDINGS.format("team-a")
    for _ in range(2):
        assert app(["token", "create", "ann", "--namespace", "team-a", "--role", "view"]) == 0
    made = [obj for path, obj in api.objects.items() if path.startswith(bindings)]
    assert len(made) == 1
    assert made[0]["roleRef"] == {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    assert made[0]["subjects"] == [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]
    assert app(["token", "create", "ann", "--namespace", "team-a"]) == 0
    assert {obj["roleRef"]["name"] for path, obj in api.objects.items() if path.startswith(bindings)} == {
        "view",
        "edit",
    }


def test_a_token_that_is_refused_leaves_no_binding_behind(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.refuse[TOKENS] = (422, "Token is invalid: spec.user: too long")
    assert app(["token", "create", "ann", "--namespace", "team-a"]) == 1
    assert capsys.readouterr().err == "error: Token is invalid: spec.user: too long\n"
    assert api.objects == {}


def test_a_role_without_a_namespace_is_a_question(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["token", "create", "ann", "--role", "edit"]) == 1
    assert "--role needs --namespace" in capsys.readouterr().err
    assert api.objects == {}


def test_tokens_are_listed_as_the_server_shows_them(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    for user in ("ann", "a-user-with-a-name-that-is-longer-than-most-" + "x" * 100):
        assert app(["token", "create", user]) == 0
    capsys.readouterr()
    assert app(["token", "list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [["NAME", "USER"], ["ann-0", "ann"]]
    assert lines[2][1].endswith("x" * 100)
    assert app(["token", "list", "-o", "json"]) == 0
    assert [each["spec"]["user"] for each in json.loads(capsys.readouterr().out)][0] == "ann"


def test_a_revoked_token_is_gone_and_an_unknown_one_is_an_error(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["token", "create", "ann"]) == 0
    assert app(["token", "revoke", "ann-0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "revoked ann-0"
    assert api.objects == {}
    assert app(["token", "revoke", "../ann-0"]) == 1
    assert capsys.readouterr().err == ("error: there is no token '../ann-0'\nfairway token list shows them all\n")


def test_an_answer_without_words_still_has_a_code(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.refuse[TOKENS] = (503, "")
    assert app(["token", "list"]) == 1
    assert capsys.readouterr().err == "error: the API answered 503 Service Unavailable\n"


def test_a_certificate_that_is_not_ours_is_refused(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = base64.b64encode(certificates.ensure(tmp_path / "other").authority_pem).decode()
    config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    config["clusters"][0]["cluster"]["certificate-authority-data"] = other
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    assert app(["token", "list"]) == 1
    assert "does not show the certificate that the kubeconfig expects" in capsys.readouterr().err
    assert api.authorizations == set(), "the administrator's token went to a stranger"


def test_a_node_that_does_not_answer_is_an_error_with_a_way_out(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (tmp_path / "kubeconfig").read_text().replace(f":{api.server_port}/", ":1/")
    (tmp_path / "kubeconfig").write_text(text)
    assert app(["token", "list"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: no answer from https://127.0.0.1:1/s/default: Connection refused",
        "see fairway status; start it with fairway up",
    ]


def test_spans_of_time_are_read_or_refused() -> None:
    now = datetime(2024, 2, 28, 12, tzinfo=UTC)
    assert expiry("90m", now) == "2024-02-28T13:30:00Z"
    assert expiry("2d", now) == "2024-03-01T12:00:00Z"
    assert expiry("1w", now) == "2024-03-06T12:00:00Z"
    for text in ("", "0d", "-1d", "1", "d", "1y", "1.5h", "1d2h", "999999w", "٣d"):
        with pytest.raises(Problem):
            expiry(text, now)
