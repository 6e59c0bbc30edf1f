"""NodeGPUReports on a control plane, as the agents of its nodes write them, and what changes in them."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from bench import machines, nodes
from kueue_dqo.api.gpu import GPU, INVENTORY_MANAGER, DeviceCount, GPUInventory, UnhealthyDevice
from kueue_dqo.api.meta import time_text
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS, NODES
from providers.nvidia_gpu.agent.report import inventory_body

HEARTBEAT: Final = 300
"""Seconds, as shipped."""
_AT_ONCE: Final = 32
_LOST_OF: Final = 50
"""One node of so many begins with a lost GPU."""
_SINCE: Final = "2026-09-20T10:00:00Z"
_BOOT: Final = "5d5e0f6c-1f0b-4c5e-9d0a-8a1f2f3c4b5a"


class _Metadata(msgspec.Struct):
    name: str
    uid: str


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Page(msgspec.Struct):
    items: list[_Node]


class Reports:
    """One for each node. A node has all its GPUs, or one of them is lost."""

    def __init__(self, there: nodes.Nodes) -> None:
        self._nodes = there
        self._uids: dict[str, str] = {}
        self._lost = {machine.name for number, machine in enumerate(there.machines) if number % _LOST_OF == 0}
        self._next = 0

    async def create(self, client: Client) -> None:
        """All of them, for nodes that are there."""
        async for page in client.pages(NODES.path()):
            items = msgspec.json.decode(page, type=_Page).items
            self._uids |= {node.metadata.name: node.metadata.uid for node in items}
        await self._each(client, len(self._nodes.machines), None, self._write)

    async def mean_size(self, client: Client) -> float:
        """Bytes of a report in a list."""
        page = await client.get(NODE_GPU_REPORTS.path(), params={"limit": "100"})
        return len(page) / min(100, len(self._uids))

    def expected(self) -> machines.Pairs:
        """What the status should say."""
        pairs = {f"{machine.pool.flavor}/{GPU}": 0 for machine in self._nodes.machines}
        for machine in self._nodes.machines:
            if machine.counts:
                pairs[f"{machine.pool.flavor}/{GPU}"] += self._healthy(machine)
        return pairs

    async def renew(self, client: Client, *, count: int | None = None, per_second: float | None = None) -> None:
        """A heartbeat of every node, as fast as it goes; or so many, of every node in turn, at that pace."""
        await self._each(client, count or len(self._nodes.machines), per_second, self._write)

    async def flip(self, client: Client, *, count: int, per_second: float) -> None:
        """So many changes, of every node in turn: a GPU that was healthy is lost, and one that was lost is back."""

        async def change(client: Client, machine: nodes.Machine) -> None:
            self._lost ^= {machine.name}
            await self._write(client, machine)

        await self._each(client, count, per_second, change)

    async def _each(
        self,
        client: Client,
        count: int,
        per_second: float | None,
        work: Callable[[Client, nodes.Machine], Awaitable[None]],
    ) -> None:
        loop = asyncio.get_running_loop()
        began, begun = loop.time(), 0

        async def send() -> None:
            nonlocal begun
            while begun < count:
                machine = self._nodes.machines[self._next % len(self._nodes.machines)]
                begun += 1
                self._next += 1
                if per_second:
                    await asyncio.sleep(max(0.0, began + begun / per_second - loop.time()))
                await work(client, machine)

        await asyncio.gather(*(send() for _ in range(_AT_ONCE)))

    async def _write(self, client: Client, machine: nodes.Machine) -> None:
        body = inventory_body(machine.name, self._uids[machine.name], self._inventory(machine))
        path = NODE_GPU_REPORTS.path(machine.name)
        await client.apply(path, body, field_manager=INVENTORY_MANAGER, force=True, timeout=30)

    def _healthy(self, machine: nodes.Machine) -> int:
        return machine.pool.gpus - (machine.name in self._lost)

    def _inventory(self, machine: nodes.Machine) -> GPUInventory:
        healthy = self._healthy(machine)
        unhealthy = machine.pool.gpus - healthy
        uuid = f"GPU-{self._uids[machine.name]}"
        return GPUInventory(
            renew_time=time_text(datetime.datetime.now(datetime.UTC)),
            heartbeat_seconds=HEARTBEAT,
            boot_id=_BOOT,
            driver_version="570.172.08",
            product=f"NVIDIA {machine.pool.flavor.upper()} 80GB HBM3",
            gpus=healthy,
            devices=(DeviceCount(GPU, healthy, unhealthy),),
            unhealthy=(UnhealthyDevice("Lost", _SINCE, uuid),) * unhealthy,
        )
