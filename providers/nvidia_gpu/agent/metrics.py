"""What the agent tells Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.api.gpu import AgentProblem, GPUInventory

SUCCESS = "success"
_PREFIX = "kueue_dqo_nvidia_gpu_agent"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class AgentMetrics(Collector):
    """Counters that are moved as things happen, and series of what stands at present."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.inventory: GPUInventory | None = None
        """The last one that was made of a reading."""
        self.problem: AgentProblem | None = None
        self.pending_row_remaps: tuple[str, ...] = ()
        """The UUIDs of GPUs that want a reset to finish a row remapping."""
        self.xids = Counter(
            f"{_PREFIX}_xids_total",
            "XIDs that were told, by their number and whether they count as bad health",
            ("xid", "counted"),
            registry=registry,
        )
        self.read_seconds = Histogram(
            f"{_PREFIX}_nvml_read_seconds",
            "How long NVML took for all GPUs, or to fail",
            buckets=_BUCKETS,
            registry=registry,
        )
        self.writes = Counter(
            f"{_PREFIX}_report_writes_total",
            "Writes of the report by their result: success, or the kind of the error",
            ("result",),
            registry=registry,
        )
        self.last_write = Gauge(
            f"{_PREFIX}_last_write_timestamp_seconds",
            "When the report was last written, in seconds since the epoch",
            registry=registry,
        )
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The families of what stands at present. While there is a problem, devices are as they were before it."""
        devices = GaugeMetricFamily(
            f"{_PREFIX}_devices", "GPUs and MIG devices, before they are shared", labels=("resource", "health")
        )
        unhealthy = GaugeMetricFamily(
            f"{_PREFIX}_device_unhealthy", "1 for each device that is unhealthy", labels=("uuid", "reason")
        )
        pending = GaugeMetricFamily(
            f"{_PREFIX}_row_remap_pending",
            "1 for each GPU that wants a reset to finish a row remapping; it is healthy all the same",
            labels=("uuid",),
        )
        problem = GaugeMetricFamily(
            f"{_PREFIX}_problem", "1 for the reason why NVML cannot be read", labels=("reason",)
        )
        if self.inventory is not None:
            for count in self.inventory.devices:
                devices.add_metric((count.name, "healthy"), count.healthy)
                devices.add_metric((count.name, "unhealthy"), count.unhealthy)
            for device in self.inventory.unhealthy:
                unhealthy.add_metric((device.uuid or f"index {device.index}", device.reason), 1)
        for uuid in self.pending_row_remaps:
            pending.add_metric((uuid,), 1)
        if self.problem is not None:
            problem.add_metric((self.problem.reason,), 1)
        yield from (devices, unhealthy, pending, problem)
