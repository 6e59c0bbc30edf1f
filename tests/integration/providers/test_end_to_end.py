"""From a node that fails to a Workload that waits, and from a provider that dies to an Event: real processes all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.controlplane.kueue import start_minimal
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, start_orchestrator
from tests.integration.objects import (
    PROVIDERS,
    add_node,
    cohort,
    flavor,
    orchestrator,
    provider,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.scenes import (
    has_condition,
    local_queue,
    submit,
    wait_admitted,
    wait_refused,
)
from tests.integration.providers.adapter import LABEL, Adapter
from tests.integration.providers.adapters import Composite, Manual, NodeInventory, RackPower
from tests.integration.providers.scenes import GPU, LEASES, POOL, wait_failed, wait_published, wait_told

H100: Final = f"h100/{GPU}"


def _node(plane: ControlPlane, number: int, **options: Any) -> None:
    add_node(plane, f"h100-{number}", {GPU: 8, "cpu": 64}, labels={LABEL: "h100"}, **options)


def test_a_workload_waits_while_a_node_is_away(plane: ControlPlane) -> None:
    """Node fails, capacity falls, quota falls, the next Workload waits; node back, it is admitted. Nobody is evicted.

    Two nodes of 8 GPUs; the queues share them as they declare, 3 to 1.
    """
    start_minimal(plane)
    start_orchestrator(plane)
    with NodeInventory.running(plane) as nodes:
        daemon = nodes.start()
        for number in range(2):
            _node(plane, number)
        nodes.configure(resources={"include": [GPU]})
        plane.admin.apply(
            flavor("h100", {LABEL: "h100"}),
            cohort("company"),
            queue("research", {"h100": {GPU: 30}}, cohort="company"),
            queue("production", {"h100": {GPU: 10}}, cohort="company"),
            local_queue("research"),
            provider(POOL, "h100", controller=nodes.controller, parameters=nodes.parameters()),
            orchestrator("dqo", POOL, root=("Cohort", "company")),
        )
        wait_for_quotas(plane, pair=H100, research=12, production=4)
        submit(plane, "first", "8", to="research", resource=GPU)
        wait_admitted(plane, "first")
        _node(plane, 1, ready="Unknown")
        wait_published(plane, {H100: 8}, "excluded: NotReady=1")
        wait_for_quotas(plane, pair=H100, research=6, production=2)
        submit(plane, "second", "4", to="research", resource=GPU)
        wait_refused(plane, "second")
        _node(plane, 1)
        wait_for_quotas(plane, pair=H100, research=12, production=4)
        wait_admitted(plane, "second")
        wait_for_condition(plane, "True", "QuotasDistributed")
        assert not has_condition(plane, "first", "Evicted")
        daemon.server.stop()


@pytest.mark.parametrize("alone", [RackPower], indirect=True, ids=["rack-power"])
def test_the_orchestrator_tells_of_a_provider_that_was_killed(alone: Adapter, plane: ControlPlane) -> None:
    """Its condition stays True, its quotas stay: only the Lease can tell."""
    daemon = alone.start(environment=QUICK_ELECTION)
    alone.begin({"h100": {GPU: 80}})
    wait_published(plane, {H100: 80})
    eventually(lambda: POOL in {each["metadata"]["name"] for each in plane.admin.items(LEASES)}, "it has its Lease")
    plane.admin.apply(queue("team", {"h100": {GPU: 10}}), orchestrator("dqo", POOL, root=("ClusterQueue", "team")))
    watching = start_orchestrator(plane)
    wait_for_condition(plane, "True", "QuotasDistributed")
    assert watching.metric("kueue_dqo_provider_lease_expired", provider=POOL) == 0
    daemon.server.kill()
    plane.admin.patch(f"{LEASES}/{POOL}", {"spec": {"leaseDurationSeconds": 1}})  # a minute would only be waited for
    assert alone.controller in wait_told(plane, "ProviderExpired")["message"]
    alone.start("again", environment=QUICK_ELECTION)
    eventually(lambda: watching.metric("kueue_dqo_provider_lease_expired", provider=POOL) == 0, "it lives again")


@pytest.fixture
def three(plane: ControlPlane) -> Iterator[dict[str, Adapter]]:
    """Node inventory, manual and composite, each with its daemon."""
    with (
        NodeInventory.running(plane) as nodes,
        Manual.running(plane) as manual,
        Composite.running(plane) as composite,
    ):
        for each in (nodes, manual, composite):
            each.start()
        yield {each.command: each for each in (nodes, manual, composite)}
        composite.clear()


def test_the_nodes_up_to_what_the_contract_allows(three: dict[str, Adapter], plane: ControlPlane) -> None:
    """Minimum of the node inventory and numbers written by hand, with all three daemons."""
    nodes, manual, composite = three["node-inventory"], three["manual"], three["composite"]
    nodes.begin({"h100": {GPU: 80}}, resources={"include": [GPU]})
    manual.amounts = {"h100": {GPU: 64}}
    contract = {**manual.parameters(), "metadata": {"name": "contract"}}
    plane.admin.apply(contract, provider("contract", "h100", controller=manual.controller, parameters=contract))
    minimum = {
        **composite.parameters(),
        "metadata": {"name": "both"},
        "spec": {"members": [{"name": POOL}, {"name": "contract"}], "combine": "Min"},
    }
    plane.admin.apply(minimum, provider("both", "h100", controller=composite.controller, parameters=minimum))
    wait_published(plane, {H100: 64}, name="both")
    nodes.say({"h100": {GPU: 40}})
    wait_published(plane, {H100: 40}, name="both")
    plane.admin.apply(flavor("h100", {LABEL: "nobody"}))
    wait_published(plane, {H100: 0})
    wait_published(plane, {H100: 0}, name="both")
    plane.admin.delete(f"{PROVIDERS}/contract")
    wait_failed(plane, "Misconfigured", "contract", name="both")
