"""The adapter of the provider for NVIDIA GPUs: its source is agents, each with an NVML of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.integration.gpu.agents import Fleet, GpuNode, Report
from tests.integration.objects import NODES, add_node
from tests.integration.providers.adapter import LABEL, Adapter, composed, servers_ended
from tests.integration.providers.scenes import GPU
from tests.nvml.devices import EVERY_CALL, GPU_IS_LOST, gpus

FLAVORS: Final = ("h100", "a100")
"""Those that tests of all providers use."""
_REPLICAS: Final = 8
_SHARED: Final = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED", "nvidia.com/gpu.replicas": str(_REPLICAS)}
"""As GPU feature discovery labels a node whose GPUs are shared by time, with their resource not renamed."""
_DRIVER_NOT_LOADED: Final = 9


class NvidiaGpu(Adapter):
    """One node for each flavor, with an eighth as many GPUs as there are to be, each shared by 8. A fall loses GPUs.

    The nodes and their agents live as long as the adapter: the token of an agent is bound to a pod of its Node.
    """

    command = "nvidia-gpu"
    controller = "kueue-dqo.dev/nvidia-gpu"
    kind = "NvidiaGpuParameters"
    plural = "nvidiagpuparameters"
    folders = ("base/nvidia-gpu", "base/nvidia-gpu-agent")
    reports_any = False
    has_defaults = True
    spared = frozenset({NODES})

    hosts: Mapping[str, GpuNode]
    """By flavor."""

    @classmethod
    def accounts(cls) -> tuple[str, ...]:
        return (*super().accounts(), f"kueue-dqo-{cls.command}-agent")

    def prepare(self, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-dqo-nvml-")))
        stack.enter_context(servers_ended(self.plane))
        fleet = Fleet(self.plane, self.installed, folder)
        self.hosts = {name: fleet.node(name=f"{name}-0").start() for name in FLAVORS}
        for host in self.hosts.values():
            host.agent.server.wait_ready()

    def spec(self) -> dict[str, Any]:
        return {"capByAllocatable": True}  # its default

    def tell(self) -> None:
        for name, resources in self.amounts.items():
            self._tell(name, resources)
        for name, resources in self.amounts.items():
            self._wait_told(self.hosts[name], _gpus(resources))

    def _tell(self, name: str, resources: Mapping[str, Any]) -> None:
        host, healthy = self.hosts[name], _gpus(resources)
        total = max(healthy, len(host.nvml.gpus))
        # The node first: what it does not have yet would not count.
        add_node(self.plane, host.name, {**resources, GPU: total * _REPLICAS}, labels={LABEL: name, **_SHARED})
        host.nvml.failures.clear()
        host.nvml.gpus = gpus(total)
        for gpu in host.nvml.gpus[healthy:]:
            gpu.failures[EVERY_CALL] = GPU_IS_LOST
        host.nvml.write()
        if not host.agent.server.is_running:
            host.agent.server.launch()

    @staticmethod
    def _wait_told(host: GpuNode, healthy: int) -> None:
        def is_told(report: Report) -> bool:
            return not report.problem and report.inventory.get("gpus", 0) == healthy

        host.wait_report(is_told, f"{healthy} healthy GPUs")

    def fail(self) -> str:
        """The driver is gone on every node. The agents say so and end, to be started again as a kubelet would."""
        failing = [self.hosts[name] for name in self.amounts]
        for host in failing:
            host.nvml.break_call(EVERY_CALL, _DRIVER_NOT_LOADED)
        for host in failing:
            host.wait_ended()
        return "SourceUnavailable"


def _gpus(resources: Mapping[str, Any]) -> int:
    found, rest = divmod(int(resources[GPU]), _REPLICAS)
    assert not rest, f"{resources}: no multiple of {_REPLICAS}"
    return found


class CountingGpuPods(NvidiaGpu):
    """With the rights that some of its parameters need."""

    def what_is_installed(self, stack: ExitStack) -> tuple[Path | str, ...]:
        return (composed(stack, self.folders, "components/nvidia-gpu-pods"),)
