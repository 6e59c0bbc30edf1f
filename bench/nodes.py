"""Nodes on a control plane, and their heartbeats."""

from __future__ import annotations

import asyncio
import datetime
import json
import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from bench import machines
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import NODES, RESOURCE_FLAVORS
from tests.integration.objects import flavor

_RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
_IMAGES: Final = 46
"""With what the API server adds of its own, a node has 15 kB on the wire."""
_AT_ONCE: Final = 32
_FIRST_BEAT: Final = datetime.datetime(2026, 9, 20, 10, 0, tzinfo=datetime.UTC)
_NOT_READY_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
"""Every new node gets this taint; the controller that takes it away does not run here."""


class Machine(NamedTuple):
    """What of a node is in its heartbeat, and what of it counts."""

    name: str
    is_ready: bool
    pool: machines.Pool
    counts: bool
    """Whether pods of its flavor can run on it."""


class Nodes:
    """The nodes of a control plane, and what those that count have together."""

    def __init__(self, pools: Sequence[machines.Pool] = machines.POOLS) -> None:
        """`pools`: those that there are nodes of."""
        self.machines: list[Machine] = []
        self.capacity: machines.Pairs = {f"{pool.flavor}/{resource}": 0 for pool in pools for resource in _RESOURCES}
        self._pools = pools
        self._chance = random.Random(2026)
        self._beats = 0

    async def create_flavors(self, client: Client) -> None:
        for pool in self._pools:
            spec = machines.flavor_spec(pool)
            spec["tolerations"] = [*spec.get("tolerations", ()), _NOT_READY_TAINT]
            await client.create(RESOURCE_FLAVORS.path(), json.dumps(flavor(pool.flavor) | {"spec": spec}).encode())

    async def grow(self, client: Client, count: int) -> None:
        """Creates nodes until there are so many."""

        async def create() -> None:
            while len(self.machines) < count:
                number = len(self.machines)
                pool, before = self._pools[number % len(self._pools)], sum(self.capacity.values())
                node = machines.node(number, self._chance, self.capacity, pool=pool, images=_IMAGES)
                ready = any(each["status"] == "True" for each in node["status"]["conditions"])
                del node["metadata"]["resourceVersion"]
                counts = sum(self.capacity.values()) > before
                self.machines.append(Machine(node["metadata"]["name"], ready, pool, counts))
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
