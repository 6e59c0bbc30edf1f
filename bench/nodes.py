"""Nodes on a control plane, their heartbeats, and the processes that look at them."""

from __future__ import annotations

import asyncio
import datetime
import json
import random
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench import cluster, machines
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, NODES, RESOURCE_FLAVORS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port
from tests.integration.objects import flavor, provider

PROVIDER: Final = "nodes"
CONTROLLER: Final = "kueue-dqo.dev/node-inventory"
_RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
_IMAGES: Final = 46
"""With what the API server adds of its own, a node has 15 kB on the wire."""
_AT_ONCE: Final = 32
_FIRST_BEAT: Final = datetime.datetime(2026, 9, 20, 10, 0, tzinfo=datetime.UTC)
_NOT_READY_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
"""Every new node gets this taint; the controller that takes it away does not run here."""


class Machine(NamedTuple):
    """What of a node is in its heartbeat."""

    name: str
    is_ready: bool


class Nodes:
    """The nodes of a control plane, and what those that count have together."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self.capacity: machines.Pairs = {
            f"{pool.flavor}/{resource}": 0 for pool in machines.POOLS for resource in _RESOURCES
        }
        self._chance = random.Random(2026)
        self._beats = 0

    async def create_flavors(self, client: Client) -> None:
        for pool in machines.POOLS:
            spec = machines.flavor_spec(pool)
            spec["tolerations"] = [*spec.get("tolerations", ()), _NOT_READY_TAINT]
            await client.create(RESOURCE_FLAVORS.path(), json.dumps(flavor(pool.flavor) | {"spec": spec}).encode())

    async def grow(self, client: Client, count: int) -> None:
        """Creates nodes until there are so many."""

        async def create() -> None:
            while len(self.machines) < count:
                node = machines.node(len(self.machines), self._chance, self.capacity, images=_IMAGES)
                ready = any(each["status"] == "True" for each in node["status"]["conditions"])
                del node["metadata"]["resourceVersion"]
                self.machines.append(Machine(node["metadata"]["name"], ready))
                await client.create(NODES.path(), json.dumps(node).encode(), timeout=30)

        await asyncio.gather(*(create() for _ in range(_AT_ONCE)))

    async def mean_size(self, client: Client) -> float:
        """Bytes of a node in a list."""
        page = await client.get(NODES.path(), params={"limit": "100"})
        return len(page) / min(100, len(self.machines))

    def expected(self) -> machines.Pairs:
        """What the status should say; a pool without devices lists none."""
        return {pair: units for pair, units in self.capacity.items() if units}

    async def beat(self, client: Client, *, per_minute: float | None = None, at_most: int | None = None) -> None:
        """A heartbeat of every node, which changes nothing else; as fast as it goes, or at that pace.

        With `at_most`, so many heartbeats, of every node in turn.
        """
        loop = asyncio.get_running_loop()
        began, begun = loop.time(), 0
        total = at_most or len(self.machines)

        async def send() -> None:
            nonlocal begun
            while begun < total:
                machine = self.machines[begun % len(self.machines)]
                begun += 1
                self._beats += 1
                time = (_FIRST_BEAT + datetime.timedelta(seconds=self._beats)).strftime("%Y-%m-%dT%H:%M:%SZ")
                if per_minute:
                    await asyncio.sleep(max(0.0, began + begun * 60 / per_minute - loop.time()))
                body = {"status": {"conditions": machines.conditions(ready=machine.is_ready, heartbeat=time)}}
                path = NODES.path(machine.name, subresource="status")
                await client.merge_patch(path, body, field_manager="kubelet", timeout=30)

        await asyncio.gather(*(send() for _ in range(_AT_ONCE)))


async def recreate_provider(client: Client, plane: ControlPlane) -> str:
    """A CapacityProvider that nobody has written to yet; returns its resourceVersion."""
    if any(each["metadata"]["name"] == PROVIDER for each in plane.admin.items(CAPACITY_PROVIDERS.path())):
        await client.delete(CAPACITY_PROVIDERS.path(PROVIDER))
    names = [pool.flavor for pool in machines.POOLS]
    body = json.dumps(provider(PROVIDER, *names, controller=CONTROLLER)).encode()
    created = json.loads(await client.create(CAPACITY_PROVIDERS.path(), body))
    return str(created["metadata"]["resourceVersion"])


async def changes(client: Client, version: str, on_open: Callable[[], None]) -> AsyncGenerator[dict[str, Any], None]:
    """The CapacityProviders as they change after that version."""
    params = {"watch": "true", "resourceVersion": version}
    async for line in client.lines(CAPACITY_PROVIDERS.path(), params=params, inactivity=600, on_open=on_open):
        yield json.loads(line)["object"]


def is_synchronized(obj: dict[str, Any]) -> bool:
    return any(each["status"] == "True" for each in obj.get("status", {}).get("conditions") or [])


def command(side: str, *arguments: str | Path) -> Sequence[str | Path]:
    """A process of `bench.processes.node_inventory`."""
    return [sys.executable, "-m", "bench.processes.node_inventory", side, *arguments]


class Inventory(cluster.Served):
    """`dqo provider node-inventory` as a process, which says when its imports are over."""

    def __init__(self, plane: ControlPlane, *more: str) -> None:
        port = free_port()
        where = ("--kubeconfig", str(plane.kubeconfig()), "--namespace", "default", "--listen", f"{LOOPBACK}:{port}")
        log = cluster.log_of(plane, "node-inventory")
        log.unlink(missing_ok=True)
        super().__init__(command("daemon", *where, *more), log, port)

    def beginning(self) -> dict[str, float]:
        """The clock and its CPU time when its imports were over."""
        first: dict[str, float] = json.loads(self.log.read_text().splitlines()[0])
        return first
