"""What the account on a worker may do is what the daemon does there: it reads, and only what it needs."""

from __future__ import annotations

import pytest

from tests.controlplane.faults import CutWatch
from tests.controlplane.processes import eventually
from tests.integration.daemons import rendered
from tests.integration.multikueue.fleet import CPU, GPUS, Fleet
from tests.integration.multikueue.worker import READER
from tests.integration.objects import provider, publish
from tests.integration.proxies import Proxy
from tests.integration.rights import Right, asked, assert_used_is_granted, granted


@pytest.mark.usefixtures("without_daemon")
def test_every_right_on_a_worker_is_used_and_none_is_missing(fleet: Fleet, proxy: Proxy) -> None:
    """By the record of the worker's API server, through all that may count."""
    worker = fleet.worker2
    before = len(worker.plane.requests())

    def used() -> set[Right]:
        return asked(worker.plane.requests()[before:], worker.namespace, worker.account)

    def wait_watched(plural: str) -> None:
        eventually(lambda: any((each.resource, each.verb) == (plural, "watch") for each in used()), f"{plural} watched")

    daemon = fleet.start("again")
    proxy.add(CutWatch(3.0))
    fleet.begin()
    fleet.give(worker, worker.kubeconfig(server=proxy.url))
    fleet.configure(counts="QuotaAndBorrowable")
    wait_watched("cohorts")
    for plane, name in ((worker.plane, "fast"), (fleet.worker1.plane, "cheap")):
        plane.admin.apply(provider("nodes", name))
        publish(plane, "nodes", {name: {"cpu": 3}})
    fleet.configure(counts="WorkerProviders", workerProviders=["nodes"])
    fleet.wait({CPU: 6, GPUS: 0})
    fleet.configure(counts="WorkerProviders")
    fleet.wait_failed("SourceUnavailable", "worker2, unavailable since ", "no DynamicQuotaOrchestrator distributes to")
    wait_watched("dynamicquotaorchestrators")
    daemon.server.stop()
    given = granted(rendered(READER), worker.namespace, worker.account)
    assert_used_is_granted(used(), given)
    assert {right.verb for right in given} <= {"get", "list", "watch"}
