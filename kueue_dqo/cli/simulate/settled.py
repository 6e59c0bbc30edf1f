"""What a step has settled at, in words: each Workload's state, and what is asked of a queue. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from admission.cycle import Outcome
from admission.settling import Settled
from admission.state import WorkloadState
from kueue_dqo.api.workloads import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, CheckState

_INADMISSIBLE: Final = "Inadmissible"
_OUTCOMES: Final = {
    Outcome.INADMISSIBLE: "is not looked at",
    Outcome.WAITS: "waits",
    Outcome.SKIPPED: "is skipped",
    Outcome.PREEMPTS: "preempts",
    Outcome.ADMITTED: "is admitted",
}


class Row(NamedTuple):
    """A Workload in a table."""

    name: str
    """`namespace/name` of its Job, or its own."""
    queue: str
    """Its LocalQueue, and where it holds quota."""
    priority: str
    state: str
    flavors: str
    """`cpu: f1 ×2`; of several podsets, each by name."""
    why: str
    """Why it is not admitted, empty where it is."""


def row_of(workload: WorkloadState) -> Row:
    """The Workload as a person reads it."""
    queue = workload.queue_name or "(none)"
    if workload.cluster_queue:
        queue = f"{queue} → {workload.cluster_queue}"
    state, why = _state(workload)
    return Row(named(workload), queue, str(workload.priority), state, _flavors(workload), why)


def trace_of(settled: Settled) -> Iterator[str]:
    """What each scheduling cycle of a step made of each head, in the order in which they were served."""
    for number, entries in enumerate(settled.cycles, start=1):
        for entry in entries:
            text = f"cycle {number}: {entry.queue.name}: {named(entry.workload)} {_OUTCOMES[entry.outcome]}"
            if entry.targets and entry.outcome is Outcome.PREEMPTS:
                text += " " + ", ".join(f"{named(target.workload)} ({target.reason})" for target in entry.targets)
            if entry.outcome is not Outcome.ADMITTED and entry.message:
                text += f": {entry.message}"
            yield text


def named(workload: WorkloadState) -> str:
    """`namespace/name` of its Job, or its own."""
    job = workload.counted.job
    return f"{workload.namespace}/{job}" if job else workload.key


def _state(workload: WorkloadState) -> tuple[str, str]:
    """The first that holds, with the message of the condition that says so."""
    for condition, state in ((FINISHED, "Finished"), (ADMITTED, "Admitted")):
        if workload.is_true(condition):
            return state, ""
    if workload.cluster_queue:
        unanswered = [each for each in workload.checks if each.state is not CheckState.READY]
        listed = ", ".join(f"{each.name} is {each.state.value}" for each in unanswered)
        return "Reserved", f"quota is reserved, and it waits for its checks: {listed}"
    return _waiting(workload)


def _waiting(workload: WorkloadState) -> tuple[str, str]:
    """Of one without quota."""
    reserved, evicted = workload.conditions.get(QUOTA_RESERVED), workload.conditions.get(EVICTED)
    said = reserved.message if reserved is not None else ""
    if not workload.is_active:
        return "Inactive", said
    if reserved is not None and reserved.reason == _INADMISSIBLE:
        return "Inadmissible", said
    if evicted is not None and evicted.status:
        return f"Waits ({evicted.reason})", said or evicted.message
    return "Waits", said or "not looked at: an equal Workload did not fit, or others of its queue come first"


def _flavors(workload: WorkloadState) -> str:
    several = len(workload.assigned) > 1
    texts = []
    for each in workload.assigned:
        by_flavor: dict[str, list[str]] = {}
        for resource, flavor in sorted(each.flavors.items()):
            by_flavor.setdefault(flavor, []).append(resource)
        listed = ", ".join(f"{flavor} ({', '.join(resources)})" for flavor, resources in by_flavor.items())
        label = f"{each.name}: " if several else ""
        texts.append(f"{label}{listed or 'nothing'} × {each.count}")
    return "; ".join(texts)
