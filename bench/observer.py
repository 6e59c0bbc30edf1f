"""Follows a redistribution by watches, and keeps what has to be counted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bench.redistribution import NAMESPACE, Scene
from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, DYNAMIC_QUOTA_ORCHESTRATORS, WORKLOADS
from tests.integration.objects import Manifest

_PATIENCE: Final = 60.0
_SILENCE: Final = 600.0
"""Seconds for which a watch may have nothing to say."""


@dataclass(slots=True)
class Seen:
    """What a watch saw of one round."""

    short_seconds: float = 0.0
    """How long the quotas were less than the capacity."""
    short_by: int = 0
    """In cpu, at most."""
    promised: int = 0
    """The highest sum of the quotas, in cpu."""
    used: int = 0
    """The highest sum of the admitted Workloads, in cpu."""
    preempted: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Job:
    """A Workload as the watch shows it."""

    cpu: int
    conditions: dict[str, str] = field(default_factory=dict)

    @property
    def is_reserved(self) -> bool:
        return self.conditions.get("QuotaReserved") == "True"

    @property
    def is_preempted(self) -> bool:
        return self.conditions.get("Preempted") == "True"

    @property
    def is_running(self) -> bool:
        return self.conditions.get("Admitted") == "True" and self.conditions.get("Evicted") != "True"

    @property
    def is_judged(self) -> bool:
        """Whether the scheduler has looked at it."""
        return "QuotaReserved" in self.conditions


class Observer:
    """Follows the queues, the Workloads and the orchestrator of a scene, and keeps what has to be counted."""

    def __init__(self, client: Client, scene: Scene) -> None:
        self.client = client
        self.scene = scene
        self._changed = asyncio.Event()
        self._since = 0.0
        self._seen = Seen()
        self.quotas: dict[str, int] = {}
        self.jobs: dict[str, Job] = {}
        self.distributed = ""
        """The status of the orchestrator's condition of that name."""

    def begin(self) -> None:
        """From here on it is a round."""
        self._seen = Seen()
        self._since = time.perf_counter()

    def end(self) -> Seen:
        """What was seen of the round."""
        seen, self._seen = self._seen, Seen()
        return seen

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Waits for a change after which it holds. Raises TimeoutError after a minute."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"{what}: not so within {_PATIENCE:g} s; {self.quotas}, {self.jobs}") from None

    async def follow(self) -> None:
        """All watches, from what is there now; never returns."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(CLUSTER_QUEUES.path(), self._queue_changed))
            group.create_task(self._watch(WORKLOADS.path(namespace=NAMESPACE), self._job_changed))
            group.create_task(self._watch(DYNAMIC_QUOTA_ORCHESTRATORS.path(), self._orchestrator_changed))

    async def _watch(self, path: str, take: Callable[[str, Manifest], None]) -> None:
        params = {"watch": "true"}
        while True:  # the server ends a watch that cannot keep up; the next one goes on where it ended
            lines = self.client.lines(path, params=params, inactivity=_SILENCE)
            async with contextlib.aclosing(lines):
                async for line in lines:
                    event = json.loads(line)
                    if event["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
                        raise RuntimeError(f"the watch of {path} says {event}")
                    params["resourceVersion"] = event["object"]["metadata"]["resourceVersion"]
                    take(event["type"], event["object"])
                    self._changed.set()

    def _queue_changed(self, kind: str, obj: Manifest) -> None:
        name = obj["metadata"]["name"]
        if kind == "DELETED" or name not in self.scene.queues:
            return
        now = time.perf_counter()
        missing = self.scene.capacity - sum(self.quotas.values())
        if missing > 0 and len(self.quotas) == len(self.scene.queues):
            self._seen.short_seconds += now - self._since
        self._since = now
        (quota,) = obj["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        self.quotas[name] = Quantity.of(quota["nominalQuota"]).nanos // NANOS
        if len(self.quotas) == len(self.scene.queues):
            promised = sum(self.quotas.values())
            self._seen.promised = max(self._seen.promised, promised)
            self._seen.short_by = max(self._seen.short_by, self.scene.capacity - promised)

    def _job_changed(self, kind: str, obj: Manifest) -> None:
        name = obj["metadata"]["name"]
        if obj["spec"]["queueName"] not in self.scene.queues:
            return
        if kind == "DELETED":
            del self.jobs[name]
            return
        requests = obj["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
        job = Job(int(requests["cpu"]), _statuses(obj))
        self.jobs[name] = job
        if job.is_preempted:
            self._seen.preempted.add(name)
        self._seen.used = max(self._seen.used, sum(each.cpu for each in self.jobs.values() if each.is_reserved))

    def _orchestrator_changed(self, kind: str, obj: Manifest) -> None:
        if kind != "DELETED" and obj["metadata"]["name"] == self.scene.name:
            self.distributed = _statuses(obj).get(dqo.DISTRIBUTED, "")


def _statuses(obj: Manifest) -> dict[str, str]:
    """The status of each condition."""
    return {each["type"]: each["status"] for each in obj.get("status", {}).get("conditions") or []}
