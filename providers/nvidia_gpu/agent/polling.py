"""The loop of the agent: reads NVML, judges what it said, and has it written."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from typing import Final, NoReturn

import structlog

from kueue_dqo.api.gpu import AgentProblem, NodeGPUReportSpec
from kueue_dqo.api.meta import time_text
from kueue_dqo.runtime.clock import Clock
from providers.nvidia_gpu.agent.devices import (
    DRIVER_CALL_HUNG,
    NVML_ERROR,
    Device,
    NodeUnreadable,
    Reading,
    Xid,
    failed_otherwise,
)
from providers.nvidia_gpu.agent.health import Health
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from providers.nvidia_gpu.agent.parts import LAST_WORDS, Caller, Reader, Watch, Writer
from providers.nvidia_gpu.agent.sizes import DRIVER_VERSION_ROOM, cut
from providers.nvidia_gpu.agent.telling import tell_changes, tell_errors, tell_odd_uuids, tell_row_remaps
from providers.nvidia_gpu.agent.watchdog import Hung, end_at_once

_LEAST_PAUSE: Final = 1.0
"""Seconds between two polls that XIDs asked for, however many there are."""
_MARGIN: Final = 5.0
_DRIVER_CHANGED: Final = "VersionMismatch"
_EXIT_FAILED: Final = 1

_log = structlog.get_logger(__name__)


class MustRestart(Exception):
    """Only another process can read NVML. It is in the log and, where the API server took it, in the report."""


class Poller:
    """Polls at an interval, and at once after an XID that counts, or that says that a reading may have changed."""

    def __init__(  # noqa: PLR0913 - the parts of a process, by keyword
        self,
        reader: Reader,
        *,
        worker: Caller,
        health: Health,
        writer: Writer,
        watch: Watch,
        clock: Clock,
        metrics: AgentMetrics,
        interval: float,
        limit: float,
        heartbeat: float,
        end: Callable[[int], NoReturn] = end_at_once,
    ) -> None:
        """Times are in seconds. `limit`: of one reading; after it, `end` ends the process."""
        self._reader = reader
        self._worker = worker
        self._health = health
        self._writer = writer
        self._watch = watch
        self._clock = clock
        self._metrics = metrics
        self._interval = interval
        self._limit = limit
        self._heartbeat = datetime.timedelta(seconds=heartbeat)
        self._end = end
        self._is_resumed = False
        self._unjudged: list[tuple[Reading, datetime.datetime]] = []
        """What was read before the last report is known: first, and last; since when, where it did not change."""
        self._problem: AgentProblem | None = None
        self._earlier: AgentProblem | None = None
        """What stood in the report when the process began."""
        self._driver_version: str | None = None
        self._devices: tuple[Device, ...] = ()
        """As they were read last."""
        self._ended_at: float | None = None
        self._is_watch_silent = False
        self._news = asyncio.Event()
        self._xids = set[Xid]()
        """What the log has told: one that comes a thousand times is told once."""

    def resume(self, before: NodeGPUReportSpec) -> None:
        """What the report said last. Before that is known nothing is judged; then all that was read meanwhile is."""
        self._health.resume(before.inventory)
        self._earlier = before.problem
        self._is_resumed = True
        if self._problem is not None:
            self._problem = self._noted(self._problem.reason, self._problem.message)
        for reading, time in self._unjudged:
            self._judge(reading, time)
        self._unjudged.clear()
        if self._problem is not None:
            self._writer.say_problem(self._problem)

    def note(self, xid: Xid) -> None:
        """An XID was told."""
        counts = self._health.note(xid, self._clock.now())
        is_hint = not counts and self._health.is_hint(xid)
        self._metrics.xids.labels(str(xid.number), "true" if counts else "false").inc()
        log = _log.debug if xid in self._xids else _log.warning if counts else _log.info if is_hint else _log.debug
        self._xids.add(xid)
        log(
            "XID",
            xid=xid.number,
            counted=counts,
            device=xid.uuid,
            gpu_instance=xid.gpu_instance,
            compute_instance=xid.compute_instance,
        )
        if counts or is_hint:
            self._news.set()

    def problems(self) -> list[str]:
        """Why the agent is not healthy: no poll has ended for too long."""
        if self._ended_at is None:
            return []
        silence = self._clock.monotonic() - self._ended_at
        if silence <= self._interval + self._limit + _MARGIN:
            return []
        return [f"no poll of NVML has ended for {silence:.0f} s"]

    async def run(self) -> None:
        """Polls until it is cancelled. Raises MustRestart."""
        self._ended_at = self._clock.monotonic()
        next_hurried = self._ended_at
        while True:
            self._news.clear()
            await self._poll()
            self._ended_at = self._clock.monotonic()
            self._heed_watch()
            try:
                async with asyncio.timeout(self._interval):
                    await self._news.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(max(0.0, next_hurried - self._clock.monotonic()))
            next_hurried = self._clock.monotonic() + _LEAST_PAUSE

    async def _poll(self) -> None:
        try:
            with self._metrics.read_seconds.time():
                reading = await self._worker.call(self._reader.read, limit=self._limit)
            self._take(reading)
        except Hung as error:
            message = f"{error} (--nvml-timeout): see dmesg on the node; a reboot may be the only way out"
            await self._last_words(NodeUnreadable(DRIVER_CALL_HUNG, message, needs_restart=True))
            self._end(_EXIT_FAILED)
        except NodeUnreadable as error:
            if not error.needs_restart:
                self._report(error)
                return
            await self._last_words(error)
            raise MustRestart(str(error)) from error
        except Exception as error:
            _log.exception("NVML cannot be read in a way that nobody expects")
            message = failed_otherwise(error)
            await self._last_words(NodeUnreadable(NVML_ERROR, message, needs_restart=True))
            raise MustRestart(message) from error

    def _take(self, reading: Reading) -> None:
        """Raises NodeUnreadable."""
        if self._driver_version not in {None, reading.driver_version}:
            raise NodeUnreadable(
                _DRIVER_CHANGED,
                f"the driver was {_short(self._driver_version)} and is {_short(reading.driver_version)} now: the agent "
                "starts anew with its library",
                needs_restart=True,
            )
        self._driver_version = reading.driver_version
        tell_errors(self._devices, reading.devices)
        tell_odd_uuids(self._devices, reading.devices)
        self._devices = reading.devices
        self._watch.follow(each.uuid for each in reading.devices if each.uuid is not None and each.error is None)
        reading.demand_readable()
        if self._problem is not None:
            _log.info("NVML can be read again", reason=self._problem.reason, since=self._problem.since)
        self._problem = self._metrics.problem = None
        now = self._clock.now()
        if self._is_resumed:
            self._judge(reading, now)
        elif not self._unjudged or self._unjudged[-1][0] != reading:
            self._unjudged[1:] = [(reading, now)]

    def _judge(self, reading: Reading, now: datetime.datetime) -> None:
        inventory = self._health.judge(reading, now, heartbeat=self._heartbeat)
        self._earlier = None
        pending = tuple(each.uuid for each in reading.devices if each.uuid is not None and each.row_remap_pending)
        tell_changes(self._metrics.inventory, inventory)
        tell_row_remaps(self._metrics.pending_row_remaps, pending)
        self._metrics.inventory = inventory
        self._metrics.pending_row_remaps = pending
        self._writer.say(inventory)

    def _report(self, error: NodeUnreadable) -> None:
        problem = self._noted(error.reason, error.message)
        if problem != self._problem:
            _log.warning("NVML cannot be read", reason=problem.reason, error=problem.message, since=problem.since)
        self._problem = self._metrics.problem = problem
        self._writer.say_problem(problem)

    async def _last_words(self, error: NodeUnreadable) -> None:
        self._report(error)
        is_told = await self._writer.settled(limit=LAST_WORDS)
        _log.error("ending, to be started anew", reason=error.reason, error=error.message, reported=is_told)

    def _noted(self, reason: str, message: str) -> AgentProblem:
        """The problem; since when it is there, if it is not new."""
        for known in (self._earlier, self._problem):
            if known is not None and known.reason == reason:
                return AgentProblem(reason, message, known.since)
        return AgentProblem(reason, message, time_text(self._clock.now()))

    def _heed_watch(self) -> None:
        """A thread that hangs is told once. Polls see what XIDs lead to, and whether the driver hangs for them too."""
        is_silent = self._watch.silence > self._limit + _MARGIN
        if is_silent and not self._is_watch_silent:
            _log.warning("the thread that waits for XIDs hangs in the driver, polling goes on")
        self._is_watch_silent = is_silent


def _short(version: str | None) -> str:
    return cut(version or "", DRIVER_VERSION_ROOM)
