"""The Workloads that wait for one ClusterQueue: their order, and who is set aside until something changes.

The rules are those of Kueue 0.19 (`pkg/cache/queue/cluster_queue.go`).
"""

from __future__ import annotations

import datetime as dt
import enum
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from admission.state import WorkloadState
from kueue_dqo.api.queueing import QueueingStrategy

_REQUEUED = "Requeued"


class Requeue(enum.Enum):
    """Why a head that was looked at comes back."""

    GENERIC = enum.auto()
    AFTER_NOMINATION = enum.auto()
    """It could have been admitted, had not another one been before it."""
    NAMESPACE_MISMATCH = enum.auto()
    PENDING_PREEMPTION = enum.auto()
    NO_FIT = enum.auto()
    NO_CANDIDATES = enum.auto()


class PendingQueue:
    """Those that wait: in the heap, from which heads come, or set aside."""

    def __init__(self, name: str, strategy: QueueingStrategy) -> None:
        self.name = name
        self.strategy = strategy
        self.usage_of: Callable[[WorkloadState], float] | None = None
        """Past usage of its LocalQueue, where that comes before priority."""
        self.set_aside: dict[str, WorkloadState] = {}
        self._heap: list[tuple[Any, str]] = []
        self._waiting: dict[str, WorkloadState] = {}
        self._shapes: set[bytes] = set()
        """Of Workloads that did not fit: equal ones are set aside unseen."""
        self._sticky = ""
        """Who is waiting for the end of those that it preempts comes first."""

    def __len__(self) -> int:
        """All of them."""
        return len(self._waiting) + len(self.set_aside)

    @property
    def is_empty(self) -> bool:
        """Whether there is no head."""
        return not self._waiting

    def all(self) -> Iterator[WorkloadState]:
        """All of them, in no order that means anything."""
        yield from self._waiting.values()
        yield from self.set_aside.values()

    def add(self, workload: WorkloadState, now: dt.datetime) -> None:
        """A new one, or one that has changed: it is looked at anew."""
        key = workload.key
        self.set_aside.pop(key, None)
        is_known = key in self._waiting
        if not is_known and (not _may_be_tried(workload, now) or self._is_like_one_that_failed(workload)):
            self.set_aside[key] = workload
            return
        self._push(workload)

    def delete(self, key: str) -> bool:
        """It waits no longer. Returns whether it did."""
        found = self._waiting.pop(key, None) or self.set_aside.pop(key, None)
        if self._sticky == key:
            self._sticky = ""
        return found is not None

    def pop(self) -> WorkloadState | None:
        """The head. It is neither in the heap nor set aside until it is given back."""
        if self.usage_of is not None:
            usage = self.usage_of
            # Past usage comes first here too: whoever was preempted may be before the one that has preempted it.
            first = min(
                self._waiting.values(),
                key=lambda each: (usage(each), each.key != self._sticky, _order(each)),
                default=None,
            )
            return None if first is None else self._waiting.pop(first.key)
        if self._sticky in self._waiting:
            return self._waiting.pop(self._sticky)
        while self._heap:
            order, key = heapq.heappop(self._heap)
            found = self._waiting.get(key)
            if found is not None and _order(found) == order:
                return self._waiting.pop(key)
        return None

    def requeue(self, workload: WorkloadState, reason: Requeue, now: dt.datetime) -> bool:
        """A head comes back. Returns whether it is in the heap again."""
        is_strict = self.strategy is QueueingStrategy.STRICT_FIFO
        if reason is Requeue.PENDING_PREEMPTION and not is_strict:
            self._sticky = workload.key
        if is_strict:
            at_once = reason is not Requeue.NAMESPACE_MISMATCH
        else:
            at_once = reason in (Requeue.AFTER_NOMINATION, Requeue.PENDING_PREEMPTION)
        if _may_be_tried(workload, now) and (at_once or _has_untried_flavors(workload)):
            self.set_aside.pop(workload.key, None)
            self._push(workload)
            return True
        self.set_aside[workload.key] = workload
        if reason in (Requeue.NO_FIT, Requeue.NO_CANDIDATES) and not is_strict:
            self._set_equal_ones_aside(workload.counted.shape)
        return False

    def wake(self, may: Callable[[WorkloadState], bool], now: dt.datetime) -> bool:
        """Something has changed: all that are set aside are looked at anew, but those that still may not be."""
        self._shapes.clear()
        woken = [each for each in self.set_aside.values() if may(each) and _may_be_tried(each, now)]
        for each in woken:
            del self.set_aside[each.key]
            self._push(each)
        return bool(woken)

    def _push(self, workload: WorkloadState) -> None:
        self._waiting[workload.key] = workload
        if self.usage_of is None:
            heapq.heappush(self._heap, (_order(workload), workload.key))

    def _is_like_one_that_failed(self, workload: WorkloadState) -> bool:
        return self.strategy is not QueueingStrategy.STRICT_FIFO and workload.counted.shape in self._shapes

    def _set_equal_ones_aside(self, shape: bytes) -> None:
        self._shapes.add(shape)
        for key in [key for key, each in self._waiting.items() if each.counted.shape == shape]:
            self.set_aside[key] = self._waiting.pop(key)


def _order(workload: WorkloadState) -> tuple[int, dt.datetime, int]:
    return (-workload.priority, *workload.waits_since)


def _may_be_tried(workload: WorkloadState, now: dt.datetime) -> bool:
    """Whether no back-off holds it."""
    requeued = workload.conditions.get(_REQUEUED)
    if requeued is not None and not requeued.status:
        return False
    at = workload.requeue.requeue_at if workload.requeue is not None else None
    return at is None or now >= at


def _has_untried_flavors(workload: WorkloadState) -> bool:
    return workload.tried is not None and any(index != -1 for each in workload.tried for index in each.values())
