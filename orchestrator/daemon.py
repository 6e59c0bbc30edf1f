"""The orchestrator's process, wired together in one function."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.controller import Controller, ControllerMetrics
from kueue_dqo.runtime.errors import ApiError
from kueue_dqo.runtime.events import EventMetrics, EventRecorder
from kueue_dqo.runtime.leader import LeaderElector, LeaderMetrics
from kueue_dqo.runtime.limiter import TokenBucket
from kueue_dqo.runtime.request_metrics import RequestMetrics
from kueue_dqo.runtime.serving import HealthServer
from kueue_dqo.runtime.workqueue import QueueMetrics, WorkQueue
from orchestrator.cluster import Cluster, Enforcement
from orchestrator.enforcement.spec import FIELD_MANAGER
from orchestrator.gate_watch import GateWatch
from orchestrator.metrics import ClusterCollector, OrchestratorMetrics
from orchestrator.over_quota import OverQuota
from orchestrator.provider_leases import ProviderLeases
from orchestrator.reconciler import EVERYTHING, Reconciler
from orchestrator.rival_watch import RivalWatch
from orchestrator.scale_up_watch import ScaleUpWatch
from orchestrator.status_writer import StatusWriter
from orchestrator.writing import QuotaWriter

NAME: Final = "orchestrator"
_FIRST_RETRY: Final = 0.2
_LONGEST_RETRY: Final = 30.0
_LONGEST_WRITE: Final = 4.0

_log = structlog.get_logger(__name__)


class CannotListen(Exception):
    """The address for health and metrics cannot be had; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. Times are in seconds."""

    enforcement: Enforcement
    namespace: str
    identity: str
    lease_name: str = "kueue-dqo-orchestrator"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    leader_elect: bool = True
    host: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: int = 8080
    concurrency: int = 16
    write_qps: float = 100.0
    write_burst: int = 200
    kubeconfig: str | None = None
    context: str | None = None
    quota_metrics: bool = True

    @property
    def write_timeout(self) -> float:
        """What a leader has sent in the last moment of its term is over before another one's can begin."""
        return min(_LONGEST_WRITE, 0.8 * (self.lease_duration - self.renew_deadline))


async def run(options: Options) -> None:
    """Runs until it is cancelled, then drains. Raises ConfigurationError and CannotListen."""
    clock, chance, registry = SystemClock(), random.SystemRandom(), CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    metrics, requests = OrchestratorMetrics(registry), RequestMetrics(registry)

    async def connect(*, connections: int) -> Client:
        return await Client.connect(
            kubeconfig=options.kubeconfig, context=options.context, connections=connections, metrics=requests
        )

    # Elections and Events have connections of their own: neither waits for quotas, nor the other way round.
    async with (
        await connect(connections=options.concurrency + 16) as client,
        await connect(connections=1) as election_client,
        await connect(connections=2) as event_client,
    ):
        queue = WorkQueue[str](
            NAME,
            clock=clock,
            random=chance,
            metrics=QueueMetrics(registry),
            base_delay=_FIRST_RETRY,
            max_delay=_LONGEST_RETRY,
        )
        events = EventRecorder(event_client, component=FIELD_MANAGER, clock=clock, metrics=EventMetrics(registry))

        def changed() -> None:
            reconciler.cluster_changed()
            queue.add(EVERYTHING)

        cluster = Cluster(
            client,
            enforcement=options.enforcement,
            on_change=changed,
            clock=clock,
            random=chance,
            metrics=CacheMetrics(registry),
        )
        elector = LeaderElector(
            election_client,
            namespace=options.namespace,
            name=options.lease_name,
            identity=options.identity,
            clock=clock,
            random=chance,
            metrics=LeaderMetrics(registry),
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
        )
        may_write = elector.may_write if options.leader_elect else _always
        rivals = RivalWatch(cluster, may_write=may_write, events=events, clock=clock, metrics=metrics)
        cluster.observer = rivals

        def may_enforce() -> bool:
            return may_write() and not rivals.is_down()

        writer = QuotaWriter(
            client,
            cluster,
            may_write=may_enforce,
            concurrency=options.concurrency,
            limiter=TokenBucket(rate=options.write_qps, burst=options.write_burst) if options.write_qps else None,
            timeout=options.write_timeout,
            clock=clock,
            metrics=metrics,
            on_landed=OverQuota(events).landed,
        )
        reconciler = Reconciler(
            cluster,
            writer=writer,
            statuses=StatusWriter(
                client,
                cluster,
                may_write=may_enforce,
                timeout=options.write_timeout,
                events=events,
                clock=clock,
                metrics=metrics,
            ),
            rivals=rivals,
            on_quotas=ScaleUpWatch(cluster, events=events).look,
            may_write=may_write,
            clock=clock,
            metrics=metrics,
        )
        controller = Controller(
            NAME, reconciler.reconcile, queue=queue, clock=clock, metrics=ControllerMetrics(registry)
        )
        gate = GateWatch(cluster, events=events, clock=clock)
        leases = ProviderLeases(
            client, cluster, namespace=options.namespace, events=events, clock=clock, random=chance, registry=registry
        )
        registry.register(ClusterCollector(cluster, with_quotas=options.quota_metrics))

        async def lead() -> None:
            # Whatever the last leader wrote in its last moments, sums are made of what is there now.
            await _until_refreshed(cluster, chance)
            rivals.start()
            queue.add(EVERYTHING)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(controller.run(), name="controller")
                    group.create_task(gate.run(), name="gate")
                    group.create_task(leases.tell(), name="provider leases")
            finally:
                metrics.differences.clear()  # from now on another replica tells

        async def campaign() -> None:
            await cluster.wait_synced()  # who cannot read does not run
            await (elector.run(lead) if options.leader_elect else lead())

        server = HealthServer(
            host=options.host, port=options.port, ready=cluster.problems, healthy=list, registry=registry
        )
        await _live(server, cluster.run, leases.run, campaign, last=events.run)


async def _live(
    server: HealthServer, *parts: Callable[[], Coroutine[Any, Any, None]], last: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Runs all until one ends badly or this is cancelled. `last` ends after the others: it tells how they drained."""
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


async def _until_refreshed(cluster: Cluster, chance: random.Random) -> None:
    """Just after its start an API server may refuse what it allows a moment later."""
    backoff = Backoff(chance, first=_FIRST_RETRY, longest=_LONGEST_RETRY)
    while True:
        try:
            await cluster.refresh()
        except ApiError as error:
            wait = backoff.next()
            _log.warning("not refreshed, quotas are not written yet", error=str(error), retry_in_seconds=round(wait, 3))
            await asyncio.sleep(wait)
        else:
            return


def _always() -> bool:
    return True
