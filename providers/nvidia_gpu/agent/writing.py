"""Keeps the report of the node as it should be: on change, as a heartbeat, and again where a write has failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import structlog

from kueue_dqo.api.gpu import (
    INVENTORY_MANAGER,
    PROBLEM_MANAGER,
    AgentProblem,
    GPUInventory,
    NodeGPUReport,
    NodeGPUReportSpec,
)
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, NotFound
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from providers.nvidia_gpu.agent.metrics import SUCCESS, AgentMetrics
from providers.nvidia_gpu.agent.node_identity import Identity
from providers.nvidia_gpu.agent.persistence import Persistence
from providers.nvidia_gpu.agent.report import fitted, fitted_problem, inventory_body, problem_body, same

_JITTER: Final = 0.1
_LEAST_WAIT: Final = 0.001
"""Seconds; finer than that, a clock may not get on."""

_log = structlog.get_logger(__name__)


class ReportClient(Protocol):
    """As much of a client as this needs: the agent has no right to read."""

    async def apply(self, path: str, body: Mapping[str, Any], /, *, field_manager: str, force: bool) -> bytes:
        """Server-side apply. Raises ApiError."""
        ...

    async def merge_patch(self, path: str, body: Mapping[str, Any], /, *, field_manager: str) -> bytes:
        """PATCH by RFC 7386. Raises ApiError."""
        ...


class _Wanted(NamedTuple):
    """What the report should say. With a problem, the inventory is left as it is."""

    inventory: GPUInventory | None
    problem: AgentProblem | None


class ReportWriter:
    """One write at a time, and always of the newest state: what was to be written in between is dropped.

    Another agent on the same node is overwritten, and overwrites: the last one to write has its way.
    """

    def __init__(  # noqa: PLR0913 - the parts of a process, by keyword
        self,
        client: ReportClient,
        *,
        identify: Callable[[], Awaitable[Identity]],
        resume: Callable[[NodeGPUReportSpec], None],
        heartbeat: float,
        clock: Clock,
        random: Random,
        metrics: AgentMetrics,
    ) -> None:
        """`heartbeat` is in seconds, and a tenth more or less of it passes between two renewals.

        `resume` is called once, with what the report said before this process wrote anything.
        """
        self._client = client
        self._identify = identify
        self._resume = resume
        self._heartbeat = heartbeat
        self._clock = clock
        self._random = random
        self._metrics = metrics
        self._persistence = Persistence(random)
        self._identity: Identity | None = None
        self._wanted: _Wanted | None = None
        """As it was said last; None while nothing is known."""
        self._inventory: GPUInventory | None = None
        """As it was written last by this process, and nothing since."""
        self._stands: GPUInventory | None = None
        """As it stands in the report, cut to its size."""
        self._problem: AgentProblem | None = None
        """As it stands in the report, as far as is known."""
        self._has_written = False
        self._due: float | None = None
        self._news = asyncio.Event()
        self._settled = asyncio.Event()

    def say(self, inventory: GPUInventory) -> None:
        """NVML was read."""
        self._want(_Wanted(inventory, None))

    def say_problem(self, problem: AgentProblem) -> None:
        """NVML cannot be read: the last inventory stands, and is renewed no more."""
        inventory = self._wanted.inventory if self._wanted is not None else None
        self._want(_Wanted(inventory, problem))

    async def settled(self, *, limit: float) -> bool:
        """Whether the report says all that it should, within so many seconds; a pause after a failure is cut short."""
        self._persistence.hurry()
        try:
            async with asyncio.timeout(limit):
                await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def problems(self) -> list[str]:
        """Why the agent is not ready."""
        if self._has_written:
            return []
        failure = self._persistence.failure
        return ["the report was not written yet" + (f": {failure}" if failure else "")]

    async def run(self) -> None:
        """Writes until it is cancelled. Raises ConfigurationError where nobody says which node this is."""
        self._identity = await self._persistence.retried(self._identify)
        before = await self._persistence.retried(self._read)
        self._problem, self._stands = before.problem, before.inventory
        _log.info("report is kept", node=self._identity.node, owned=self._identity.uid is not None)
        self._resume(before)
        while True:
            await self._until_due()
            await self._persistence.retried(self._write)

    def _want(self, wanted: _Wanted) -> None:
        self._wanted = wanted
        if self._differs():
            self._settled.clear()
            self._news.set()

    async def _read(self) -> NodeGPUReportSpec:
        """What the report says now. The answer to a patch is the whole object; this one changes nothing of it."""
        identity = self._known_identity()
        path = NODE_GPU_REPORTS.path(identity.node)
        try:
            answer = await self._client.merge_patch(path, {}, field_manager=PROBLEM_MANAGER)
        except NotFound:
            return NodeGPUReportSpec()
        try:
            return msgspec.json.decode(answer, type=NodeGPUReport).spec
        except msgspec.DecodeError as error:
            _log.warning("last report cannot be read, it is written anew", node=identity.node, error=str(error))
            return NodeGPUReportSpec()

    def _differs(self) -> bool:
        """Whether the report says something else than it should."""
        if self._wanted is None:
            return False
        if not self._has_written:
            return True
        if self._wanted.problem is not None:
            return self._wanted.problem != self._problem
        return self._problem is not None or not same(self._wanted.inventory, self._inventory)

    async def _until_due(self) -> None:
        while not self._differs():
            if self._wanted is not None:
                self._settled.set()
            now = self._clock.monotonic()
            if self._due is not None and now >= self._due:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(None if self._due is None else max(self._due - now, _LEAST_WAIT)):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _write(self) -> None:
        """One write, of the newest state. An inventory is renewed before its problem is taken away."""
        node, uid = self._known_identity()
        wanted = self._wanted
        assert wanted is not None  # noqa: S101 - nothing is due before
        if wanted.problem is not None:
            await self._write_problem(wanted.problem, node, uid)
        elif wanted.inventory is not None and (self._is_due() or not same(wanted.inventory, self._inventory)):
            # A problem that stands is taken away only afterwards.
            await self._write_inventory(fitted(wanted.inventory, node=node, problem=self._problem), node, uid)
            self._inventory = wanted.inventory
        else:
            await self._apply(problem_body(node, None), manager=PROBLEM_MANAGER)
            self._problem = None
            return  # no heartbeat
        self._due = self._clock.monotonic() + self._heartbeat * self._next_share()
        self._has_written = True

    async def _write_problem(self, problem: AgentProblem, node: str, uid: str | None) -> None:
        fitting = fitted_problem(problem, node=node)
        if self._stands is not None:
            shorter = fitted(self._stands, node=node, problem=fitting)
            if shorter != self._stands:  # what is listed there leaves no room for it
                await self._write_inventory(shorter, node, uid)
        await self._apply(problem_body(node, fitting), manager=PROBLEM_MANAGER)
        self._problem = problem
        self._inventory = None  # it is to be renewed before the problem ends, whatever it says

    async def _write_inventory(self, inventory: GPUInventory, node: str, uid: str | None) -> None:
        await self._apply(inventory_body(node, uid, inventory), manager=INVENTORY_MANAGER)
        self._stands = inventory

    def _is_due(self) -> bool:
        return self._due is not None and self._clock.monotonic() >= self._due

    def _next_share(self) -> float:
        """Of a heartbeat. The first comes at any time: a DaemonSet starts its agents everywhere in the same moment."""
        return self._random.uniform(1 - _JITTER, 1 + _JITTER) if self._has_written else self._random.uniform(0, 1)

    async def _apply(self, body: Mapping[str, Any], *, manager: str) -> None:
        path = NODE_GPU_REPORTS.path(self._known_identity().node)
        try:
            await self._client.apply(path, body, field_manager=manager, force=True)
        except ApiError as error:
            self._metrics.writes.labels(type(error).__name__).inc()
            raise
        self._metrics.writes.labels(SUCCESS).inc()
        self._metrics.last_write.set(self._clock.now().timestamp())

    def _known_identity(self) -> Identity:
        assert self._identity is not None  # noqa: S101 - it is asked for first
        return self._identity
