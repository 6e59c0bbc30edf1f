"""docs/operations/README.md, typed as it stands, on a cluster with two teams and one replica of each daemon."""

from __future__ import annotations

import json
from typing import Final

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.lifecycle.checkout import Checkout, block, blocks
from tests.integration.objects import (
    DECLARED,
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    condition,
    nominal,
    publish,
    wait_for_condition,
    wait_for_quotas,
)

PAGE: Final = "README.md"
PODS: Final = "/api/v1/namespaces/kueue-dqo-system/pods"
WAIT: Final = "kubectl -n kueue-dqo-system rollout status deployment --timeout=2m"


def operate(checkout: Checkout, plane: ControlPlane) -> None:
    """24 cpu of `pool` are in force as 8 and 16, of 10 and 20 that are declared; and so they are afterwards."""
    assert "kueue-dqo-orchestrator" in checkout.run(block(PAGE, "Daily"))
    _stop_and_go_on(checkout, plane)
    _back_up_and_restore(checkout, plane)
    checkout.run(block(PAGE, "When something large has happened"))
    checkout.run(WAIT)
    publish(plane, "pool", {"default": {"cpu": "24"}})
    wait_for_quotas(plane, team_a=8, team_b=16)


def _stop_and_go_on(checkout: Checkout, plane: ControlPlane) -> None:
    """Quotas stay while nobody runs. One replica of each daemon is enough here."""
    stop, go_on = blocks(PAGE, "At three in the morning")
    checkout.run(stop)
    eventually(lambda: plane.admin.items(PODS) == [], "no daemon runs")
    publish(plane, "pool", {"default": {"cpu": "12"}})
    wait_for_quotas(plane, team_a=8, team_b=16)
    checkout.run(go_on, {"--replicas=2": "--replicas=1"})
    wait_for_quotas(plane, team_a=4, team_b=8)


def _back_up_and_restore(checkout: Checkout, plane: ControlPlane) -> None:
    """Everything is deleted, and comes back with what was declared. Without a status, nothing moves."""
    back_up, restore = blocks(PAGE, "Back up and restore")
    checkout.run(back_up)
    for kinds in ("dynamicquotaorchestrators,capacityproviders", "clusterqueues,cohorts"):
        checkout.run(f"kubectl delete {kinds} --all --timeout=1m")
    assert plane.admin.items(QUEUES) == []
    checkout.run(restore)
    wait_for_condition(plane, "False", "ProviderNotReady", "EffectiveCapacityComputed")
    assert condition(plane)["reason"] == "EffectiveCapacityNotComputed"
    wait_for_quotas(plane, team_a=4, team_b=8)
    assert "status" not in plane.admin.get(f"{PROVIDERS}/pool")
    publish(plane, "pool", {"default": {"cpu": "36"}})
    wait_for_quotas(plane, team_a=12, team_b=24)
    wait_for_condition(plane, "True", "QuotasDistributed")
    found = plane.admin.get(f"{QUEUES}/team-a")
    declared = {"spec": {"resourceGroups": json.loads(found["metadata"]["annotations"][DECLARED])}}
    assert nominal(declared) == {"default/cpu": 10 * 10**9}
    assert len(plane.admin.items(ORCHESTRATORS)) == 1
