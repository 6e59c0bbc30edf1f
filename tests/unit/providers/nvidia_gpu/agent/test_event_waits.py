"""How long the thread that waits for XIDs leaves NVML alone after failures; without NVML."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from providers.nvidia_gpu.agent.devices import TIMEOUT, Xid
from providers.nvidia_gpu.agent.events import XidWatch

UNKNOWN = 999
EARLY = -1
WITHIN = 60.0


class NVMLError(Exception):
    """As that of pynvml."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class Library:
    """As much of pynvml as the thread needs. Each wait ends in the next of these errors, and then all are told.

    The clock of waits is its own. A wait that ends in EARLY is a time-out at once.
    """

    NVMLError = NVMLError
    nvmlEventTypeXidCriticalError = 8  # noqa: N815 - it is NVML's

    def __init__(self, waits: list[int]) -> None:
        self._waits = waits
        self._now = 0.0
        self.sets = 0
        self.is_done = threading.Event()
        self.is_over = threading.Event()

    def monotonic(self) -> float:
        return self._now

    def nvmlEventSetWait_v2(self, events: Any, wait: int) -> Any:  # noqa: N802 - it is NVML's
        del events
        if not self._waits:
            self.is_done.set()
            self.is_over.wait(WITHIN)
            raise NVMLError(UNKNOWN)
        code = self._waits.pop(0)
        if code == TIMEOUT:
            self._now += wait / 1000
        raise NVMLError(TIMEOUT if code == EARLY else code)

    def nvmlDeviceGetSupportedEventTypes(self, handle: Any) -> int:  # noqa: N802
        del handle
        return self.nvmlEventTypeXidCriticalError

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:  # noqa: N802
        del uuid

    def nvmlDeviceRegisterEvents(self, handle: Any, types: int, events: Any) -> None:  # noqa: N802
        del handle, types, events

    def nvmlEventSetCreate(self) -> Any:  # noqa: N802
        self.sets += 1
        return object()

    def nvmlEventSetFree(self, events: Any) -> None:  # noqa: N802
        del events


class Chance(random.Random):
    """Notes the longest wait that it might give, and gives none."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[float] = []

    def uniform(self, a: float, b: float) -> float:
        self.spans.append(b)
        return a


def spans(library: Library) -> list[float]:
    """The longest pause after each failure."""
    chance = Chance()

    def deliver(xid: Xid) -> None:
        pytest.fail(f"nobody told {xid}")

    failures: list[Exception] = []
    watch = XidWatch(library, deliver=deliver, failed=failures.append, random=chance, monotonic=library.monotonic)
    watch.follow(["GPU-a"])
    watch.start()
    assert library.is_done.wait(WITHIN)
    found = list(chance.spans)
    watch.stop()
    library.is_over.set()
    assert failures == []
    return found


def test_pauses_grow_between_failures_and_begin_anew_after_a_wait() -> None:
    assert spans(Library([UNKNOWN, UNKNOWN, UNKNOWN, TIMEOUT, UNKNOWN, UNKNOWN])) == [1, 2, 4, 1, 2]


def test_waits_that_are_over_at_once_are_failures() -> None:
    """Else NVML would be asked without end. The set is made anew for each."""
    library = Library([TIMEOUT, *[EARLY] * 8])
    assert spans(library) == [1, 2, 4, 8, 16, 32, 60]
    assert library.sets == 8


def test_one_wait_that_is_over_at_once_is_none() -> None:
    library = Library([EARLY, TIMEOUT, EARLY, TIMEOUT])
    assert spans(library) == []
    assert library.sets == 1
