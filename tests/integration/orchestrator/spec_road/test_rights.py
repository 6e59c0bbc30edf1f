"""Every right that the manifests grant is used, and the daemon asks for nothing that they do not grant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.cleanup import remove_objects
from tests.controlplane.faults import Answer, FaultProxy, LoseAnswer
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import (
    NAMESPACE,
    ORCHESTRATOR,
    QUICK_ELECTION,
    Daemon,
    rendered,
    start_orchestrator,
)
from tests.integration.objects import (
    ORCHESTRATORS,
    cohort,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.rights import asked, assert_used_is_granted, granted


@pytest.fixture(scope="module")
def shared_audited_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """With a record of requests, and with effective quotas: no Kueue runs here."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane"), audit=True) as plane:
        install_crds(plane, effective_quotas=True)
        yield plane


@pytest.fixture
def audited_plane(shared_audited_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without objects."""
    yield shared_audited_plane
    for server in shared_audited_plane.servers:
        if server.name not in {"etcd", "kube-apiserver"}:
            server.stop()
    remove_objects(shared_audited_plane)


def _teams(plane: ControlPlane) -> None:
    plane.admin.apply(
        flavor("default"),
        cohort("teams", {"default": {"cpu": 10}}),
        queue("team-a", {"default": {"cpu": 10}}, cohort="teams"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "teams")),
    )
    _publish(plane, 24)


def _publish(plane: ControlPlane, cpu: int, status: str = "True") -> None:
    publish(plane, "pool", {"default": {"cpu": str(cpu)}}, status=status)


def _lease(seconds: int) -> dict[str, Any]:
    """The sign of life of a provider, which nobody renews."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "pool",
            "namespace": NAMESPACE,
            "labels": {"kueue-dqo.dev/controller-name": "example.com.by-hand"},
        },
        "spec": {"holderIdentity": "pool", "leaseDurationSeconds": seconds},
    }


def _expire_twice(plane: ControlPlane, daemon: Daemon) -> None:
    """A provider falls silent, comes back and falls silent again: an Event, and then its count."""

    def apply(seconds: int, *, is_expired: bool) -> None:
        plane.admin.apply(_lease(seconds))
        gauge = "kueue_dqo_provider_lease_expired"
        eventually(lambda: daemon.metric(gauge) == is_expired, f"a Lease of {seconds} s has expired: {is_expired}")

    apply(1, is_expired=True)
    apply(3600, is_expired=False)
    apply(1, is_expired=True)
    eventually(lambda: daemon.metric("kueue_dqo_events_written_total", verb="patch") > 0, "the Event is counted")


def _write(plane: ControlPlane, daemon: Daemon, proxy: FaultProxy, road: str) -> None:
    """Quotas, of which one answer of each kind is lost; and a status that has changed unseen."""
    wait_for_quotas(plane, road=road, team_a=12)
    wait_for_condition(plane, "True", "QuotasDistributed")
    for plural in ("clusterqueues", "cohorts"):
        proxy.add(LoseAnswer(path=plural, times=1))
    _publish(plane, 30)
    wait_for_quotas(plane, road=road, team_a=15)
    wait_for_condition(plane, "True", "QuotasDistributed")
    eventually(lambda: daemon.metric("kueue_dqo_quota_differences") == 0, "all of it is seen")


def _change_status_unseen(plane: ControlPlane, road: str) -> None:
    path = f"{ORCHESTRATORS}/dqo/status"
    conditions = plane.admin.get(path)["status"]["conditions"]
    changed = [{**each, "message": "by somebody else"} for each in conditions]
    plane.admin.patch(path, {"status": {"conditions": changed}})
    _publish(plane, 40)
    wait_for_quotas(plane, road=road, team_a=20)
    wait_for_condition(plane, "True", "QuotasDistributed")
    eventually(lambda: "by somebody else" not in str(plane.admin.get(path)), "the status is ours again")


ROADS = {"observe": "", "spec": "spec", "status": "status", "auto": "spec"}


@pytest.mark.parametrize("overlay", ROADS)
async def test_every_right_is_used_and_none_is_missing(overlay: str, audited_plane: ControlPlane) -> None:
    """By the API server's own record, through all that the daemon does: it can do with nothing less."""
    plane, road = audited_plane, ROADS[overlay]
    before = len(plane.requests())
    async with FaultProxy(plane) as proxy:
        await asyncio.to_thread(_teams, plane)
        daemon = await asyncio.to_thread(
            start_orchestrator, plane, overlay, server=proxy.url, environment=QUICK_ELECTION
        )
        if road:
            await asyncio.to_thread(_write, plane, daemon, proxy, road)
            # The present watch of orchestrators is cut, and no other comes up.
            fault = proxy.add(Answer(500, verbs=frozenset({"list", "watch"}), path="dynamicquotaorchestrators$"))
            await proxy.refuse()
            await proxy.listen()
            await asyncio.to_thread(eventually, lambda: fault.hits > 0, "orchestrators are not followed")
            await asyncio.to_thread(_change_status_unseen, plane, road)
            proxy.clear()
        await asyncio.to_thread(_expire_twice, plane, daemon)
        await asyncio.to_thread(daemon.server.stop)
    used = asked(plane.requests()[before:], NAMESPACE, ORCHESTRATOR)
    assert_used_is_granted(used, granted(rendered(f"overlays/{overlay}"), NAMESPACE, ORCHESTRATOR))
