"""Which kinds a cluster must know to be one, and what is said of those that it does not."""

from __future__ import annotations

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.control.resources import WORKLOADS
from fairway.fleet.link.link import Link

JOBS = Resource("batch", "v1", "jobs")
OTHER_JOBS = Resource("example.com", "v1", "jobs")


def link(*kinds: Resource) -> Link:
    made = Link("there", "hub", kinds, now=lambda: 0, uniform=lambda: 0.0, on_state=lambda _name: None)
    made._waiting = {"workloads.kueue.x-k8s.io", *(f"{kind.plural}.{kind.group}" for kind in kinds)}
    return made


def refusal(code: int) -> ApiError:
    return ApiError(code, "", "no")


def test_a_kubernetes_without_kueue_is_no_cluster_and_says_what_is_missing() -> None:
    made = link(JOBS)
    made._told(JOBS, None)
    made._told(WORKLOADS, refusal(404))
    assert not made.connected
    assert made.trouble is not None
    text = f"it knows no workloads of {WORKLOADS.api_version}: is Kueue installed there, 0.15 or newer?"
    assert made.trouble.message == text


def test_a_kind_of_jobs_that_it_does_not_know_is_no_trouble() -> None:
    made = link(JOBS)
    made._told(WORKLOADS, None)
    made._told(JOBS, refusal(404))
    assert made.connected
    assert made.lacks(JOBS)
    made._told(JOBS, None)
    assert not made.lacks(JOBS)


def test_a_kind_of_jobs_that_it_may_not_see_is() -> None:
    made = link(JOBS)
    made._told(WORKLOADS, None)
    made._told(JOBS, refusal(403))
    assert not made.connected


def test_a_custom_kind_need_not_be_offered() -> None:
    """Kubernetes says 403, and not 404, of a kind that it does not have to those who may not see it."""
    made = link()
    made.add(OTHER_JOBS)
    made._told(WORKLOADS, None)
    made._told(OTHER_JOBS, refusal(403))
    assert made.connected
    assert made.lacks(OTHER_JOBS)


def test_kinds_of_the_same_name_are_told_apart() -> None:
    made = link(JOBS, OTHER_JOBS)
    made._told(WORKLOADS, None)
    made._told(JOBS, None)
    assert not made.connected, "the other jobs are not known yet"
    made._told(OTHER_JOBS, None)
    assert made.connected
