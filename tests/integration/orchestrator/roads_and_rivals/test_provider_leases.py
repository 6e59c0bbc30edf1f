"""A provider that has died: its Lease tells, since its condition stays True."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon, start_orchestrator
from tests.integration.objects import PROVIDERS, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.roads_and_rivals.scenes import capacity, told, versions, wait_seen, wait_told

EXPIRED = "kueue_dqo_provider_lease_expired"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/pool"


def _lease(seconds: int, *, label: str = "example.com.by-hand") -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "pool",
            "namespace": NAMESPACE,
            "labels": {"kueue-dqo.dev/controller-name": label} if label else {},
        },
        "spec": {
            "holderIdentity": "provider-0",
            "leaseDurationSeconds": seconds,
            "renewTime": "2026-01-31T12:00:00.000000Z",  # nobody compares clocks
        },
    }


@pytest.fixture
def daemon(teams: ControlPlane) -> Daemon:
    """Both teams have their quotas."""
    running = start_orchestrator(teams)
    capacity(teams, 48)
    wait_for_condition(teams, "True", "QuotasDistributed")
    return running


def test_an_expired_lease_is_told_and_quotas_stay(teams: ControlPlane, daemon: Daemon) -> None:
    """Until it is renewed. A second end is told as well, on the same Event."""
    wait_seen(daemon, 48)
    before = versions(teams)
    teams.admin.apply(_lease(1))
    eventually(lambda: daemon.metric(EXPIRED, provider="pool") == 1, "the Lease has expired")
    event = wait_told(teams, "ProviderExpired", "pool")
    provider = teams.admin.get(f"{PROVIDERS}/pool")
    assert event["involvedObject"] == {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "CapacityProvider",
        "name": "pool",
        "uid": provider["metadata"]["uid"],
    }
    assert "example.com/by-hand has not renewed its Lease for 1 s" in event["message"]
    (line,) = daemon.logs("provider has expired")
    assert (line["provider"], line["controller"]) == ("pool", "example.com/by-hand")
    assert versions(teams) == before
    renewal = {"renewTime": "2026-01-31T12:00:15.000000Z", "leaseDurationSeconds": 3600}
    teams.admin.patch(LEASE, {"spec": renewal})
    eventually(lambda: daemon.metric(EXPIRED, provider="pool") == 0, "the Lease is renewed")
    teams.admin.patch(LEASE, {"spec": {"leaseDurationSeconds": 1}})
    eventually(lambda: told(teams, "ProviderExpired", "pool")[0]["count"] == 2, "the second end is counted")
    assert len(told(teams, "ProviderExpired", "pool")) == 1
    wait_for_quotas(teams, team_a=16, team_b=32)


def test_the_sign_of_life_goes_with_the_provider(teams: ControlPlane, daemon: Daemon) -> None:
    """One that was taken away on purpose leaves no alarm behind."""
    teams.admin.apply(_lease(1))
    eventually(lambda: daemon.metric(EXPIRED, provider="pool") == 1, "the Lease has expired")
    teams.admin.delete(f"{PROVIDERS}/pool")
    eventually(lambda: daemon.metric(EXPIRED, provider="pool") == 0, "the alarm has ended")
