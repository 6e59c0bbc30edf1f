"""Which flavors a Workload can have: by selectors and taints, by quota, by fungibility, with fewer pods if it must.

The rules are those of Kueue 0.19 (`pkg/scheduler/flavorassigner`). Every flavor that was looked at leaves a record of
what was asked, what was available, and what could be at most, from which `dqo explain` says why.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from admission.amounts import written
from admission.flavors import mismatch
from admission.quota_tree import Amounts, Pair
from admission.state import PODS, Group, Mode, PodSetAssigned, QueueState, State, WorkloadState
from kueue_dqo.api.queueing import (
    BorrowPolicy,
    FlavorFungibility,
    FungibilityPolicy,
    FungibilityPreference,
    ReclaimWithinCohort,
)


class Way(enum.IntEnum):
    """How a resource can be had in a flavor, the better the higher."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """Others would have to go, and nobody may be sent."""
    PREEMPT = 2
    """Others of the same queue would have to go."""
    RECLAIM = 3
    """Others of other queues would have to go."""
    FIT = 4

    @property
    def mode(self) -> Mode:
        """In three steps."""
        if self is Way.FIT:
            return Mode.FIT
        return Mode.NO_FIT if self is Way.NO_FIT else Mode.PREEMPT

    @property
    def preempts(self) -> bool:
        """Whether there is somebody to be sent away."""
        return self in (Way.PREEMPT, Way.RECLAIM)


class Granular(NamedTuple):
    """How, and from how far up the tree quota is borrowed (0: not at all)."""

    way: Way
    borrowing: int

    def is_better(self, other: Granular, fungibility: FlavorFungibility) -> bool:
        """By the queue's preference; without one, borrowing is better than preemption."""
        if self.way is Way.NO_FIT:
            return False
        if other.way is Way.NO_FIT:
            return True
        if fungibility.preference is FungibilityPreference.PREEMPTION_OVER_BORROWING:
            if self.borrowing != other.borrowing:
                return self.borrowing < other.borrowing
            return self.way > other.way
        if self.way != other.way:
            return self.way > other.way
        return self.borrowing < other.borrowing


_WORST = Granular(Way.NO_FIT, sys.maxsize)
_BEST = Granular(Way.FIT, 0)


@dataclass(frozen=True, slots=True)
class Look:
    """One resource of a podset in one flavor."""

    pod_set: str
    pair: Pair
    way: Way
    requested: int
    assumed: int
    """What podsets before it take of the same."""
    available: int
    potential: int
    borrowing: int

    @property
    def lacking(self) -> int:
        """How much more would have to be available."""
        return max(0, self.requested + self.assumed - self.available)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A flavor that the pods of a podset cannot have, whatever the quota."""

    pod_set: str
    flavor: str
    why: str


@dataclass(slots=True)
class PodSetResult:
    """What became of one podset."""

    name: str
    count: int
    requests: dict[str, int]
    flavors: dict[str, str] = field(default_factory=dict)
    modes: dict[str, Mode] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    @property
    def mode(self) -> Mode:
        """The worst of its resources."""
        if not self.reasons:
            return Mode.FIT
        return min(self.modes.values(), default=Mode.NO_FIT)


@dataclass(slots=True)
class Assignment:
    """What became of a Workload at one try."""

    pod_sets: list[PodSetResult] = field(default_factory=list)
    usage: Amounts = field(default_factory=dict)
    borrowing: int = 0
    tried: list[dict[str, int]] = field(default_factory=list)
    looks: list[Look | Refusal] = field(default_factory=list)

    @property
    def mode(self) -> Mode:
        """The worst of its podsets."""
        return min((each.mode for each in self.pod_sets), default=Mode.NO_FIT)

    @property
    def message(self) -> str:
        """In Kueue's words; empty where everything fits."""
        return "; ".join(
            f"couldn't assign flavors to pod set {each.name}: {', '.join(sorted(each.reasons))}"
            for each in self.pod_sets
            if each.reasons
        )

    @property
    def pairs_to_free(self) -> frozenset[Pair]:
        """What others would have to give back."""
        return frozenset(
            Pair(each.flavors[resource], resource)
            for each in self.pod_sets
            for resource, mode in each.modes.items()
            if mode is Mode.PREEMPT
        )

    def assigned(self) -> tuple[PodSetAssigned, ...]:
        """As it stands in a Workload's status."""
        return tuple(
            PodSetAssigned(
                each.name, each.count, dict(each.flavors), {name: each.requests[name] for name in each.flavors}
            )
            for each in self.pod_sets
        )


Oracle = Callable[[WorkloadState, Pair, int], tuple[Way, int]]
"""Whether somebody can be preempted for so much of a pair, and how far up would be borrowed then."""


class Assigner:
    """Tries flavors for one Workload in its ClusterQueue."""

    def __init__(self, state: State, queue: QueueState, workload: WorkloadState, oracle: Oracle) -> None:
        self._state = state
        self._queue = queue
        self._workload = workload
        self._oracle = oracle

    def assign(self, counts: tuple[int, ...] | None = None) -> Assignment:
        """With all pods, or with these counts of pods."""
        workload, queue = self._workload, self._queue
        if workload.tried is not None and queue.generation > workload.tried_generation:
            workload.tried = None
        found = Assignment()
        for index, requests in enumerate(workload.requests(counts)):
            pods = workload.counted.pods[index]
            count = pods.count if counts is None else counts[index]
            if queue.group_of(PODS) is not None:
                requests[PODS] = count
            result = PodSetResult(pods.name, count, requests)
            self._assign_pod_set(index, result, found)
            found.pod_sets.append(result)
            tried = {}
            for resource, flavor in result.flavors.items():
                pair = Pair(flavor, resource)
                found.usage[pair] = found.usage.get(pair, 0) + requests[resource]
                tried[resource] = self._tried_index.get(resource, -1)
            found.tried.append(tried)
            if requests and not result.flavors and result.reasons:
                break
        return found

    def _assign_pod_set(self, index: int, result: PodSetResult, found: Assignment) -> None:
        self._tried_index: dict[str, int] = {}
        for resource in sorted(result.requests):
            group = self._queue.group_of(resource)
            if resource in result.flavors:
                continue  # it has the flavor of its resource group
            if group is None:
                if result.requests[resource] == 0 or self._state.ignores_undeclared:
                    continue
                result.flavors, result.modes = {}, {}
                result.reasons = [f"resource {resource} unavailable in ClusterQueue"]
                return
            flavors, modes, reasons = self._find(index, result, resource, group, found)
            if not flavors:
                result.flavors, result.modes, result.reasons = {}, {}, reasons
                return
            result.flavors |= flavors
            result.modes |= modes
            result.reasons += reasons

    def _find(
        self, index: int, result: PodSetResult, resource: str, group: Group, found: Assignment
    ) -> tuple[dict[str, str], dict[str, Mode], list[str]]:
        """The best flavor for all resources of the group; flavor and mode of each, and what stood against any."""
        fungibility = self._queue.object.spec.flavor_fungibility
        wanted = {name: amount for name, amount in result.requests.items() if name in group.resources}
        tried = self._workload.tried
        start = tried[index].get(resource, -1) + 1 if tried is not None and index < len(tried) else 0
        reasons: list[str] = []
        best: dict[str, Mode] = {}
        best_mode, best_flavor, attempted = _WORST, "", -1
        spec = self._workload.counted.pods[index].spec
        for place in range(start, len(group.flavors)):
            attempted = place
            name = group.flavors[place]
            why = mismatch(name, self._state.flavors.get(name), spec)
            if why:
                reasons.append(why)
                found.looks.append(Refusal(result.name, name, why))
                continue
            worst, modes = _BEST, {}
            for each, amount in sorted(wanted.items()):
                look, told = self._look(result.name, Pair(name, each), found.usage.get(Pair(name, each), 0), amount)
                found.looks.append(look)
                if told:
                    reasons.append(told)
                granular = Granular(look.way, look.borrowing)
                if worst.is_better(granular, fungibility):
                    worst = granular
                if worst.way is Way.NO_FIT:
                    break
                modes[each] = look.way.mode
            if not _tries_next(worst, fungibility):
                best, best_mode, best_flavor = modes, worst, name
                break
            if worst.is_better(best_mode, fungibility):
                best, best_mode, best_flavor = modes, worst, name
        last = -1 if attempted == len(group.flavors) - 1 else attempted
        self._tried_index |= dict.fromkeys(best, last)
        if best_mode.way is Way.NO_FIT:
            return {}, {}, reasons
        found.borrowing = max(found.borrowing, self._borrowing_of(found, result.name, best_flavor, best))
        return dict.fromkeys(best, best_flavor), best, [] if best_mode.way is Way.FIT else reasons

    @staticmethod
    def _borrowing_of(found: Assignment, pod_set: str, flavor: str, resources: dict[str, Mode]) -> int:
        return max(
            (
                look.borrowing
                for look in found.looks
                if isinstance(look, Look)
                and look.pod_set == pod_set
                and look.pair.flavor == flavor
                and look.pair.resource in resources
            ),
            default=0,
        )

    def _look(self, pod_set: str, pair: Pair, assumed: int, amount: int) -> tuple[Look, str]:
        """How it could be had, and what stands against it, in Kueue's words."""
        node = self._queue.node
        available, potential, value = node.available(pair), node.potential(pair), assumed + amount

        def look(way: Way, borrowing: int) -> Look:
            return Look(pod_set, pair, way, amount, assumed, available, potential, borrowing)

        if value > potential:
            told = (
                f"insufficient quota for {pair.resource} in flavor {pair.flavor}, previously considered podsets "
                f"requests ({written(pair.resource, assumed)}) + current podset request "
                f"({written(pair.resource, amount)}) > "
                f"maximum capacity ({written(pair.resource, potential)})"
            )
            return look(Way.NO_FIT, 0), told
        borrowing, may_reclaim = node.lowest_height_that_fits(pair, value)
        if value <= available:
            return look(Way.FIT, borrowing), ""
        told = (
            f"insufficient unused quota for {pair.resource} in flavor {pair.flavor}, "
            f"{written(pair.resource, value - available)} more needed"
        )
        if node.nominal(pair) >= value or may_reclaim or self._preempts_while_borrowing():
            way, borrowing = self._oracle(self._workload, pair, value)
            return look(way, borrowing), told
        return look(Way.NO_FIT, borrowing), told

    def _preempts_while_borrowing(self) -> bool:
        policy = self._queue.object.spec.preemption
        if policy.borrow_within_cohort.policy is not BorrowPolicy.NEVER:
            return True
        return self._state.fair_sharing and policy.reclaim_within_cohort is not ReclaimWithinCohort.NEVER


def _tries_next(mode: Granular, fungibility: FlavorFungibility) -> bool:
    if mode.way in (Way.NO_FIT, Way.NO_CANDIDATES):
        return True
    if mode.way.preempts and fungibility.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR:
        return True
    return mode.borrowing != 0 and fungibility.when_can_borrow is FungibilityPolicy.TRY_NEXT_FLAVOR


def fewer_pods(workload: WorkloadState, fits: Callable[[tuple[int, ...]], bool]) -> None:
    """Partial admission: a binary search for the most pods for which `fits` is true, as Kueue searches.

    `fits` keeps what it found; the last time that it is true is the answer.
    """
    full = [pods.count for pods in workload.counted.pods]
    deltas = [
        pods.count - (pods.min_count if pods.min_count is not None else pods.count) for pods in workload.counted.pods
    ]
    total = sum(deltas)
    if total <= 0:
        return
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = tuple(each - delta * middle // total for each, delta in zip(full, deltas, strict=True))
        if fits(counts):
            high = middle
        else:
            low = middle + 1
