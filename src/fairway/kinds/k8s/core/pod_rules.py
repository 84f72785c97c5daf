"""Checks of a pod and of the template of one, and of what may change in a pod that exists."""

from __future__ import annotations

import copy
import hashlib

import msgspec

from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid
from fairway.kinds.k8s.core import container_rules, placing_rules, resource_rules
from fairway.kinds.k8s.core.affinity import NodeAffinity, NodeSelectorTerm, Toleration
from fairway.kinds.k8s.core.container import Container
from fairway.kinds.k8s.core.container_rules import Surroundings
from fairway.kinds.k8s.core.pod import Pod, PodSchedulingGate, PodSpec, PodTemplate, PodTemplateSpec
from fairway.kinds.k8s.core.pod_defaults import GRACE_SECONDS
from fairway.kinds.k8s.core.podstatus import ContainerStatus
from fairway.kinds.k8s.core.volume_rules import volumes
from fairway.kinds.k8s.opt import flag, items, pairs, text
from fairway.kinds.k8s.rules import (
    INT32_MAX,
    annotation_map,
    between,
    choice,
    dns_label_warning,
    immutable,
    labels,
    named,
    not_negative,
    same,
)
from fairway.kinds.types import UNSET, Opt, encode

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("Never", "PreemptLowerPriority")
CLEAN_MAX = 4096
_clean: set[bytes] = set()
UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_spec(path: str, spec: PodSpec) -> list[FieldError]:
    """Checks that hold wherever a pod is described.

    Queues are full of equal pods, so what was found clean is remembered by its digest and not looked at again.
    """
    digest = hashlib.blake2b(encode(spec), digest_size=16).digest()
    if digest in _clean:
        return []
    errors = _pod_spec(path, spec)
    if not errors:
        if len(_clean) >= CLEAN_MAX:
            _clean.clear()
        _clean.add(digest)
    return errors


def _pod_spec(path: str, spec: PodSpec) -> list[FieldError]:
    good, errors = volumes(f"{path}.volumes", items(spec.volumes))
    claims = frozenset(claim.name for claim in items(spec.resource_claims))
    around = Surroundings(good, claims)
    init = items(spec.init_containers)
    errors += container_rules.containers(f"{path}.containers", spec.containers, around)
    errors += container_rules.init_containers(f"{path}.initContainers", init, spec.containers, around)
    errors += container_rules.ephemeral_containers(
        f"{path}.ephemeralContainers", items(spec.ephemeral_containers), [*spec.containers, *init], around
    )
    errors += _host_network(path, spec)
    errors += choice(f"{path}.restartPolicy", spec.restart_policy, RESTART_POLICIES)
    errors += choice(f"{path}.dnsPolicy", spec.dns_policy, DNS_POLICIES)
    errors += labels(f"{path}.nodeSelector", pairs(spec.node_selector))
    if spec.affinity is not UNSET:
        errors += placing_rules.affinity(f"{path}.affinity", spec.affinity)
    for index, gate in enumerate(items(spec.readiness_gates)):
        errors += named(f"{path}.readinessGates[{index}].conditionType", gate.condition_type, names.qualified_name)
    errors += _gates(f"{path}.schedulingGates", items(spec.scheduling_gates))
    errors += placing_rules.spreading(f"{path}.topologySpreadConstraints", items(spec.topology_spread_constraints))
    errors += _references(path, spec)
    deadline = spec.active_deadline_seconds
    if deadline is not UNSET:
        errors += between(f"{path}.activeDeadlineSeconds", deadline, 1, INT32_MAX)
    errors += placing_rules.tolerations(f"{path}.tolerations", items(spec.tolerations))
    if spec.preemption_policy is not UNSET:
        errors += choice(f"{path}.preemptionPolicy", spec.preemption_policy, PREEMPTION_POLICIES)
    for name, amount in sorted(pairs(spec.overhead).items()):
        errors += resource_rules.amount(f"{path}.overhead[{name}]", name, amount)
    return errors


def pod_template(path: str, template: PodTemplateSpec) -> list[FieldError]:
    errors = labels(f"{path}.labels", pairs(template.metadata.labels))
    errors += annotation_map(f"{path}.annotations", pairs(template.metadata.annotations))
    errors += pod_spec(f"{path}.spec", template.spec)
    if items(template.spec.ephemeral_containers):
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return errors


def validate_pod_template(new: PodTemplate, _old: PodTemplate | None) -> list[FieldError]:
    return pod_template("template", new.template)


def validate_pod(new: Pod, old: Pod | None) -> list[FieldError]:
    if old is not None and new.spec == old.spec:
        return []
    errors = pod_spec("spec", new.spec)
    errors += not_negative("spec.terminationGracePeriodSeconds", new.spec.termination_grace_period_seconds)
    if old is not None:
        return errors + _pod_update(new.spec, old.spec)
    if items(new.spec.ephemeral_containers):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if new.spec.node_name and items(new.spec.scheduling_gates):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def validate_pod_status(new: Pod, old: Pod | None) -> list[FieldError]:
    if old is None:
        return []
    errors: list[FieldError] = []
    if old.status.qos_class:
        errors += immutable("status.qosClass", new.status.qos_class, old.status.qos_class)
    nominated = text(new.status.nominated_node_name)
    if nominated and nominated != old.status.nominated_node_name:
        errors += named("status.nominatedNodeName", nominated, names.dns_subdomain)
    errors += _endings("status.containerStatuses", new.status.container_statuses, old, old.status.container_statuses)
    return errors


def warn_pod(new: Pod, old: Pod | None) -> list[str]:
    return dns_label_warning(new.metadata.name) if old is None else []


def grace_seconds(pod: Pod, asked: int | None) -> int:
    """A pod that nobody runs, or that has ended, needs no time to end."""
    if not pod.spec.node_name or pod.status.phase in ("Succeeded", "Failed"):
        return 0
    wanted = pod.spec.termination_grace_period_seconds if asked is None else asked
    if wanted is UNSET:
        return GRACE_SECONDS
    return wanted if wanted >= 0 else 1


def _host_network(path: str, spec: PodSpec) -> list[FieldError]:
    if not flag(spec.host_network):
        return []
    return [
        invalid(
            f"{path}.containers[{index}].ports[{place}].containerPort", port.container_port, "must match `hostPort`"
        )
        for index, container in enumerate(spec.containers)
        for place, port in enumerate(items(container.ports))
        if port.host_port and port.host_port != port.container_port
    ]


def _gates(path: str, gates: list[PodSchedulingGate]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        errors += named(f"{path}[{index}]", gate.name, names.qualified_name)
        if gate.name in seen:
            errors.append(duplicate(f"{path}[{index}]", gate.name))
        seen.add(gate.name)
    return errors


def _references(path: str, spec: PodSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    subdomains = (
        ("serviceAccountName", spec.service_account_name),
        ("nodeName", spec.node_name),
        ("priorityClassName", spec.priority_class_name),
        ("runtimeClassName", spec.runtime_class_name),
    )
    for name, value in subdomains:
        if value:
            errors += named(f"{path}.{name}", text(value), names.dns_subdomain)
    for name, value in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if value:
            errors += named(f"{path}.{name}", text(value), names.dns_label)
    return errors


def _pod_update(new: PodSpec, old: PodSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    pairs_of_lists: tuple[tuple[str, list[Container], list[Container]], ...] = (
        ("containers", new.containers, old.containers),
        ("initContainers", items(new.init_containers), items(old.init_containers)),
    )
    for name, after, before in pairs_of_lists:
        if len(after) != len(before):
            return [*errors, forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
    errors += _deadline(new.active_deadline_seconds, old.active_deadline_seconds)
    errors += _only_added(items(new.tolerations), items(old.tolerations))
    known = {gate.name for gate in items(old.scheduling_gates)}
    errors += [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.name}'",
        )
        for index, gate in enumerate(items(new.scheduling_gates))
        if gate.name not in known
    ]
    if known:
        errors += _gated_update(new, old)
    changed = _changed(new, old, gated=bool(known))
    if changed:
        why = f"pod updates may not change fields other than {UPDATABLE}\nchanged: {', '.join(changed)}"
        errors.append(forbidden("spec", why))
    return errors


def _deadline(new: Opt[int], old: Opt[int]) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    if new is UNSET:
        why = "must not update from a positive integer to nil value"
        return [] if old is UNSET else [invalid(path, None, why)]
    if old is not UNSET and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")]
    return []


def _only_added(new: list[Toleration], old: list[Toleration]) -> list[FieldError]:
    kept = [msgspec.structs.replace(one, toleration_seconds=UNSET) for one in new]
    if all(msgspec.structs.replace(one, toleration_seconds=UNSET) in kept for one in old):
        return []
    return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _gated_update(new: PodSpec, old: PodSpec) -> list[FieldError]:
    """A pod that is still gated may be steered further, never elsewhere."""
    errors: list[FieldError] = []
    selector = pairs(new.node_selector)
    if any(selector.get(key) != value for key, value in pairs(old.node_selector).items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", selector, why))
    before, after = _required_terms(old), _required_terms(new)
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if before and len(before) != len(after):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [*errors, invalid(path, after, why)]
    for index, (was, now) in enumerate(zip(before, after, strict=False)):
        if not _only_more(now, was):
            why = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{path}[{index}]", now, why))
    return errors


def _only_more(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    expressions, fields = items(old.match_expressions), items(old.match_fields)
    if not expressions and not fields:
        return new == old
    return (
        items(new.match_expressions)[: len(expressions)] == expressions
        and items(new.match_fields)[: len(fields)] == fields
    )


def _node_affinity(spec: PodSpec) -> Opt[NodeAffinity]:
    return UNSET if spec.affinity is UNSET else spec.affinity.node_affinity


def _required_terms(spec: PodSpec) -> list[NodeSelectorTerm]:
    affinity = _node_affinity(spec)
    if affinity is UNSET or affinity.required_during_scheduling_ignored_during_execution is UNSET:
        return []
    return affinity.required_during_scheduling_ignored_during_execution.node_selector_terms


def _changed(new: PodSpec, old: PodSpec, *, gated: bool) -> list[str]:
    """JSON paths of the fields that changed beyond what may change."""
    after, before = copy.deepcopy(new), copy.deepcopy(old)
    for spec in (after, before):
        spec.active_deadline_seconds = spec.scheduling_gates = spec.tolerations = UNSET
        for container in (*spec.containers, *items(spec.init_containers)):
            container.image = UNSET
        if gated:
            spec.node_selector = UNSET
            if spec.affinity is not UNSET:
                spec.affinity.node_affinity = UNSET
                others = (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity)
                spec.affinity = UNSET if others == (UNSET, UNSET) else spec.affinity
    if old.termination_grace_period_seconds is not UNSET and old.termination_grace_period_seconds < 0:
        before.termination_grace_period_seconds = after.termination_grace_period_seconds
    return [
        f"spec.{field.encode_name}"
        for field in msgspec.structs.fields(PodSpec)
        if not same(getattr(after, field.name), getattr(before, field.name))
    ]


def _endings(
    path: str, new: Opt[list[ContainerStatus]], old_pod: Pod, old: Opt[list[ContainerStatus]]
) -> list[FieldError]:
    """A container that ended for good does not run again."""
    policy = text(old_pod.spec.restart_policy)
    if policy == "Always":
        return []
    errors: list[FieldError] = []
    ended = {one.name: one.state.terminated for one in items(old) if one.state.terminated is not UNSET}
    for index, status in enumerate(items(new)):
        end = ended.get(status.name, UNSET)
        if end is UNSET or (policy == "OnFailure" and end.exit_code != 0):
            continue
        if status.state.terminated is UNSET:
            errors.append(forbidden(f"{path}[{index}].state", "may not be transitioned to non-terminated state"))
    return errors
