"""The rules of dispatching, in MultiKueue's order. Level-triggered: each look derives from the facts alone what has to happen next.

Where the order of effects matters, the durable decision on the hub comes first: a cluster is bound before its job is created.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.core.dispatch.model import (
    BY_JOB,
    OUT_OF_SYNC,
    Bind,
    Case,
    CheckState,
    Decision,
    DeleteRemote,
    EvictRemote,
    Finish,
    ForgetRun,
    Local,
    Nominate,
    OpenGate,
    Remote,
    SetCheck,
    SyncJob,
    UpdatePriority,
)
from fairway.core.model import SECOND, Time

GATE_ROUND: Time = 300 * SECOND
"""How long one copy may try to preempt before the next one may."""


def decide(case: Case, now: Time) -> Decision:
    decision = Decision()
    local = case.local
    if local.check is CheckState.REJECTED:
        return decision
    if local.gone:
        _clear(case, decision)
        return decision
    if local.refusal:
        decision.actions.append(SetCheck(CheckState.REJECTED, local.refusal))
        return decision
    if local.finished or not local.reserved:
        _clear(case, decision)
        _look_for_the_lost(case, decision, now)
        return decision
    if not _ended(case, decision) and not _evicted(case, decision, now):
        _run(case, decision, now)
    return decision


# --- the end --------------------------------------------------------------------------------------------------------


def _clear(case: Case, decision: Decision) -> None:
    decision.actions += [DeleteRemote(name) for name in sorted(case.remotes)]


def _look_for_the_lost(case: Case, decision: Decision, now: Time) -> None:
    if case.look_every and any(not link.connected for link in case.links.values()):
        decision.look_at(now + case.look_every)


def _ended(case: Case, decision: Decision) -> bool:
    ends = [
        (remote.finished.at, name)
        for name, remote in case.remotes.items()
        # One whose job was already taken off there cannot tell any more how the job ended.
        if remote.finished is not None and (remote.has_job or not remote.leaving)
    ]
    if not ends:
        return False
    name = case.local.cluster if case.local.cluster in {each for _at, each in ends} else min(ends)[1]
    end = case.remotes[name].finished
    assert end is not None
    if end.reason in BY_JOB and case.remotes[name].job_runs:
        return True  # how it ended is yet to be told: after this its copies go, and nobody could ask any more
    if end.reason != OUT_OF_SYNC:
        decision.actions += [SyncJob(name, create=False), Finish(name, end)]
    elif case.local.check is CheckState.READY:
        text = f'Remote workload on worker cluster "{name}" is out of sync with its user job, resetting for re-dispatch'
        decision.actions.append(SetCheck(CheckState.RETRY, text, "Warning"))
    return True


def _evicted(case: Case, decision: Decision, now: Time) -> bool:
    """A cluster took back what it had admitted. Only the one that the workload is bound to matters, where it is bound."""
    local = case.local
    names = sorted(name for name, remote in case.remotes.items() if remote.evicted)
    if local.cluster:
        names = [name for name in names if name == local.cluster]
    if not names:
        return False
    if local.evicted:
        _await_the_end(case, case.remotes, decision, now)
        decision.look_at(now + 2 * SECOND)
        return True
    if local.check is not CheckState.READY:
        return False
    text = f'Workload evicted on worker cluster: "{names[0]}", resetting for re-admission'
    decision.actions.append(SetCheck(CheckState.RETRY, text, "Normal"))
    return True


# --- running --------------------------------------------------------------------------------------------------------


def _run(case: Case, decision: Decision, now: Time) -> None:
    local = case.local
    remotes = dict(case.remotes)
    for name in sorted(remotes):
        if remotes[name].difference == "priority":
            decision.actions.append(UpdatePriority(name))
        elif remotes[name].difference == "other" or _is_dead(case, remotes[name]):
            decision.actions.append(DeleteRemote(name))
            del remotes[name]
    admitting = _admitting(local, remotes)
    if admitting:
        _follow(case, remotes, admitting, decision)
        return
    if local.check is CheckState.READY:
        _lost(case, decision, now)
        return
    if local.evicted:
        _await_the_end(case, remotes, decision, now)
        return
    if case.gates:
        _open_a_gate(remotes, decision, now)
    waiting = local.check is CheckState.PENDING and not local.cluster and local.other_checks_ready
    if not waiting:
        return
    if _all_safe(case, decision, now):
        decision.actions.append(Nominate())
    else:
        # What is still there of an attempt before has to go first.
        links = sorted(case.links.items())
        decision.actions += [DeleteRemote(name) for name, link in links if link.connected and link.may_run]


def _is_dead(case: Case, remote: Remote) -> bool:
    """A copy that its cluster evicted for good, as when the lease ran out, before the hub could bind it: only a new one can be admitted."""
    local = case.local
    waiting = local.check is CheckState.PENDING and not local.evicted and not local.cluster
    return waiting and remote.evicted and remote.eviction_asked


def _admitting(local: Local, remotes: dict[str, Remote]) -> str:
    """Where it is admitted. While a cluster is sought only those that are asked come into question: a copy that was sent for an attempt
    before, and arrived or came back late, is to go."""
    if local.cluster:
        remote = remotes.get(local.cluster)
        return local.cluster if remote is not None and remote.admitted_at is not None else ""
    found = [
        (remote.admitted_at, name)
        for name, remote in remotes.items()
        if remote.admitted_at is not None and not remote.leaving
    ]
    if local.check is CheckState.PENDING and not local.evicted and (local.nominated or local.again):
        found = [each for each in found if each[1] in local.nominated]
    return min(found, default=(0, ""))[1]


def _follow(case: Case, remotes: dict[str, Remote], name: str, decision: Decision) -> None:
    local = case.local
    decision.actions += [DeleteRemote(other) for other in sorted(remotes) if other != name]
    if local.evicted:
        if not remotes[name].eviction_asked:
            decision.actions.append(EvictRemote(name))
        decision.actions.append(SyncJob(name, create=False))
        return
    if local.check in (CheckState.RETRY, CheckState.REJECTED):
        return
    if local.check is not CheckState.READY or local.cluster != name or not remotes[name].has_job:
        decision.actions.append(Bind(name))
    decision.actions.append(SyncJob(name))


def _lost(case: Case, decision: Decision, now: Time) -> None:
    """It is said to run somewhere, and there is nothing of it there."""
    local = case.local
    if not local.cluster:
        text = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
        decision.actions.append(SetCheck(CheckState.RETRY, text))
        return
    link = case.links.get(local.cluster)
    if link is not None and not link.connected:
        if link.safe_at is None or link.safe_at > now:
            if link.safe_at is not None:
                decision.look_at(link.safe_at)
            return
        decision.actions.append(SetCheck(CheckState.RETRY, "Admitting remote lost"))
        return
    decision.actions.append(SetCheck(CheckState.RETRY, "Admitting remote no longer exists"))


def _await_the_end(case: Case, remotes: Mapping[str, Remote], decision: Decision, now: Time) -> None:
    """Evicted here: what it had is free once its run is certainly over, on clusters out of reach too."""
    running = [name for name, remote in sorted(remotes.items()) if remote.has_job]
    if running:
        decision.actions += [SyncJob(name, create=False) for name in running]
    elif case.local.job_active and _all_safe(case, decision, now):
        decision.actions.append(ForgetRun())


def _all_safe(case: Case, decision: Decision, now: Time) -> bool:
    """Whether no cluster, in reach or not, can still run an earlier attempt."""
    waits = [link.safe_at for link in case.links.values() if link.unsafe(now)]
    for at in waits:
        if at is not None:
            decision.look_at(at)
    return not waits


def _open_a_gate(remotes: dict[str, Remote], decision: Decision, now: Time) -> None:
    gates = {name: remote.gate for name, remote in remotes.items() if remote.gate is not None}
    opened = max((gate.opened_at for gate in gates.values() if gate.open), default=None)
    if opened is not None and opened + GATE_ROUND > now:
        decision.look_at(opened + GATE_ROUND)
        return
    blocked = [
        (gate.blocked_since, name) for name, gate in gates.items() if gate.blocked_since is not None and not gate.open
    ]
    if blocked:
        decision.actions.append(OpenGate(min(blocked)[1]))
        decision.look_at(now + GATE_ROUND)
