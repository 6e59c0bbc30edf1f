"""From a worker's quota to a Job that reserves it on the manager: Kueue's MultiKueue, the orchestrator, all real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.controlplane.kueue import NAMESPACE as KUEUE
from tests.controlplane.kueue import start_manager
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.multikueue.fleet import CPU, FIRST, OF_THE_MANAGER, TEAM, Fleet, quota
from tests.integration.objects import orchestrator, wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.spec_road.scenes import WORKLOADS
from tests.integration.providers.scenes import POOL, clear

JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
_WEBHOOKS: Final = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
)
_SECRETS: Final = f"/api/v1/namespaces/{KUEUE}/secrets"


@pytest.fixture
def kueue(fleet: Fleet) -> Iterator[Fleet]:
    """The fleet, with Kueue's manager on the manager cluster; it has kubeconfigs of its own, which may write."""
    admin = fleet.manager.admin
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUEUE}})
    for worker in (fleet.worker1, fleet.worker2):
        metadata = {"name": worker.name, "namespace": KUEUE}
        data = {"kubeconfig": worker.plane.kubeconfig().read_text()}
        admin.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
    server = start_manager(fleet.manager)
    yield fleet
    fleet.revive()
    # While it runs: it has finalizers on its objects, and its webhooks are asked about them.
    clear(fleet.manager, JOBS, WORKLOADS, *OF_THE_MANAGER)
    for path in _WEBHOOKS:
        for each in admin.items(path):
            admin.delete(f"{path}/{each['metadata']['name']}")
    server.stop()
    for worker in (fleet.worker1, fleet.worker2):
        admin.delete(f"{_SECRETS}/{worker.name}")
        clear(worker.plane, JOBS, WORKLOADS)


def _submit(fleet: Fleet, name: str, cpu: int) -> None:
    """A Job of one pod for MultiKueue to dispatch."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    labels = {"kueue.x-k8s.io/queue-name": FIRST}
    fleet.manager.admin.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "template": template},
        }
    )


def _workload(fleet: Fleet, job: str) -> dict[str, Any]:
    found = fleet.manager.admin.items(WORKLOADS)
    return next((each for each in found if each["metadata"]["ownerReferences"][0]["name"] == job), {})


def _condition(fleet: Fleet, job: str, kind: str) -> dict[str, Any]:
    conditions = _workload(fleet, job).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def _wait(fleet: Fleet, job: str, status: str) -> None:
    """Until Kueue says whether quota is reserved for it."""
    eventually(
        lambda: _condition(fleet, job, "QuotaReserved").get("status") == status, f"QuotaReserved of {job} is {status}"
    )


def test_kueue_reserves_what_workers_have_times_a_multiplier(kueue: Fleet) -> None:
    """A Job that needs more than all workers have holds quota and is dispatched; the next one waits.

    A worker whose API server ends is one that Kueue does not dispatch to, and that takes its quota with it in time.
    """
    fleet = kueue
    fleet.provide(resources={"include": ["cpu"]}, unavailableWorkers={"grace": "5s"})
    fleet.wait({CPU: 21})
    start_orchestrator(fleet.manager)
    fleet.manager.admin.apply(orchestrator("dqo", POOL, root=("ClusterQueue", TEAM), multiplier="1.5"))
    wait_for_quotas(fleet.manager, pair=CPU, team=31.5)
    wait_for_condition(fleet.manager, "True", "QuotasDistributed")
    _submit(fleet, "large", 25)
    _wait(fleet, "large", "True")
    _submit(fleet, "next", 7)
    _wait(fleet, "next", "False")
    assert "insufficient unused quota for cpu in flavor gpu, 500m more needed" in str(
        _condition(fleet, "next", "QuotaReserved")["message"]
    )
    eventually(lambda: bool(fleet.worker1.plane.admin.items(WORKLOADS)), "it is dispatched")
    assert not _condition(fleet, "large", "Admitted")
    quota(fleet.worker2, "eight", "nominalQuota", 9)
    wait_for_quotas(fleet.manager, pair=CPU, team=33)
    _wait(fleet, "next", "True")
    fleet.worker2.plane.api_server.kill()
    fleet.wait({CPU: 13}, "left out: worker2, ")
    wait_for_quotas(fleet.manager, pair=CPU, team=19.5)
