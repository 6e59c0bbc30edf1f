"""As much of an API server as an agent meets, and what the agent would say to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kueue_dqo.api.gpu import INVENTORY_MANAGER, PROBLEM_MANAGER, AgentProblem, DeviceCount, GPUInventory
from kueue_dqo.runtime.errors import NotFound
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS

Plain = dict[str, Any]
NODE = "gpu-1"
UID = "8e9e4a4c-6f0a-4a55-9d7c-0d0f3c1f9a11"
PATH = NODE_GPU_REPORTS.path(NODE)
PARTS = {INVENTORY_MANAGER: "inventory", PROBLEM_MANAGER: "problem"}


class Write(NamedTuple):
    """An apply that landed: which part it set, or took away, and when."""

    part: str
    value: Plain | None
    at: float


class Reports:
    """The report of one node. `before` may raise what a request ends in, or change something."""

    def __init__(self) -> None:
        self.spec: Plain | None = None
        """Of the report; None where there is none."""
        self.bodies: list[Plain] = []
        self.writes: list[Write] = []
        self.reads = 0
        self.tries: list[float] = []
        self.before: Callable[[], None] = lambda: None

    async def merge_patch(self, path: str, body: Mapping[str, Any], /, *, field_manager: str) -> bytes:
        assert (path, body, field_manager) == (PATH, {}, PROBLEM_MANAGER)
        await self._request()
        self.reads += 1
        if self.spec is None:
            raise NotFound(method="PATCH", path=path, code=404, reason="NotFound")
        return json.dumps({"metadata": {"name": NODE}, "spec": self.spec}).encode()

    async def apply(self, path: str, body: Mapping[str, Any], /, *, field_manager: str, force: bool) -> bytes:
        assert (path, force) == (PATH, True)
        await self._request()
        sent: Plain = json.loads(json.dumps(body))
        self.bodies.append(sent)
        part = PARTS[field_manager]
        value = sent.get("spec", {}).get(part)
        assert not sent.get("spec", {}).keys() - {part}
        self.spec = {key: each for key, each in (self.spec or {}).items() if key != part}
        if value is not None:
            self.spec[part] = value
        self.writes.append(Write(part, value, asyncio.get_running_loop().time()))
        return b"{}"

    async def _request(self) -> None:
        self.tries.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.01)
        self.before()

    def written(self) -> list[tuple[str, Any]]:
        """Each write: how many GPUs an inventory counts, why there is a problem, None for one that is taken away."""
        key = {"inventory": "gpus", "problem": "reason"}
        return [(part, value and value.get(key[part], 0)) for part, value, _ in self.writes]


def inventory(gpus: int, *, renewed: str = "2026-01-01T00:00:00Z") -> GPUInventory:
    """Of a node with so many GPUs, all of them healthy."""
    devices = (DeviceCount("nvidia.com/gpu", gpus),)
    return GPUInventory(renew_time=renewed, heartbeat_seconds=300, gpus=gpus, devices=devices)


def problem(reason: str = "LibraryNotFound", since: str = "2026-01-01T00:00:00Z") -> AgentProblem:
    """Why NVML cannot be read."""
    return AgentProblem(reason, f"{reason} it is", since)
