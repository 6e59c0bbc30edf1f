"""The model's state as Kueue writes it: statuses of Workloads, ClusterQueues, LocalQueues and Cohorts.

Objects are manifests with what identifies them and what admission decides; their templates and quotas are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from admission.activity import Activity, cluster_queue_activity, local_queue_activity
from admission.amounts import quantity
from admission.quota_tree import Amounts, Pair, share_of
from admission.state import QueueState, State, WorkloadState
from admission.world import World
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import KUEUE_GROUP, time_text
from kueue_dqo.api.queueing import ACTIVE, LOCAL_QUEUE, LocalQueue
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.api.workloads import ADMITTED, FINISHED, WORKLOAD

Manifest = dict[str, Any]

_VERSION: Final = f"{KUEUE_GROUP}/v1beta2"
_LARGEST_SHARE: Final = 2**63 - 1
"""Of a node that borrows with a weight of 0."""
_OF_WORKLOADS: Final = ("name", "namespace", "uid", "labels", "creationTimestamp", "ownerReferences")


def workload_manifest(workload: WorkloadState) -> Manifest:
    """A Workload: whose it is, its queue and priority, its status."""
    obj = workload.counted.object
    metadata = to_manifest(obj.metadata)
    spec: Manifest = {"queueName": workload.queue_name, "priority": workload.priority, "active": workload.is_active}
    if obj.spec is not None and obj.spec.priority_class_ref is not None:
        spec["priorityClassRef"] = to_manifest(obj.spec.priority_class_ref)
    status: Manifest = {
        "conditions": [
            {
                "type": kind,
                "status": "True" if condition.status else "False",
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": time_text(condition.at),
            }
            for kind, condition in sorted(workload.conditions.items())
        ]
    }
    if workload.cluster_queue:
        status["admission"] = _admission(workload)
    if workload.checks:
        status["admissionChecks"] = [
            {key: value for key, value in to_manifest(each).items() if value != []} for each in workload.checks
        ]
    if workload.requeue is not None:
        status["requeueState"] = to_manifest(workload.requeue)
    if workload.evictions:
        evictions = [
            {"reason": reason, "underlyingCause": cause, "count": count}
            for (reason, cause), count in sorted(workload.evictions.items())
        ]
        status["schedulingStats"] = {"evictions": evictions}
    return {
        "apiVersion": _VERSION,
        "kind": WORKLOAD,
        "metadata": {key: metadata[key] for key in _OF_WORKLOADS if metadata.get(key)},
        "spec": spec,
        "status": status,
    }


def cluster_queue_manifest(world: World, state: State, queue: QueueState, pending: int) -> Manifest:
    """A ClusterQueue: whether it admits, how many Workloads wait (`pending`) and hold quota, and what they hold."""
    holders = queue.holders.values()
    status: Manifest = {
        "conditions": [_active(cluster_queue_activity(world, queue.object))],
        "pendingWorkloads": pending,
        "reservingWorkloads": len(queue.holders),
        "admittedWorkloads": sum(each.is_true(ADMITTED) for each in holders),
        "flavorsReservation": _usage(queue, holders),
        "flavorsUsage": _usage(queue, (each for each in holders if each.is_true(ADMITTED))),
    }
    if state.fair_sharing:
        status["fairSharing"] = {"weightedShare": _rounded(share_of(queue.node).weighted)}
    return _object(CLUSTER_QUEUE, {"name": queue.name}, status)


def local_queue_manifest(
    world: World, queue: LocalQueue, workloads: Iterable[WorkloadState], consumed: Manifest | None = None
) -> Manifest:
    """A LocalQueue: whether it takes Workloads, and how many of these wait and hold quota.

    Args:
        world: all objects.
        queue: the LocalQueue.
        workloads: those that are in it.
        consumed: what admission fair sharing has reckoned (`admissionFairSharingStatus`), None where it is off.
    """
    workloads = [each for each in workloads if not each.is_true(FINISHED)]
    holders = [each for each in workloads if each.holds]
    status: Manifest = {
        "conditions": [_active(local_queue_activity(world, queue))],
        "pendingWorkloads": sum(each.is_active and not each.cluster_queue for each in workloads),
        "reservingWorkloads": len(holders),
        "admittedWorkloads": sum(each.is_true(ADMITTED) for each in holders),
    }
    if consumed is not None:
        status["fairSharing"] = {"weightedShare": 0, "admissionFairSharingStatus": consumed}
    return _object(LOCAL_QUEUE, {"name": queue.metadata.name, "namespace": queue.metadata.namespace}, status)


def cohort_manifest(state: State, name: str) -> Manifest:
    """A Cohort: its share, where fair sharing is on."""
    share = {"weightedShare": _rounded(share_of(state.cohorts[name]).weighted)}
    return _object(COHORT, {"name": name}, {"fairSharing": share} if state.fair_sharing else {})


def _admission(workload: WorkloadState) -> Manifest:
    assignments = [
        {
            "name": each.name,
            "count": each.count,
            "flavors": dict(sorted(each.flavors.items())),
            "resourceUsage": {name: str(quantity(name, amount)) for name, amount in sorted(each.usage.items())},
        }
        for each in workload.assigned
    ]
    return {"clusterQueue": workload.cluster_queue, "podSetAssignments": assignments}


def _usage(queue: QueueState, holders: Iterable[WorkloadState]) -> list[Manifest]:
    """By flavor and resource: the sum, and what of it is above the nominal quota of a queue in a cohort."""
    held: Amounts = {}
    for workload in holders:
        for pair, amount in workload.held.items():
            held[pair] = held.get(pair, 0) + amount
    return [
        {"name": flavor, "resources": [_resource(queue, Pair(flavor, name), held) for name in sorted(group.resources)]}
        for group in queue.groups
        for flavor in group.flavors
    ]


def _resource(queue: QueueState, pair: Pair, held: Mapping[Pair, int]) -> Manifest:
    total = held.get(pair, 0)
    borrowed = max(0, total - queue.node.nominal(pair)) if queue.node.parent is not None else 0
    return {
        "name": pair.resource,
        "total": str(quantity(pair.resource, total)),
        "borrowed": str(quantity(pair.resource, borrowed)),
    }


def _rounded(share: float) -> int:
    return _LARGEST_SHARE if math.isinf(share) else math.ceil(share)


def _active(activity: Activity) -> Manifest:
    status = "True" if activity.is_active else "False"
    return {"type": ACTIVE, "status": status, "reason": activity.reason, "message": activity.message}


def _object(kind: str, metadata: Manifest, status: Manifest) -> Manifest:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": metadata, "status": status}
