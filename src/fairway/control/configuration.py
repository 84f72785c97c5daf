"""Kueue's Configuration file: the same fields, typed, with its defaults, refused where it makes no sense.

    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    fairSharing:
      preemptionStrategies: [LessThanOrEqualToFinalShare]
    waitForPodsReady:
      timeout: 10m

Sections that are about a Kubernetes deployment (health, webhook, certificates, leader election, client connection) are accepted and mean
nothing here. A field that nobody knows is an error that names it, with the closest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from fairway.control import compile as compiler
from fairway.control import settings as settings_of
from fairway.control.pods.requests import RequestRules
from fairway.control.times import parse_duration
from fairway.core.labels import Selector
from fairway.core.model import SECOND, Settings, Time

GROUP = "config.kueue.x-k8s.io"
VERSIONS = (f"{GROUP}/v1beta2", f"{GROUP}/v1beta1")
DEFAULT_FRAMEWORKS = ("batch/job", "pod", "jobset.x-k8s.io/jobset")
SYSTEM_NAMESPACES = ("kube-system", "kueue-system")
_STRATEGIES = (
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
Json = dict[str, Any]


class KindName(NamedTuple):
    """A kind that only the configuration knows."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


def kind_name(text: str) -> KindName:
    """From `Kind.version.group`. Raises ValueError."""
    kind, _, rest = text.partition(".")
    version, _, group = rest.partition(".")
    if not (kind and version and group):
        raise ValueError(f"{text!r} is not of the form Kind.version.group, as in RayJob.v1.ray.io")
    return KindName(group, version, kind)


class ConfigurationError(ValueError):
    """What is wrong, one line for each problem, each with the field it is about."""


class _Section(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    pass


class RequeuingStrategy(_Section):
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600


class WaitForPodsReady(_Section):
    enable: bool = True
    timeout: str = "30m"
    block_admission: bool = False
    recovery_timeout: str | None = None
    requeuing_strategy: RequeuingStrategy = msgspec.field(default_factory=RequeuingStrategy)


class FairSharing(_Section):
    enable: bool = True
    preemption_strategies: list[str] = []


class AdmissionFairSharing(_Section):
    usage_half_life_time: str
    usage_sampling_interval: str = "5m"
    resource_weights: dict[str, float] = {}


class Transformation(_Section):
    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str = ""
    outputs: dict[str, str | int | float] = {}


class Resources(_Section):
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    exclude_resource_prefixes: list[str] = []
    transformations: list[Transformation] = []
    device_class_mappings: list[Json] = []


class WorkloadRetention(_Section):
    after_finished: str | None = None
    after_deactivated_by_kueue: str | None = None


class ObjectRetentionPolicies(_Section):
    workloads: WorkloadRetention | None = None


class IncrementalDispatcher(_Section):
    step_size: int = 3


class ExternalFramework(_Section):
    name: str
    """Kind.version.group"""


class MultiKueue(_Section):
    gc_interval: str = "1m"
    origin: str = "multikueue"
    worker_lost_timeout: str = "15m"
    dispatcher_name: str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
    incremental_dispatcher_config: IncrementalDispatcher | None = None
    external_frameworks: list[ExternalFramework] = []
    cluster_profile: Json | None = None


class PodIntegration(_Section):
    namespace_selector: Json | None = None
    pod_selector: Json | None = None


class Integrations(_Section):
    frameworks: list[str] = msgspec.field(default_factory=lambda: list(DEFAULT_FRAMEWORKS))
    external_frameworks: list[str] = []
    pod_options: PodIntegration | None = None
    label_keys_to_copy: list[str] = []


class LocalQueueMetrics(_Section):
    enable: bool = False
    local_queue_selector: Json | None = None


class Metrics(_Section):
    bind_address: str = ""
    enable_cluster_queue_resources: bool = False
    local_queue_metrics: LocalQueueMetrics | None = None
    custom_labels: list[Json] = []


class Configuration(_Section):
    """Only what matters here has a type; the rest is kept as written."""

    api_version: str = VERSIONS[0]
    kind: str = "Configuration"
    namespace: str = "kueue-system"
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: Json | None = None
    wait_for_pods_ready: WaitForPodsReady = msgspec.field(default_factory=WaitForPodsReady)
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: Resources = msgspec.field(default_factory=Resources)
    object_retention_policies: ObjectRetentionPolicies | None = None
    integrations: Integrations = msgspec.field(default_factory=Integrations)
    multi_kueue: MultiKueue = msgspec.field(default_factory=MultiKueue)
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    feature_gates: dict[str, bool] = {}
    health: Json | None = None
    webhook: Json | None = None
    leader_election: Json | None = None
    controller: Json | None = None
    internal_cert_management: Json | None = None
    client_connection: Json | None = None
    queue_visibility: Json | None = None
    visibility_server: Json | None = None
    tls: Json | None = None
    pprof_bind_address: str = ""
    manager: Json | None = None

    # --- what the rest of the program asks ------------------------------------------------------------------------

    def gate(self, name: str, default: bool = True) -> bool:
        return self.feature_gates.get(name, default)

    def settings(self) -> Settings:
        """What the core decides by."""
        config: Json = {
            "quotaCheckStrategy": self.resources.quota_check_strategy,
            "workloadOrdering": {"podsReadyRequeuingTimestamp": self.wait_for_pods_ready.requeuing_strategy.timestamp},
        }
        if self.fair_sharing is not None and self.fair_sharing.enable:
            config["fairSharing"] = True
            config["preemptionStrategies"] = self.fair_sharing.preemption_strategies
        if self.admission_fair_sharing is not None:
            config["admissionFairSharing"] = msgspec.to_builtins(self.admission_fair_sharing)
        blocks = self.waits_for_pods and self.wait_for_pods_ready.block_admission
        return replace(settings_of.settings(self.feature_gates, config), block_admission=blocks)

    def request_rules(self) -> RequestRules:
        return settings_of.request_rules(
            {
                "excludeResourcePrefixes": self.resources.exclude_resource_prefixes,
                "transformations": [
                    {
                        "input": each.input,
                        "strategy": each.strategy,
                        "multiplyBy": each.multiply_by,
                        "outputs": {name: str(factor) for name, factor in each.outputs.items()},
                    }
                    for each in self.resources.transformations
                ],
            }
        )

    def external_kinds(self) -> list[KindName]:
        """Kinds of jobs that others queue: what they own is no job of its own."""
        return [kind_name(each) for each in self.integrations.external_frameworks]

    def dispatched_kinds(self) -> list[KindName]:
        """Kinds that nothing here knows, and that a hub hands to clusters by their spec.managedBy."""
        if not self.gate("MultiKueueAdaptersForCustomJobs"):
            return []
        return [kind_name(each.name) for each in self.multi_kueue.external_frameworks]

    @property
    def observable(self) -> bool:
        return self.gate("UnadmittedWorkloadsObservability")

    @property
    def waits_for_pods(self) -> bool:
        return self.wait_for_pods_ready.enable and not self.gate("DisableWaitForPodsReady", False)

    @property
    def pods_ready_timeout(self) -> Time:
        return parse_duration(self.wait_for_pods_ready.timeout)

    @property
    def recovery_timeout(self) -> Time:
        """Nothing: a workload that was ready once may take as long as it likes."""
        given = self.wait_for_pods_ready.recovery_timeout
        return self.pods_ready_timeout if given is None else parse_duration(given)

    def retention(self, of: Literal["after_finished", "after_deactivated_by_kueue"]) -> Time | None:
        policies = self.object_retention_policies
        workloads = policies.workloads if policies is not None else None
        text: str | None = getattr(workloads, of) if workloads is not None else None
        return None if text is None else parse_duration(text)

    def managed_namespaces(self) -> Selector:
        """Where jobs without a queue name are managed, if they are: everywhere but in the system's own namespaces."""
        given = self.managed_jobs_namespace_selector
        if given is None:
            names = sorted({*SYSTEM_NAMESPACES, self.namespace})
            rule = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names}
            given = {"matchExpressions": [rule]}
        selector = compiler.selector(given)
        assert selector is not None
        return selector

    def measured_local_queues(self) -> Selector | None:
        """LocalQueues that have metrics of their own; None: none has."""
        given = self.metrics.local_queue_metrics
        if not self.gate("LocalQueueMetrics") or (given is not None and not given.enable):
            return None
        wanted = given.local_queue_selector if given is not None else None
        return Selector() if wanted is None else compiler.selector(wanted)

    def backoff(self, count: int) -> Time:
        """How long to wait before the next try, doubling with each."""
        strategy = self.wait_for_pods_ready.requeuing_strategy
        seconds: int = min(
            strategy.backoff_base_seconds * 2 ** min(max(0, count - 1), 32), strategy.backoff_max_seconds
        )
        return seconds * SECOND


def load(text: str, where: str = "the configuration") -> Configuration:
    """From YAML or JSON. Raises ConfigurationError with all problems."""
    try:
        value = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{where} is not YAML: {error}") from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} must be an object of kind Configuration, not a {type(value).__name__}")
    try:
        config = msgspec.convert(value, Configuration)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{where}: {_explain(str(error))}") from None
    problems = list(_problems(config))
    if problems:
        raise ConfigurationError("\n".join(f"{where}: {problem}" for problem in problems))
    return config


def _explain(message: str) -> str:
    """msgspec says where; a name that nobody knows gets the closest known one."""
    text, _, place = message.partition(" - at `$")
    path = place.rstrip("`").lstrip(".")
    if "unknown field" not in text:
        return f"{path or 'the whole'}: {text[:1].lower()}{text[1:]}"
    name = text.split("`")[1]
    close = difflib.get_close_matches(name, _field_names(Configuration), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{path + '.' if path else ''}{name}: no such field{hint}"


def _field_names(struct: type[msgspec.Struct]) -> list[str]:
    found: list[str] = []
    for field in msgspec.structs.fields(struct):
        found.append(field.encode_name)
        for candidate in (field.type, *getattr(field.type, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
                found += _field_names(candidate)
    return found


def _problems(config: Configuration) -> Iterable[str]:
    if config.api_version not in VERSIONS:
        yield f"apiVersion: {config.api_version!r} is not one of {', '.join(VERSIONS)}"
    if config.kind != "Configuration":
        yield f"kind: {config.kind!r} must be Configuration"
    yield from _durations(config)
    strategies = config.fair_sharing.preemption_strategies if config.fair_sharing is not None else []
    if strategies and strategies not in _STRATEGIES:
        allowed = "; ".join(", ".join(each) for each in _STRATEGIES)
        yield f"fairSharing.preemptionStrategies: {', '.join(strategies)} is none of: {allowed}"
    requeuing = config.wait_for_pods_ready.requeuing_strategy
    for name, value in (
        ("backoffLimitCount", requeuing.backoff_limit_count),
        ("backoffBaseSeconds", requeuing.backoff_base_seconds),
        ("backoffMaxSeconds", requeuing.backoff_max_seconds),
    ):
        if value is not None and value < 0:
            yield f"waitForPodsReady.requeuingStrategy.{name}: {value} must not be negative"
    seen: set[str] = set()
    for index, each in enumerate(config.resources.transformations):
        if each.input in seen:
            yield f"resources.transformations[{index}].input: {each.input!r} is there twice; join the two"
        seen.add(each.input)
    stepping = config.multi_kueue.incremental_dispatcher_config
    if stepping is not None and stepping.step_size < 1:
        yield "multiKueue.incrementalDispatcherConfig.stepSize: must be at least 1"
    yield from _kind_names("integrations.externalFrameworks", config.integrations.external_frameworks)
    dispatched = [each.name for each in config.multi_kueue.external_frameworks]
    yield from _kind_names("multiKueue.externalFrameworks", dispatched)
    for path, read in (
        ("managedJobsNamespaceSelector", config.managed_namespaces),
        ("metrics.localQueueMetrics.localQueueSelector", config.measured_local_queues),
    ):
        try:
            read()
        except (KeyError, TypeError, AttributeError) as error:
            yield f"{path}: not a label selector ({error})"


def _kind_names(path: str, names: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield f"{path}[{index}]: {name!r} is there twice"
        seen.add(name)
        try:
            kind_name(name)
        except ValueError as error:
            yield f"{path}[{index}]: {error}"


def _durations(config: Configuration) -> Iterable[str]:
    waiting, retention = config.wait_for_pods_ready, config.object_retention_policies
    usage = config.admission_fair_sharing
    workloads = retention.workloads if retention is not None else None
    for path, text in (
        ("waitForPodsReady.timeout", waiting.timeout),
        ("waitForPodsReady.recoveryTimeout", waiting.recovery_timeout),
        ("admissionFairSharing.usageHalfLifeTime", usage.usage_half_life_time if usage else None),
        ("admissionFairSharing.usageSamplingInterval", usage.usage_sampling_interval if usage else None),
        ("objectRetentionPolicies.workloads.afterFinished", workloads.after_finished if workloads else None),
        (
            "objectRetentionPolicies.workloads.afterDeactivatedByKueue",
            workloads.after_deactivated_by_kueue if workloads else None,
        ),
        ("multiKueue.gcInterval", config.multi_kueue.gc_interval),
        ("multiKueue.workerLostTimeout", config.multi_kueue.worker_lost_timeout),
    ):
        if text is None:
            continue
        try:
            if parse_duration(text) < 0:
                yield f"{path}: {text!r} must not be negative"
        except ValueError as error:
            yield f"{path}: {error}"
