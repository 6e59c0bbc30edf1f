"""What every provider's daemon serves at /metrics is what docs/reference/metrics.md says, and goes with its Lease."""

from __future__ import annotations

from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, QUICK_ELECTION
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.scenes import GPU, LEASES, POOL, wait_published
from tests.integration.served import differences, served


def test_what_a_provider_serves_is_what_the_reference_says_and_goes_with_the_lease(alone: Adapter) -> None:
    """No family too many and none too few; who leads no more has no word on any CapacityProvider."""
    daemon = alone.start(environment=QUICK_ELECTION)
    sections = "dqo provider NAME", f"dqo provider {alone.command}"
    assert differences(daemon, *sections) == []
    alone.begin({"h100": {GPU: 80}})
    wait_published(alone.plane, {f"h100/{GPU}": 80})
    eventually(lambda: daemon.metric("kueue_dqo_provider_synchronized", provider=POOL) == 1, "it has looked")
    assert differences(daemon, *sections) == []
    assert "kueue_dqo_provider_observed_capacity" in served(daemon).labels

    path = f"{LEASES}/kueue-dqo-{alone.command}"
    thief = {"spec": {"holderIdentity": "thief_x", "leaseDurationSeconds": 3600}}
    alone.plane.admin.patch(path, thief)
    eventually(lambda: bool(daemon.logs("leader election lost")), f"it has lost its Lease in {NAMESPACE}")
    eventually(lambda: f'provider="{POOL}"' not in daemon.get("/metrics")[1], "nothing of the provider is left")
    assert differences(daemon, *sections) == []
