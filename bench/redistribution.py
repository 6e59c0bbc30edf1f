"""A Cohort of ClusterQueues under Kueue's real scheduler, in which quota moves while Workloads arrive."""

from __future__ import annotations

import json
from typing import Any, Final

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import WORKLOADS
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import GROUP, Manifest, cohort, flavor, groups, orchestrator, provider, queue

NAMESPACE: Final = "default"
BEFORE: Final = 8
"""The nominal quota of every queue before, in cpu."""
SHIFTED: Final = 2
"""What each queue of the first half passes on to one of the second half, in cpu."""
RUNNING: Final = 8
"""What runs in each queue, in cpu; where a Workload arrives, one less. It fits before and after."""


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
