"""What every fault happens to: eight queues below two Cohorts, whose quotas follow one provider.

The queues declare 1 to 8 shares of cpu and of memory. A capacity of `36 x n` so gives the first one n, the last 8 x n.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from typing import Any, Final

from kueue_dqo.api.quantity import NANOS
from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon
from tests.integration.judge import Record
from tests.integration.objects import (
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    cohort,
    condition,
    nominal,
    orchestrator,
    provider,
    publish,
    queue,
)
from tests.integration.recorder import Recorder

SHARES: Final = {f"team-{letter}": number for number, letter in enumerate("abcdefgh", 1)}
TOTAL: Final = sum(SHARES.values())
OBJECTS: Final = len(SHARES) + 3
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/kueue-dqo-orchestrator"
_GIB: Final = 2**30
_MARGIN: Final = 24 * 2**20
"""Bytes by which a daemon may grow while it survives something: its buffers, never its history."""


class Teams:
    """The objects on a control plane, with their recorder."""

    def __init__(self, plane: ControlPlane) -> None:
        """Creates them. Nothing is known of the capacity yet."""
        self.plane = plane
        self._cpu = self._memory = 0
        self._changes = 0
        plane.admin.apply(
            cohort("company"),
            cohort("research", parent="company"),
            cohort("production", parent="company"),
            *(
                queue(
                    name,
                    {"default": {"cpu": shares, "memory": f"{shares}Gi"}},
                    cohort="research" if shares % 2 else "production",
                )
                for name, shares in SHARES.items()
            ),
            provider("pool", "default"),
            orchestrator("dqo", "pool", root=("Cohort", "company")),
        )
        self.recorder = Recorder(plane)

    def publish(self, cpu: int, memory: int) -> None:
        """The provider reports so many cpus and GiB for each share."""
        self._cpu, self._memory = cpu, memory
        self._changes += 1
        publish(self.plane, "pool", {"default": {"cpu": str(TOTAL * cpu), "memory": f"{TOTAL * memory}Gi"}})

    def is_right(self) -> bool:
        """Whether every quota is what the capacity says."""
        return self.moved() == len(SHARES)

    def moved(self) -> int:
        """How many queues have the quotas already that the capacity says."""
        found = {each["metadata"]["name"]: nominal(each) for each in self.plane.admin.items(QUEUES)}
        return sum(found[name] == self._wanted(shares) for name, shares in SHARES.items())

    def present(self, name: str) -> tuple[tuple[str, int], ...]:
        """What a queue has in force, by pair, in nanos."""
        return tuple(sorted(nominal(self.plane.admin.get(f"{QUEUES}/{name}")).items()))

    def begin_to_follow(self, cpu: int, memory: int) -> None:
        """Publishes, and waits until some queues have followed and others have not."""
        self.publish(cpu, memory)
        eventually(lambda: 0 < self.moved() < len(SHARES), "it is in the middle of a transition")

    def settle(self) -> None:
        """Waits until the quotas are right, and the orchestrator says so."""
        eventually(self.is_right, f"quotas of {self._cpu} cpu and {self._memory} Gi a share")
        eventually(lambda: self.says("True", "QuotasDistributed") and self._tells_capacity(), "it is said so")

    def says(self, status: str, reason: str) -> bool:
        """Whether Distributed is so."""
        found = condition(self.plane)
        return (found.get("status"), found.get("reason")) == (status, reason)

    def follow(self, cpu: int, memory: int) -> None:
        """Publishes, and waits until the quotas have followed."""
        self.publish(cpu, memory)
        self.settle()

    def check(self, *, per_change: int = 2) -> Record:
        """The bound and the word were kept, in at most so many writes for each object and change of the capacity."""
        record = self.recorder.check()
        needed = self._changes * len(SHARES) + OBJECTS  # the first time, Cohorts are written as well
        assert record.quota_writes <= per_change * needed, record
        assert record.status_writes <= 2 * per_change * (self._changes + 2), record
        return record

    def _wanted(self, shares: int) -> dict[str, int]:
        """The quotas for so many shares, in nanos."""
        return {
            "default/cpu": self._cpu * shares * NANOS,
            "default/memory": self._memory * shares * _GIB * NANOS,
        }

    def _tells_capacity(self) -> bool:
        status = self.plane.admin.get(f"{ORCHESTRATORS}/dqo").get("status") or {}
        flavors = (status.get("effectiveCapacity") or {}).get("flavors") or []
        told: dict[str, Any] = flavors[0].get("resources") or {} if flavors else {}
        return told.get("cpu") == str(TOTAL * self._cpu)


class Memory:
    """What a daemon held at one moment."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._before = daemon.resident_bytes()

    def is_flat(self) -> bool:
        """Whether it holds about as much now."""
        return self._daemon.resident_bytes() <= self._before + _MARGIN


def every(seconds: float, times: int) -> Iterator[int]:
    """So many turns, one each so many seconds: where the pace is what is tested."""
    begun = time.monotonic()
    for turn in range(times):
        due = begun + turn * seconds
        eventually(lambda due=due: time.monotonic() >= due, "its turn")  # type: ignore[misc]  # mypy infers no type for a default
        yield turn


def wait_until_served(plane: ControlPlane) -> None:
    """After a restart, the API server is ready a moment before it serves all kinds."""

    def is_served() -> bool:
        try:
            for path in (QUEUES, PROVIDERS, ORCHESTRATORS):
                plane.admin.items(path)
        except Refused as error:
            if error.code not in {http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE}:
                raise
            return False
        return True

    eventually(is_served, "all kinds are served")


def holder(plane: ControlPlane) -> str:
    """Who has the Lease: the name that the daemon was started with, empty for nobody."""
    identity = plane.admin.get(LEASE)["spec"].get("holderIdentity") or ""
    return str(identity).rpartition("_")[0]


def wait_for_holder(plane: ControlPlane, *names: str) -> str:
    """Until one of these daemons has the Lease. Returns its name."""
    eventually(lambda: has_lease(plane) and holder(plane) in names, f"one of {names} leads")
    return holder(plane)


def has_lease(plane: ControlPlane) -> bool:
    """Whether the Lease is there at all."""
    path = LEASE.rpartition("/")[0]
    return any(each["metadata"]["name"] == LEASE.rpartition("/")[2] for each in plane.admin.items(path))
