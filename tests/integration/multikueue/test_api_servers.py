"""API servers of workers that are older, that have no Kueue, or that do not answer."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane import binaries
from tests.controlplane.faults import ALL as ALL_VERBS
from tests.controlplane.faults import Delay
from tests.controlplane.kueue import apply_crds, read
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import install
from tests.integration.multikueue.fleet import ALL, CPU, FIRST, SECOND, WITHOUT_2, Fleet, leads, quota
from tests.integration.multikueue.relay import Rewrite, running_relay
from tests.integration.multikueue.worker import READER, Worker
from tests.integration.objects import GROUP, Manifest, queue
from tests.integration.providers.scenes import capacity
from tests.integration.proxies import Proxy

OLD: Final = "v1beta1"
_SOON: Final = 5.0
"""Seconds. Half of what a question waits for a worker that has never been read."""
_TOO_DEEP: Final = 200_000


def test_a_worker_without_kueue_counts_once_an_old_one_is_installed(fleet: Fleet, bare_plane: ControlPlane) -> None:
    """Until then it is unavailable; and then v1beta1 does, without Cohorts."""
    install(bare_plane, READER)
    kubeconfig = Worker("worker2", bare_plane).kubeconfig()
    fleet.provide(second=kubeconfig, unavailableWorkers={"grace": "0s"}, counts="QuotaAndBorrowable")
    fleet.wait({CPU: 13}, "left out: worker2, unavailable since ", "Kueue")
    apply_crds(bare_plane, *(_old(each) for each in ("clusterqueues", "localqueues")))
    bare_plane.admin.apply(
        _as_old(queue("nine", {"fast": {"cpu": 9}})), *(_as_old(leads(each, "nine")) for each in (FIRST, SECOND))
    )
    fleet.wait({CPU: 22})
    path = f"/apis/{GROUP}/{OLD}/clusterqueues/nine"
    bare_plane.admin.patch(path, {"spec": {"stopPolicy": "Hold"}})
    fleet.wait({CPU: 13}, "nine", "Stopped")


def _old(plural: str) -> Manifest:
    """The definition as one of the older version alone."""
    (file,) = (binaries.kueue_manifests(binaries.MINIMAL_KUEUE.module) / "crds").glob(f"*_{plural}.yaml")
    (definition,) = read(file)
    versions = [each for each in definition["spec"]["versions"] if each["name"] == OLD]
    return {**definition, "spec": {**definition["spec"], "versions": [{**each, "storage": True} for each in versions]}}


def _as_old(obj: Manifest) -> Manifest:
    return {**obj, "apiVersion": f"{GROUP}/{OLD}"}


def test_a_worker_that_does_not_answer_delays_no_other(fleet: Fleet, proxy: Proxy) -> None:
    """Neither one that has never answered, nor one that falls silent: it takes connections, and that is all."""
    proxy.add(Delay(3600, verbs=ALL_VERBS))
    fleet.provide(second=fleet.worker2.kubeconfig(server=proxy.url), unavailableWorkers={"grace": "0s"})
    fleet.wait({CPU: 13}, "left out: worker2, unavailable since ")
    _assert_followed(fleet, 0)
    proxy.clear()
    fleet.give(fleet.worker2)
    fleet.wait_whole(ALL)
    fleet.worker2.plane.api_server.pause()
    try:
        _assert_followed(fleet, 8)
    finally:
        fleet.worker2.plane.api_server.resume()


def _assert_followed(fleet: Fleet, others: int) -> None:
    """Each of several changes of worker 1 is published, the last one being that it is as before.

    A question that waited for the other worker would take 10 s, so each would be too late.
    """
    for six in (16, 26, 6):
        quota(fleet.worker1, "six", "nominalQuota", six)
        wanted = str(six + 7 + others)
        eventually(lambda wanted=wanted: capacity(fleet.manager)[CPU] == wanted, f"{wanted} cpu", within=_SOON)  # type: ignore[misc]  # mypy infers no type for a default


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("/apis/", "the answer is none of API discovery"),
        ("/clusterqueues?", "a page of the list is no list"),
        ("watch=", "a line of the watch is no event"),
    ],
    ids=["discovery", "lists", "watches"],
)
def test_a_worker_that_answers_nonsense_is_a_problem_of_its_own(fleet: Fleet, where: str, said: str) -> None:
    """JSON that is too deep for any reader; the daemon goes on, and so does the other worker."""
    process = fleet.daemon.server.pid
    fleet.begin(unavailableWorkers={"grace": "0s"})
    fleet.take("worker2")
    fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ", "Secret")
    with running_relay(fleet.worker2.plane, _nonsense(where)) as server:
        fleet.give(fleet.worker2, fleet.worker2.kubeconfig(server=server))
        if where == "watch=":
            fleet.wait_whole(ALL)  # by lists
            quota(fleet.worker2, "eight", "nominalQuota", 80)
        fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ", said)
        _assert_followed(fleet, 0)
    quota(fleet.worker2, "eight", "nominalQuota", 8)
    fleet.give(fleet.worker2)
    fleet.wait_whole(ALL)
    assert fleet.daemon.server.pid == process


def _nonsense(where: str) -> Rewrite:
    """Instead of each line of such paths."""
    return lambda path, line: b'{"a":' * _TOO_DEEP + b"\n" if where in path else line
