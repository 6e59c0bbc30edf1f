"""A cluster that tests of this folder share, one after the other, and a control plane where nothing is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.integration.install.cluster import GPU_NODE, GPUS, POOL, SYSTEM, Cluster
from tests.integration.install.installations import install_monitors
from tests.nvml.devices import gpus
from tests.nvml.state import NvmlState

_RUNTIME_CLASS: Final = "nvidia"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """One without controllers, so that what is applied there has no pods, whatever ran before."""
    with _started(tmp_path / "controlplane") as plane:
        yield plane


@contextmanager
def _started(folder: Path) -> Iterator[ControlPlane]:
    """With the definitions of Kueue and of Prometheus Operator, and none of ours."""
    with ControlPlane(folder) as plane:
        install_crds(plane, ours=False, effective_quotas=True)
        install_monitors(plane)
        plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}})
        yield plane


@pytest.fixture(scope="package")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes without zones, and one with GPUs and NVIDIA's container toolkit. No Kueue: nothing here needs one."""
    with _started(tmp_path_factory.mktemp("controlplane")) as plane:
        runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": _RUNTIME_CLASS}}
        plane.admin.apply({**runtime, "handler": _RUNTIME_CLASS})
        start_controllers(plane)
        for name in SYSTEM:
            add_node(plane, name, labels=POOL)
        # Room for an agent, and for no replica of anything else.
        add_node(plane, GPU_NODE, labels={"nvidia.com/gpu.present": "true"}, capacity={"cpu": "20m"})
        driver = NvmlState(tmp_path_factory.mktemp("nvml"), gpus(GPUS)).environment
        with Kubelet(plane, [*SYSTEM, GPU_NODE], runtime_classes={_RUNTIME_CLASS: lambda _: driver}) as kubelet:
            cluster = Cluster(plane, kubelet)
            cluster.clear()
            yield cluster


@pytest.fixture
def cluster(_running: Cluster) -> Iterator[Cluster]:
    """Nothing of ours is installed. What the test installs is removed after it."""
    yield _running
    _running.clear()
