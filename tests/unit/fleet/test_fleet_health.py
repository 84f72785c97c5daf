"""How a cluster does: health and its reasons, capacity, status, and Kueue's Active condition of its connection."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.fleet.links import FakeLink, FakeTrouble

from fairway.core.model import SECOND
from fairway.fleet.clusters import capacity, connection, health, member
from fairway.fleet.clusters.health import Answer, Judgement, Sight, judge, refusal
from fairway.fleet.clusters.ports import Said

Json = dict[str, Any]
NOW = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z
POOL: Json = {"metadata": {"name": "default"}, "spec": {"registry": {"locator": "r"}}}
CLUSTER: Json = {
    "metadata": {"name": "c1", "generation": 3},
    "spec": {"pool": "default", "state": "Active", "connection": {"kubeconfig": {"secretName": "c1"}}},
}
UP = FakeLink("c1", connected=True, ever_synced=True)
HEARD = Answer(at=NOW, version="v1.31.0")


def lost(**given: Any) -> FakeLink:
    trouble = FakeTrouble("ClientConnectionFailed", "connection refused")
    return FakeLink("c1", lost_since=NOW - 60 * SECOND, trouble=trouble, **given)


def test_a_cluster_that_is_connected_and_as_its_pool_wants_it_is_healthy() -> None:
    assert judge(CLUSTER, POOL, UP, HEARD, NOW) == Judgement("Healthy")


def test_a_cluster_that_was_never_reached_is_unknown_and_a_lost_one_unhealthy_since_then() -> None:
    assert judge(CLUSTER, POOL, None, Answer(), NOW) == Judgement("Unknown", ("not connected yet",))
    assert judge(CLUSTER, POOL, lost(), Answer(), NOW).health == "Unknown"
    assert judge(CLUSTER, POOL, lost(attempts=1), Answer(), NOW).reasons == ("unreachable: connection refused",)
    found = judge(CLUSTER, POOL, lost(ever_synced=True, attempts=2), HEARD, NOW)
    assert found == Judgement("Unhealthy", ("unreachable since 2026-01-01T11:59:00Z: connection refused",))


def test_a_bad_kubeconfig_is_a_reason_at_once() -> None:
    link = FakeLink("c1", trouble=FakeTrouble("BadKubeConfig", "the Secret does not exist"))
    assert judge(CLUSTER, POOL, link, Answer(), NOW) == Judgement("Unhealthy", ("the Secret does not exist",))


def test_a_cluster_of_runners_has_no_api_to_ask() -> None:
    found = judge({"metadata": {"name": "r"}, "spec": {"engine": "runners"}}, POOL, None, Answer(), NOW)
    assert found == Judgement("Unknown", ("has no API that says how it does",))


def test_open_watches_without_answers_are_not_health() -> None:
    quiet = Answer(at=NOW - 60 * SECOND, silent_since=NOW - 30 * SECOND, silence="timed out")
    assert judge(CLUSTER, POOL, UP, quiet, NOW).reasons == ("does not answer since 2026-01-01T11:59:30Z: timed out",)
    brief = Answer(at=NOW - 60 * SECOND, silent_since=NOW - 10 * SECOND, silence="timed out")
    assert judge(CLUSTER, POOL, UP, brief, NOW).health == "Healthy"


def test_drift_and_a_missing_pool_make_a_cluster_unhealthy() -> None:
    other = Answer(at=NOW, data_plane={"registry": {"locator": "mine"}})
    found = judge(CLUSTER, POOL, UP, other, NOW)
    assert found.health == "Unhealthy"
    assert found.drift == found.reasons == ("registry.locator is mine on the cluster and r in its pool",)
    assert judge(CLUSTER, None, UP, HEARD, NOW).reasons == ('pool "default" does not exist',)


def test_new_work_comes_only_to_a_healthy_active_cluster_of_the_pool() -> None:
    healthy = Judgement("Healthy")
    assert refusal(CLUSTER, healthy, "default") == refusal(CLUSTER, healthy, "") == ""
    assert refusal(CLUSTER, healthy, "prod") == "is in pool default, not in prod"
    assert refusal({**CLUSTER, "spec": {"state": "Draining"}}, healthy, "default") == "is draining"
    assert refusal(CLUSTER, Judgement("Unhealthy", ("a", "b")), "default") == "a; b"


# --- capacity -------------------------------------------------------------------------------------------------------


def node(cpu: str, memory: str, **spec: Any) -> Json:
    return {"metadata": {"name": "n"}, "spec": spec, "status": {"allocatable": {"cpu": cpu, "memory": memory}}}


def queue(cpu: str, held: str = "0") -> Json:
    flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    return {
        "metadata": {"name": "q"},
        "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]},
        "status": {"flavorsReservation": [{"name": "f", "resources": [{"name": "cpu", "total": held}]}]},
    }


def test_capacity_is_what_nodes_offer_and_available_what_no_queue_has_reserved() -> None:
    nodes = [node("3500m", "8Gi"), node("500m", "1Gi")]
    assert capacity.of_cluster(nodes, [queue("100", "1"), queue("100", "500m")]) == (
        {"cpu": "4", "memory": "9Gi"},
        {"cpu": "2500m", "memory": "9Gi"},
    )


def test_nodes_that_take_no_work_offer_nothing() -> None:
    broken = node("8", "8Gi")
    broken["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert capacity.of_cluster([node("1", "1Gi"), node("8", "8Gi", unschedulable=True), broken], [])[0]["cpu"] == "1"
    assert capacity.of_cluster([node("8", "8Gi", unschedulable=True)], [queue("7")])[0] == {}


def test_without_nodes_the_quotas_are_the_capacity() -> None:
    assert capacity.of_cluster([], [queue("4", "1"), queue("2")]) == ({"cpu": "6"}, {"cpu": "5"})


def test_more_reserved_than_there_is_leaves_nothing() -> None:
    assert capacity.of_cluster([node("1", "1Gi")], [queue("9", "9")])[1]["cpu"] == "0"


def test_an_amount_that_is_none_counts_nothing() -> None:
    assert capacity.of_cluster([node("many", "1Gi"), node("2", "1Gi")], [])[0] == {"cpu": "2", "memory": "2Gi"}


# --- status ---------------------------------------------------------------------------------------------------------

SIGHT = Sight({"cpu": "4"}, {"cpu": "3"}, 2, ["default/default"])


def test_the_status_of_a_cluster_has_everything_in_one_place() -> None:
    made = health.with_status(CLUSTER, Judgement("Healthy"), HEARD, SIGHT, True, NOW)
    assert made["status"] == {
        "health": "Healthy",
        "lastHeartbeatTime": "2026-01-01T12:00:00Z",
        "version": "v1.31.0",
        "capacity": {"cpu": "4"},
        "available": {"cpu": "3"},
        "queues": ["default/default"],
        "properties": {"kubernetes-fleet.io/node-count": "2"},
        "fenced": True,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Healthy",
                "message": "reached, and as its pool wants it",
                "lastTransitionTime": "2026-01-01T12:00:00Z",
                "observedGeneration": 3,
            }
        ],
    }


def test_what_is_out_of_sight_stays_as_it_was_last_seen() -> None:
    seen = health.with_status(CLUSTER, Judgement("Healthy"), HEARD, SIGHT, None, NOW)
    gone = health.with_status(seen, Judgement("Unhealthy", ("unreachable",)), HEARD, None, None, NOW + SECOND)
    assert gone["status"]["capacity"] == {"cpu": "4"}
    assert gone["status"]["reasons"] == ["unreachable"]
    assert gone["status"]["conditions"][0]["status"] == "False"
    back = health.with_status(gone, Judgement("Healthy"), HEARD, SIGHT, None, NOW + 2 * SECOND)
    assert "reasons" not in back["status"]


def test_a_member_cluster_says_the_same_in_its_own_words() -> None:
    seen = health.with_status(CLUSTER, Judgement("Healthy"), HEARD, SIGHT, None, NOW)
    made = member.with_status({"metadata": {"name": "c1", "generation": 1}}, seen, "2026-01-01T12:00:00Z")["status"]
    assert {each["type"]: each["status"] for each in made["conditions"]} == {"ReadyToJoin": "True", "Joined": "True"}
    assert made["resourceUsage"]["available"] == {"cpu": "3"}
    assert made["properties"]["kubernetes-fleet.io/node-count"]["value"] == "2"
    (agent,) = made["agentStatus"]
    assert agent["lastReceivedHeartbeat"] == "2026-01-01T12:00:00Z"
    assert {each["type"]: each["status"] for each in agent["conditions"]} == {"Joined": "True", "Healthy": "True"}
    unheard = member.with_status({"metadata": {"name": "c1"}}, CLUSTER, "2026-01-01T12:00:00Z")["status"]
    assert {each["type"]: each["status"] for each in unheard["conditions"]}["Joined"] == "Unknown"


# --- connection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (UP, Said("True", "Active", "Connected")),
        (
            FakeLink("c", trouble=FakeTrouble("BadKubeConfig", "no such Secret")),
            Said("False", "BadKubeConfig", "no such Secret"),
        ),
        (
            FakeLink(
                "c",
                trouble=FakeTrouble("ClientConnectionFailed", "refused"),
                attempts=3,
                next_attempt=NOW,
            ),
            Said(
                "False",
                "ClientConnectionFailed",
                "refused; connection attempts: 3, next connection attempt: 2026-01-01T12:00:00Z",
            ),
        ),
    ],
)
def test_a_connection_says_how_it_is_in_the_words_of_kueue(link: FakeLink, said: Said) -> None:
    assert connection.active(link) == said
