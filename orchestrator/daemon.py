"""The orchestrator's process, wired together in one function."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Final

from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.controller import Controller, ControllerMetrics
from kueue_dqo.runtime.events import EventMetrics, EventRecorder
from kueue_dqo.runtime.limiter import TokenBucket
from kueue_dqo.runtime.process import (
    FIRST_RETRY,
    LONGEST_RETRY,
    ProcessOptions,
    always,
    live,
    process_registry,
    until_refreshed,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProcessOptions):
    """What the command line says."""

    enforcement: Enforcement
    lease_name: str = "kueue-dqo-orchestrator"
    concurrency: int = 16
    write_qps: float = 100.0
    write_burst: int = 200
    quota_metrics: bool = True


async def run(options: Options) -> None:
    """Runs until it is cancelled, then drains. Raises ConfigurationError and CannotListen."""
    clock, chance, registry = SystemClock(), random.SystemRandom(), process_registry()
    metrics, requests = OrchestratorMetrics(registry), RequestMetrics(registry)

    # Elections and Events have connections of their own: neither waits for quotas, nor the other way round.
    async with (
        await options.connect(connections=options.concurrency + 16, metrics=requests) as client,
        await options.connect(connections=1, metrics=requests) as election_client,
        await options.connect(connections=2, metrics=requests) as event_client,
    ):
        queue = WorkQueue[str](
            NAME,
            clock=clock,
            random=chance,
            metrics=QueueMetrics(registry),
            base_delay=FIRST_RETRY,
            max_delay=LONGEST_RETRY,
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
        elector = options.elector(election_client, clock=clock, random=chance, registry=registry)
        may_write = elector.may_write if options.leader_elect else always
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
            client, cluster, namespace=options.namespace, events=events, clock=clock, random=chance, metrics=metrics
        )
        registry.register(ClusterCollector(cluster, with_quotas=options.quota_metrics))

        async def lead() -> None:
            # Whatever the last leader wrote in its last moments, sums are made of what is there now.
            await until_refreshed(cluster.refresh, chance)
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
        await live(server, cluster.run, leases.run, campaign, last=events.run)
