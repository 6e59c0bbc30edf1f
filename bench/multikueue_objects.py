"""What is on a manager of MultiKueue and on its workers, and what changes there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from bench import machines, multikueue_copies
from bench.cluster import FLAVORS
from bench.processes.multikueue_store import LABEL
from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER, MULTIKUEUE_PARAMETERS
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from tests.controlplane.plane import ControlPlane
from tests.integration import objects
from tests.integration.objects import GROUP
from tests.integration.orchestrator.spec_road.scenes import local_queue

T = TypeVar("T")
Manifest = dict[str, Any]

FLEET: Final = "fleet"
"""The CapacityProvider, its parameters, and the Cohort over the manager's queues."""
MAPPING: Final = {flavor: "on-demand" if flavor == "on-demand" else "gpu" for flavor in FLAVORS}
"""Flavors of workers, as those of the manager that they count as."""
CPU: Final = 64
"""The nominal quota of every queue in each flavor."""
_QUOTAS: Final = {"cpu": str(CPU), "memory": "256Gi", "nvidia.com/gpu": "8"}
_UNITS: Final = {"cpu": CPU * 1000, "memory": 256 * 2**30, "nvidia.com/gpu": 8}
_COHORT: Final = 50
"""Queues in a Cohort of a worker."""
_WRITERS: Final = 24


def capacity(queues: int) -> machines.Pairs:
    """What so many queues have, by pair of the manager."""
    pairs: machines.Pairs = {}
    for flavor in MAPPING.values():
        for resource, units in _UNITS.items():
            pairs[f"{flavor}/{resource}"] = pairs.get(f"{flavor}/{resource}", 0) + units * queues
    return pairs


# --- a worker --------------------------------------------------------------------------------------------------------


def queue_name(worker: str, number: int) -> str:
    """Of a ClusterQueue of a worker."""
    return f"{worker}-{_local_name(number)}"


async def create_worker(client: Client, plane: ControlPlane, worker: str, queues: int) -> None:
    """Queues with their LocalQueues, as Kueue's status leaves them, in Cohorts of 50."""

    async def create(path: str, obj: Manifest) -> None:
        obj["metadata"].setdefault("labels", {})[LABEL] = worker
        await client.create(path, json.dumps(obj).encode(), timeout=60)

    await client.create("/api/v1/namespaces", json.dumps(namespace(worker)).encode(), timeout=60)
    for first in range(0, queues, _COHORT):
        await create(COHORTS.path(), objects.cohort(_cohort(worker, first)))
    name, quotas = queue_name(worker, 0), dict.fromkeys(FLAVORS, _QUOTAS)
    await create(CLUSTER_QUEUES.path(), objects.queue(name, quotas, cohort=_cohort(worker, 0)))
    await create(LOCAL_QUEUES.path(namespace=worker), leads(0, worker, name))
    await use(client, worker, 0, workloads=1)
    await use_local(client, worker, 0, workloads=1)
    for key in (f"clusterqueues/{name}", f"localqueues/{worker}/{_local_name(0)}"):
        copies = (
            {_local_name(0): _local_name(number), f'"{_cohort(worker, 0)}"': f'"{_cohort(worker, number)}"'}
            for number in range(1, queues)
        )
        await multikueue_copies.copy(plane, key, copies)


def _cohort(worker: str, number: int) -> str:
    """That of the queue of that number."""
    return f"{worker}-{number // _COHORT}"


async def use(client: Client, worker: str, number: int, *, workloads: int) -> None:
    """So many Workloads run in a worker's queue, says Kueue."""
    condition = {
        "type": "Active",
        "status": "True",
        "reason": "Ready",
        "message": "Can admit new workloads",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    amounts = [{"name": resource, "total": str(workloads), "borrowed": "0"} for resource in _QUOTAS]
    usage = [{"name": flavor, "resources": amounts} for flavor in FLAVORS]
    status = {
        "conditions": [condition],
        "flavorsReservation": usage,
        "flavorsUsage": usage,
        "pendingWorkloads": 0,
        "reservingWorkloads": workloads,
        "admittedWorkloads": workloads,
    }
    path = CLUSTER_QUEUES.path(queue_name(worker, number), subresource="status")
    await client.merge_patch(path, {"status": status}, field_manager="kueue", timeout=60)


async def use_local(client: Client, worker: str, number: int, *, workloads: int) -> None:
    """The same of the LocalQueue that leads there."""
    status = {"pendingWorkloads": 0, "reservingWorkloads": workloads, "admittedWorkloads": workloads}
    path = LOCAL_QUEUES.path(_local_name(number), namespace=worker, subresource="status")
    await client.merge_patch(path, {"status": status}, field_manager="kueue", timeout=60)


async def set_cpu(client: Client, worker: str, number: int, cpu: int) -> None:
    """The nominal quota of a worker's queue, in its first flavor, from now on."""
    path = CLUSTER_QUEUES.path(queue_name(worker, number))
    where = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    await client.json_patch(path, [{"op": "replace", "path": where, "value": str(cpu)}], field_manager="bench")


# --- the manager -----------------------------------------------------------------------------------------------------


def dispatched(group: str, clusters: Sequence[str]) -> Iterator[Manifest]:
    """A ClusterQueue whose Workloads go to these clusters, all objects by the name of the group."""
    of = {"apiVersion": f"{GROUP}/v1beta2", "metadata": {"name": group}}
    reference = {"apiGroup": GROUP, "kind": "MultiKueueConfig", "name": group}
    yield {**of, "kind": "MultiKueueConfig", "spec": {"clusters": list(clusters)}}
    yield {
        **of,
        "kind": "AdmissionCheck",
        "spec": {"controllerName": f"{GROUP}/multikueue", "parameters": reference},
    }
    quotas = dict.fromkeys(MAPPING.values(), dict.fromkeys(_QUOTAS, 1))
    strategy = {"admissionChecks": [{"name": group}]}
    yield objects.queue(group, quotas, cohort=FLEET, admissionChecksStrategy=strategy)


def parameters() -> Manifest:
    """Of the CapacityProvider: all of the manager's queues. A worker that is away counts for as long as this runs."""
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": MULTIKUEUE_PARAMETERS,
        "metadata": {"name": FLEET},
        "spec": {
            "managerQueues": {"subtree": {"kind": "Cohort", "name": FLEET}},
            "flavorMapping": [{"workerFlavor": theirs, "flavor": ours} for theirs, ours in MAPPING.items()],
            "unavailableWorkers": {"grace": "12h"},
        },
    }


def capacity_provider() -> Manifest:
    """Without a status."""
    return objects.provider(
        FLEET, *dict.fromkeys(MAPPING.values()), controller=MULTIKUEUE_CONTROLLER, parameters=parameters()
    )


# --- both ------------------------------------------------------------------------------------------------------------


def namespace(name: str) -> Manifest:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def leads(number: int, inside: str, cluster_queue: str) -> Manifest:
    """The LocalQueue of that number in a namespace, which leads to a ClusterQueue."""
    found = local_queue(cluster_queue)
    return {**found, "metadata": {"name": _local_name(number), "namespace": inside}}


def _local_name(number: int) -> str:
    return f"queue-{number:03}"


async def at_once(things: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Some at a time."""
    rest = iter(things)

    async def some() -> None:
        for each in rest:
            await work(each)

    await asyncio.gather(*(some() for _ in range(_WRITERS)))
