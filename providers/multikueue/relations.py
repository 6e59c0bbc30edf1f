"""Which workers the queues of a manager send Workloads to, and by which LocalQueues. Pure.

A Workload goes from a LocalQueue of the manager to the LocalQueue of the same namespace and name on a worker. So the
related ClusterQueues of a worker are those that the namesakes of the manager's LocalQueues lead to, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kueue_dqo.api.kueue import MULTI_KUEUE_CONTROLLER
from kueue_dqo.api.multikueue import MultiKueueParametersSpec
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Misconfigured, Request
from providers.multikueue.checks import CHECKS_FIELD, Checks
from providers.multikueue.named_queues import LIST_FIELD, SUBTREE_FIELD, NamedQueues
from providers.multikueue.objects import LocalQueue, Manager, ManagerQueue, Unreadable
from providers.slips import parameters_name

_Request = Request[MultiKueueParametersSpec]


class Relations(NamedTuple):
    """What the manager's queues of one CapacityProvider lead to."""

    workers: Mapping[str, frozenset[str]]
    """The LocalQueues, as `namespace/name`, by which Workloads come to each worker; it is known by the name of its
    MultiKueueCluster, which need not exist. A worker that no LocalQueue leads to has none."""
    queues: tuple[str, ...]
    """The manager's ClusterQueues that use MultiKueue for a flavor of the provider, sorted."""


def related(manager: Manager, request: _Request) -> Relations:
    """The workers of a CapacityProvider, sorted by name.

    Raises:
        Misconfigured: the parameters name queues that do not exist, cannot be used or do not use MultiKueue; what
            these use leads to no MultiKueueConfig; or another CapacityProvider counts the same. It says all of it.
    """
    named, checks = NamedQueues(manager), Checks(manager)
    flavors = request.provider.flavor_names
    wanted = request.parameters.manager_queues
    queues = dict(sorted(named.queues(wanted).items()))
    misnamed = [*named.problems(wanted)]
    sending = {name: queue for name, queue in queues.items() if checks.use_multi_kueue(queue, flavors)}
    problems = [
        *misnamed,
        *checks.problems(queues, flavors),
        *_without_multi_kueue(request, queues, checks, are_all=not misnamed),
        *_overlaps(request, sending, named, checks),
        *_leading_nowhere(manager.local_queues),
    ]
    if problems:
        raise Misconfigured(f"{parameters_name(request.provider)}: {'; '.join(problems)}")
    keys = _keys(manager.local_queues, sending)
    workers: dict[str, set[str]] = {}
    for name, queue in sending.items():
        for cluster in checks.clusters(queue, flavors):
            workers.setdefault(cluster, set()).update(keys[name])
    return Relations({cluster: frozenset(workers[cluster]) for cluster in sorted(workers)}, tuple(sending))


def _keys(local_queues: Mapping[str, LocalQueue | Unreadable], queues: Iterable[str]) -> dict[str, list[str]]:
    """The LocalQueues that lead to each of the queues; stopped ones too, since this is about what workers have."""
    keys: dict[str, list[str]] = {name: [] for name in queues}
    for key, local_queue in local_queues.items():
        if isinstance(local_queue, LocalQueue) and local_queue.cluster_queue in keys:
            keys[local_queue.cluster_queue].append(key)
    return keys


def _leading_nowhere(local_queues: Mapping[str, LocalQueue | Unreadable]) -> Iterator[str]:
    bad = [f"{key} ({each.why})" for key, each in local_queues.items() if isinstance(each, Unreadable)]
    if bad:
        yield (
            f"LocalQueue {some(sorted(bad))} cannot be used, so that nobody knows which ClusterQueue it leads to: "
            "correct it"
        )


def _without_multi_kueue(
    request: _Request, queues: Mapping[str, ManagerQueue], checks: Checks, *, are_all: bool
) -> Iterator[str]:
    """Each queue that is listed has to use MultiKueue; of a subtree, one of them has to, once all are known."""
    flavors = request.provider.flavor_names
    without = [
        name
        for name, queue in queues.items()
        if not checks.use_multi_kueue(queue, flavors) and checks.are_sound(queue, flavors)
    ]
    wanted = f"AdmissionCheck of {MULTI_KUEUE_CONTROLLER} for {some(flavors)}"
    root = request.parameters.manager_queues.subtree
    if root is None:
        if without:
            have = "has" if len(without) == 1 else "have"
            yield (
                f"{LIST_FIELD}: ClusterQueue {some(without)} {have} no {wanted}: add one to {CHECKS_FIELD} there, or "
                "take it out of the list"
            )
    elif are_all and len(without) == len(queues):
        found = f"{counted(len(without), 'ClusterQueue')}{f': {some(without)}' if without else ''}"
        yield (
            f"{SUBTREE_FIELD}: no ClusterQueue of {root.key} ({found}) has an {wanted}: add one to {CHECKS_FIELD} of "
            "those whose Workloads go to other clusters, or name another root"
        )


def _overlaps(
    request: _Request, sending: Mapping[str, ManagerQueue], named: NamedQueues, checks: Checks
) -> Iterator[str]:
    """Others who count what the same queues lead to, for the same flavor and the same resources.

    One whose parameters cannot be read publishes nothing meanwhile; both are told once they can be.
    """
    me, mine = request.provider.metadata.name, request.parameters
    for peer in sorted(request.peers, key=lambda peer: peer.provider.metadata.name):
        name, theirs = peer.provider.metadata.name, peer.parameters
        shared = [flavor for flavor in request.provider.flavor_names if flavor in peer.provider.flavor_names]
        if theirs is None or not shared or mine.resources.is_disjoint(theirs.resources):
            continue
        their_queues = named.queues(theirs.manager_queues)
        both = [
            queue_name
            for queue_name, queue in sending.items()
            if queue_name in their_queues and checks.use_multi_kueue(queue, shared)
        ]
        if both:
            yield (
                f"spec.managerQueues: ClusterQueue {some(both)} is also CapacityProvider {name}'s "
                f"({parameters_name(peer.provider)}), which has flavor {some(shared)} too, so that workers would count "
                f"twice: name it in one of the two, let {me} or {name} have other spec.orchestratedFlavors, or give "
                "both disjoint spec.resources"
            )
