"""Kueue's Configuration file: what is read from it, and how it is refused."""

from __future__ import annotations

import pytest

from fairway.control.configuration import Configuration, ConfigurationError, load
from fairway.core.model import SECOND, ShareStrategy

FULL = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
leaderElection: {leaderElect: true}
manageJobsWithoutQueueName: true
waitForPodsReady:
  timeout: 10m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 5, backoffBaseSeconds: 30}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 168h, resourceWeights: {cpu: 2}}
resources:
  excludeResourcePrefixes: [example.com/]
  transformations:
  - {input: nvidia.com/mig-1g.5gb, strategy: Replace, outputs: {example.com/memory: 5Gi}}
objectRetentionPolicies: {workloads: {afterFinished: 24h}}
integrations: {frameworks: [batch/job, pod], externalFrameworks: [Train.v1.train.example.com]}
multiKueue: {externalFrameworks: [{name: Ship.v2alpha1.ships.io}]}
featureGates: {PartialAdmission: false}
"""


def test_the_file_of_a_real_kueue_is_understood() -> None:
    config = load(FULL)
    settings = config.settings()
    assert settings.fair_sharing
    assert settings.share_strategies == (ShareStrategy.INITIAL_SHARE,)
    assert settings.block_admission
    assert not settings.eviction_timestamp
    assert not settings.partial_admission
    assert settings.usage_decay is not None
    assert settings.usage_decay.resource_weights == {"cpu": 2.0}
    assert config.external_kinds() == [("train.example.com", "v1", "Train")]
    assert config.dispatched_kinds() == [("ships.io", "v2alpha1", "Ship")]
    assert config.pods_ready_timeout == 600 * SECOND
    assert config.recovery_timeout == 600 * SECOND
    assert config.retention("after_finished") == 86400 * SECOND
    assert config.request_rules().excluded_prefixes == ("example.com/",)
    assert config.request_rules().transformations["nvidia.com/mig-1g.5gb"].replace
    assert [config.backoff(count) // SECOND for count in (1, 2, 3, 20)] == [30, 60, 120, 3600]


def test_an_empty_file_is_kueues_defaults() -> None:
    assert load("") == Configuration()
    assert load("").waits_for_pods
    assert load("").pods_ready_timeout == 1800 * SECOND


def test_by_default_the_systems_own_namespaces_are_not_managed() -> None:
    selector = Configuration().managed_namespaces()
    assert selector.matches({"kubernetes.io/metadata.name": "team"})
    assert not selector.matches({"kubernetes.io/metadata.name": "kube-system"})


def test_without_its_gate_no_unknown_kind_is_dispatched() -> None:
    text = "multiKueue: {externalFrameworks: [{name: A.v1.b}]}\nfeatureGates: {MultiKueueAdaptersForCustomJobs: false}"
    assert load(text).dispatched_kinds() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fairSharring: {}", "fairSharring: no such field; did you mean 'fairSharing'?"),
        ("waitForPodsReady: {timeOut: 1m}", "waitForPodsReady.timeOut: no such field; did you mean 'timeout'?"),
        ("waitForPodsReady: {timeout: soon}", "waitForPodsReady.timeout: 'soon' is not a duration"),
        ("waitForPodsReady: {blockAdmission: maybe}", "waitForPodsReady.blockAdmission: expected `bool`, got `str`"),
        ("fairSharing: {preemptionStrategies: [Nice]}", "fairSharing.preemptionStrategies: Nice is none of"),
        ("apiVersion: v1", "apiVersion: 'v1' is not one of"),
        ("[1, 2]", "must be an object of kind Configuration, not a list"),
        ("a: [", "is not YAML"),
        (
            "multiKueue: {externalFrameworks: [{name: RayJob}]}",
            "multiKueue.externalFrameworks[0]: 'RayJob' is not of the form Kind.version.group",
        ),
        (
            "integrations: {externalFrameworks: [A.v1.b, A.v1.b]}",
            "integrations.externalFrameworks[1]: 'A.v1.b' is there twice",
        ),
        (
            "resources: {transformations: [{input: a}, {input: a}]}",
            "resources.transformations[1].input: 'a' is there twice",
        ),
        (
            "waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: -1}}",
            "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: -1 must not be negative",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(text, "queues.yaml")
    assert said in str(refused.value)
    assert str(refused.value).startswith("queues.yaml")
