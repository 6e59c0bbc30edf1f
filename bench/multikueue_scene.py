"""A manager of MultiKueue, and many workers whose API servers are one with as many endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench import cluster, machines, multikueue_endpoints
from bench import multikueue_objects as made
from bench.multikueue_endpoints import Endpoints
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, CLUSTER_QUEUES, LOCAL_QUEUES
from tests.controlplane.plane import ControlPlane
from tests.integration import objects
from tests.integration.daemons import install
from tests.integration.multikueue import fleet
from tests.integration.multikueue.worker import READER, Worker

BARE: Final = "f00"
"""An endpoint that no MultiKueueConfig names, with one queue."""
FLOOR: Final = "floor"
"""A CapacityProvider that no daemon serves."""
_GROUPS: Final = ("g00", "g01", "g02")
"""A MultiKueueConfig has 20 clusters at most, so that it takes three, each with an AdmissionCheck and a queue."""
_TOKEN_SECONDS: Final = 4 * 3600


class Scene:
    """Both control planes with all that is on them."""

    def __init__(
        self, manager: ControlPlane, plane: ControlPlane, endpoints: Endpoints, workers: Sequence[str], queues: int
    ) -> None:
        """`plane`: of the workers, which have so many queues each."""
        self.manager = manager
        self.plane = plane
        self.endpoints = endpoints
        self.workers = workers
        self.queues = queues
        self.capacity: machines.Pairs = made.capacity(len(workers) * queues)
        """What the status has to say."""
        self.installed = install(manager, "base/namespace", "base/multikueue")
        install(plane, READER)
        self._reader = Worker("worker", plane)
        self._token = plane.token_of(self._reader.namespace, self._reader.account, seconds=_TOKEN_SECONDS)

    @property
    def objects(self) -> int:
        """Queues and LocalQueues that the daemon reads of the workers."""
        return 2 * self.queues * len(self.workers)

    def create(self) -> None:
        """All objects, and a file that leads the floor to the workers."""
        cluster.run(self.plane, self._create_workers)
        admin = self.manager.admin
        flavors = dict.fromkeys(made.MAPPING.values())
        admin.apply(*map(objects.flavor, flavors), objects.cohort(made.FLEET), made.parameters())
        admin.apply(objects.provider(FLOOR, *flavors))
        for group in _GROUPS:
            members = [worker for worker in self.workers if _group_of(worker) == group]
            admin.apply(made.namespace(group), *made.dispatched(group, members))
        cluster.run(self.manager, self._create_local_queues)
        for worker in self.workers:
            admin.apply(fleet.cluster(worker), fleet.secret(worker, self._kubeconfig(worker)))
        where = {
            "workers": [self.endpoints.urls[worker] for worker in self.workers],
            "ca": str(self.plane.ca),
            "token": self._token,
            "flavors": made.MAPPING,
        }
        self._write(self.where, json.dumps(where))
        self._write(self.bare, self._kubeconfig(BARE))
        asyncio.run(self._warm())

    @property
    def where(self) -> Path:
        """The file for the floor's process."""
        return self.manager.folder / "where.json"

    @property
    def bare(self) -> Path:
        """A kubeconfig that leads to the bare endpoint."""
        return self.manager.folder / "bare.kubeconfig"

    async def recreate(self, client: Client) -> str:
        """A CapacityProvider that nobody has written to yet; returns its resourceVersion."""
        if any(each["metadata"]["name"] == made.FLEET for each in self.manager.admin.items(CAPACITY_PROVIDERS.path())):
            await client.delete(CAPACITY_PROVIDERS.path(made.FLEET))
        created = await client.create(CAPACITY_PROVIDERS.path(), json.dumps(made.capacity_provider()).encode())
        return str(json.loads(created)["metadata"]["resourceVersion"])

    async def mean_size(self, client: Client) -> float:
        """Bytes of a worker's queue in a list."""
        return len(await client.get(CLUSTER_QUEUES.path(), params={"limit": "20"})) / 20

    def _kubeconfig(self, worker: str) -> str:
        return self._reader.kubeconfig(server=self.endpoints.urls[worker], user={"token": self._token})

    async def _create_workers(self, client: Client) -> None:
        for worker in self.workers:
            await made.create_worker(client, self.plane, worker, self.queues)
        await made.create_worker(client, self.plane, BARE, 1)

    async def _create_local_queues(self, client: Client) -> None:
        async def create(group: str, number: int) -> None:
            body = json.dumps(made.leads(number, group, group)).encode()
            await client.create(LOCAL_QUEUES.path(namespace=group), body, timeout=60)

        for group in _GROUPS:
            await made.at_once(range(self.queues), functools.partial(create, group))

    async def _warm(self) -> None:
        """The proxy has read everything."""
        async with await Client.connect(kubeconfig=str(self.bare)) as client:
            for resource in (CLUSTER_QUEUES, LOCAL_QUEUES):
                await client.get(resource.path(), timeout=300)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def full(workers: int, queues: int) -> Iterator[Scene]:
    """So many workers with so many queues each."""
    names = [f"w{number:02}" for number in range(workers)]
    namespaces = {name: _group_of(name) for name in names} | {BARE: BARE}
    with (
        cluster.control_plane(audit=True) as manager,
        cluster.control_plane() as plane,
        multikueue_endpoints.serving(plane, namespaces) as endpoints,
    ):
        scene = Scene(manager, plane, endpoints, names, queues)
        scene.create()
        yield scene


def _group_of(worker: str) -> str:
    return _GROUPS[int(worker[1:]) % len(_GROUPS)]
