"""Nodes of one flavor whose agents run, and the CapacityProvider that counts their GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import Daemon
from tests.integration.gpu.agents import GPU, Fleet, GpuNode
from tests.integration.objects import Manifest, add_node, flavor, provider
from tests.integration.providers.adapter import LABEL
from tests.integration.providers.scenes import POOL
from tests.nvml.devices import Gpu, gpus

H100: Final = f"h100/{GPU}"
BEATING: Final = {"DQO_HEARTBEAT": "1s"}
"""For an agent that is missed after three seconds."""


class Pool:
    """What a test of the aggregator has: nodes n1, n2, …, as many as it makes."""

    def __init__(self, plane: ControlPlane, fleet: Fleet, aggregator: Daemon) -> None:
        self.plane = plane
        self.aggregator = aggregator
        self.nodes: list[GpuNode] = []
        self._fleet = fleet
        self._of: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {}

    def node(
        self,
        devices: Iterable[Gpu] | None = None,
        *,
        allocatable: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> GpuNode:
        """One more node, whose agent is not started.

        Args:
            devices: the GPUs; without them, 8 of which each tells its node by its UUID.
            allocatable: what the kubelet has to give; without it, 8 GPUs.
            labels: beside that of the flavor.
            environment: of the agent.
        """
        number = len(self.nodes) + 1
        found = gpus(8, node=number) if devices is None else devices
        node = self._fleet.node(found, name=f"n{number}", environment=environment)
        self._of[node.name] = (allocatable or {GPU: 8}, {LABEL: "h100", **(labels or {})})
        self.nodes.append(node)
        self.kubelet(node)
        return node

    def kubelet(self, node: GpuNode, **options: Any) -> None:
        """The node's kubelet says how it is: see `add_node`; without options, Ready with all it had at first."""
        allocatable, labels = self._of[node.name]
        add_node(self.plane, node.name, options.pop("allocatable", allocatable), labels=labels, **options)

    def running(self, count: int, **options: Any) -> list[GpuNode]:
        """So many more nodes, whose agents have written their reports."""
        started = [self.node(**options).start() for _ in range(count)]
        for node in started:
            node.agent.server.wait_ready()
        return started

    def provide(self, **spec: Any) -> None:
        """A CapacityProvider of them with such parameters, or others from now on."""
        parameters = self._parameters(spec)
        pool = provider(POOL, "h100", controller="kueue-dqo.dev/nvidia-gpu", parameters=parameters)
        self.plane.admin.apply(flavor("h100", {LABEL: "h100"}), parameters, pool)

    @staticmethod
    def _parameters(spec: Mapping[str, Any]) -> Manifest:
        return {
            "apiVersion": "kueue-dqo.dev/v1alpha1",
            "kind": "NvidiaGpuParameters",
            "metadata": {"name": POOL},
            "spec": {"capByAllocatable": True, **spec},
        }
