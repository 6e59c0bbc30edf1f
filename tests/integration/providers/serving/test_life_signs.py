"""The Lease of each CapacityProvider, by which the orchestrator tells a provider that lives from one that died."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon
from tests.integration.objects import PROVIDERS
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import Manual, RackPower
from tests.integration.providers.scenes import (
    GPU,
    LEASES,
    POOL,
    observations,
    wait_failed,
    wait_observed,
    wait_published,
    wait_told,
)

H100: Final = f"h100/{GPU}"
LEASE: Final = f"{LEASES}/{POOL}"
FOREIGN: Final = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": POOL, "namespace": NAMESPACE, "labels": {"kueue-dqo.dev/controller-name": "example.com.x"}},
    "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 15},
}


def _begin(adapter: Adapter) -> dict[str, Any]:
    """80 GPUs are published, and the provider has its Lease. Returns that."""
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    return _lease(adapter)


def _lease(adapter: Adapter) -> dict[str, Any]:
    """The Lease, once it belongs to the present object."""
    found: dict[str, Any] = {}

    def belongs() -> bool:
        found.clear()
        for each in adapter.plane.admin.items(LEASES):
            if each["metadata"]["name"] == POOL:
                found.update(each)
        uid = adapter.plane.admin.get(f"{PROVIDERS}/{POOL}")["metadata"]["uid"]
        return [each["uid"] for each in found.get("metadata", {}).get("ownerReferences", [])] == [uid]

    eventually(belongs, "the provider has its Lease")
    return found


def test_each_provider_has_its_lease(adapter: Adapter, daemon: Daemon) -> None:
    """As the orchestrator looks for it; it goes with the object, which owns it."""
    lease = _begin(adapter)
    assert lease["metadata"]["labels"] == {"kueue-dqo.dev/controller-name": adapter.controller.replace("/", ".")}
    (owner,) = lease["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == (
        "kueue.x-k8s.io/v1alpha1",
        "CapacityProvider",
        POOL,
    )
    assert lease["spec"]["leaseDurationSeconds"] == 60
    assert lease["spec"]["renewTime"]
    assert lease["spec"]["holderIdentity"].startswith(daemon.server.name)


def test_a_new_object_of_the_same_name_owns_the_lease(adapter: Adapter) -> None:
    """One that belonged to the old one only would be collected with that."""
    first = _begin(adapter)
    adapter.plane.admin.delete(f"{PROVIDERS}/{POOL}")
    adapter.plane.admin.apply(adapter.capacity_provider("h100"))
    second = _lease(adapter)
    assert first["metadata"]["ownerReferences"] != second["metadata"]["ownerReferences"]


@pytest.mark.parametrize("_shared", [RackPower], indirect=True, ids=["rack-power"])
def test_a_lease_is_renewed_while_the_source_fails(adapter: Adapter) -> None:
    """The provider lives, and says itself what is wrong."""
    before = _begin(adapter)["spec"]["renewTime"]
    wait_failed(adapter.plane, adapter.fail())
    eventually(lambda: _lease(adapter)["spec"]["renewTime"] > before, "the Lease is renewed")


@pytest.mark.parametrize("_shared", [Manual], indirect=True, ids=["manual"])
def test_a_lease_of_somebody_else_is_left_alone(adapter: Adapter, daemon: Daemon) -> None:
    """Its name is taken, which people are told; the capacity is published all the same."""
    adapter.plane.admin.apply(FOREIGN)
    before = adapter.plane.admin.get(LEASE)
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    assert wait_told(adapter.plane, "LeaseOfAnother")["type"] == "Warning"
    wait_observed(adapter.plane, daemon, 1)
    assert adapter.plane.admin.get(LEASE) == before


@pytest.mark.parametrize("_shared", [Manual], indirect=True, ids=["manual"])
def test_who_is_not_looked_after_has_no_lease(adapter: Adapter, daemon: Daemon) -> None:
    """One that is written by hand, one of another controller: nobody could renew it."""
    _begin(adapter)
    by_hand = adapter.capacity_provider("h100")
    del by_hand["spec"]["parameters"]
    adapter.plane.admin.apply({**by_hand, "metadata": {"name": "by-hand"}})
    wait_observed(adapter.plane, daemon, 1)
    assert observations(daemon, "by-hand") == 0
    names = {each["metadata"]["name"] for each in adapter.plane.admin.items(LEASES)}
    assert names == {POOL, "kueue-dqo-manual"}
