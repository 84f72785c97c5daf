"""Our server answers what a real kube-apiserver answers.

Every case holds what the real server says (`real`) and, where ours deliberately says something else, what and why (`ours`, `because`). The
sections are those of kube-api-oracle.txt, a capture of a real server: where that file is at hand, a test checks that `real` is what it holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.integration.inprocess import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, TABLE, Answer, Running, job, running

SHARED = Path(os.environ.get("FAIRWAY_SHARED") or Path(__file__).parents[3] / "shared")
ORACLE = SHARED / "spec" / "kube-api-oracle.txt"
JOBS = "/apis/batch/v1/namespaces/compute-jobs/jobs"
MOCK = f"{JOBS}/mock-workload"
NAME_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
NO_METHOD = "the server does not allow this method on the requested resource"
REJECTED = "the server rejected our request due to an error in our request"


def failure(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if details:
        status["details"] = details
    return {**status, "code": code}


@dataclass(frozen=True)
class Case:
    section: str
    method: str
    url: str
    real: dict[str, Any]
    """{uid} and {current} stand for the Job's uid and the newest revision."""
    body: Any = None
    content: str = JSON
    accept: str = ""
    ours: dict[str, Any] | None = None
    because: str = ""
    line: int = 0
    cut: bool = False
    """The capture shows only the beginning of the answer."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.section} {self.line}" if self.line else self.section


def unknown_fields() -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "x", "nope": 1},
        "spec": {
            "paralelism": 2,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "imag": "typo"}]}
            },
        },
    }


def invalid_job() -> dict[str, Any]:
    body = job("A_b")
    body["spec"]["template"]["spec"] = {"containers": [{"name": "c"}]}
    return body


def applied(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "mock-workload"}, "spec": spec}


ABOUT = {"name": "mock-workload", "group": "batch", "kind": "jobs"}
ABOUT_KIND = {**ABOUT, "kind": "Job"}
IMMUTABLE = "Invalid value: 5: field is immutable"
CASES = [
    Case(
        "404 obj",
        "GET",
        f"{JOBS}/y",
        failure(404, "NotFound", 'jobs.batch "y" not found', name="y", group="batch", kind="jobs"),
    ),
    Case(
        "bad rv",
        "GET",
        f"{JOBS}?resourceVersion=abc",
        failure(500, "", 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'),
        ours=failure(
            400,
            "BadRequest",
            'resourceVersion: Invalid value: "abc": take it as a list or an object returned it',
        ),
        because="the mistake is the client's, so no 5xx; and the message says what to do",
    ),
    Case(
        "future rv list",
        "GET",
        f"{JOBS}?resourceVersion=99999999",
        failure(
            504,
            "Timeout",
            "Timeout: Too large resource version: 99999999, current: {current}",
            causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            retryAfterSeconds=1,
        ),
        headers={"retry-after": "1"},
    ),
    Case(
        "bad continue",
        "GET",
        f"{JOBS}?continue=abc",
        failure(
            400,
            "BadRequest",
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
        ),
        ours=failure(
            400,
            "BadRequest",
            "invalid continue token: take it as it was returned by the list before, or start again without it",
        ),
        because="the rest of the real message is about its decoder",
    ),
    Case(
        "bad fieldselector",
        "GET",
        f"{JOBS}?fieldSelector=spec.foo%3Dbar",
        failure(400, "BadRequest", 'field label "spec.foo" not supported for Job'),
    ),
    Case(
        "bad fieldselector",
        "GET",
        f"{JOBS}?labelSelector=a%20b",
        failure(400, "BadRequest", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        line=1,
    ),
    Case(
        "exact rvmatch missing",
        "GET",
        f"{JOBS}?watch=true&sendInitialEvents=true",
        failure(
            422,
            "Invalid",
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
            "resourceVersionMatch to NotOlderThan",
            group="meta.k8s.io",
            kind="ListOptions",
            causes=[
                {
                    "reason": "FieldValueForbidden",
                    "message": "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                    "field": "resourceVersionMatch",
                }
            ],
        ),
    ),
    Case(
        "415 patch",
        "PATCH",
        MOCK,
        failure(415, "UnsupportedMediaType", "415: Unsupported Media Type"),
        body={},
        content="text/plain",
        ours=failure(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            f"{JSON_PATCH}, {MERGE}, {STRATEGIC}, {APPLY}",
        ),
        because="the same words as for every other body, with the types that would do",
    ),
    Case(
        "415 post",
        "POST",
        JOBS,
        failure(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        body={},
        content="text/plain",
    ),
    Case(
        "406",
        "GET",
        JOBS,
        failure(
            406,
            "NotAcceptable",
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf",
        ),
        accept="text/html",
        ours=failure(
            406,
            "NotAcceptable",
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
        ),
        because="we read protobuf and do not write it",
    ),
    Case("405", "PUT", JOBS, failure(405, "MethodNotAllowed", NO_METHOD), body={}),
    Case(
        "strict",
        "POST",
        f"{JOBS}?fieldValidation=Strict",
        failure(
            400,
            "BadRequest",
            'Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "metadata.nope", '
            'unknown field "spec.paralelism", unknown field "spec.template.spec.containers[0].imag"',
        ),
        body=unknown_fields(),
    ),
    Case(
        "invalid",
        "POST",
        JOBS,
        failure(
            422,
            "Invalid",
            f'Job.batch "A_b" is invalid: [metadata.name: Invalid value: "A_b": {NAME_RULE}, '
            "spec.template.spec.containers[0].image: Required value, spec.template.spec.restartPolicy: Required value: "
            'valid values: "OnFailure", "Never"]',
            name="A_b",
            group="batch",
            kind="Job",
            causes=[
                {
                    "reason": "FieldValueInvalid",
                    "message": f'Invalid value: "A_b": {NAME_RULE}',
                    "field": "metadata.name",
                },
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value",
                    "field": "spec.template.spec.containers[0].image",
                },
                {
                    "reason": "FieldValueRequired",
                    "message": 'Required value: valid values: "OnFailure", "Never"',
                    "field": "spec.template.spec.restartPolicy",
                },
            ],
        ),
        body=invalid_job(),
        cut=True,
    ),
    Case(
        "immut",
        "PATCH",
        MOCK,
        failure(
            422,
            "Invalid",
            f'Job.batch "mock-workload" is invalid: spec.completions: {IMMUTABLE}',
            **ABOUT_KIND,
            causes=[{"reason": "FieldValueInvalid", "message": IMMUTABLE, "field": "spec.completions"}],
        ),
        body={"spec": {"completions": 5}},
        content=MERGE,
    ),
    Case(
        "conflict",
        "PATCH",
        MOCK,
        failure(
            409,
            "Conflict",
            'Operation cannot be fulfilled on jobs.batch "mock-workload": the object has been modified; please apply your '
            "changes to the latest version and try again",
            **ABOUT,
        ),
        body={"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}},
        content=MERGE,
    ),
    Case(
        "type err",
        "PATCH",
        MOCK,
        failure(422, "Invalid", ' "" is invalid: patch: Invalid value: "{'),
        body={"spec": {"parallelism": "three"}},
        content=STRATEGIC,
        ours=failure(
            400,
            "BadRequest",
            'Job in version "v1" cannot be handled as a Job: spec.parallelism: Invalid value: "three": must be an integer, '
            "not a string",
        ),
        because="the real message is the whole object; ours names the field, in the words of a wrong type in any other body",
        cut=True,
    ),
    Case(
        "bad json",
        "PATCH",
        MOCK,
        failure(400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
        body=b'{"a":',
        content=MERGE,
        ours=failure(400, "BadRequest", "error decoding patch: the body is not valid JSON: Input data was truncated"),
        because="another decoder has other words",
    ),
    Case(
        "json patch test fail",
        "PATCH",
        MOCK,
        failure(422, "Invalid", REJECTED),
        body=[{"op": "test", "path": "/spec/parallelism", "value": 77}],
        content=JSON_PATCH,
        ours=failure(
            422,
            "Invalid",
            "the patch does not apply: operation 0 (test /spec/parallelism): the value there is another one",
        ),
        because="says which operation, and why",
    ),
    Case(
        "json patch missing",
        "PATCH",
        MOCK,
        failure(422, "Invalid", REJECTED),
        body=[{"op": "remove", "path": "/spec/nope"}],
        content=JSON_PATCH,
        ours=failure(
            422, "Invalid", "the patch does not apply: operation 0 (remove /spec/nope): /spec/nope does not exist"
        ),
        because="says which operation, and why",
    ),
    Case(
        "ssa no manager",
        "PATCH",
        MOCK,
        failure(
            422,
            "Invalid",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
            group="meta.k8s.io",
            kind="PatchOptions",
            causes=[
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: is required for apply patch",
                    "field": "fieldManager",
                }
            ],
        ),
        body=applied(parallelism=1),
        content=APPLY,
    ),
    Case(
        "ssa conflict",
        "PATCH",
        f"{MOCK}?fieldManager=me",
        failure(
            409,
            "Conflict",
            'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using batch/v1: .spec.parallelism',
            causes=[
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "kubectl-client-side-apply" using batch/v1',
                    "field": ".spec.parallelism",
                }
            ],
        ),
        body=applied(parallelism=1),
        content=APPLY,
    ),
    Case(
        "ns missing create",
        "POST",
        "/apis/batch/v1/namespaces/nope/jobs",
        failure(404, "NotFound", 'namespaces "nope" not found', name="nope", kind="namespaces"),
        body=job("x"),
    ),
    Case(
        "gvk mismatch",
        "POST",
        JOBS,
        failure(
            400,
            "BadRequest",
            'Pod in version "v1" cannot be handled as a Job: converting (v1.Pod) to (batch.Job): unknown conversion',
        ),
        body={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
        ours=failure(
            400,
            "BadRequest",
            'Pod in version "v1" cannot be handled as a Job: the request is for kind Job (batch/v1), the body is a Pod',
        ),
        because="the rest of the real message is about Go types",
    ),
    Case(
        "name mismatch PUT",
        "PUT",
        MOCK,
        failure(400, "BadRequest", "the name of the object (zz) does not match the name on the URL (mock-workload)"),
        body=job("zz"),
    ),
    Case(
        "delete precond",
        "DELETE",
        MOCK,
        failure(
            409,
            "Conflict",
            'Operation cannot be fulfilled on Job.batch "mock-workload": the UID in the precondition (x) does not match the UID '
            "in record ({uid}). The object might have been deleted and then recreated",
            **ABOUT_KIND,
        ),
        body={"preconditions": {"uid": "x"}},
    ),
    Case(
        "already exists",
        "POST",
        "/api/v1/namespaces",
        failure(409, "AlreadyExists", 'namespaces "default" already exists', name="default", kind="namespaces"),
        body={"metadata": {"name": "default"}},
    ),
    Case(
        "logs no pod",
        "GET",
        "/api/v1/namespaces/compute-jobs/pods/nope/log",
        failure(404, "NotFound", 'pods "nope" not found', name="nope", kind="pods"),
    ),
]


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running() as node:
        node.call("POST", "/api/v1/namespaces", {"metadata": {"name": "compute-jobs"}}).ok
        body = job("mock-workload", completions=3, parallelism=3, suspend=True)
        node.call("POST", f"{JOBS}?fieldManager=kubectl-client-side-apply", body).ok
        yield node


def filled(status: dict[str, Any], uid: str, current: str) -> dict[str, Any]:
    message = status["message"].replace("{uid}", uid).replace("{current}", current)
    return {**status, "message": message}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_refusal_is_that_of_the_real_server(node: Running, case: Case) -> None:
    before = node.get(MOCK).ok
    answer = node.call(case.method, case.url, case.body, content=case.content, accept=case.accept)
    expected = filled(case.ours or case.real, before["metadata"]["uid"], str(node.space.store.revision))
    assert answer.json == expected
    assert answer.status == expected["code"]
    assert answer.header("content-type") == JSON
    assert answer.header("cache-control") == "no-cache, private"
    for name, value in case.headers.items():
        assert answer.header(name) == value
    assert node.get(MOCK).ok == before, "a refusal changes nothing"


def sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in ORACLE.read_text(encoding="utf-8").splitlines():
        title = re.fullmatch(r"(?:---|===) (.*)", line)
        if title:
            name = title[1]
            found[name] = []
        elif line:
            found.setdefault(name, []).append(line)
    return found


needs_oracle = pytest.mark.skipif(not ORACLE.exists(), reason=f"the capture of a real server is not at {ORACLE}")


@needs_oracle
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_expected_of_the_real_server_is_what_it_answered(case: Case) -> None:
    line = sections()[case.section][case.line]
    real = filled(case.real, "8c45d9eb-15c0-4ecc-a0be-6fc93bf0ae94", "10818")
    if case.cut:
        message = json.dumps(real["message"])[:-1]
        assert message in line
        assert line.startswith(
            '{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": '
        )
        return
    captured = json.loads(line)
    if captured.get("details") == {}:
        del captured["details"]  # we leave out what is empty
    assert real == captured
    assert (case.ours is None) == (not case.because)


# --- revisions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [f"{MOCK}?resourceVersion=99999999", f"{JOBS}?watch=true&resourceVersion=99999999"])
def test_a_revision_of_the_future_is_refused_at_once_for_get_and_watch_too(node: Running, url: str) -> None:
    """The real server lets a watch from the future hang until its time is up: nobody can act on that."""
    answer = node.get(url)
    assert answer.refused(504, "Timeout").startswith("Timeout: Too large resource version: 99999999, current: ")
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.header("retry-after") == "1"


@pytest.mark.parametrize("url", [f"{MOCK}?resourceVersion=abc", f"{JOBS}?watch=true&resourceVersion=-1"])
def test_a_revision_that_is_none_is_refused_for_get_and_watch_too(node: Running, url: str) -> None:
    assert "take it as a list or an object returned it" in node.get(url).refused(400, "BadRequest")


def test_a_watch_from_a_forgotten_revision_is_told_so_in_the_stream(node: Running) -> None:
    bucket = node.space.store.bucket("configmaps")
    bucket.floor = node.space.store.revision

    answer = node.get("/api/v1/configmaps?watch=true&resourceVersion=1")
    assert answer.status == 200
    assert answer.json == {
        "type": "ERROR",
        "object": failure(410, "Expired", f"too old resource version: 1 ({bucket.floor})"),
    }


@needs_oracle
def test_the_real_server_tells_a_forgotten_revision_in_the_stream() -> None:
    captured = json.loads(sections()["old watch"][0])
    assert captured == {"type": "ERROR", "object": failure(410, "Expired", "too old resource version: 1 (10814)")}


@pytest.mark.parametrize(
    ("query", "field", "why"),
    [
        ("resourceVersionMatch=Exact", "resourceVersionMatch", "forbidden unless resourceVersion is provided"),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            "resourceVersionMatch",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=abc",
            "resourceVersionMatch",
            "forbidden when continue is provided",
        ),
        ("resourceVersionMatch=Newest&resourceVersion=1", "resourceVersionMatch", 'Unsupported value: "Newest"'),
        ("sendInitialEvents=true", "sendInitialEvents", "sendInitialEvents is forbidden for list"),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch",
            "forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
    ],
)
def test_options_of_a_list_that_mean_nothing_together_are_refused(
    node: Running, query: str, field: str, why: str
) -> None:
    answer = node.get(f"{JOBS}?{query}")
    assert why in answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.json["details"]["causes"]] == [field]


def test_an_exact_revision_is_served_while_it_is_the_newest_and_expired_after(node: Running) -> None:
    newest = node.get(JOBS).ok["metadata"]["resourceVersion"]
    url = f"{JOBS}?resourceVersionMatch=Exact&resourceVersion="
    assert node.get(url + newest).ok["metadata"]["resourceVersion"] == newest
    node.get(url + str(int(newest) - 1)).refused(410, "Expired")


# --- documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_discovery_says_what_it_is_and_how_long_it_holds(node: Running, version: str) -> None:
    media = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for path in ("/api", "/apis"):
        answer = node.get(path, accept=f"{media},application/json")
        assert (answer.status, answer.header("content-type")) == (200, media)
        assert (answer.header("cache-control"), answer.header("vary")) == ("public", "Accept")
        assert re.fullmatch(r'"[0-9A-F]{32,}"', answer.header("etag"))
        again = node.get(path, accept=media, headers={"if-none-match": answer.header("etag")})
        assert (again.status, again.body, again.header("etag")) == (304, b"", answer.header("etag"))


@needs_oracle
def test_the_real_server_sends_these_headers_with_its_documents() -> None:
    discovery, openapi = sections()["discovery headers"], sections()["openapi v3 GV headers"]
    assert "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" in discovery
    assert {"cache-control: public", "vary: Accept"} <= set(discovery)
    assert {"cache-control: public, immutable", "content-type: application/json", "vary: Accept"} <= set(openapi)


def test_an_openapi_document_under_its_hash_holds_for_ever(node: Running) -> None:
    index = node.get("/openapi/v3").ok["paths"]
    url = index["apis/batch/v1"]["serverRelativeURL"]
    answer = node.get(url)
    hash_ = url.partition("?hash=")[2]
    assert (answer.status, answer.header("content-type")) == (200, "application/json")
    # A max-age instead of the real server's Expires: kubectl's cache on disk honours it, and no date is needed.
    assert answer.header("cache-control") == "public, max-age=31536000, immutable"
    assert (answer.header("etag"), answer.header("vary")) == (f'"{hash_}"', "Accept")
    assert node.get(url, headers={"if-none-match": f'"{hash_}"'}).status == 304
    for stale in ("/openapi/v3/apis/batch/v1", "/openapi/v3/apis/batch/v1?hash=OLD"):
        assert node.get(stale).header("cache-control") == "no-cache"


def test_a_path_that_is_nothing_is_the_plain_text_of_the_real_server(node: Running) -> None:
    for path in ("/nope", "/openapi/v3/apis/nope/v1", "/apis/nope.example", "/apis/nope.example/v1", "/api/v9"):
        answer = node.get(path)
        assert (answer.status, answer.text) == (404, "404 page not found\n"), path
        assert answer.header("content-type") == "text/plain; charset=utf-8"
        assert answer.header("x-content-type-options") == "nosniff"


@needs_oracle
def test_the_real_server_says_that_a_page_is_not_found() -> None:
    assert sections()["404 path"] == ["404 page not found"]


def test_a_slash_at_the_end_of_a_document_changes_nothing(node: Running) -> None:
    for path in ("/version", "/api", "/apis", "/api/v1", "/apis/batch", "/apis/batch/v1"):
        assert node.get(f"{path}/").ok == node.get(path).ok
    version = node.get("/version/").ok
    assert {"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "platform"} <= version.keys()
    assert version["major"].isdecimal()
    assert version["minor"].isdecimal()


@needs_oracle
def test_core_kinds_are_discovered_as_the_real_server_names_them(node: Running) -> None:
    """Of what we both have; the capture shows the first few. Storage hashes are the real server's own business."""
    text = sections()["trailing slash"][1]
    pattern = r'\{"name": "(\w+)", "singularName": "(\w+)", "namespaced": (\w+), "kind": "(\w+)", "verbs": (\[.*?\]), "shortNames": (\[.*?\])'
    real = {name: rest for name, *rest in re.findall(pattern, text)}
    ours = {entry["name"]: entry for entry in node.get("/api/v1/").ok["resources"]}
    shared = real.keys() & ours.keys()
    assert shared >= {"configmaps", "endpoints"}
    for name in shared:
        singular, namespaced, kind, verbs, short_names = real[name]
        entry = ours[name]
        assert (entry["singularName"], entry["namespaced"], entry["kind"]) == (singular, namespaced == "true", kind)
        assert (entry["verbs"], entry["shortNames"]) == (json.loads(verbs), json.loads(short_names))


# --- field validation --------------------------------------------------------------------------------------------


WARNINGS = [
    '299 - "unknown field \\"metadata.nope\\""',
    '299 - "unknown field \\"spec.paralelism\\""',
    '299 - "unknown field \\"spec.template.spec.containers[0].imag\\""',
]


def test_unknown_fields_are_warned_about_one_header_each_and_dropped(node: Running) -> None:
    for query in ("dryRun=All&fieldValidation=Warn", "dryRun=All"):
        answer = node.call("POST", f"{JOBS}?{query}", unknown_fields())
        assert answer.status == 201
        assert answer.all("warning") == WARNINGS
        assert "nope" not in answer.json["metadata"]
    ignored = node.call("POST", f"{JOBS}?dryRun=All&fieldValidation=Ignore", unknown_fields())
    assert (ignored.status, ignored.all("warning")) == (201, [])


@needs_oracle
def test_the_real_server_warns_with_these_headers() -> None:
    assert sections()["warn"] == [f"warning: {warning}" for warning in WARNINGS]


# --- tables ------------------------------------------------------------------------------------------------------

COLUMNS = {
    "/api/v1/pods": [
        ("Name", "string", 0),
        ("Ready", "string", 0),
        ("Status", "string", 0),
        ("Restarts", "string", 0),
        ("Age", "string", 0),
        ("IP", "string", 1),
        ("Node", "string", 1),
        ("Nominated Node", "string", 1),
        ("Readiness Gates", "string", 1),
    ],
    "/api/v1/events": [
        ("Last Seen", "string", 0),
        ("Type", "string", 0),
        ("Reason", "string", 0),
        ("Object", "string", 0),
        ("Subobject", "string", 1),
        ("Source", "string", 1),
        ("Message", "string", 0),
        ("First Seen", "string", 1),
        ("Count", "string", 1),
        ("Name", "string", 1),
    ],
    "/api/v1/namespaces": [("Name", "string", 0), ("Status", "string", 0), ("Age", "string", 0)],
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": [("Name", "string", 0), ("Created At", "date", 0)],
}


@pytest.mark.parametrize("path", COLUMNS)
def test_tables_have_the_columns_of_the_real_server(node: Running, path: str) -> None:
    answer = node.get(path, accept=TABLE)
    table = answer.ok
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert answer.header("content-type") == JSON
    assert [(each["name"], each["type"], each["priority"]) for each in table["columnDefinitions"]] == COLUMNS[path]


@needs_oracle
def test_the_real_server_has_these_columns() -> None:
    lines = sections()["table"]
    for path, columns in COLUMNS.items():
        title = lines.index(f"table {path.rpartition('/')[2]}")
        assert lines[title + 1].strip() == str(columns)


def test_the_table_of_jobs_is_that_of_the_real_server(node: Running) -> None:
    name, uid = "suspended", ""
    uid = node.call("POST", JOBS, job(name, completions=3, parallelism=3, suspend=True)).ok["metadata"]["uid"]
    condition = {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-11-15T04:00:00Z"}
    change = {"status": {"conditions": [condition]}}
    node.call("PATCH", f"{JOBS}/{name}/status", change, content=MERGE).ok
    table = node.get(f"{JOBS}?fieldSelector=metadata.name%3D{name}", accept=TABLE).ok
    assert table["metadata"] == {"resourceVersion": str(node.space.store.revision)}
    assert [(each["name"], each["type"], each["format"], each["priority"]) for each in table["columnDefinitions"]] == [
        ("Name", "string", "name", 0),
        ("Status", "string", "", 0),
        ("Completions", "string", "", 0),
        ("Duration", "string", "", 0),
        ("Age", "string", "", 0),
        ("Containers", "string", "", 1),
        ("Images", "string", "", 1),
        ("Selector", "string", "", 1),
    ]
    (row,) = table["rows"]
    cells = row["cells"]
    assert re.fullmatch(r"\d+s", cells.pop(4))
    selector = f"batch.kubernetes.io/controller-uid={uid}"
    assert cells == [name, "Suspended", "0/3", "", "compute", "ubuntu:24.04", selector]
    assert sorted(row["object"]) == ["apiVersion", "kind", "metadata"]
    assert (row["object"]["kind"], row["object"]["metadata"]["uid"]) == ("PartialObjectMetadata", uid)
    node.call("DELETE", f"{JOBS}/{name}").ok


def test_rows_carry_as_much_of_the_object_as_was_asked_for(node: Running) -> None:
    for include, keys in (("None", None), ("Metadata", {"kind", "apiVersion", "metadata"}), ("Object", {"spec"})):
        (row,) = node.get(f"{JOBS}?includeObject={include}", accept=TABLE).ok["rows"]
        assert ("object" in row) == (keys is not None)
        assert (keys or set()) <= row.get("object", {}).keys()
    node.get(f"{JOBS}?includeObject=Everything", accept=TABLE).refused(400, "BadRequest")


def test_one_object_is_a_table_of_one_row_with_its_own_revision(node: Running) -> None:
    table = node.get(MOCK, accept=TABLE).ok
    assert len(table["rows"]) == 1
    assert table["metadata"]["resourceVersion"] == node.get(MOCK).ok["metadata"]["resourceVersion"]


def test_a_watch_of_tables_defines_its_columns_in_the_first_event_only(node: Running) -> None:
    start = node.get(JOBS).ok["metadata"]["resourceVersion"]

    async def body() -> None:
        async with node.admin.stream(f"{JOBS}?watch=true&resourceVersion={start}", accept=TABLE) as stream:
            await node.admin.request("POST", JOBS, job("t1"))
            await node.admin.request("DELETE", f"{JOBS}/t1")
            events = [await stream.next(), await stream.next()]
        assert [event["type"] for event in events] == ["ADDED", "DELETED"]
        tables = [event["object"] for event in events]
        assert [table["kind"] for table in tables] == ["Table", "Table"]
        assert [column["name"] for column in tables[0]["columnDefinitions"]][:2] == ["Name", "Status"]
        assert tables[1]["columnDefinitions"] is None
        for table in tables:
            (row,) = table["rows"]
            assert row["cells"][0] == "t1"
            assert row["object"]["kind"] == "PartialObjectMetadata"

    node.run(body())


def test_a_list_can_be_metadata_alone(node: Running) -> None:
    media = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listed = node.get(JOBS, accept=media).ok
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert [sorted(item) for item in listed["items"]] == [["apiVersion", "kind", "metadata"]]


# --- objects -----------------------------------------------------------------------------------------------------


@needs_oracle
def test_a_job_after_create_is_the_real_servers_to_the_last_default(node: Running) -> None:
    text = "\n".join(sections()["Job after create (server defaults)"][1:])
    real = json.loads(text)
    manifest = real["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    body = json.loads(manifest)
    # Queueing, which the captured server did not have, makes a label of it: without, the answers can be the same.
    for each in (body, real):
        del each["metadata"]["annotations"]["kueue.x-k8s.io/queue-name"]
    body["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = manifest
    ours = node.call("POST", f"{JOBS}?fieldManager=kubectl-client-side-apply&fieldValidation=Strict", body).ok
    mine, theirs = ours["metadata"], real["metadata"]
    text = json.dumps(real).replace(theirs["uid"], mine["uid"])
    expected = json.loads(text)
    for name in ("creationTimestamp", "resourceVersion"):
        expected["metadata"][name] = mine[name]
    assert ours == expected
    node.call("DELETE", f"{JOBS}/model-evaluation").ok


def test_a_delete_that_must_wait_answers_with_the_object_and_its_deadline(node: Running) -> None:
    body = job("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    node.call("POST", JOBS, body).ok
    gone = node.call("DELETE", f"{JOBS}/held", {"propagationPolicy": "Background"}).ok
    assert (gone["kind"], gone["metadata"]["generation"], gone["metadata"]["deletionGracePeriodSeconds"]) == (
        "Job",
        2,
        0,
    )
    assert gone["metadata"]["deletionTimestamp"]
    change = [{"op": "remove", "path": "/metadata/finalizers"}]
    node.call("PATCH", f"{JOBS}/held", change, content=JSON_PATCH).ok
    node.get(f"{JOBS}/held").refused(404, "NotFound")


def test_a_delete_that_is_done_answers_with_a_status_that_names_the_uid(node: Running) -> None:
    uid = node.call("POST", JOBS, job("short")).ok["metadata"]["uid"]
    answer: Answer = node.call("DELETE", f"{JOBS}/short")
    assert answer.ok == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "short", "group": "batch", "kind": "jobs", "uid": uid},
    }


def test_a_strategic_patch_of_a_custom_kind_is_refused_with_the_types_that_do(node: Running) -> None:
    url = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors"
    node.call("POST", url, {"metadata": {"name": "small"}}).ok
    answer = node.call("PATCH", f"{url}/small", {}, content=STRATEGIC)
    expected = f"accepted media types include: {JSON_PATCH}, {MERGE}, {APPLY}"
    assert answer.refused(415, "UnsupportedMediaType").endswith(expected)
