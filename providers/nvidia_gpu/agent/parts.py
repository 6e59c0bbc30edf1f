"""What the loop of the agent needs of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeVar

from kueue_dqo.api.gpu import AgentProblem, GPUInventory
from providers.nvidia_gpu.agent.devices import Reading

T = TypeVar("T")

LAST_WORDS: Final = 5.0
"""Seconds that the last write has before the process ends."""


class Reader(Protocol):
    def read(self) -> Reading:
        """All GPUs; called in the worker's thread. Raises NodeUnreadable."""
        ...


class Caller(Protocol):
    """Who makes calls of the driver."""

    async def call(self, function: Callable[[], T], *, limit: float) -> T:
        """What it returns or raises, within so many seconds. Raises Hung."""
        ...


class Watch(Protocol):
    """Who waits for XIDs."""

    def follow(self, uuids: Iterable[str]) -> None:
        """These GPUs are there."""
        ...

    @property
    def silence(self) -> float:
        """For how many seconds it has been within one call of the driver."""
        ...


class Writer(Protocol):
    """Who keeps the report."""

    def say(self, inventory: GPUInventory) -> None:
        """NVML was read."""
        ...

    def say_problem(self, problem: AgentProblem) -> None:
        """NVML cannot be read."""
        ...

    async def settled(self, *, limit: float) -> bool:
        """Whether all that was said is written, within so many seconds."""
        ...
