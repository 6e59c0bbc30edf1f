"""Keeps the report of the node as it should be: on change, as a heartbeat, and again where a write has failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, Final, Protocol

import msgspec
import structlog

from kueue_dqo.api.gpu import PROBLEM_MANAGER, AgentProblem, GPUInventory, NodeGPUReport, NodeGPUReportSpec
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, Forbidden, NotFound
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from providers.nvidia_gpu.agent.metrics import SUCCESS, AgentMetrics
from providers.nvidia_gpu.agent.node_identity import Identity
from providers.nvidia_gpu.agent.parts import LAST_WORDS
from providers.nvidia_gpu.agent.pending import Pending
from providers.nvidia_gpu.agent.persistence import Persistence

_REPEATED: Final = 8
"""Failures one after another by which the agent is not ready any more: half a minute, as waits between them grow."""
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
        last_words: float = LAST_WORDS,
    ) -> None:
        """Times are in seconds. A `heartbeat`, and a tenth more or less of it, passes between two renewals.

        `last_words`: how long a write may still take when the process ends. `identify` is asked again at each heartbeat
        and where a write is forbidden: a Node may be deleted and registered anew, with another uid. `resume` is called
        once, with what the report said before this process wrote anything.
        """
        self._client = client
        self._identify = identify
        self._resume = resume
        self._clock = clock
        self._metrics = metrics
        self._persistence = Persistence(random)
        self._last_words = last_words
        self._identity: Identity | None = None
        self._is_doubted = False
        """Whether a write was forbidden since who this is was asked."""
        self._pending = Pending(heartbeat=heartbeat, random=random)
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._has_ended = False
        """Whether the process is about to end, and has said what it had to."""

    def say(self, inventory: GPUInventory) -> None:
        """NVML was read."""
        self._pending.want(inventory)
        self._heed()

    def say_problem(self, problem: AgentProblem) -> None:
        """NVML cannot be read: the last inventory stands, and is renewed no more."""
        self._pending.want_problem(problem)
        self._heed()

    async def settled(self, *, limit: float) -> bool:
        """Whether the report says all that it should, within so many seconds; a pause after a failure is cut short.

        The process ends afterwards: it is not waited for once more.
        """
        self._has_ended = True
        self._persistence.hurry()
        try:
            async with asyncio.timeout(limit):
                await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def problems(self) -> list[str]:
        """Why the agent is not ready."""
        failure, failures = self._persistence.failure, self._persistence.failures
        if self._pending.has_written and failures < _REPEATED:
            return []
        if self._pending.has_written:
            return [f"the report is not up to date, {failures} tries have failed: {failure}"]
        return ["the report was not written yet" + (f": {failure}" if failure else "")]

    async def run(self) -> None:
        """Writes until it is cancelled, and then what was said last. Raises ConfigurationError of `identify`."""
        working = asyncio.create_task(self._work())
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            if self._pending.is_known and not self._has_ended:
                await self.settled(limit=self._last_words)
            raise
        finally:
            working.cancel()
            await asyncio.wait({working})

    async def _work(self) -> None:
        await self._persistence.retried(self._ask_who_it_is)
        identity = self._known_identity()
        before = await self._persistence.retried(self._read)
        self._pending.begin(before)
        _log.info("report is kept", node=identity.node, owned=identity.uid is not None)
        self._resume(before)
        while True:
            await self._until_due()
            self._settled.clear()
            await self._persistence.retried(self._write)

    async def _ask_who_it_is(self) -> None:
        """Raises ApiError, and ConfigurationError."""
        before, self._identity = self._identity, await self._identify()
        self._is_doubted = False
        if before == self._identity:
            return
        if self._identity.uid is None:
            _log.warning(
                "token is bound to no node, the report will have no owner and stay when its node is deleted",
                node=self._identity.node,
            )
        if before is not None:
            self._pending.is_owned = False
            _log.warning(
                "token names another Node, the report is given to that",
                node=self._identity.node,
                uid=self._identity.uid,
                before=before.uid,
            )

    def _heed(self) -> None:
        if self._pending.differs():
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

    async def _until_due(self) -> None:
        while not self._pending.differs():
            if self._pending.is_known:
                self._settled.set()
            now, due = self._clock.monotonic(), self._pending.due
            if self._pending.is_due(now):
                return
            self._news.clear()
            try:
                async with asyncio.timeout(None if due is None else max(due - now, _LEAST_WAIT)):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _write(self) -> None:
        """One write, of the newest state."""
        if self._is_doubted or self._pending.is_due(self._clock.monotonic()):
            await self._ask_who_it_is()
        apply = self._pending.next(self._known_identity(), self._clock.monotonic())
        await self._apply(apply.body, manager=apply.manager)
        self._pending.done(apply, self._clock.monotonic())

    async def _apply(self, body: Mapping[str, Any], *, manager: str) -> None:
        path = NODE_GPU_REPORTS.path(self._known_identity().node)
        try:
            await self._client.apply(path, body, field_manager=manager, force=True)
        except ApiError as error:
            self._metrics.writes.labels(type(error).__name__).inc()
            self._is_doubted = self._is_doubted or isinstance(error, Forbidden)
            raise
        self._metrics.writes.labels(SUCCESS).inc()
        self._metrics.last_write.set(self._clock.now().timestamp())

    def _known_identity(self) -> Identity:
        assert self._identity is not None  # noqa: S101 - it is asked for first
        return self._identity
