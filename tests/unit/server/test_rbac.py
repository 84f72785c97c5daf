"""Who may do what: decisions, their words, and their freshness."""

from __future__ import annotations

import pytest
from tests.unit.server.rbac_objects import JsonObject, aggregate, binding, drop, put, role, rule, run, urls

from fairway.api.request import SYSTEM, Caller, Target
from fairway.kinds.k8s.batch import KINDS as BATCH
from fairway.kinds.k8s.core.kinds import NAMESPACE
from fairway.server.rbac import Attributes, Authorizer, attributes, denial
from fairway.server.rbac.bootstrap import bootstrap_objects
from fairway.server.rbac.rules import missing, to_json
from fairway.store import Store

ALICE = Caller("alice", ("devs", "system:authenticated"))
ROBOT = Caller("system:serviceaccount:team-a:robot", ("system:serviceaccounts", "system:serviceaccounts:team-a"))
NOBODY = Caller("nobody", ())


def parse(caller: Caller, text: str) -> Attributes:
    """verb group/resource/subresource namespace name, "-" for nothing; or verb and a path."""
    verb, what, *rest = text.split()
    if what.startswith("/"):
        return Attributes(caller, verb, path=what)
    group, resource, *sub = what.split("/")
    namespace, name = ("" if word == "-" else word for word in [*rest, "-", "-"][:2])
    return Attributes(caller, verb, "" if group == "core" else group, resource, sub[0] if sub else "", namespace, name)


def decide(objects: list[JsonObject], caller: Caller, text: str) -> bool:
    async def body() -> bool:
        store = Store()
        await put(store, *objects)
        return Authorizer(store).allowed(parse(caller, text)).allowed

    return run(body())


EVERYWHERE = [binding("b", "ClusterRole/r", "User:alice")]
IN_TEAM_A = [binding("b", "ClusterRole/r", "User:alice", namespace="team-a")]
READ_JOBS = role("r", rule("get list", "batch", "jobs"))

TABLE: list[tuple[str, list[JsonObject], Caller, str, bool]] = [
    ("nobody starts with anything", [READ_JOBS], ALICE, "get batch/jobs team-a x", False),
    ("a cluster binding counts in every namespace", [READ_JOBS, *EVERYWHERE], ALICE, "get batch/jobs team-a x", True),
    ("a cluster binding counts at the cluster scope", [READ_JOBS, *EVERYWHERE], ALICE, "list batch/jobs", True),
    ("another user has nothing of it", [READ_JOBS, *EVERYWHERE], NOBODY, "get batch/jobs team-a x", False),
    ("a verb that is not there", [READ_JOBS, *EVERYWHERE], ALICE, "delete batch/jobs team-a x", False),
    ("a resource of the same name in another group", [READ_JOBS, *EVERYWHERE], ALICE, "get core/jobs team-a x", False),
    ("a subresource is not its resource", [READ_JOBS, *EVERYWHERE], ALICE, "get batch/jobs/status team-a x", False),
    ("a role binding counts in its namespace", [READ_JOBS, *IN_TEAM_A], ALICE, "get batch/jobs team-a x", True),
    ("a role binding counts nowhere else", [READ_JOBS, *IN_TEAM_A], ALICE, "get batch/jobs team-b x", False),
    ("a role binding does not list all namespaces", [READ_JOBS, *IN_TEAM_A], ALICE, "list batch/jobs", False),
    (
        "a role of the namespace",
        [role("r", rule("get", "core", "pods"), namespace="team-a"), binding("b", "Role/r", "User:alice", namespace="team-a")],
        ALICE,
        "get core/pods team-a x",
        True,
    ),
    (
        "a role of another namespace is another role",
        [role("r", rule("get", "core", "pods"), namespace="team-b"), binding("b", "Role/r", "User:alice", namespace="team-a")],
        ALICE,
        "get core/pods team-a x",
        False,
    ),
    ("a group", [READ_JOBS, binding("b", "ClusterRole/r", "Group:devs")], ALICE, "get batch/jobs team-a x", True),
    ("a user is no group", [READ_JOBS, binding("b", "ClusterRole/r", "Group:alice")], ALICE, "get batch/jobs t x", False),
    (
        "a service account by namespace and name",
        [READ_JOBS, binding("b", "ClusterRole/r", "ServiceAccount:team-a/robot")],
        ROBOT,
        "get batch/jobs team-b x",
        True,
    ),
    (
        "a service account without namespace is one of the binding's",
        [READ_JOBS, binding("b", "ClusterRole/r", "ServiceAccount:robot", namespace="team-a")],
        ROBOT,
        "get batch/jobs team-a x",
        True,
    ),
    (
        "a service account without namespace in a cluster binding is nobody",
        [READ_JOBS, binding("b", "ClusterRole/r", "ServiceAccount:robot")],
        ROBOT,
        "get batch/jobs team-a x",
        False,
    ),
    (
        "all service accounts of a namespace",
        [READ_JOBS, binding("b", "ClusterRole/r", "Group:system:serviceaccounts:team-a")],
        ROBOT,
        "get batch/jobs team-b x",
        True,
    ),
    ("every verb", [role("r", rule("*", "batch", "jobs")), *EVERYWHERE], ALICE, "suspend batch/jobs t x", True),
    ("every group", [role("r", rule("get", "*", "jobs")), *EVERYWHERE], ALICE, "get batch/jobs t x", True),
    ("every resource", [role("r", rule("get", "batch", "*")), *EVERYWHERE], ALICE, "get batch/jobs t x", True),
    ("every resource, subresources too", [role("r", rule("get", "core", "*")), *EVERYWHERE], ALICE, "get core/pods/log t x", True),
    ("a subresource by name", [role("r", rule("get", "core", "pods/log")), *EVERYWHERE], ALICE, "get core/pods/log t x", True),
    ("a resource is not its subresource", [role("r", rule("get", "core", "pods/log")), *EVERYWHERE], ALICE, "get core/pods t x", False),
    ("a subresource of anything", [role("r", rule("get", "apps", "*/scale")), *EVERYWHERE], ALICE, "get apps/deployments/scale t x", True),
    ("a subresource of anything is no resource", [role("r", rule("get", "apps", "*/scale")), *EVERYWHERE], ALICE, "get apps/scale t x", False),
    ("an object by name", [role("r", rule("get", "core", "secrets", "a b")), *EVERYWHERE], ALICE, "get core/secrets t b", True),
    ("an object of another name", [role("r", rule("get", "core", "secrets", "a b")), *EVERYWHERE], ALICE, "get core/secrets t c", False),
    ("named objects cannot be listed", [role("r", rule("list", "core", "secrets", "a")), *EVERYWHERE], ALICE, "list core/secrets t", False),
    ("a path", [role("r", urls("get", "/metrics")), *EVERYWHERE], ALICE, "get /metrics", True),
    ("a path below is another path", [role("r", urls("get", "/metrics")), *EVERYWHERE], ALICE, "get /metrics/x", False),
    ("all paths below", [role("r", urls("get", "/openapi/*")), *EVERYWHERE], ALICE, "get /openapi/v3/api", True),
    ("all paths below, not the path", [role("r", urls("get", "/openapi/*")), *EVERYWHERE], ALICE, "get /openapi", False),
    ("all paths", [role("r", urls("*", "*")), *EVERYWHERE], ALICE, "get /debug", True),
    ("all resources are no paths", [role("r", rule("*", "*", "*")), *EVERYWHERE], ALICE, "get /metrics", False),
    ("paths do not come from a namespace", [role("r", urls("get", "/metrics")), *IN_TEAM_A], ALICE, "get /metrics", False),
    ("a binding to nothing", EVERYWHERE, ALICE, "get batch/jobs t x", False),
    ("masters may do everything", [], SYSTEM, "nuke core/worlds - earth", True),
    ("masters may do everything on paths", [], SYSTEM, "get /debug", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "caller", "asked", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_decisions(objects: list[JsonObject], caller: Caller, asked: str, expected: bool) -> None:
    assert decide(objects, caller, asked) is expected


LEAF = role("leaf", rule("get", "batch", "jobs"), labels={"to": "r"})


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([aggregate("r", {"matchLabels": {"to": "r"}}), LEAF], True),
        ([aggregate("r", {"matchLabels": {"to": "other"}}), LEAF], False),
        ([aggregate("r", {"matchLabels": {"to": "other"}}, {"matchLabels": {"to": "r"}}), LEAF], True),
        ([aggregate("r", {"matchExpressions": [{"key": "to", "operator": "In", "values": ["q", "r"]}]}), LEAF], True),
        ([aggregate("r"), LEAF], False),
        ([{**aggregate("r"), "rules": LEAF["rules"]}], False),
        ([aggregate("r", {"matchExpressions": [{"key": "to", "operator": "Like", "values": ["r"]}]}), LEAF], False),
        (
            [aggregate("r", {"matchLabels": {"a": "b"}}), aggregate("m", {"matchLabels": {"to": "r"}}, labels={"a": "b"}), LEAF],
            True,
        ),
        (
            [
                aggregate("r", {"matchLabels": {"a": "b"}}, labels={"c": "d"}),
                aggregate("m", {"matchLabels": {"c": "d"}}, {"matchLabels": {"to": "r"}}, labels={"a": "b"}),
                LEAF,
            ],
            True,
        ),
    ],
    ids=["by-label", "other-label", "any-selector", "by-expression", "none", "own-rules-do-not-count", "broken", "two-steps", "circle"],
)  # fmt: skip
def test_an_aggregating_role_has_the_rules_of_those_it_selects(objects: list[JsonObject], expected: bool) -> None:
    assert decide([*objects, *EVERYWHERE], ALICE, "get batch/jobs t x") is expected


def test_changes_of_what_a_role_aggregates_count_at_once() -> None:
    async def body() -> None:
        store = Store()
        await put(store, aggregate("r", {"matchLabels": {"to": "r"}}), *EVERYWHERE)
        authorizer = Authorizer(store)
        asked = parse(ALICE, "get batch/jobs t x")
        unlabelled = role("leaf", rule("get", "batch", "jobs"))
        for change, expected in ((LEAF, True), (unlabelled, False), (LEAF, True), (None, False), (LEAF, True)):
            await (put(store, change) if change is not None else drop(store, LEAF))
            assert authorizer.allowed(asked).allowed is expected

    run(body())


def test_changes_count_at_once() -> None:
    async def body() -> None:
        store = Store()
        authorizer = Authorizer(store)
        asked = parse(ALICE, "get batch/jobs team-a x")
        bound = binding("b", "ClusterRole/r", "User:alice", namespace="team-a")
        assert not authorizer.allowed(asked)
        await put(store, READ_JOBS)
        assert not authorizer.allowed(asked)
        await put(store, bound)
        assert authorizer.allowed(asked)
        await put(store, role("r", rule("list", "batch", "jobs")))
        assert not authorizer.allowed(asked)
        await put(store, READ_JOBS)
        assert authorizer.allowed(asked)
        await put(store, binding("b", "ClusterRole/r", "User:bob", namespace="team-a"))
        assert not authorizer.allowed(asked)
        await put(store, bound)
        await drop(store, bound)
        assert not authorizer.allowed(asked)
        await put(store, bound)
        await drop(store, READ_JOBS)
        assert not authorizer.allowed(asked)

    run(body())


def test_a_history_that_was_cut_off_is_no_reason_for_old_answers() -> None:
    async def body() -> None:
        store = Store(history_events=10)
        authorizer = Authorizer(store)
        await put(store, READ_JOBS)
        for number in range(600):
            await put(store, binding(f"b{number % 7}", "ClusterRole/r", f"User:user{number}"))
        assert authorizer.allowed(parse(Caller("user599", ()), "get batch/jobs t x"))
        assert not authorizer.allowed(parse(Caller("user1", ()), "get batch/jobs t x"))

    run(body())


def test_an_allowed_request_names_the_binding() -> None:
    async def body() -> None:
        store = Store()
        await put(store, READ_JOBS, binding("b", "ClusterRole/r", "Group:devs", namespace="team-a"))
        authorizer = Authorizer(store)
        assert (
            authorizer.allowed(parse(ALICE, "get batch/jobs team-a x")).reason
            == 'RBAC: allowed by RoleBinding "b/team-a" of ClusterRole "r" to Group "devs"'
        )
        await put(store, binding("c", "ClusterRole/r", "ServiceAccount:team-a/robot"))
        assert (
            authorizer.allowed(parse(ROBOT, "get batch/jobs team-a x")).reason
            == 'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "r" to ServiceAccount "robot/team-a"'
        )

    run(body())


@pytest.mark.parametrize(
    ("asked", "message", "details"),
    [
        (
            "get batch/jobs team-a x",
            'jobs.batch "x" is forbidden: User "alice" cannot get resource "jobs" in API group "batch" in the namespace "team-a"',
            {"name": "x", "group": "batch", "kind": "jobs"},
        ),
        (
            "list core/nodes",
            'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope',
            {"kind": "nodes"},
        ),
        (
            "get core/pods/log team-a x",
            'pods "x" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "team-a"',
            {"name": "x", "kind": "pods"},
        ),
        ("get /metrics", 'forbidden: User "alice" cannot get path "/metrics"', {}),
    ],
)
def test_a_denial_says_who_may_not_do_what_where(asked: str, message: str, details: dict[str, str]) -> None:
    error = denial(parse(ALICE, asked))
    assert (error.code, error.reason, error.message, error.details) == (403, "Forbidden", message, details)


def test_a_namespace_is_inside_itself() -> None:
    job = next(kind for kind in BATCH if kind.name == "Job")
    assert attributes(ALICE, "get", Target(NAMESPACE, NAMESPACE.versions[0], "", "team-a")).namespace == "team-a"
    assert attributes(ALICE, "list", Target(NAMESPACE, NAMESPACE.versions[0])).namespace == ""
    assert attributes(ALICE, "get", Target(job, job.versions[0], "team-a", "x", "status")) == Attributes(
        ALICE, "get", "batch", "jobs", "status", "team-a", "x"
    )


WITH_ROLES = [
    ("view", "list batch/jobs team-a", True),
    ("view", "get core/pods/log team-a x", True),
    ("view", "get core/namespaces team-a team-a", True),
    ("view", "get core/secrets team-a x", False),
    ("view", "create batch/jobs team-a", False),
    ("view", "list kueue.x-k8s.io/workloads team-a", True),
    ("view", "list kueue.x-k8s.io/localqueues team-a", True),
    ("view", "list kueue.x-k8s.io/clusterqueues", False),
    ("view", "list placement.kubernetes-fleet.io/resourceplacements team-a", True),
    ("edit", "create batch/jobs team-a", True),
    ("edit", "patch apps/deployments/scale team-a x", True),
    ("edit", "get core/secrets team-a x", True),
    ("edit", "create core/serviceaccounts/token team-a x", True),
    ("edit", "delete kueue.x-k8s.io/workloads team-a x", True),
    ("edit", "update kueue.x-k8s.io/workloads/status team-a x", False),
    ("edit", "get kueue.x-k8s.io/localqueues team-a x", True),
    ("edit", "create kueue.x-k8s.io/localqueues team-a", False),
    ("edit", "create placement.kubernetes-fleet.io/resourceplacements team-a", True),
    ("edit", "create placement.kubernetes-fleet.io/works team-a", False),
    ("edit", "create rbac.authorization.k8s.io/rolebindings team-a", False),
    ("edit", "list batch/jobs team-b", False),
    ("admin", "create kueue.x-k8s.io/localqueues team-a", True),
    ("admin", "create rbac.authorization.k8s.io/rolebindings team-a", True),
    ("admin", "create batch/jobs team-a", True),
    ("admin", "get batch/jobs team-a x", True),
    ("admin", "create core/resourcequotas team-a", False),
    ("admin", "delete core/namespaces team-a team-a", False),
    ("admin", "list core/namespaces", False),
    ("admin", "create fairway.dev/tokens", False),
    ("kueue-batch-user-role", "create batch/jobs team-a", True),
    ("kueue-batch-user-role", "list kueue.x-k8s.io/workloads team-a", True),
    ("kueue-batch-user-role", "create kueue.x-k8s.io/localqueues team-a", False),
    ("kueue-batch-admin-role", "create kueue.x-k8s.io/localqueues team-a", True),
    ("cluster-admin", "create fairway.dev/tokens team-a", True),
]


@pytest.mark.parametrize(("name", "asked", "expected"), WITH_ROLES)
def test_built_in_roles_in_a_namespace(name: str, asked: str, expected: bool) -> None:
    bound = binding("b", f"ClusterRole/{name}", "User:alice", namespace="team-a")
    assert decide([*bootstrap_objects(), bound], ALICE, asked) is expected


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("view", "list fairway.dev/clusters", True),
        ("view", "get fairway.dev/pools default", True),
        ("view", "list fairway.dev/tokens", False),
        ("kueue-batch-admin-role", "list fairway.dev/clusters", True),
        ("fairway:fleet-view", "list cluster.kubernetes-fleet.io/memberclusters", True),
        ("edit", "create fairway.dev/clusters", False),
        ("kueue-batch-user-role", "list fairway.dev/clusters", False),
    ],
)
def test_built_in_roles_on_the_fleet(name: str, asked: str, expected: bool) -> None:
    bound = binding("b", f"ClusterRole/{name}", "User:alice")
    assert decide([*bootstrap_objects(), bound], ALICE, asked) is expected


@pytest.mark.parametrize(
    ("caller", "asked", "expected"),
    [
        (ALICE, "create authorization.k8s.io/selfsubjectaccessreviews", True),
        (ALICE, "create authentication.k8s.io/selfsubjectreviews", True),
        (ALICE, "create authorization.k8s.io/subjectaccessreviews", False),
        (ALICE, "get /apis/batch/v1", True),
        (ALICE, "get /openapi/v3", True),
        (ALICE, "get /metrics", False),
        (Caller("system:anonymous", ("system:unauthenticated",)), "get /readyz", True),
        (Caller("system:anonymous", ("system:unauthenticated",)), "get /apis", False),
        (Caller("system:anonymous", ("system:unauthenticated",)), "list core/pods default", False),
    ],
)
def test_what_everybody_may_do(caller: Caller, asked: str, expected: bool) -> None:
    assert decide(bootstrap_objects(), caller, asked) is expected


def test_the_rules_that_aggregating_roles_should_show_are_known() -> None:
    async def body() -> None:
        store = Store()
        objects = {obj["metadata"]["name"]: obj for obj in bootstrap_objects() if obj["kind"] == "ClusterRole"}
        await put(store, *objects.values())
        authorizer = Authorizer(store)
        stale = authorizer.aggregated()
        assert set(stale) == {"admin", "edit", "view", "kueue-batch-admin-role", "kueue-batch-user-role"}
        assert not missing(stale["edit"], stale["view"])
        assert not missing(stale["admin"], stale["edit"])
        assert missing(stale["view"], stale["edit"])
        await put(store, {**objects["view"], "rules": to_json(stale["view"])})
        assert "view" not in authorizer.aggregated()

    run(body())
