"""What an agent serves at /metrics is what docs/reference/metrics.md says."""

from __future__ import annotations

from tests.integration.gpu.agents import GPU, Fleet
from tests.integration.served import differences, served
from tests.nvml.devices import gpus, uuid_of_gpu


def test_what_an_agent_serves_is_what_the_reference_says(fleet: Fleet) -> None:
    """It elects no leader and watches nothing: of what every daemon has, only its requests are there."""
    node = fleet.running(gpus(2))
    node.nvml.lose(1)
    node.wait_counts({GPU: (1, 1)}, {uuid_of_gpu(1): "Lost"})
    found = differences(
        node.agent, "dqo provider nvidia-gpu --role agent", of_every=lambda name: name == "rest_client_requests_total"
    )
    assert found == []
    assert "kueue_dqo_nvidia_gpu_agent_device_unhealthy" in served(node.agent).labels
