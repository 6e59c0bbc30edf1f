"""Which cluster a worker is: another than before, or one that counts already."""

from __future__ import annotations

from tests.integration.multikueue.fleet import ALL, CPU, Fleet, config, quota


def test_a_cluster_that_is_replaced_by_another_counts_as_that(fleet: Fleet) -> None:
    """Its kubeconfig leads elsewhere; nothing of the former is left."""
    fleet.provide(resources={"include": ["cpu"]})
    fleet.manager.admin.apply(config("worker2"))
    fleet.wait({CPU: 8}, "from 1 worker")
    fleet.give(fleet.worker2, fleet.worker1.kubeconfig())
    fleet.wait({CPU: 13})
    quota(fleet.worker2, "eight", "nominalQuota", 100)
    quota(fleet.worker1, "six", "nominalQuota", 7)
    fleet.wait({CPU: 14})


def test_a_cluster_under_two_names_does_not_count_twice(fleet: Fleet) -> None:
    """Both names are told."""
    _assert_refused(fleet, fleet.worker1.kubeconfig(), "MultiKueueCluster worker1")


def test_the_manager_is_no_worker_of_its_own(fleet: Fleet) -> None:
    """Its quotas would grow by what is published of them."""
    _assert_refused(fleet, fleet.manager.kubeconfig().read_text(), "the manager itself")


def _assert_refused(fleet: Fleet, kubeconfig: str, twin: str) -> None:
    """What was published stays until the second worker has a kubeconfig of its own again."""
    fleet.begin()
    with fleet.no_dip(ALL):
        fleet.give(fleet.worker2, kubeconfig)
        fleet.wait_failed("Misconfigured", f"MultiKueueCluster worker2 leads to the same cluster as {twin}, ")
        fleet.give(fleet.worker2)
        fleet.wait_whole(ALL)
