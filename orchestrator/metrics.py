"""What the orchestrator tells Prometheus. Quotas and capacities are in base units: cores, bytes, devices."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import find_condition, parse_time
from kueue_dqo.api.quantity import NANOS
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.readiness import why_not_ready
from orchestrator.cluster import Cluster
from orchestrator.discovery import discover


class WriteResult(enum.StrEnum):
    """How a write of quotas ended."""

    LANDED = "landed"
    OUTDATED = "outdated"
    """Others have changed the object meanwhile."""
    FAILED = "failed"
    """It is tried again."""
    REFUSED = "refused"


class OrchestratorMetrics:
    """Counters and gauges that are moved as things happen."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._writes = Counter(
            "kueue_dqo_quota_writes_total",
            "Writes of quotas by their result",
            ("kind", "result"),
            registry=registry,
        )
        for kind in dqo.ROOT_KINDS:
            for result in WriteResult:
                self._writes.labels(kind, result)  # there from the start: the first one is a change
        self.status_writes = Counter(
            "kueue_dqo_orchestrator_status_writes_total", "Writes of orchestrators' statuses", registry=registry
        )
        self.reverts = Counter(
            "kueue_dqo_quota_reverts_total",
            "Quotas of ours that somebody has undone; until the object is gone",
            ("kind", "name", "manager"),
            registry=registry,
        )
        self.stopped = Gauge(
            "kueue_dqo_quota_objects_stopped",
            "Objects that are left alone because somebody keeps undoing their quotas",
            registry=registry,
        )
        self.standing_down = Gauge(
            "kueue_dqo_standing_down",
            "1 while Kueue's own orchestrator is at work and this one writes nothing",
            registry=registry,
        )
        self.differences = Gauge(
            "kueue_dqo_quota_differences",
            "Objects whose quotas are not what they should be, after the last pass; what to watch in the mode observe",
            ("orchestrator",),
            registry=registry,
        )
        self.lease_expired = Gauge(
            "kueue_dqo_provider_lease_expired",
            "1 where the provider's process has stopped renewing its Lease: its capacity may be old although its "
            "condition is True",
            ("provider",),
            registry=registry,
        )
        self.passes = Counter("kueue_dqo_passes_total", "Computations of all orchestrators", registry=registry)

    def wrote(self, kind: str, result: WriteResult) -> None:
        """A write of the quotas of a ClusterQueue or Cohort has ended."""
        self._writes.labels(kind, result).inc()


class ClusterCollector(Collector):
    """Reads the caches when it is asked: nothing is kept up in between."""

    def __init__(self, cluster: Cluster, *, with_quotas: bool) -> None:
        """`with_quotas` adds a series for each pair of each queue."""
        self._cluster = cluster
        self._with_quotas = with_quotas

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The families of the present caches."""
        yield self._of_the_mode()
        yield from self._of_providers()
        yield from self._of_orchestrators()
        if self._with_quotas:
            yield self._of_quotas()

    def _of_the_mode(self) -> Metric:
        family = GaugeMetricFamily(
            "kueue_dqo_enforcement",
            "1 for the road on which quotas take effect, and whether this daemon may write them",
            labels=("road", "writes"),
        )
        mode = self._cluster.mode
        if mode is not None:
            family.add_metric((mode.road, str(mode.writes).lower()), 1.0)
        return family

    def _of_providers(self) -> Iterator[Metric]:
        capacity = GaugeMetricFamily(
            "kueue_dqo_capacity", "Capacity that a provider reports", labels=("provider", "flavor", "resource")
        )
        ready = GaugeMetricFamily(
            "kueue_dqo_provider_ready",
            "1 where the provider's capacity may be used: its condition is True and up to date",
            labels=("provider",),
        )
        for name, provider in sorted(self._cluster.providers.items()):
            ready.add_metric((name,), float(why_not_ready(provider) is None))
            _add(capacity, name, provider.status.capacity)
        yield capacity
        yield ready

    def _of_orchestrators(self) -> Iterator[Metric]:
        capacity = GaugeMetricFamily(
            "kueue_dqo_effective_capacity",
            "What the orchestrator shares out, computed from its providers, so also in the mode observe",
            labels=("orchestrator", "flavor", "resource"),
        )
        conditions = GaugeMetricFamily(
            "kueue_dqo_orchestrator_condition",
            "1 where the condition has this status and reason",
            labels=("orchestrator", "type", "status", "reason"),
        )
        since = GaugeMetricFamily(
            "kueue_dqo_orchestrator_condition_since_timestamp_seconds",
            "When the condition got its present status, in seconds since the epoch",
            labels=("orchestrator", "type", "status"),
        )
        for name, held in sorted(self._cluster.orchestrators.items()):
            if held.orchestrator is None:
                continue
            # Not what stands in the status: where this process only looks on, perhaps nobody writes that.
            _add(capacity, name, discover(held.orchestrator, self._cluster.providers).capacity)
            for kind in (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED):
                condition = find_condition(held.orchestrator.status.conditions, kind)
                if condition is not None:
                    conditions.add_metric((name, kind, condition.status, condition.reason), 1.0)
                    if condition.last_transition_time:
                        at = parse_time(condition.last_transition_time).timestamp()
                        since.add_metric((name, kind, condition.status), at)
        yield capacity
        yield conditions
        yield since

    def _of_quotas(self) -> Metric:
        family = GaugeMetricFamily(
            "kueue_dqo_effective_quota",
            "Nominal quota in force that an orchestrator has written; off with --no-quota-metrics",
            labels=("kind", "name", "flavor", "resource"),
        )
        for key, (_, view) in sorted(self._cluster.views.items()):
            if view.applied is None:
                continue
            for pair, quota in quotas_by_pair(view.member.in_force):
                family.add_metric((key.kind, key.name, pair.flavor, pair.resource), quota.nominal_quota.nanos / NANOS)
        return family


def _add(family: GaugeMetricFamily, name: str, capacity: dqo.Capacity | None) -> None:
    for flavor in capacity.flavors if capacity is not None else ():
        for resource, amount in flavor.resources.items():
            family.add_metric((name, flavor.name, resource), amount.nanos / NANOS)
