"""The orchestrator as it is shipped: its quotas follow the capacity."""

from __future__ import annotations

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    PROVIDERS,
    cohort,
    condition,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)


@pytest.fixture
def two_teams(plane: ControlPlane) -> ControlPlane:
    """Two queues of 10 and 20 cpu, and an orchestrator over their cohort."""
    plane.admin.apply(
        cohort("teams"),
        queue("team-a", {"default": {"cpu": 10}}, cohort="teams"),
        queue("team-b", {"default": {"cpu": 20}}, cohort="teams"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "teams")),
    )
    return plane


def test_quotas_follow_the_capacity_up_and_down(two_teams: ControlPlane) -> None:
    """And the conditions say so, each time."""
    start_orchestrator(two_teams)
    wait_for_condition(two_teams, "False", "ProviderNotReady", "EffectiveCapacityComputed")
    wait_for_condition(two_teams, "False", "EffectiveCapacityNotComputed")
    publish(two_teams, "pool", {"default": {"cpu": "48"}})
    wait_for_quotas(two_teams, team_a=16, team_b=32)
    wait_for_condition(two_teams, "True", "QuotasDistributed")
    publish(two_teams, "pool", {"default": {"cpu": "9"}})
    wait_for_quotas(two_teams, team_a=3, team_b=6)
    publish(two_teams, "pool", {"default": {"cpu": "300"}})
    wait_for_quotas(two_teams, team_a=100, team_b=200)


def test_a_provider_that_is_not_ready_leaves_quotas_as_they_are(two_teams: ControlPlane) -> None:
    """And the condition names it."""
    start_orchestrator(two_teams)
    publish(two_teams, "pool", {"default": {"cpu": "48"}})
    wait_for_quotas(two_teams, team_a=16, team_b=32)
    publish(two_teams, "pool", {"default": {"cpu": "0"}}, status="False", reason="SourceUnavailable")
    wait_for_condition(two_teams, "False", "EffectiveCapacityNotComputed")
    assert "CapacityProvider pool is not ready" in condition(two_teams)["message"]
    wait_for_quotas(two_teams, team_a=16, team_b=32)
    two_teams.admin.delete(f"{PROVIDERS}/pool")
    wait_for_condition(two_teams, "False", "Misconfigured", "EffectiveCapacityComputed")
    wait_for_quotas(two_teams, team_a=16, team_b=32)


def test_nothing_is_written_when_nothing_has_changed(two_teams: ControlPlane) -> None:
    """A restart computes anew, and writes nothing."""
    first = start_orchestrator(two_teams)
    publish(two_teams, "pool", {"default": {"cpu": "48"}})
    wait_for_condition(two_teams, "True", "QuotasDistributed")
    first.server.stop()
    second = start_orchestrator(two_teams, name="second")
    wait_for_quotas(two_teams, team_a=16, team_b=32)
    publish(two_teams, "pool", {"default": {"cpu": "48000m"}})  # the same by value
    publish(two_teams, "pool", {"default": {"cpu": "51"}})
    wait_for_quotas(two_teams, team_a=17, team_b=34)
    assert second.metric("kueue_dqo_quota_writes_total") == 2


def test_own_writes_do_not_interrupt_a_pass(plane: ControlPlane) -> None:
    """However soon the watch shows them: many writes under way at once, and hardly more passes than changes."""
    queues = [queue(f"queue-{number}", {"default": {"cpu": 10}}, cohort="teams") for number in range(80)]
    plane.admin.apply(cohort("teams"), provider("pool", "default"), *queues)
    plane.admin.apply(orchestrator("dqo", "pool", root=("Cohort", "teams")))
    publish(plane, "pool", {"default": {"cpu": "400"}})
    daemon = start_orchestrator(plane)
    wait_for_condition(plane, "True", "QuotasDistributed")
    before = daemon.metric("kueue_dqo_passes_total")
    assert daemon.metric("kueue_dqo_quota_writes_total") == 81
    for number, capacity in enumerate((800, 240), start=1):
        publish(plane, "pool", {"default": {"cpu": str(capacity)}})
        wanted = 81 + 80 * number
        eventually(lambda wanted=wanted: daemon.metric("kueue_dqo_quota_writes_total") >= wanted, f"{wanted} writes")  # type: ignore[misc]  # mypy infers no type for a default
    wait_for_quotas(plane, queue_0=3, queue_79=3)
    # One for each change; one more where a status of ours is seen before its answer is taken in would be a surprise.
    assert daemon.metric("kueue_dqo_passes_total") - before <= 4
    assert daemon.metric("kueue_dqo_quota_writes_total") == 81 + 2 * 80
