"""Clusters that would count twice: under two names, or the manager as a worker of its own. Pure.

An object of a cluster has a UID that no object of another cluster has, so one ClusterQueue that is seen twice tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kueue_dqo.provider import Misconfigured
from providers.multikueue.objects import Problem, WorkerCount


def refuse_twins(seen: Mapping[str, WorkerCount | Problem], manager: Collection[str]) -> None:
    """Raises Misconfigured where a worker is the manager, or another worker: what is published is kept.

    Neither may be counted meanwhile: with a multiplier above 1, the manager's quotas would grow by themselves.

    Args:
        seen: what counts of each worker, or why it cannot be read.
        manager: the UIDs of the manager's own ClusterQueues.
    """
    whose = dict.fromkeys(manager, "the manager itself")
    for cluster, each in sorted(seen.items()):
        if not isinstance(each, WorkerCount):
            continue
        twins = sorted({whose[uid] for uid in each.uids if uid in whose})
        if twins:
            raise Misconfigured(
                f"MultiKueueCluster {cluster} leads to the same cluster as {twins[0]}, whose queues would count twice: "
                "give it a kubeconfig of its own, or take it out of the MultiKueueConfig"
            )
        whose.update(dict.fromkeys(each.uids, f"MultiKueueCluster {cluster}"))
