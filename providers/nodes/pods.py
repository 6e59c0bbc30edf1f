"""What pods hold of their nodes, in whole nanos. Pure.

What a pod requests is counted as the scheduler counts it (`PodRequests` of k8s.io/component-helpers): its containers
run together, those at the start one after the other, each beside the ones that are always restarted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from kueue_dqo.api.core import RESTARTED_ALWAYS, Amounts, Container, ContainerStatus, Pod
from kueue_dqo.api.quantity import NANOS

PODS: Final = "pods"
"""The resource of which every pod takes one."""

Requests = tuple[tuple[str, int], ...]
"""Nanos by resource, sorted by name."""


@dataclass(slots=True)
class NodePods:
    """What pods hold of one node: nanos by resource."""

    allocated: dict[str, int] = field(default_factory=dict)
    """The pods that Kueue manages."""
    unmanaged: dict[str, int] = field(default_factory=dict)
    """All others, such as those of DaemonSets and static ones."""


class PodUse(NamedTuple):
    """What one pod holds, and where."""

    node: str
    is_managed: bool
    requests: Requests


HOLDS_NOTHING: Final = PodUse("", is_managed=False, requests=())


def use_of(pod: Pod) -> PodUse | None:
    """What the pod holds; None where it has no node yet, or has finished."""
    if not pod.holds_resources:
        return None
    # Many pods are alike, and few nodes have all of them: equal parts are held once.
    requests = tuple(sorted((name, nanos) for name, nanos in requests_of(pod).items() if nanos))
    return PodUse(sys.intern(pod.spec.node_name), pod.is_managed, _shared(requests))


def requests_of(pod: Pod) -> dict[str, int]:
    """Nanos by resource that the scheduler takes off the pod's node. A pod takes one of `pods` as well."""
    spec, status = pod.spec, pod.status
    total: dict[str, int] = {}
    statuses = _by_name(status.container_statuses)
    for container in spec.containers:
        _add(total, _current(container, statuses))
    restarted: dict[str, int] = {}
    at_start: dict[str, int] = {}
    statuses = _by_name(status.init_container_statuses)
    for container in spec.init_containers:
        if container.restart_policy == RESTARTED_ALWAYS:
            _add(restarted, _current(container, statuses))
        else:
            one = _nanos(container.resources.requests)
            _add(one, restarted)
            _raise(at_start, one)
    _add(total, restarted)
    _raise(total, at_start)
    # Requests of the pod as a whole stand in for the sum of its containers'.
    total |= _nanos(spec.resources.requests)
    _add(total, _nanos(spec.overhead))
    total[PODS] = NANOS
    return total


class PodIndex:
    """What pods hold by node, kept up to date pod by pod, in a time that does not depend on how many there are."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodePods] = {}
        self._counts: dict[str, int] = {}
        self.nodes: Final[Mapping[str, NodePods]] = MappingProxyType(self._nodes)
        """A live view. A node without pods is not in it."""

    def change(self, old: PodUse | None, new: PodUse | None) -> bool:
        """A pod came (`old` is None), changed, or went (`new` is None). Returns whether any sum became another one.

        One that holds nothing is as one that is not there.
        """
        old, new = (use if use is not None and use.requests else None for use in (old, new))
        if old == new:
            return False
        if new is not None:
            self._counts[new.node] = self._counts.get(new.node, 0) + 1
            _add(self._sums(new), dict(new.requests))
        if old is not None:
            _subtract(self._sums(old), old.requests)
            self._counts[old.node] -= 1
            if not self._counts[old.node]:
                del self._counts[old.node], self._nodes[old.node]
        return True

    def _sums(self, use: PodUse) -> dict[str, int]:
        held = self._nodes.setdefault(use.node, NodePods())
        return held.allocated if use.is_managed else held.unmanaged


@functools.lru_cache(maxsize=4096)
def _shared(requests: Requests) -> Requests:
    return requests


def _by_name(statuses: Iterable[ContainerStatus]) -> dict[str, ContainerStatus]:
    return {status.name: status for status in statuses}


def _current(container: Container, statuses: Mapping[str, ContainerStatus]) -> dict[str, int]:
    """While a resize is under way, the larger of what is asked for and what is there counts, resource by resource."""
    found = _nanos(container.resources.requests)
    status = statuses.get(container.name)
    if status is not None:
        _raise(found, _nanos(status.allocated_resources))
        _raise(found, _nanos(status.resources.requests))
    return found


def _nanos(amounts: Amounts) -> dict[str, int]:
    return {sys.intern(name): quantity.nanos for name, quantity in amounts.items() if quantity is not None}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, nanos in more.items():
        total[name] = total.get(name, 0) + nanos


def _subtract(total: dict[str, int], requests: Requests) -> None:
    for name, nanos in requests:
        left = total.get(name, 0) - nanos
        if left:
            total[name] = left
        else:
            total.pop(name, None)


def _raise(least: dict[str, int], to: Mapping[str, int]) -> None:
    for name, nanos in to.items():
        least[name] = max(least.get(name, 0), nanos)
