"""What every daemon's process has: its place in an election, its address for health and metrics, how it lives."""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError
from kueue_dqo.runtime.leader import LeaderElector, LeaderMetrics
from kueue_dqo.runtime.request_metrics import RequestMetrics
from kueue_dqo.runtime.serving import HealthServer

FIRST_RETRY: Final = 0.2
"""Seconds."""
LONGEST_RETRY: Final = 30.0
_LONGEST_WRITE: Final = 4.0

_log = structlog.get_logger(__name__)


class CannotListen(Exception):
    """The address for health and metrics cannot be had; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """What the command line says about the process. Times are in seconds."""

    namespace: str
    identity: str
    lease_name: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    leader_elect: bool = True
    host: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: int = 8080
    kubeconfig: str | None = None
    context: str | None = None

    @property
    def write_timeout(self) -> float:
        """What a leader has sent in the last moment of its term is over before another one's can begin."""
        return min(_LONGEST_WRITE, 0.8 * (self.lease_duration - self.renew_deadline))

    async def connect(self, *, connections: int, metrics: RequestMetrics) -> Client:
        """A pool of that many connections to the API server. Raises ConfigurationError."""
        return await Client.connect(
            kubeconfig=self.kubeconfig, context=self.context, connections=connections, metrics=metrics
        )

    def elector(
        self, client: Client, *, clock: Clock, random: chance.Random, registry: CollectorRegistry
    ) -> LeaderElector:
        """The part of one replica in the election."""
        return LeaderElector(
            client,
            namespace=self.namespace,
            name=self.lease_name,
            identity=self.identity,
            clock=clock,
            random=random,
            metrics=LeaderMetrics(registry),
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
        )


def process_registry() -> CollectorRegistry:
    """A registry with what Prometheus' clients tell of every process."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


async def live(
    server: HealthServer, *parts: Callable[[], Coroutine[Any, Any, None]], last: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Runs all until one ends badly or this is cancelled. `last` ends after the others: it tells how they drained.

    Raises CannotListen, and what a part raises, in groups.
    """
    try:
        await server.start()
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotListen(f"{server.host}:{server.port} cannot be listened on: {why}") from error
    try:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(last())
            async with asyncio.TaskGroup() as inner:
                for part in parts:
                    inner.create_task(part())
    finally:
        await server.stop()


async def until_refreshed(refresh: Callable[[], Awaitable[None]], random: chance.Random) -> None:
    """Reads anew until that succeeds: after its start an API server may refuse what it allows a moment later."""
    backoff = Backoff(random, first=FIRST_RETRY, longest=LONGEST_RETRY)
    while True:
        try:
            await refresh()
        except ApiError as error:
            wait = backoff.next()
            _log.warning("not refreshed, nothing is written yet", error=str(error), retry_in_seconds=round(wait, 3))
            await asyncio.sleep(wait)
        else:
            return


def always() -> bool:
    """For a process that writes without an election."""
    return True
