"""What a manager's queue can send to: the related queues of two workers, whatever becomes of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.processes import eventually
from tests.integration.multikueue.fleet import (
    ALL,
    CLUSTERS,
    CPU,
    FIRST,
    GPUS,
    LOCAL_QUEUES,
    TEAM,
    THIRD,
    WITHOUT_2,
    Fleet,
    cluster,
    config,
    leads,
    quota,
)
from tests.integration.objects import GROUP, QUEUES, groups, queue
from tests.integration.providers.scenes import GPU, POOL, history_of_providers, published_in

METRICS: Final = "kueue_dqo_multikueue"


def test_related_queues_of_all_workers_make_up_the_capacity(fleet: Fleet) -> None:
    """Each counts once, however many LocalQueues lead to it; the message and a metric name the largest worker."""
    fleet.provide()
    said = fleet.wait(ALL)
    assert said.startswith("gpu: 21 cpu, 5 nvidia.com/gpu from 2 workers; ")
    assert "largest single worker: 13 cpu (worker1), 5 nvidia.com/gpu (worker2)" in said
    for resource, worker, amount in (("cpu", "worker1", 13), (GPU, "worker2", 5)):
        pair = {"provider": POOL, "flavor": "gpu", "resource": resource}
        assert fleet.daemon.metric(f"{METRICS}_worker_capacity", worker=worker, **pair) == amount
        assert fleet.daemon.metric(f"{METRICS}_largest_worker_capacity", **pair) == amount


def test_a_worker_that_is_down_counts_until_its_grace_is_over(fleet: Fleet) -> None:
    """Then the others are published without it, and with it again when it is back. Each is told by name."""
    fleet.begin(unavailableWorkers={"grace": "3s"})
    history = history_of_providers(fleet.manager)
    fleet.worker2.plane.api_server.kill()
    said = fleet.wait(ALL, "held until ", ": worker2, unavailable since ")
    assert "worker1, unavailable" not in said
    assert _told(fleet, "worker_held") == {"worker1": 0, "worker2": 1}
    without = (" from 1 worker;", f"no worker that counts has {GPU};", "left out: worker2, unavailable since ")
    fleet.wait(WITHOUT_2, *without)
    assert _told(fleet, "worker_available") == {"worker1": 1, "worker2": 0}
    fleet.revive()
    fleet.wait_whole(ALL)
    assert published_in(history.versions()) == [_texts(each) for each in (ALL, WITHOUT_2, ALL)]


def _told(fleet: Fleet, name: str) -> dict[str, float]:
    """A metric of each worker."""
    workers = ("worker1", "worker2")
    return {each: fleet.daemon.metric(f"{METRICS}_{name}", provider=POOL, worker=each) for each in workers}


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {pair: str(amount) for pair, amount in amounts.items()}


def test_quotas_in_force_count_where_they_are_not_those_of_the_spec(fleet: Fleet) -> None:
    """As an orchestrator of the worker writes them to the status."""
    fleet.begin()
    path = f"{QUEUES}/seven/status"
    admin = fleet.worker1.plane.admin
    owner = {"apiGroup": GROUP, "kind": "DynamicQuotaOrchestrator", "name": "dqo"}
    effective = {"orchestratorRef": owner, "resourceGroups": groups({"cheap": {"cpu": 3}})}
    admin.patch(path, {"status": {"effectiveQuotas": effective}})
    fleet.wait({CPU: 17, GPUS: 5})
    admin.patch(path, {"status": {"effectiveQuotas": None}})
    fleet.wait(ALL)


def test_changes_of_workers_are_followed(fleet: Fleet) -> None:
    """A quota, a LocalQueue that leads elsewhere, one that is gone. What nobody can reach never counts."""
    fleet.begin()
    admin = fleet.worker1.plane.admin
    quota(fleet.worker1, "seven", "nominalQuota", "9500m")
    fleet.wait({CPU: "23500m", GPUS: 5})
    with fleet.no_dip({CPU: "23500m", GPUS: 5}):
        quota(fleet.worker1, "unrelated", "nominalQuota", 1000)
        quota(fleet.worker2, "unrelated", "nominalQuota", 1000)
        admin.apply(queue("new", {"cheap": {"cpu": 1000}}))
        fleet.look()
    admin.delete(f"{LOCAL_QUEUES}/{FIRST}")
    fleet.wait({CPU: "17500m", GPUS: 5})
    admin.apply(leads(FIRST, "unrelated"))
    fleet.wait({CPU: "1017500m", GPUS: 5})


def test_changes_of_the_manager_are_followed(fleet: Fleet) -> None:
    """Another LocalQueue reaches another queue; a worker that the config drops is gone at once, without a grace."""
    fleet.begin()
    admin = fleet.manager.admin
    admin.apply(leads(THIRD, TEAM))
    fleet.wait({CPU: 121, GPUS: 5})
    admin.delete(f"{LOCAL_QUEUES}/{THIRD}")
    fleet.wait(ALL)
    admin.apply(config("worker1"))
    said = fleet.wait(WITHOUT_2, "from 1 worker")
    assert "worker2" not in said
    admin.apply(config("worker1", "worker2"))
    fleet.wait(ALL)


def test_a_cluster_that_is_removed_and_added_again_is_held_meanwhile(fleet: Fleet) -> None:
    """Its object names the kubeconfig, by which it is followed; a config that names the cluster still means it."""
    before = len(fleet.worker2.plane.requests())
    fleet.begin()
    eventually(lambda: fleet.worker2.watches(before) > 0, "it is watched")
    with fleet.no_dip(ALL):
        fleet.manager.admin.delete(f"{CLUSTERS}/worker2")
        fleet.wait(ALL, "held until ", "worker2, unavailable since ", "MultiKueueCluster")
        eventually(lambda: fleet.worker2.watches(before) == 0, "nothing of it is watched any more")
        fleet.manager.admin.apply(cluster("worker2"))
        fleet.wait_whole(ALL)


def test_a_cluster_to_which_kueue_does_not_dispatch_is_unavailable(fleet: Fleet) -> None:
    """Whatever its queues have."""
    fleet.begin(unavailableWorkers={"grace": "0s"})
    condition = {
        "type": "Active",
        "status": "False",
        "reason": "ClientConnectionFailed",
        "message": "by hand",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    path = f"{CLUSTERS}/worker2/status"
    fleet.manager.admin.patch(path, {"status": {"conditions": [condition]}})
    fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ", "ClientConnectionFailed")
    fleet.manager.admin.patch(
        path, [{"op": "replace", "path": "/status/conditions/0/status", "value": "True"}], JSON_PATCH
    )
    fleet.wait(ALL)


def test_after_the_grace_nothing_may_be_published_either(fleet: Fleet) -> None:
    """As the parameters say; the last capacity stays."""
    fleet.begin()
    fleet.take("worker2")
    with fleet.no_dip(ALL):
        fleet.wait(ALL, "held until ")
        fleet.configure(unavailableWorkers={"grace": "0s", "afterGrace": "SourceUnavailable"})
        fleet.wait_failed("SourceUnavailable", "worker2", "unavailable since ")
        fleet.give(fleet.worker2)
        fleet.wait(ALL)


def test_all_workers_away_are_no_capacity_of_zero(fleet: Fleet) -> None:
    """Although those that are away are left out."""
    fleet.begin(unavailableWorkers={"grace": "0s"})
    fleet.take("worker2")
    fleet.wait(WITHOUT_2)
    with fleet.no_dip(WITHOUT_2):
        fleet.take("worker1")
        fleet.wait_failed("SourceUnavailable", "worker1, unavailable since ", "worker2, unavailable since ")
