"""The workers that some CapacityProvider needs: each followed by itself, so that a slow one delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from functools import partial

from kueue_dqo.api.kueue import MultiKueueCluster
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.resources import Resource
from providers.multikueue.locations import Locations
from providers.multikueue.objects import Problem
from providers.multikueue.requests import WorkerRequests
from providers.multikueue.worker import Sighting, Worker


class Workers:
    """The workers of a process. `environment.look` is called after a change of something that counts."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._requests = WorkerRequests(environment.registry)
        self._locations = Locations(environment, changed=self._relocated)
        self._workers: dict[str, Worker] = {}
        self._wants = asyncio.Event()

    def want(self, wanted: Mapping[str, AbstractSet[Resource]], clusters: Mapping[str, MultiKueueCluster]) -> None:
        """These are to be followed from now on, each with the resources that are wanted of it.

        Args:
            wanted: by the names of MultiKueueClusters.
            clusters: those of them that exist. One that is deleted is let go at once, and is another if it comes back.
        """
        there = wanted.keys() & clusters.keys()
        self._workers = {name: self._workers.get(name) or self._worker(name, wanted[name]) for name in there}
        for name, worker in self._workers.items():
            worker.want(wanted[name])
        self._locations.want({name: clusters[name] for name in there})
        self._wants.set()

    def sighting(self, name: str, needed: AbstractSet[Resource]) -> Sighting:
        """What is known of a worker, for somebody who needs these resources."""
        worker = self._workers.get(name)
        if worker is None:
            return Sighting(Problem("it is not followed any more", self._environment.clock.now()), (0, 0))
        return worker.sighting(needed)

    def unfollowed(self, names: Collection[str]) -> dict[str, str]:
        """Those whose kubeconfig may be an old one, since changes of it cannot be seen; and why."""
        found = {name: self._locations.unfollowed(name) for name in sorted(names)}
        return {name: why for name, why in found.items() if why is not None}

    async def wait_read(self, names: Collection[str], needed: AbstractSet[Resource]) -> None:
        """Returns when these have been read, or had the time for it since they are wanted."""
        found = [worker for name, worker in self._workers.items() if name in names]
        await asyncio.gather(*(worker.wait_read(needed) for worker in found))

    async def run(self) -> None:
        """Follows them until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._locations.run(), name="kubeconfigs of workers")
            tasks: dict[Worker, asyncio.Task[None]] = {}
            while True:
                self._wants.clear()
                there = set(self._workers.values())
                for worker in tasks.keys() - there:
                    tasks.pop(worker).cancel()
                for worker in there - tasks.keys():
                    tasks[worker] = task = group.create_task(worker.run(), name="worker")
                    task.add_done_callback(partial(self._ended, worker.name))
                await self._wants.wait()

    def _worker(self, name: str, wanted: AbstractSet[Resource]) -> Worker:
        return Worker(
            name,
            wanted,
            self._locations,
            self._environment,
            requests=self._requests,
            changed=self._environment.look,
        )

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        del task
        if name not in self._workers:
            self._requests.forget(name)

    def _relocated(self, name: str) -> None:
        if name in self._workers:
            self._workers[name].move()
            self._environment.look()
