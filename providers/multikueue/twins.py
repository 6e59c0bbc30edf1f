"""Clusters that are counted twice: under two names, or the manager as a worker of its own. Pure.

An object of a cluster has a UID that no object of another cluster has, so one ClusterQueue that is seen twice tells.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping

from providers.multikueue.objects import Problem, WorkerCount


def without_twins(
    seen: Mapping[str, WorkerCount | Problem], manager: Collection[str], now: datetime.datetime
) -> dict[str, WorkerCount | Problem]:
    """The same, but a worker that is the manager, or that another worker is before it by name, is a problem.

    Args:
        seen: what counts of each worker, or why it cannot be read.
        manager: the UIDs of the manager's own ClusterQueues.
        now: UTC.
    """
    found: dict[str, WorkerCount | Problem] = {}
    whose = dict.fromkeys(manager, "")
    for cluster, each in sorted(seen.items()):
        found[cluster] = each
        if not isinstance(each, WorkerCount):
            continue
        twins = sorted({whose[uid] for uid in each.uids if uid in whose})
        if twins:
            found[cluster] = Problem(_text(twins[0]), now)
        else:
            whose.update(dict.fromkeys(each.uids, cluster))
    return found


def _text(twin: str) -> str:
    who = f"worker {twin}" if twin else "the manager itself"
    return (
        f"it is the same cluster as {who}, so that its queues would count twice: give it a kubeconfig of its own, or "
        "take it out of the MultiKueueConfig"
    )
