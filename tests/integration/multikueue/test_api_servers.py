"""API servers of workers that are older, that have no Kueue, or that do not answer."""

from __future__ import annotations

from typing import Final

from tests.controlplane import binaries
from tests.controlplane.faults import ALL as ALL_VERBS
from tests.controlplane.faults import Delay
from tests.controlplane.kueue import apply_crds, read
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import install
from tests.integration.multikueue.fleet import ALL, CPU, FIRST, GPUS, SECOND, WITHOUT_2, Fleet, leads, quota
from tests.integration.multikueue.worker import READER, Worker
from tests.integration.objects import GROUP, Manifest, queue
from tests.integration.proxies import Proxy

OLD: Final = "v1beta1"


def test_a_worker_without_kueue_counts_once_an_old_one_is_installed(fleet: Fleet, bare_plane: ControlPlane) -> None:
    """Until then it is unavailable; and then v1beta1 does, without Cohorts."""
    fleet.provide(unavailableWorkers={"grace": "0s"}, counts="QuotaAndBorrowable")
    install(bare_plane, READER)
    worker = Worker("worker2", bare_plane)
    fleet.give(fleet.worker2, worker.kubeconfig())
    fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ", "Kueue")
    apply_crds(bare_plane, *(_old(each) for each in ("clusterqueues", "localqueues")))
    bare_plane.admin.apply(
        _as_old(queue("nine", {"fast": {"cpu": 9}})), *(_as_old(leads(each, "nine")) for each in (FIRST, SECOND))
    )
    fleet.wait({CPU: 22})
    path = f"/apis/{GROUP}/{OLD}/clusterqueues/nine"
    bare_plane.admin.patch(path, {"spec": {"stopPolicy": "Hold"}})
    fleet.wait(WITHOUT_2, "nine", "Stopped")


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
    fleet.provide(unavailableWorkers={"grace": "0s"})
    fleet.give(fleet.worker2, fleet.worker2.kubeconfig(server=proxy.url))
    fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ")
    quota(fleet.worker1, "six", "nominalQuota", 16)
    fleet.wait({CPU: 23})
    proxy.clear()
    fleet.give(fleet.worker2)
    fleet.wait({CPU: 31, GPUS: 5})
    fleet.worker2.plane.api_server.pause()
    try:
        quota(fleet.worker1, "six", "nominalQuota", 6)
        fleet.wait(ALL)
    finally:
        fleet.worker2.plane.api_server.resume()
