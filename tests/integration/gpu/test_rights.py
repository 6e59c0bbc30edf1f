"""An agent uses every right that its manifests grant, and asks for nothing that they do not grant."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, install
from tests.integration.gpu.agents import GPU, Fleet
from tests.integration.rights import asked, assert_used_is_granted, granted
from tests.nvml.devices import gpus, uuid_of_gpu

ACCOUNT: Final = "kueue-dqo-nvidia-gpu-agent"
WRITTEN: Final = "kueue_dqo_nvidia_gpu_agent_report_writes_total"


def test_every_right_is_used_and_none_is_missing(tmp_path_factory: pytest.TempPathFactory) -> None:
    """By the API server's own record, from the first report of a node on, through a loss and a restart.

    The aggregator is installed with it, and its rights are nothing to the agent.
    """
    with ControlPlane(tmp_path_factory.mktemp("controlplane"), audit=True) as plane:
        install_crds(plane)
        installed = install(plane, "base/namespace", "base/nvidia-gpu", "base/nvidia-gpu-agent")
        node = Fleet(plane, installed, tmp_path_factory.mktemp("nvml")).running(gpus(2))
        node.nvml.lose(0)
        node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(0): "Lost"})
        node.restart()
        eventually(lambda: node.agent.metric(WRITTEN) > 0, "the agent that was started again has written")
        node.agent.server.stop()
        used = asked(plane.requests(), NAMESPACE, ACCOUNT)
        given = granted(installed, NAMESPACE, ACCOUNT)
    assert_used_is_granted(used, given)
    assert {(right.resource, right.verb) for right in given} == {
        ("nodegpureports", "create"),
        ("nodegpureports", "patch"),
        ("selfsubjectreviews", "create"),
    }
