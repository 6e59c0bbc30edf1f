"""From a GPU that dies to a Workload that waits: agents, aggregator, orchestrator and Kueue's scheduler, all real."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
import yaml

from kueue_dqo.api.quantity import Quantity
from tests.controlplane.kueue import start_minimal
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.e2e.test_examples import DIED, QUOTAS, WITNESSES
from tests.integration.daemons import ROOT, Daemon, install, start_daemon, start_orchestrator
from tests.integration.gpu.agents import GPU, Fleet, GpuNode
from tests.integration.gpu.pool import H100, Pool
from tests.integration.objects import (
    NODES,
    QUEUES,
    Manifest,
    cohort,
    nominal,
    orchestrator,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.scenes import (
    WORKLOADS,
    has_condition,
    local_queue,
    submit,
    wait_admitted,
    wait_refused,
)
from tests.integration.providers.scenes import OURS, POOL, capacity, wait_published
from tests.nvml.devices import gpus, uuid_of_gpu

EXAMPLES: Final = ROOT / "examples"
XID: Final = 79
"""The GPU has fallen off the bus."""


def _serve(plane: ControlPlane, *providers: str) -> list[Daemon]:
    """The daemons of providers as their manifests have them."""
    return [
        start_daemon(plane, install(plane, "base/namespace", f"base/{name}"), name=name, wait=False)
        for name in providers
    ]


@pytest.fixture
def agents(plane: ControlPlane, tmp_path: Path) -> Fleet:
    """Their DaemonSet is installed."""
    return Fleet(plane, install(plane, "base/namespace", "base/nvidia-gpu-agent"), tmp_path)


# --- one GPU dies in the middle --------------------------------------------------------------------------------------


def test_a_workload_waits_for_a_gpu_that_died(plane: ControlPlane, agents: Fleet) -> None:
    """Three nodes of 8 GPUs, two jobs of 8 run, one GPU dies: a third job of 8 waits for it to be reset."""
    (aggregator,) = _serve(plane, "nvidia-gpu")
    start_minimal(plane)
    start_orchestrator(plane)
    pool = Pool(plane, agents, aggregator)
    _, second, _ = pool.running(3)
    pool.provide()
    plane.admin.apply(
        cohort("company"),
        queue("research", {"h100": {GPU: 24}}, cohort="company"),
        local_queue("research"),
        orchestrator("dqo", POOL, root=("Cohort", "company")),
    )
    wait_for_quotas(plane, pair=H100, research=24)
    wait_for_condition(plane, "True", "QuotasDistributed")
    for name in ("first", "second"):
        submit(plane, name, "8", to="research", resource=GPU)
        wait_admitted(plane, name)
    second.wait_watching()
    second.nvml.inject_xid(5, XID)
    wait_published(plane, {H100: 23}, f"unhealthy: n2 {uuid_of_gpu(5, node=2)} Xid{XID} since")
    wait_for_quotas(plane, pair=H100, research=23)
    submit(plane, "third", "8", to="research", resource=GPU)
    wait_refused(plane, "third")
    assert f"insufficient unused quota for {GPU} in flavor h100, 1 more needed" in _said_of(plane, "third")
    _reset(second)
    wait_for_quotas(plane, pair=H100, research=24)
    wait_admitted(plane, "third")
    assert not any(has_condition(plane, name, "Evicted") for name in ("first", "second"))


def _reset(node: GpuNode) -> None:
    """As an admin does: a GPU can be reset only while nobody has it open, the agent included."""
    node.agent.server.stop()
    node.nvml.mend()
    node.agent.server.start()


def _said_of(plane: ControlPlane, workload: str) -> str:
    """What Kueue says of a Workload that waits."""
    conditions = plane.admin.get(f"{WORKLOADS}/{workload}")["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == "QuotaReserved"))


# --- beside other providers ------------------------------------------------------------------------------------------


class Example:
    """An example whose nodes have agents and NVMLs of their own, in place of the reports in its files."""

    def __init__(self, plane: ControlPlane, agents: Fleet, name: str) -> None:
        self.plane = plane
        self._objects = [each for file in sorted((EXAMPLES / name).glob("*.yaml")) for each in _read(file)]
        self.nodes = {
            name: agents.node(gpus(_gpus(obj), node=number), name=name)
            for number, (name, obj) in enumerate(self._of_kind("NodeGPUReport"))
        }

    def apply(self) -> None:
        """Starts the agents and then, when they have told, applies everything but the reports."""
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.agent.server.wait_ready()
        for name, obj in self._of_kind("Node"):
            self.plane.admin.apply(obj)
            # The API server gives every new node the taint not-ready; there is no controller that would take it away.
            self.plane.admin.patch(f"{NODES}/{name}", {"spec": {"taints": None}})
        # Now that all is there, or guards would hold the way up.
        self.plane.admin.apply(*(each for each in self._objects if each["kind"] not in {"Node", "NodeGPUReport"}))

    def wait_planned(self, name: str) -> None:
        """Until the quotas are those that the README of the example states."""
        wanted = {(each.queue, f"{each.flavor}/{each.resource}"): _nanos(each.planned) for each in QUOTAS[name]}

        def present() -> dict[tuple[str, str], int]:
            queues = {queue: nominal(self.plane.admin.get(f"{QUEUES}/{queue}")) for queue, _ in wanted}
            return {(queue, pair): queues[queue].get(pair, 0) for queue, pair in wanted}

        try:
            eventually(lambda: present() == wanted, f"quotas as planned in {name}", within=60)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {wanted} are wanted, there are {present()}") from error

    def _of_kind(self, kind: str) -> Iterable[tuple[str, Manifest]]:
        return ((each["metadata"]["name"], each) for each in self._objects if each["kind"] == kind)


def _read(file: Path) -> Iterable[Manifest]:
    for document in yaml.safe_load_all(file.read_text()):
        yield from document["items"] if document["kind"] == "List" else [document]


def _gpus(report: Manifest) -> int:
    """How many GPUs there are, unhealthy ones included."""
    (devices,) = report["spec"]["inventory"]["devices"]
    return int(devices["healthy"] + devices.get("unhealthy", 0))


def _nanos(quantity: str) -> int:
    return Quantity.of(quantity).nanos


def test_gpus_are_counted_beside_cpus_and_memory(plane: ControlPlane, agents: Fleet) -> None:
    """As in the example: node-inventory for the machines, nvidia-gpu for the GPUs, one orchestrator adds both."""
    _serve(plane, "node-inventory", "nvidia-gpu")
    start_orchestrator(plane)
    example = Example(plane, agents, DIED)
    broken = example.nodes["gpu-2.example.com"]
    broken.nvml.lose(3)
    example.apply()
    example.wait_planned(DIED)
    assert capacity(plane, "gpus") == {H100: "23"}
    assert capacity(plane, "machines").keys() == {"h100/cpu", "h100/memory"}
    # What the example says of guards is for clusters in which nobody waits for them.
    plane.admin.patch(f"{OURS}/nvidiagpuparameters/gpus", {"spec": {"guards": None}})
    broken.nvml.lose(4)
    wait_published(plane, {H100: 22}, "gpu-2.example.com", name="gpus")
    wait_for_quotas(plane, pair=H100, training=15, inference=7)
    wait_for_quotas(plane, pair="h100/cpu", training=380, inference=190)


def test_the_lesser_of_what_is_offered_and_what_is_healthy(plane: ControlPlane, agents: Fleet) -> None:
    """As in the example: a composite of both witnesses, flavor by flavor."""
    _serve(plane, "node-inventory", "nvidia-gpu", "composite")
    start_orchestrator(plane)
    example = Example(plane, agents, WITNESSES)
    big = example.nodes["big-3.example.com"]
    big.nvml.lose(0)
    big.nvml.gpus[1].remapped = (0, 1, False, True)
    big.nvml.write()
    example.apply()
    example.wait_planned(WITNESSES)
    l40s = f"l40s/{GPU}"
    assert capacity(plane, "gpus-offered") == {H100: "24", l40s: "6"}
    assert capacity(plane, "gpus-healthy") == {H100: "22", l40s: "8"}
    wait_published(plane, {H100: 22, l40s: 6}, name="gpus")
