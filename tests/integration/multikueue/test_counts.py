"""What counts of related queues, as the parameters choose."""

from __future__ import annotations

from typing import Final

from tests.integration.multikueue.fleet import ALL, CPU, GPUS, LOCAL_QUEUES, SECOND, Fleet, quota
from tests.integration.objects import QUEUES, cohort, orchestrator, provider, publish, queue
from tests.integration.providers.scenes import GPU, history_of_providers, published_in, told

NODES: Final = "nodes"


def test_stopped_queues_of_workers_do_not_count(fleet: Fleet) -> None:
    """Neither do those whose LocalQueue is stopped; unless the parameters count them."""
    fleet.begin()
    admin = fleet.worker1.plane.admin
    admin.patch(f"{QUEUES}/seven", {"spec": {"stopPolicy": "Hold"}})
    fleet.wait({CPU: 14, GPUS: 5}, "seven", "Stopped")
    fleet.configure(inactiveQueues="Count")
    fleet.wait(ALL)
    fleet.configure()
    admin.patch(f"{QUEUES}/seven", {"spec": {"stopPolicy": "None"}})
    fleet.wait(ALL)
    admin.patch(f"{LOCAL_QUEUES}/{SECOND}", {"spec": {"stopPolicy": "HoldAndDrain"}})
    fleet.wait({CPU: 14, GPUS: 5})


def test_what_queues_may_borrow_counts_on_request(fleet: Fleet) -> None:
    """Within what others lend and they themselves may borrow; of the Cohort's own as well."""
    fleet.begin()
    admin = fleet.worker1.plane.admin
    admin.apply(
        cohort("pool", {"cheap": {"cpu": 4}}),
        queue("six", {"cheap": {"cpu": {"nominalQuota": 6, "borrowingLimit": 20}}}, cohort="pool"),
        queue("idle", {"cheap": {"cpu": {"nominalQuota": 10, "lendingLimit": 3}}}, cohort="pool"),
    )
    history = history_of_providers(fleet.manager)
    fleet.configure(counts="QuotaAndBorrowable")
    fleet.wait({CPU: 6 + 4 + 3 + 7 + 8, GPUS: 5})
    assert [each[CPU] for each in published_in(history.versions())] == ["28"]
    quota(fleet.worker1, "idle", "lendingLimit", 10)
    fleet.wait({CPU: 6 + 4 + 10 + 7 + 8, GPUS: 5})
    quota(fleet.worker1, "six", "borrowingLimit", 1)
    fleet.wait({CPU: 6 + 1 + 7 + 8, GPUS: 5})
    admin.apply(cohort("pool", {"cheap": {"cpu": 4}}, parent="company"), cohort("company", {"cheap": {"cpu": 50}}))
    quota(fleet.worker1, "six", "borrowingLimit", 100)
    fleet.wait({CPU: 6 + 4 + 10 + 50 + 7 + 8, GPUS: 5})


def test_what_providers_of_workers_report_counts_on_request(fleet: Fleet) -> None:
    """Those that the parameters name, or those of the orchestrators over the related queues."""
    fleet.begin()
    first, second = fleet.worker1.plane, fleet.worker2.plane
    for plane, flavor, amounts in ((first, "cheap", {"cpu": 40}), (second, "fast", {"cpu": 2, GPU: 3})):
        plane.admin.apply(provider(NODES, flavor))
        publish(plane, NODES, {flavor: amounts})
    first.admin.apply(provider("others", "cheap"))
    publish(first, "others", {"cheap": {"cpu": 1000}})
    history = history_of_providers(fleet.manager)
    fleet.configure(counts="WorkerProviders", workerProviders=[NODES])
    fleet.wait({CPU: 42, GPUS: 3})
    assert [each[CPU] for each in published_in(history.versions())] == ["42"]
    assert not told(fleet.manager, "WorkerHeld")
    first.admin.apply(orchestrator("dqo", NODES, root=("ClusterQueue", "six")))
    first.admin.apply(orchestrator("elsewhere", "others", root=("ClusterQueue", "unrelated")))
    second.admin.apply(orchestrator("dqo", NODES, root=("ClusterQueue", "eight")))
    fleet.configure(counts="WorkerProviders")
    fleet.wait({CPU: 42, GPUS: 3})
    publish(first, NODES, {"cheap": {"cpu": 44}})
    fleet.wait({CPU: 46, GPUS: 3})
    publish(first, NODES, {"cheap": {"cpu": 44}}, status="False", reason="SourceUnavailable")
    fleet.wait({CPU: 46, GPUS: 3}, "held until ", "worker1, unavailable since ", NODES)
