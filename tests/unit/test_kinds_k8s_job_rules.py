"""Which Jobs are refused, in the words of the real server, and what may change in one that exists."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.kinds.k8s.batch import indexes
from fairway.kinds.k8s.batch.kinds import CRON_JOB, JOB
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.kind import convert

UID = "13275eb0-19b6-48b4-a08b-a2acefcafb76"


def job(spec: dict[str, Any] | None = None, *, pod: dict[str, Any] | None = None, **top: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "i:1"}], "restartPolicy": "Never", **(pod or {})}}
    metadata = {"name": "j", "namespace": "n", "uid": UID}
    return {"metadata": metadata, "spec": {"template": template, **(spec or {})}, **top}


def made(body: dict[str, Any]) -> Job:
    new: Job = convert(copy.deepcopy(body), Job)
    JOB.default(new, None)
    JOB.prepare(new, None)
    return new


def refused(body: dict[str, Any]) -> list[str]:
    return [str(error) for error in JOB.validate(made(body), None)]


def stored(body: dict[str, Any], **status: Any) -> Job:
    """A Job as the store has it: made, then given a status."""
    job = made(body)
    job.status = convert({"status": status}, Job).status
    return job


def changed(old: Job, change: dict[str, Any] | None = None, *, pod: dict[str, Any] | None = None) -> list[str]:
    """What is said of an update of the spec, or of the pod template's spec."""
    new = copy.deepcopy(old)
    for name, value in (change or {}).items():
        field = convert({"spec": {name: value}}, Job).spec
        attribute = next(one for one in new.spec.__struct_fields__ if getattr(field, one) != getattr(Job().spec, one))
        setattr(new.spec, attribute, getattr(field, attribute))
    if pod is not None:
        merged = convert({"spec": {"template": {"spec": pod}}}, Job).spec.template.spec
        for attribute in merged.__struct_fields__:
            if getattr(merged, attribute) != getattr(Job().spec.template.spec, attribute):
                setattr(new.spec.template.spec, attribute, getattr(merged, attribute))
    return [str(error) for error in JOB.validate(new, old)]


def test_a_plain_job_is_accepted() -> None:
    assert refused(job()) == []


def test_what_the_real_server_refused_is_refused_in_its_words() -> None:
    body = job(pod={"containers": [{"name": "c"}]})
    del body["spec"]["template"]["spec"]["restartPolicy"]
    assert refused(body) == [
        "spec.template.spec.containers[0].image: Required value",
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"parallelism": -1}, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
        ({"completions": -1}, "spec.completions: Invalid value: -1: must be greater than or equal to 0"),
        ({"backoffLimit": -1}, "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"ttlSecondsAfterFinished": -1},
            "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"completionMode": "Sorted"},
            'spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"',
        ),
        (
            {"completionMode": "Indexed", "parallelism": 1},
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            {"completionMode": "Indexed", "completions": 1, "parallelism": 100_001},
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
        ),
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"),
        (
            {"completionMode": "Indexed", "completions": 1, "maxFailedIndexes": 1},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"podReplacementPolicy": "Always"},
            'spec.podReplacementPolicy: Unsupported value: "Always": supported values: "Failed", "TerminatingOrFailed"',
        ),
        ({"managedBy": ""}, "spec.managedBy: Required value"),
        (
            {"managedBy": "multikueue"},
            'spec.managedBy: Invalid value: "multikueue": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        ({"managedBy": "kueue.x-k8s.io/" + "m" * 60}, "spec.managedBy: Too long: may not be more than 63 bytes"),
        (
            {"successPolicy": {"rules": []}},
            'spec.successPolicy: Invalid value: {"rules":[]}: requires indexed completion mode',
        ),
    ],
)
def test_a_wrong_spec_is_refused(spec: dict[str, Any], says: str) -> None:
    assert says in refused(job(spec))


def test_pods_of_a_job_end() -> None:
    assert 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"' in refused(
        job(pod={"restartPolicy": "Always"})
    )


def test_labels_that_point_to_another_job_are_refused() -> None:
    body = job()
    body["spec"]["template"]["metadata"] = {"labels": {"job-name": "other"}}
    says = refused(body)
    assert len(says) == 1
    assert says[0].startswith("spec.template.metadata.labels[job-name]: Invalid value: ")
    assert says[0].endswith("must be 'j'")


def test_a_manual_selector_must_match_the_pods() -> None:
    body = job({"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}})
    assert refused(body) == [
        "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"
    ]


def test_an_indexed_job_has_a_name_that_its_pods_can_carry() -> None:
    body = job({"completionMode": "Indexed", "completions": 11})
    body["metadata"]["name"] = "a" * 61
    assert refused(body) == [
        f'metadata.name: Invalid value: "{"a" * 61}": will not able to create pod with invalid DNS label: {"a" * 61}-10'
    ]


RULE = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 42]}}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            {**RULE, "action": "Explode"},
            'action: Unsupported value: "Explode": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
        ),
        ({**RULE, "action": "FailIndex"}, 'action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}}, "onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 2]}}, "onExitCodes.values: Invalid value: [3,2]: must be ordered"),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 3]}}, "onExitCodes.values[1]: Duplicate value: 3"),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": []}}, "onExitCodes.values: Invalid value: []: at least one value is required"),
        (
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1], "containerName": "x"}},
            'onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
        ),
        (
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "Maybe"}]},
            'onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        ),
    ],
)  # fmt: skip
def test_a_wrong_failure_policy_is_refused(rule: dict[str, Any], says: str) -> None:
    assert refused(job({"podFailurePolicy": {"rules": [rule]}})) == [f"spec.podFailurePolicy.rules[0].{says}"]


def test_a_failure_rule_looks_at_one_thing() -> None:
    both = {**RULE, "onPodConditions": [{"type": "DisruptionTarget"}]}
    for rule, word in ((both, "both"), ({"action": "Ignore"}, "one of")):
        says = refused(job({"podFailurePolicy": {"rules": [rule]}}))
        assert len(says) == 1
        assert f"specifying {word} OnExitCodes and OnPodConditions" in says[0]


def test_a_failure_policy_needs_pods_that_never_restart() -> None:
    says = refused(job({"podFailurePolicy": {"rules": [RULE]}}, pod={"restartPolicy": "OnFailure"}))
    assert says == [
        'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified'
    ]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"succeededIndexes": "0,2-4"}, None),
        ({"succeededIndexes": "0-9"}, "error parsing succeededIndexes: too large index"),
        ({"succeededIndexes": "3,1"}, "non-increasing order, previous: 3, current: 1"),
        ({"succeededIndexes": "a"}, "cannot convert string to integer for index"),
        ({"succeededIndexes": "1-2-3"}, "at most two parts"),
        ({"succeededCount": 6}, "must be less than or equal to 5 (the number of specified completions)"),
        ({"succeededIndexes": "0,1", "succeededCount": 3}, "must be less than or equal to 2 (the number of indexes"),
        ({}, "at least one of succeededCount or succeededIndexes must be specified"),
    ],
)
def test_a_success_policy_names_indexes_that_exist(rule: dict[str, Any], says: str | None) -> None:
    found = refused(job({"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [rule]}}))
    assert (found == []) if says is None else (len(found) == 1 and says in found[0])


def test_indexes_are_counted_with_their_ranges() -> None:
    assert indexes.count("0,2-5,9", 10) == 6
    assert indexes.count("", 10) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"completions": 5}, "spec.completions: Invalid value: 5: field is immutable"),
        ({"completionMode": "Indexed"}, 'spec.completionMode: Invalid value: "Indexed": field is immutable'),
        ({"managedBy": "a.io/b"}, 'spec.managedBy: Invalid value: "a.io/b": field is immutable'),
        ({"podFailurePolicy": {"rules": []}}, 'spec.podFailurePolicy: Invalid value: {"rules":[]}: field is immutable'),
    ],
)
def test_fixed_fields_stay(change: dict[str, Any], says: str) -> None:
    assert says in changed(stored(job({"completions": 3})), change)


@pytest.mark.parametrize(
    "change", [{"parallelism": 7}, {"suspend": True}, {"backoffLimit": 1}, {"activeDeadlineSeconds": 9}]
)
def test_other_fields_may_change(change: dict[str, Any]) -> None:
    assert changed(stored(job({"completions": 3})), change) == []


def test_an_indexed_job_grows_with_its_parallelism() -> None:
    old = stored(job({"completionMode": "Indexed", "completions": 3, "parallelism": 3}))
    assert changed(old, {"completions": 5, "parallelism": 5}) == []
    assert changed(old, {"completions": 5}) == [
        "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"
    ]


NODE_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
        }
    }
}
STEERING = {
    "nodeSelector": {"pool": "gpu"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": NODE_AFFINITY,
    "schedulingGates": [{"name": "a.io/gate"}],
}


@pytest.mark.parametrize("name", sorted(STEERING))
def test_a_suspended_job_that_never_started_may_be_steered(name: str) -> None:
    steered = {name: STEERING[name]}
    assert changed(stored(job({"suspend": True})), pod=steered) == []
    for fixed in (stored(job()), stored(job({"suspend": True}), startTime="2026-01-01T00:00:00Z")):
        says = changed(fixed, pod=steered)
        assert len(says) == 1
        assert says[0].startswith("spec.template: Invalid value: ")
        assert says[0].endswith("field is immutable")


def test_steering_can_be_taken_back_and_nothing_else_may_change() -> None:
    old = stored(job({"suspend": True}, pod=STEERING))
    new = copy.deepcopy(old)
    plain = made(job({"suspend": True})).spec.template.spec
    pod = new.spec.template.spec
    pod.affinity, pod.node_selector, pod.tolerations = plain.affinity, plain.node_selector, plain.tolerations
    assert JOB.validate(new, old) == []
    pod.containers[0].image = "other"
    assert [error.field for error in JOB.validate(new, old)] == ["spec.template"]


def test_empty_lists_and_maps_are_no_change() -> None:
    old = stored(job())
    assert changed(old, pod={"nodeSelector": {}, "tolerations": []}) == []
    new = copy.deepcopy(old)
    new.spec.template.spec.node_selector = {}
    assert JOB.validate(new, old) == []


def test_an_awkward_name_is_worth_a_warning() -> None:
    new = made(job())
    assert JOB.warn(new, None) == []
    new.metadata.name = "a.b"
    assert "a DNS label is recommended" in JOB.warn(new, None)[0]
    assert JOB.warn(new, new) == []


def reported(old: dict[str, Any], new: dict[str, Any], spec: dict[str, Any] | None = None) -> list[str]:
    before, after = stored(job(spec), **old), stored(job(spec), **new)
    return [str(error) for error in JOB.validate_status(after, before)]


def conditions(*kinds: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True"} for kind in kinds]


START, END = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
COMPLETE = {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": START, "completionTime": END}
FAILED = {"conditions": conditions("FailureTarget", "Failed"), "startTime": START}


@pytest.mark.parametrize(("old", "new"), [({}, {"active": 2, "ready": 1}), ({"active": 1}, COMPLETE), ({}, FAILED)])
def test_an_honest_status_is_accepted(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert reported(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ({}, {"active": -1}, "status.active: Invalid value: -1: must be greater than or equal to 0"),
        ({}, {"ready": 1}, "status.ready: Invalid value: 1: cannot set more ready pods than active"),
        ({"failed": 2}, {"failed": 1}, "status.failed: Invalid value: 1: cannot decrease the failed counter"),
        ({"succeeded": 2}, {}, "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter"),
        (FAILED, {"startTime": START}, "cannot disable the terminal Failed=True condition"),
        ({}, {**FAILED, "conditions": conditions("Failed")}, "cannot set Failed=True condition without the FailureTarget=true condition"),
        ({}, {**COMPLETE, "conditions": conditions("Complete")}, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"),
        ({}, {**COMPLETE, "conditions": conditions("SuccessCriteriaMet", "Complete", "Failed", "FailureTarget")}, "cannot set Complete=True and Failed=true conditions"),
        ({}, {"completionTime": END}, "cannot set completionTime when there is no Complete=True condition"),
        ({}, {**COMPLETE, "completionTime": None}, "status.completionTime: Required value: completionTime is required for Complete jobs"),
        ({}, {**COMPLETE, "startTime": END, "completionTime": START}, "must be equal to or after `startTime`"),
        (COMPLETE, {**COMPLETE, "completionTime": START}, "status.completionTime: Invalid value: \"2026-01-01T00:00:00Z\": field is immutable"),
        ({"startTime": START}, {"startTime": END}, "field is immutable for unsuspended job once set"),
        ({}, {**COMPLETE, "active": 1}, "status.active: Invalid value: 1: active>0 is invalid for finished job"),
        ({}, {**COMPLETE, "startTime": None}, "status.startTime: Required value: startTime is required for finished job"),
        ({}, {**COMPLETE, "terminating": 1}, "terminating>0 is invalid for finished job"),
        ({}, {**COMPLETE, "uncountedTerminatedPods": {"failed": ["u"]}}, "must be empty for finished job"),
        ({}, {"completedIndexes": "0"}, "cannot set non-empty completedIndexes when non-indexed completion mode"),
        ({}, {"failedIndexes": "0"}, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"),
    ],
)  # fmt: skip
def test_a_status_that_cannot_be_is_refused(old: dict[str, Any], new: dict[str, Any], says: str) -> None:
    new = {name: value for name, value in new.items() if value is not None}
    assert any(says in message for message in reported(old, new))


def test_a_resumed_job_may_start_again() -> None:
    suspended = {"startTime": START, "conditions": conditions("Suspended")}
    assert reported(suspended, {"startTime": END}) == []


def test_unreadable_indexes_are_refused() -> None:
    indexed = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1}
    assert reported({}, {"completedIndexes": "0-2"}, indexed) == []
    assert "too large index" in reported({}, {"completedIndexes": "0-7"}, indexed)[0]
    assert "too large index" in reported({}, {"failedIndexes": "9"}, indexed)[0]


def test_a_cron_job_says_when_and_what() -> None:
    spec = {"schedule": "* *", "startingDeadlineSeconds": -1, "jobTemplate": {"spec": {"template": {}}}}
    new = convert({"metadata": {"name": "c" * 53}, "spec": spec}, CRON_JOB.storage_version.type)
    CRON_JOB.default(new, None)
    assert [error.field for error in CRON_JOB.validate(new, None)] == [
        "spec.schedule",
        "spec.startingDeadlineSeconds",
        "spec.jobTemplate.spec.template.spec.containers",
        "spec.jobTemplate.spec.template.spec.restartPolicy",
        "metadata.name",
    ]
