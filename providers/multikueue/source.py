"""The worker clusters of MultiKueue as a daemon on their manager reads them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.kueue import MultiKueueCluster
from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER, Counts, MultiKueueParametersSpec
from kueue_dqo.provider import (
    CapacityController,
    CapacityError,
    Environment,
    Notice,
    Observation,
    ParametersKind,
    Request,
    Source,
    SourceUnavailable,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import (
    CAPACITY_PROVIDERS,
    COHORTS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    MULTIKUEUE_PARAMETERS,
    Resource,
)
from providers.multikueue.counting import count
from providers.multikueue.decoding import ACTIVE
from providers.multikueue.fleet import observe
from providers.multikueue.kinds import ALWAYS
from providers.multikueue.manager_watch import ManagerWatch
from providers.multikueue.mapping import FlavorMap
from providers.multikueue.memory import Memory
from providers.multikueue.metrics import FleetMetrics
from providers.multikueue.objects import ManagerQueue, Problem, Unreadable, WorkerCount, WorkerProblem, WorkerView
from providers.multikueue.relations import related
from providers.multikueue.settings import SETTINGS
from providers.multikueue.twins import refuse_twins
from providers.multikueue.workers import Workers

KUBECONFIG_NOT_FOLLOWED: Final = "KubeconfigNotFollowed"
"""Reason of an Event: another kubeconfig of a worker would not be noticed."""


class _Pair(NamedTuple):
    provider: str
    worker: str


class _Counted(NamedTuple):
    """What a worker came to for one CapacityProvider, and of what that holds."""

    stamp: tuple[int, int]
    reached: frozenset[str]
    parameters: MultiKueueParametersSpec
    result: WorkerCount | str


class MultiKueue(Source[MultiKueueParametersSpec]):
    """The source. It follows the workers that some CapacityProvider asks for, and no others."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._metrics = FleetMetrics(environment.registry)
        self._manager = ManagerWatch(environment, on_cluster=self._place, look=environment.look)
        self._workers = Workers(environment)
        self._memory = Memory()
        self._needs: dict[str, Mapping[str, AbstractSet[Resource]]] = {}
        """What each CapacityProvider that was asked about needs of each of its workers."""
        self._counted: dict[_Pair, _Counted] = {}

    async def observe(self, request: Request[MultiKueueParametersSpec]) -> Observation:
        """Waits for what it has never read, but not for long."""
        name, spec = request.provider.metadata.name, request.parameters
        self._keep(self._needs.keys() & {peer.provider.metadata.name for peer in request.peers} | {name})
        self._memory.resume(request.provider, request.now)
        try:
            await self._manager.wait()
            flavors = FlavorMap.of(request.provider, spec)
            workers = related(self._manager.manager, request).workers
            needed = _needed(spec)
            self._need(name, dict.fromkeys(workers, needed))
            await self._workers.wait_read(workers, needed)
            if name not in self._needs:  # `forget` was called
                raise SourceUnavailable(f"nobody asks about CapacityProvider {name} any more")
            # The manager may have changed meanwhile: who is gone by now is asked about anew.
            seen = {
                cluster: self._seen(_Pair(name, cluster), reached, spec, needed) for cluster, reached in workers.items()
            }
            own = {queue.uid for queue in self._manager.manager.queues.values() if isinstance(queue, ManagerQueue)}
            refuse_twins(self._with_held(name, seen), own)
        except CapacityError as error:
            reminder = self._memory.reminder(name)
            raise type(error)(f"{error}; {reminder}" if reminder else str(error)) from error
        request = dataclasses.replace(request, now=self._environment.clock.now())  # the lists may have taken a while
        try:
            fleet = observe(request, flavors, seen, self._memory, workers)
        except CapacityError as error:
            error.look_again = self._memory.look_again(name, request.now)
            raise
        finally:
            self._metrics.states(name, self._memory.states(name))
        self._metrics.counted(name, fleet)
        unfollowed = self._workers.unfollowed(workers).items()
        notices = [Notice(KUBECONFIG_NOT_FOLLOWED, f"worker {cluster}: {why}") for cluster, why in unfollowed]
        return fleet.observation._replace(notices=(*fleet.observation.notices, *notices))

    def _with_held(self, provider: str, seen: Mapping[str, WorkerCount | Problem]) -> dict[str, WorkerCount | Problem]:
        """The same, with what was last read of those that cannot be read: it may count on."""
        states = self._memory.states(provider)
        return {
            cluster: (states[cluster].last if isinstance(each, Problem) and cluster in states else None) or each
            for cluster, each in seen.items()
        }

    async def run(self) -> None:
        """Follows the manager and its workers until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._manager.run(), name="watch of the manager")
            group.create_task(self._workers.run(), name="workers")

    def forget(self, provider: str) -> None:
        self._keep(self._needs.keys() - {provider})

    # --- who is there, and what they need ----------------------------------------------------------------------------

    def _keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        self._memory.keep(providers)
        self._metrics.keep(providers)
        if providers != self._needs.keys():
            self._needs = {name: self._needs.get(name, {}) for name in providers}
            self._needs_changed()

    def _need(self, provider: str, needs: Mapping[str, AbstractSet[Resource]]) -> None:
        """That is what it needs of each of its workers."""
        if needs != self._needs.get(provider):
            self._needs[provider] = needs
            self._needs_changed()

    def _needs_changed(self) -> None:
        self._counted = {
            pair: each for pair, each in self._counted.items() if pair.worker in self._needs.get(pair.provider, {})
        }
        self._place()

    def _place(self) -> None:
        """The workers that are needed are followed, each where it is at present."""
        wanted: dict[str, AbstractSet[Resource]] = {}
        for needs in self._needs.values():
            for cluster, resources in needs.items():
                wanted[cluster] = wanted.get(cluster, frozenset()) | resources
        clusters = self._manager.clusters
        self._workers.want(
            wanted,
            {name: found for name in wanted if isinstance(found := clusters.get(name), MultiKueueCluster)},
        )

    # --- what is seen ------------------------------------------------------------------------------------------------

    def _seen(
        self, pair: _Pair, reached: frozenset[str], spec: MultiKueueParametersSpec, needed: AbstractSet[Resource]
    ) -> WorkerCount | Problem:
        cluster, now = pair.worker, self._environment.clock.now()
        found = self._manager.clusters.get(cluster)
        if not isinstance(found, MultiKueueCluster):
            return Problem(_not_there(cluster, found), now)
        disconnected = _disconnected(found)
        if disconnected:
            return Problem(disconnected, now)
        seen, stamp = self._workers.sighting(cluster, needed)
        if isinstance(seen, Problem):
            return seen
        # A change of one worker is no reason to count all the others again.
        held = self._counted.get(pair)
        if held is None or held[:3] != (stamp, reached, spec):
            held = self._counted[pair] = _Counted(stamp, reached, spec, _count(seen, reached, spec))
        return Problem(held.result, now) if isinstance(held.result, str) else held.result


def _count(view: WorkerView, reached: frozenset[str], spec: MultiKueueParametersSpec) -> WorkerCount | str:
    """The count, or why there is none."""
    try:
        return count(view, reached, spec)
    except WorkerProblem as error:
        return str(error)


def _needed(spec: MultiKueueParametersSpec) -> AbstractSet[Resource]:
    match spec.counts:
        case Counts.QUOTA_IN_FORCE:
            return ALWAYS
        case Counts.QUOTA_AND_BORROWABLE:
            return ALWAYS | {COHORTS}
        case Counts.WORKER_PROVIDERS if spec.worker_providers:
            return ALWAYS | {CAPACITY_PROVIDERS}
        case Counts.WORKER_PROVIDERS:
            return ALWAYS | {COHORTS, CAPACITY_PROVIDERS, DYNAMIC_QUOTA_ORCHESTRATORS}


def _not_there(cluster: str, found: Unreadable | None) -> str:
    if found is None:
        return f"MultiKueueCluster {cluster} does not exist: create it, or take it out of the MultiKueueConfig"
    return f"MultiKueueCluster {cluster} cannot be read: {found.why}"


def _disconnected(cluster: MultiKueueCluster) -> str | None:
    """Why Kueue sends nothing there at present; None where it does, or has not said anything."""
    for condition in cluster.status.conditions:
        if condition.type == ACTIVE and condition.status == "False":
            return (
                f"Kueue is not connected to it ({condition.reason or 'no reason is given'}): "
                f"see the condition {ACTIVE} of MultiKueueCluster {cluster.metadata.name}"
            )
    return None


CONTROLLER: Final = CapacityController(
    name=MULTIKUEUE_CONTROLLER,
    open=MultiKueue,
    parameters=ParametersKind(MULTIKUEUE_PARAMETERS, MultiKueueParametersSpec),
    without_parameters=WithoutParameters.MISCONFIGURED,
    settings=SETTINGS,
)
