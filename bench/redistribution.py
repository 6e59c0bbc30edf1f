"""A Cohort of ClusterQueues under Kueue's real scheduler, in which quota moves while Workloads arrive."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, DYNAMIC_QUOTA_ORCHESTRATORS, WORKLOADS
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import GROUP, Manifest, cohort, flavor, groups, orchestrator, provider, queue

NAMESPACE: Final = "default"
BEFORE: Final = 8
"""The nominal quota of every queue before, in cpu."""
SHIFTED: Final = 2
"""What each queue of the first half passes on to one of the second half, in cpu."""
RUNNING: Final = 8
"""What runs in each queue, in cpu; where a Workload arrives, one less. It fits before and after."""
_PATIENCE: Final = 60.0
_SILENCE: Final = 600.0


class Scene:
    """So many pairs of queues, `shrinks` beside `grows`, in one Cohort of their own."""

    def __init__(self, name: str, pairs: int, arrivals: int) -> None:
        """`arrivals`: how many of the queues that grow have room for a Workload of 1 cpu, which arrives."""
        self.name = name
        self.arrivals = arrivals
        self.shrinking = [f"{name}-shrinks-{number:02}" for number in range(pairs)]
        self.growing = [f"{name}-grows-{number:02}" for number in range(pairs)]
        self.queues = self.shrinking + self.growing
        self.capacity = BEFORE * len(self.queues)

    def quotas(self, *, after: bool) -> dict[str, int]:
        """The nominal quota of each queue, before or after, in cpu."""
        shift = SHIFTED if after else 0
        return dict.fromkeys(self.shrinking, BEFORE - shift) | dict.fromkeys(self.growing, BEFORE + shift)

    def groups(self, cpu: int) -> list[Manifest]:
        """The resource groups of a queue with this quota."""
        return groups({self.name: {"cpu": str(cpu)}})

    def running(self) -> dict[str, int]:
        """What runs in each queue, in cpu."""
        return dict.fromkeys(self.queues, RUNNING) | dict.fromkeys(self.growing[: self.arrivals], RUNNING - 1)

    def arriving(self) -> list[tuple[str, int]]:
        """The queue and the cpu of each Workload that arrives.

        Those of 1 cpu fit into their queue's quota before and after; with them, the Cohort is full to the last cpu. The
        last one would borrow more than is ever free: it fits only where more is promised than there is.
        """
        return [*((each, 1) for each in self.growing[: self.arrivals]), (self.shrinking[0], self.arrivals + 1)]

    def create(self, plane: ControlPlane) -> None:
        """The queues and all that they need, and the provider and the orchestrator of the daemon."""
        preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"}
        plane.admin.apply(flavor(self.name), cohort(self.name))
        for each in self.queues:
            quotas = {self.name: {"cpu": str(BEFORE)}}
            plane.admin.apply(queue(each, quotas, cohort=self.name, preemption=preemption), _local_queue(each))
        plane.admin.apply(provider(self.name, self.name))
        plane.admin.apply(orchestrator(self.name, self.name, root=("Cohort", self.name)))


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


async def submit(client: Client, name: str, queue_name: str, cpu: int) -> None:
    """Creates a Workload of one pod. Nothing runs it: being admitted is all that it does."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"queueName": queue_name, "podSets": [{"name": "main", "count": 1, "template": template}]}
    body: dict[str, Any] = {"apiVersion": f"{GROUP}/v1beta2", "kind": "Workload", "metadata": {"name": name}}
    await client.create(WORKLOADS.path(namespace=NAMESPACE), json.dumps(body | {"spec": spec}).encode())


def _local_queue(name: str) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"clusterQueue": name},
    }


def _statuses(obj: Manifest) -> dict[str, str]:
    """The status of each condition."""
    return {each["type"]: each["status"] for each in obj.get("status", {}).get("conditions") or []}
