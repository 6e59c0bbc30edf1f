"""What Prometheus is told of the devices of one node."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from kueue_dqo.api.gpu import DeviceCount, GPUInventory, UnhealthyDevice
from providers.nvidia_gpu.agent.metrics import AgentMetrics
from tests.unit.providers.nvidia_gpu.agent.reports import problem

PREFIX = "kueue_dqo_nvidia_gpu_agent"


def series(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by those of its labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == f"{PREFIX}_{name}"
    }


def test_devices_are_counted_and_the_unhealthy_are_named() -> None:
    """One without a UUID by its index."""
    registry = CollectorRegistry()
    metrics = AgentMetrics(registry)
    metrics.inventory = GPUInventory(
        "",
        300,
        devices=(DeviceCount("nvidia.com/gpu", 6, 2),),
        unhealthy=(UnhealthyDevice("Lost", "", index=3), UnhealthyDevice("Xid79", "", uuid="GPU-a")),
    )
    metrics.pending_row_remaps = ("GPU-b",)
    gpu = "nvidia.com/gpu"
    assert series(registry, "devices") == {(gpu, "healthy"): 6, (gpu, "unhealthy"): 2}
    assert series(registry, "device_unhealthy") == {("index 3", "Lost"): 1, ("GPU-a", "Xid79"): 1}
    assert series(registry, "row_remap_pending") == {("GPU-b",): 1}
    assert series(registry, "problem") == {}


def test_series_go_with_what_they_tell() -> None:
    registry = CollectorRegistry()
    metrics = AgentMetrics(registry)
    metrics.problem = problem("VersionMismatch")
    assert series(registry, "problem") == {("VersionMismatch",): 1}
    metrics.problem = None
    assert series(registry, "problem") == {}
    assert series(registry, "devices") == {}
