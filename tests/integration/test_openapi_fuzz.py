"""Requests made up from our own OpenAPI documents: never an internal error, always JSON.

The examples are derived, not random: the same code and documents give the same requests. Made-up namespaces and names would end at "not
found", so requests go to a namespace that exists and, where one can be created, to an object that does. To make up an object costs more
than all the rest, so each is sent in every way in which an object can be sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from tests.integration.inprocess import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Answer, Running, running

from fairway.kinds.builtin import KINDS

TIMES = int(os.environ.get("FAIRWAY_FUZZ_TIMES", "1"))
"""For a longer look: FAIRWAY_FUZZ_TIMES=20 makes up twenty times as much."""
DOCUMENTS = sorted(
    {
        f"apis/{kind.group}/{version.name}" if kind.group else f"api/{version.name}"
        for kind in KINDS
        for version in kind.versions
        if version.served
    }
)
STORED = {f"apis/{kind.group}/{kind.storage_version.name}" if kind.group else "api/v1" for kind in KINDS}
"""The other versions have nearly the same types: of them only the simplest requests are made up, unless there is time."""
_POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
_LABELS = {"matchLabels": {"a": "b"}}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_RUNNING = {**_TEMPLATE, "spec": {"containers": _POD["containers"]}}
MINIMAL: dict[str, dict[str, Any]] = {
    "pods": {"spec": _POD},
    "jobs": {"spec": {"template": {"spec": _POD}}},
    "cronjobs": {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": _POD}}}}},
    "deployments": {"spec": {"selector": _LABELS, "template": _RUNNING}},
    "localqueues": {"spec": {"clusterQueue": "q"}},
    "workloads": {"spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": _POD}}]}},
    "priorityclasses": {"value": 1},
    "workloadpriorityclasses": {"value": 1},
    "admissionchecks": {"spec": {"controllerName": "example.com/check"}},
    "clusterresourceplacements": {
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "n"}]}
    },
    "tokens": {"spec": {"user": "somebody"}},
}
"""What a kind needs at least, for kinds whose objects are more than a name."""


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running() as node:
        yield node


class Prober:
    """Sends what was made up for one resource, in every way, to an object that is there."""

    def __init__(self, node: Running, collection: str, has_status: bool) -> None:
        self.node = node
        self.url = collection.replace("{namespace}", "default")
        self.has_status = has_status
        body = {"metadata": {"generateName": "fuzz-"}, **MINIMAL.get(collection.rpartition("/")[2], {})}
        answer = self.send("POST", self.url, {}, body)
        self.name: str = answer.json["metadata"]["name"] if answer.status == 201 else ""

    def object(self, case: Any) -> None:
        """A body that the document allows: created, put, applied, and as a patch of every type."""
        query = dict(case.query or {})
        body = case.body if isinstance(case.body, dict) else {}
        self.send("POST", self.url, query, {**body, "metadata": {"generateName": "fuzz-"}})
        if not self.name:
            return
        named = {**body, "metadata": {"name": self.name}}
        one = f"{self.url}/{self.name}"
        for url in (one, f"{one}/status") if self.has_status else (one,):
            self.send("PUT", url, query, named)
            steps = [{"op": "add", "path": f"/{name}", "value": value} for name, value in body.items()]
            for media, change in ((MERGE, named), (STRATEGIC, named), (JSON_PATCH, steps), (APPLY, named)):
                self.send("PATCH", url, {**query, "fieldManager": "fuzz", "force": "true"}, change, media)

    def question(self, case: Any) -> None:
        self.send("GET", self.url, dict(case.query or {}))
        self.send("GET", f"{self.url}/{self.name or 'absent'}", dict(case.query or {}))

    def deletion(self, case: Any) -> None:
        query = dict(case.query or {})
        self.send("DELETE", self.url, {**query, "dryRun": "All"})
        self.send("DELETE", f"{self.url}/{self.name or 'absent'}", query)

    def send(self, method: str, path: str, query: Mapping[str, Any], body: Any = None, media: str = JSON) -> Answer:
        text = urlencode(query, doseq=True, errors="replace")
        data = None if body is None else msgspec.json.encode(body)
        answer = self.node.call(method, f"{path}?{text}" if text else path, data, content=media)
        request = f"{method} {path} {query} {body}"
        assert answer.header("content-type") == JSON, request
        assert answer.status < 500 or _documented(answer), (request, answer.body)
        for line in answer.body.splitlines():  # one, but for a watch
            value = msgspec.json.decode(line)
            assert answer.status < 400 or (value["kind"] == "Status" and value["message"]), request
        return answer


def _documented(answer: Answer) -> bool:
    causes = answer.json.get("details", {}).get("causes", [{}])
    return answer.status == 504 and causes[0].get("reason") == "ResourceVersionTooLarge"


def examples(operation: Any, use: Any, count: int) -> None:
    @given(operation.as_strategy())
    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(case: Any) -> None:
        use(case)

    run()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_request_that_the_documents_allow_is_an_internal_error(
    node: Running, document: str, caplog: pytest.LogCaptureFixture
) -> None:
    schema = schemathesis.openapi.from_dict(node.get(f"/openapi/v3/{document}").ok)
    found = {(each.ok().path, each.ok().method.lower()): each.ok() for each in schema.get_all_operations()}
    collections = [path for path, method in found if method == "post"]
    assert collections
    count = 2 * TIMES if document in STORED else TIMES
    for path in collections:
        prober = Prober(node, path, (f"{path}/{{name}}/status", "put") in found)
        examples(found[path, "post"], prober.object, count)
        if TIMES > 1 or path == collections[0]:  # what can be asked is the same for all
            examples(found[path, "get"], prober.question, 2 * TIMES)
            examples(found[path, "delete"], prober.deletion, 2 * TIMES)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
