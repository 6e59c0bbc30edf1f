"""What the orchestrator serves at /metrics is what docs/reference/metrics.md says."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import flavor, orchestrator, provider, queue
from tests.integration.served import differences, served

H100 = {"capacity": {"flavors": [{"name": "default", "resources": {"cpu": "8"}}]}}


def test_what_the_orchestrator_serves_is_what_the_reference_says(plane: ControlPlane) -> None:
    """No family too many and none too few, before it has seen anything and when quotas follow."""
    daemon = start_orchestrator(plane)
    assert differences(daemon, "dqo orchestrator") == []
    plane.admin.apply(
        queue("team", {"default": {"cpu": "1"}}),
        flavor("default"),
        provider("nodes", "default"),
        orchestrator("dqo", "nodes", root=("ClusterQueue", "team")),
    )
    eventually(lambda: daemon.metric("kueue_dqo_orchestrator_condition") > 0, "it has looked at the orchestrator")
    assert differences(daemon, "dqo orchestrator") == []
    with_series = served(daemon).labels
    assert {"kueue_dqo_orchestrator_condition", "kueue_dqo_provider_ready", "kueue_dqo_cache_objects"} <= set(
        with_series
    )
