"""Admission fair sharing: what each LocalQueue has used in the past, by which Workloads of a ClusterQueue are ordered.

Usage decays by a half-life; what a Workload is admitted with is put on top at once, as the penalty of an entry, so
that a queue does not get ahead between two samples. Amounts are thousandths of every resource, and fractions of them
are cut off, as in Kueue 0.19 (`pkg/util/admissionfairsharing`, `pkg/controller/core/localqueue_controller.go`); rates
and weights are floating-point numbers as they are there, because an order that hangs on their last bit has to be
equal.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from admission.pods import Requests
from kueue_dqo.api.core import Amounts
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.api.queueing import AdmissionFairSharingConfiguration, ConsumedResources
from kueue_dqo.api.resources import CPU

_NANOS_IN_THOUSANDTH: Final = NANOS // 1000
Thousandths = dict[str, int]
"""By resource."""


@dataclass(slots=True)
class Entry:
    """The record of one LocalQueue."""

    consumed: Thousandths
    last_update: datetime.datetime


@dataclass(slots=True)
class UsageLedger:
    """The records of all LocalQueues, by `namespace/name`."""

    configuration: AdmissionFairSharingConfiguration
    entries: dict[str, Entry] = field(default_factory=dict)
    penalties: dict[str, Thousandths] = field(default_factory=dict)
    """Of Workloads that are about to be admitted."""
    told: dict[str, Entry] = field(default_factory=dict)
    """As statuses have it: of the last sample. What was settled since is not among it."""

    def seed(self, queue: str, consumed: Amounts, now: datetime.datetime) -> None:
        """Takes what a status says was consumed so far. It counts from now on, whenever it was written."""
        amounts = {
            name: -(-value.nanos // _NANOS_IN_THOUSANDTH) for name, value in consumed.items() if value is not None
        }
        self.entries[queue] = self.told[queue] = Entry(amounts, now)

    def enter(self, queue: str, requests: Requests) -> None:
        """A Workload with these requests is about to be admitted."""
        _add(self.penalties.setdefault(queue, {}), self.penalty_of(requests))

    def leave(self, queue: str, requests: Requests) -> None:
        """It was not admitted after all, or its penalty has been settled."""
        remaining = self.penalties.get(queue)
        if remaining is not None:
            _add(remaining, {name: -amount for name, amount in self.penalty_of(requests).items()})
            if not any(remaining.values()):
                del self.penalties[queue]

    def settle(self, queue: str, requests: Requests, usage: Requests, now: datetime.datetime) -> None:
        """It is admitted: its penalty becomes consumption. `usage`: of all admitted Workloads of the queue, with it."""
        before = self.entries.get(queue)
        consumed = self._decayed(before, usage, now)
        _add(consumed, self.penalty_of(requests))
        self.entries[queue] = Entry(consumed, now if before is None else max(now, before.last_update))
        self.leave(queue, requests)

    def sample(self, queue: str, usage: Requests, now: datetime.datetime) -> None:
        """Reckons what was consumed until now, with what admitted Workloads of the queue use at present."""
        before = self.entries.get(queue)
        if not self.configuration.usage_half_life_time:
            self.entries[queue] = self.told[queue] = Entry({}, now)
            return
        last = now if before is None else max(now, before.last_update)
        self.entries[queue] = self.told[queue] = Entry(self._decayed(before, usage, now), last)

    def forget(self, queue: str) -> None:
        """The LocalQueue is gone."""
        for records in (self.entries, self.penalties, self.told):
            records.pop(queue, None)

    def penalty_of(self, requests: Requests) -> Thousandths:
        """What a Workload with these requests costs its queue when it is admitted: as if it had run for one sample."""
        return _scaled(_thousandths(requests), self._rate(self.configuration.usage_sampling_interval.seconds))

    def usage_of(self, queue: str, weight: Quantity | None = None) -> float:
        """By what Workloads of the queue are ordered, the least first; without a weight by 1.

        A weight of 0 makes any usage infinite and no usage less than every other, as in Kueue, where that is no number.
        """
        entry = self.entries.get(queue)
        amounts = dict(entry.consumed) if entry is not None else {}
        _add(amounts, self.penalties.get(queue, {}))
        weights = self.configuration.resource_weights
        # In the order of names: sums of floating-point numbers depend on it.
        usage = 0.0
        for name in sorted(amounts):
            usage += weights.get(name, 1.0) * (amounts[name] * 1e-3)
        divisor = 1.0 if weight is None else weight.nanos / NANOS
        if divisor:
            return usage / divisor
        return math.inf if usage else -math.inf

    def consumed(self, queue: str) -> dict[str, Quantity]:
        """What the queue has consumed as of now."""
        return _quantities(self.entries.get(queue))

    def status_of(self, queue: str) -> ConsumedResources:
        """As a LocalQueue's status says it (`admissionFairSharingStatus`): as of the last sample."""
        told = self.told.get(queue)
        return ConsumedResources({**_quantities(told)}, told.last_update if told is not None else None)

    def _decayed(self, before: Entry | None, usage: Requests, now: datetime.datetime) -> Thousandths:
        elapsed = 0.0 if before is None else max(0.0, (now - before.last_update).total_seconds())
        rate = self._rate(elapsed)
        consumed = _scaled(before.consumed if before is not None else {}, 1 - rate)
        _add(consumed, _scaled(_thousandths(usage), rate))
        return consumed

    def _rate(self, seconds: float) -> float:
        """The part of the past that so many seconds outweigh."""
        half_life = self.configuration.usage_half_life_time.seconds
        return 1.0 - math.pow(0.5, seconds / half_life) if half_life else 0.0


def _thousandths(requests: Requests) -> Thousandths:
    """Kueue's units are thousandths of cpu, and whole ones of every other resource."""
    return {name: amount if name == CPU else amount * 1000 for name, amount in requests.items()}


def _scaled(amounts: Mapping[str, int], factor: float) -> Thousandths:
    return {name: int(float(amount) * factor) for name, amount in amounts.items()}


def _add(total: Thousandths, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _quantities(entry: Entry | None) -> dict[str, Quantity]:
    amounts = entry.consumed if entry is not None else {}
    return {name: Quantity(amount * _NANOS_IN_THOUSANDTH) for name, amount in amounts.items()}
