"""What the model holds while it goes on: queues with their Workloads, and each Workload with its conditions."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from admission.quota_tree import Amounts, Pair, QuotaNode
from admission.world import CountedWorkload
from kueue_dqo.api.queueing import ClusterQueue, ResourceFlavor
from kueue_dqo.api.workloads import FINISHED, AdmissionCheckState, RequeueState

PODS: Final = "pods"
"""The resource that counts pods, where a ClusterQueue covers it."""


class Group(NamedTuple):
    """A resource group: resources that come from one flavor, and the flavors in their order."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


class Condition(NamedTuple):
    """A condition of a Workload; `at` tells when its status changed."""

    status: bool
    reason: str
    message: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class PodSetAssigned:
    """What a podset was given: so many pods, a flavor for each resource, and how much of each."""

    name: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, int]


class Mode(enum.IntEnum):
    """How a flavor can be had: not at all, by preemption, at once."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2


@dataclass(slots=True, eq=False)
class WorkloadState:
    """A Workload as it stands."""

    counted: CountedWorkload
    created: dt.datetime
    order: int
    """In which it came: what decides where times are equal, as Kueue decides by UIDs."""
    conditions: dict[str, Condition] = field(default_factory=dict)
    cluster_queue: str = ""
    """Where quota is reserved; empty where none is."""
    assigned: tuple[PodSetAssigned, ...] = ()
    """Given by `give` alone, which reckons the sum of it."""
    held: Amounts = field(default_factory=dict)
    """What it holds, by pair."""
    checks: list[AdmissionCheckState] = field(default_factory=list)
    requeue: RequeueState | None = None
    evictions: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often, by reason and underlying cause."""
    is_active: bool = True
    tried: tuple[dict[str, int], ...] | None = None
    """The flavor that was tried last, by podset and resource; -1 for all. None after a start from the first."""
    tried_generation: int = -1

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.counted.key

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.counted.object.metadata.namespace

    @property
    def queue_name(self) -> str:
        """The name of its LocalQueue."""
        spec = self.counted.object.spec
        return spec.queue_name if spec is not None else ""

    @property
    def local_queue(self) -> str:
        """`namespace/name` of its LocalQueue."""
        return f"{self.namespace}/{self.queue_name}"

    @property
    def priority(self) -> int:
        """As stored in it; 0 where none is."""
        spec = self.counted.object.spec
        return (spec.priority or 0) if spec is not None else 0

    def is_true(self, kind: str) -> bool:
        """Whether it has this condition with status True."""
        found = self.conditions.get(kind)
        return found is not None and found.status

    @property
    def holds(self) -> bool:
        """Whether it has a reservation; one that has finished only says what it had."""
        return bool(self.cluster_queue) and not self.is_true(FINISHED)

    @property
    def waits_since(self) -> tuple[dt.datetime, int]:
        """By what Workloads of one priority are ordered: creation, or eviction by a check."""
        evicted = self.conditions.get("Evicted")
        if evicted is not None and evicted.status and evicted.reason == "AdmissionCheck":
            return evicted.at, self.order
        return self.created, self.order

    def requests(self, counts: tuple[int, ...] | None = None) -> list[dict[str, int]]:
        """What each podset asks for in all, with other counts of pods where they are given."""
        found = []
        for index, pods in enumerate(self.counted.pods):
            count = pods.count if counts is None else counts[index]
            found.append({resource: amount * count for resource, amount in pods.requests.items()})
        return found

    def give(self, assigned: tuple[PodSetAssigned, ...]) -> None:
        """Says what it was given; nothing takes it away."""
        self.assigned = assigned
        self.held = {}
        for each in assigned:
            for resource, flavor in each.flavors.items():
                pair = Pair(flavor, resource)
                self.held[pair] = self.held.get(pair, 0) + each.usage.get(resource, 0)

    def uses(self, pairs: frozenset[Pair]) -> bool:
        """Whether it was given any of these."""
        return not pairs.isdisjoint(self.held)


@dataclass(slots=True, eq=False)
class QueueState:
    """A ClusterQueue as it stands."""

    object: ClusterQueue
    node: QuotaNode
    groups: tuple[Group, ...] = ()
    holders: dict[str, WorkloadState] = field(default_factory=dict)
    """Workloads with a reservation, by key."""
    generation: int = 0
    """Rises where quota is given back or changed: then flavors are tried from the first again."""
    uses_history: bool = False
    """Whether past usage of LocalQueues decides the order (admission fair sharing)."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    def group_of(self, resource: str) -> Group | None:
        """The resource group that covers it."""
        return next((group for group in self.groups if resource in group.resources), None)


@dataclass(slots=True)
class State:
    """What one scheduling cycle sees."""

    queues: dict[str, QueueState] = field(default_factory=dict)
    cohorts: dict[str, QuotaNode] = field(default_factory=dict)
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    fair_sharing: bool = False
    strategies: tuple[str, ...] = ()
    ignores_undeclared: bool = False
    now: dt.datetime = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    history: dict[str, float] = field(default_factory=dict)
    """Past usage of each LocalQueue, weighted, where admission fair sharing is on."""

    def queue_of(self, node: QuotaNode) -> QueueState:
        """The ClusterQueue of a node."""
        return self.queues[node.name]

    def hold(self, workload: WorkloadState) -> None:
        """Puts its usage on the books."""
        queue = self.queues[workload.cluster_queue]
        queue.holders[workload.key] = workload
        queue.node.add(workload.held)

    def release(self, workload: WorkloadState) -> None:
        """Takes its usage off the books."""
        queue = self.queues[workload.cluster_queue]
        if queue.holders.pop(workload.key, None) is not None:
            queue.node.remove(workload.held)


def removed(state: State, workloads: Iterator[WorkloadState] | list[WorkloadState]) -> list[WorkloadState]:
    """Takes the usage of these away for a while; give the answer to `restored`."""
    taken = list(workloads)
    for each in taken:
        state.queues[each.cluster_queue].node.remove(each.held)
    return taken


def restored(state: State, workloads: list[WorkloadState]) -> None:
    """Puts back what `removed` took, in the reverse order."""
    for each in reversed(workloads):
        state.queues[each.cluster_queue].node.add(each.held)
