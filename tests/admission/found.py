"""Clusters that showed how Kueue differs from what one expects, made as small as they could be."""

from __future__ import annotations

from typing import Final

from tests.admission.generator import HISTORY, KUEUE, Cluster, Manifest

_LOW, _HIGH = "low", "high"


def _surroundings(prefix: str, queues: dict[str, str]) -> list[Manifest]:
    """A ClusterQueue of 4 cpu that orders by past usage, and LocalQueues by namespace."""
    flavor, queue = f"{prefix}-f1", f"{prefix}-cq"
    quota = {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
    }
    namespaces = [f"{prefix}-{each}" for each in queues]
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in namespaces),
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": flavor}, "spec": {}},
        *(
            {
                "apiVersion": KUEUE,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": f"{prefix}-{name}"},
                "value": value,
            }
            for name, value in ((_LOW, 100), (_HIGH, 1000))
        ),
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": queue}, "spec": spec},
        *(
            {
                "apiVersion": KUEUE,
                "kind": "LocalQueue",
                "metadata": {"name": name, "namespace": f"{prefix}-{letter}"},
                "spec": {"clusterQueue": queue},
            }
            for letter, name in queues.items()
        ),
    ]


def _job(prefix: str, place: tuple[str, str], number: int, cpu: int, priority: str) -> Manifest:
    """A Job of one pod. `place`: namespace's letter and LocalQueue."""
    container = {"name": "c", "image": "registry.k8s.io/pause:3.9", "resources": {"requests": {"cpu": str(cpu)}}}
    labels = {
        "kueue.x-k8s.io/queue-name": place[1],
        "kueue.x-k8s.io/priority-class": f"{prefix}-{priority}",
    }
    metadata = {
        "name": f"j{number}",
        "namespace": f"{prefix}-{place[0]}",
        "labels": labels,
        "creationTimestamp": f"2026-09-01T08:00:{number * 2:02}Z",
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": 1, "completions": 1, "suspend": True, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _comes_back_first(seed: int) -> Cluster:
    """Whoever was preempted is first again while its LocalQueue has used less than that of the preemptor.

    It is admitted in the room that was made, and preempted again, until its queue has used more.
    """
    prefix = f"s{seed}"
    first, second = ("a", "lq-a"), ("b", "lq-b")
    steps = (
        (*_surroundings(prefix, dict((first, second))), _job(prefix, second, 1, 4, _LOW)),
        (
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j1", "namespace": f"{prefix}-b", "deletionTimestamp": "2026-09-01T09:00:00Z"},
            },
        ),
        (_job(prefix, first, 2, 2, _LOW), _job(prefix, second, 3, 3, _HIGH)),
    )
    return Cluster(seed, HISTORY, "history", tuple(map(tuple, steps)))


def _one_name(seed: int, queues: dict[str, str]) -> Cluster:
    """Among candidates past usage counts only between LocalQueues of different names, whatever their namespaces."""
    prefix = f"s{seed}"
    first, second = queues.items()
    steps = (
        (
            *_surroundings(prefix, queues),
            _job(prefix, first, 1, 3, _LOW),
            _job(prefix, second, 2, 1, _LOW),
            _job(prefix, second, 3, 1, _HIGH),
        ),
    )
    return Cluster(seed, HISTORY, "history", tuple(map(tuple, steps)))


FOUND: Final = (
    _comes_back_first(9001),
    _one_name(9002, {"a": "lq", "b": "lq"}),
    _one_name(9003, {"a": "lq-a", "b": "lq-b"}),
)
