"""The process of the agent, wired together in one function."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from kueue_dqo.api.gpu import NodeGPUReportSpec
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.process import live, process_registry
from kueue_dqo.runtime.request_metrics import RequestMetrics
from kueue_dqo.runtime.serving import HealthServer
from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import Xid
from providers.nvidia_gpu.agent.events import XidWatch
from providers.nvidia_gpu.agent.health import Health
from providers.nvidia_gpu.agent.library import pynvml
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from providers.nvidia_gpu.agent.node_identity import identify
from providers.nvidia_gpu.agent.nvml import Nvml
from providers.nvidia_gpu.agent.parts import LAST_WORDS
from providers.nvidia_gpu.agent.polling import MustRestart, Poller
from providers.nvidia_gpu.agent.watchdog import Worker, call_in
from providers.nvidia_gpu.agent.writing import ReportWriter

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
EXIT_OK: Final = 0
EXIT_RESTART: Final = 1

E = TypeVar("E", bound=BaseException)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. Times are in seconds."""

    checks: Checks
    node_name: str | None = None
    """None: as the token says."""
    poll: float = 10.0
    heartbeat: float = 300.0
    nvml_timeout: float = 30.0
    unknown_grace: float = 600.0
    grace: float = 20.0
    """Of the process, to end in order."""
    host: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: int = 8080
    kubeconfig: str | None = None
    context: str | None = None


async def run(options: Options) -> int:
    """Runs until it is cancelled, or until only another process can read NVML, which returns the exit code for that.

    Raises ConfigurationError, CannotListen, and in a group what else a part raised.
    """
    library = pynvml()
    clock, chance, registry = SystemClock(), random.SystemRandom(), process_registry()
    metrics = AgentMetrics(registry)
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    poller: Poller

    def note(xid: Xid) -> None:
        call_in(loop, lambda: poller.note(xid))

    def fail(error: Exception) -> None:
        def set_it() -> None:
            if not failed.done():  # else the process is ending already
                failed.set_exception(error)

        call_in(loop, set_it)

    def resume(before: NodeGPUReportSpec) -> None:
        poller.resume(before)

    async with await Client.connect(
        kubeconfig=options.kubeconfig, context=options.context, connections=2, metrics=RequestMetrics(registry)
    ) as client:
        watch = XidWatch(library, deliver=note, failed=fail, random=chance)
        writer = ReportWriter(
            client,
            identify=partial(identify, client, node_name=options.node_name),
            resume=resume,
            heartbeat=options.heartbeat,
            clock=clock,
            random=chance,
            metrics=metrics,
            last_words=min(LAST_WORDS, options.grace / 2),
        )
        poller = Poller(
            Nvml(library),
            worker=Worker("nvml"),
            health=Health(
                options.checks, unknown_grace=timedelta(seconds=options.unknown_grace), boot_id=read_boot_id(BOOT_ID)
            ),
            writer=writer,
            watch=watch,
            clock=clock,
            metrics=metrics,
            interval=options.poll,
            limit=options.nvml_timeout,
            heartbeat=options.heartbeat,
        )
        server = HealthServer(
            host=options.host, port=options.port, ready=writer.problems, healthy=poller.problems, registry=registry
        )

        async def watched() -> None:
            """Ends only with an error that nobody expects."""
            watch.start()
            try:
                await failed
            finally:
                watch.stop()

        return await _outcome(partial(live, server, poller.run, watched, last=writer.run))


async def _outcome(lived: Callable[[], Awaitable[None]]) -> int:
    """The exit code; what a person can put right is raised as it is, not in a group."""
    code = EXIT_OK
    mistakes: list[ConfigurationError] = []
    try:
        await lived()
    except* MustRestart:
        code = EXIT_RESTART
    except* ConfigurationError as group:
        mistakes = list(leaves(group))
    if mistakes:
        raise mistakes[0]
    return code


def leaves(group: BaseExceptionGroup[E]) -> Iterator[E]:
    """The errors of a group, however deep."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error


def read_boot_id(path: Path) -> str:
    """Of the kernel that runs, the same in every container. Raises ConfigurationError."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read ({error}): the agent needs Linux and /proc, to tell one boot from another"
        ) from error
