"""From a manager's ClusterQueue by its AdmissionChecks to the worker clusters that it sends Workloads to. Pure."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.kueue import (
    ADMISSION_CHECK,
    MULTI_KUEUE_CONFIG,
    MULTI_KUEUE_CONTROLLER,
    AdmissionCheck,
    MultiKueueConfig,
)
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.problems import shown
from kueue_dqo.api.wording import some
from providers.multikueue.objects import Manager, ManagerQueue, Unreadable

CHECKS_FIELD: Final = "spec.admissionChecksStrategy.admissionChecks"


class _Check(NamedTuple):
    is_multi_kueue: bool
    clusters: tuple[str, ...] = ()
    problem: str = ""
    """Where there is one, nobody knows which clusters it leads to."""


class Checks:
    """The AdmissionChecks of a manager. Of a queue, those count that apply to a flavor of the provider."""

    def __init__(self, manager: Manager) -> None:
        """The manager must not change meanwhile."""
        self._checks = manager.checks
        self._configs = manager.configs
        self._seen = functools.cache(self._look)

    def use_multi_kueue(self, queue: ManagerQueue, flavors: Collection[str]) -> bool:
        """Whether Workloads in one of the flavors are sent to other clusters."""
        return any(self._seen(name).is_multi_kueue for name in _names(queue, flavors))

    def are_sound(self, queue: ManagerQueue, flavors: Collection[str]) -> bool:
        """Whether each of them is known to be what it is."""
        return not any(self._seen(name).problem for name in _names(queue, flavors))

    def clusters(self, queue: ManagerQueue, flavors: Collection[str]) -> frozenset[str]:
        """The MultiKueueClusters that Workloads in one of the flavors are sent to, by name; they need not exist."""
        return frozenset(cluster for name in _names(queue, flavors) for cluster in self._seen(name).clusters)

    def problems(self, queues: Mapping[str, ManagerQueue], flavors: Collection[str]) -> Iterator[str]:
        """What is wrong with those that these queues use, each with the way out."""
        users: dict[str, list[str]] = {}
        for queue_name, queue in queues.items():
            for name in _names(queue, flavors):
                users.setdefault(name, []).append(queue_name)
        for name, users_of_it in sorted(users.items()):
            problem = self._seen(name).problem
            if problem:
                yield f"{ADMISSION_CHECK} {shown(name)} ({CHECKS_FIELD} of ClusterQueue {some(users_of_it)}) {problem}"

    def _look(self, name: str) -> _Check:
        check = self._checks.get(name)
        if not isinstance(check, AdmissionCheck):
            return _Check(is_multi_kueue=False, problem=_unusable(check, "take it out there"))
        if check.spec.controller_name != MULTI_KUEUE_CONTROLLER:
            return _Check(is_multi_kueue=False)
        parameters = check.spec.parameters
        if parameters is None:
            problem = f"has no spec.parameters: name a {MULTI_KUEUE_CONFIG} there"
        elif (parameters.api_group, parameters.kind) != (KUEUE_GROUP, MULTI_KUEUE_CONFIG):
            problem = (
                f"has a {shown(parameters.kind)} of group {shown(parameters.api_group)} as spec.parameters: name a "
                f"{MULTI_KUEUE_CONFIG} of group {KUEUE_GROUP} there"
            )
        else:
            config = self._configs.get(parameters.name)
            if isinstance(config, MultiKueueConfig):
                return _Check(is_multi_kueue=True, clusters=config.spec.clusters)
            problem = (
                f"has {MULTI_KUEUE_CONFIG} {shown(parameters.name)} as spec.parameters, which "
                f"{_unusable(config, 'name another one')}"
            )
        return _Check(is_multi_kueue=True, problem=problem)


def _unusable(found: Unreadable | None, else_: str) -> str:
    if found is None:
        return f"does not exist: create it, or {else_}"
    return f"cannot be used ({found.why}): correct it, or {else_}"


def _names(queue: ManagerQueue, flavors: Collection[str]) -> Iterator[str]:
    for rule in queue.checks:
        if not rule.on_flavors or not set(flavors).isdisjoint(rule.on_flavors):
            yield rule.name
