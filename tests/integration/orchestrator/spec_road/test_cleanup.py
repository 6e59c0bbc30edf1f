"""`dqo cleanup` after the orchestrator is gone: the spec is what its author wrote, and can be adopted again."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.e2e.process import dqo
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    COHORTS,
    ORCHESTRATORS,
    QUEUES,
    Quotas,
    cohort,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.history import OURS, owners
from tests.integration.orchestrator.spec_road.scenes import (
    noted,
)

TEXTS: Quotas = {
    "default": {
        "cpu": {"nominalQuota": "1000m", "borrowingLimit": "0.50", "lendingLimit": "1"},
        "memory": {"nominalQuota": "1024Mi"},
    },
    "spare": {"cpu": {"nominalQuota": 8}, "memory": {"nominalQuota": "1e3"}},
}
NUMBERS: Quotas = {"default": {"cpu": 8, "memory": "8000000000"}}
UNCHANGED: Quotas = {"default": {"cpu": "3000m", "memory": "3Gi"}}
ALL = {f"{QUEUES}/texts": TEXTS, f"{QUEUES}/numbers": NUMBERS, f"{COHORTS}/teams": UNCHANGED}
ROOT = ("Cohort", "teams")


def test_the_declared_quotas_come_back_as_they_were_written(plane: ControlPlane) -> None:
    """Character by character, of ClusterQueues and Cohorts, and also where the capacity is just what is declared."""
    plane.admin.apply(
        flavor("default"),
        flavor("spare"),
        cohort("teams", UNCHANGED),
        queue("texts", TEXTS, cohort="teams"),
        queue("numbers", NUMBERS, cohort="teams"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=ROOT),
    )
    written = {path: plane.admin.get(path)["spec"]["resourceGroups"] for path in ALL}
    publish(plane, "pool", {"default": {"cpu": "24", "memory": "24Gi"}})
    daemon = start_orchestrator(plane)
    wait_for_quotas(plane, texts=2, numbers=16)
    publish(plane, "pool", {"default": {"cpu": "12", "memory": "4Gi"}})  # the sum of cpu that is declared
    wait_for_quotas(plane, texts=1, numbers=8)
    wait_for_condition(plane, "True", "QuotasDistributed")
    plane.admin.delete(f"{ORCHESTRATORS}/dqo")
    done = dqo("cleanup", "--yes", "--kubeconfig", plane.kubeconfig())
    assert done.code == 0, done
    for path, groups in written.items():
        assert plane.admin.get(path)["spec"]["resourceGroups"] == groups
        assert noted(plane, path) == {}
        assert OURS not in owners(plane.admin.get(path))
    assert daemon.metric("kueue_dqo_quota_reverts_total") == 0
    plane.admin.apply(orchestrator("again", "pool", root=ROOT))
    wait_for_condition(plane, "True", "QuotasDistributed", name="again")
    wait_for_quotas(plane, texts=1, numbers=8)
