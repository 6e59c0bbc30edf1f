"""Each provider's daemon uses every right that its manifests grant, and asks for nothing that they do not grant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.controlplane.cleanup import remove_objects
from tests.controlplane.faults import Answer, CutWatch
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, QUICK_ELECTION, Daemon
from tests.integration.objects import PROVIDERS
from tests.integration.providers.adapter import Adapter, servers_ended
from tests.integration.providers.adapters import ADAPTERS, COUNTING_PODS, RackPower
from tests.integration.providers.scenes import (
    GPU,
    LEASES,
    POOL,
    clear,
    wait_failed,
    wait_published,
)
from tests.integration.proxies import Proxy, running_proxy
from tests.integration.rights import Right, asked, assert_used_is_granted, granted

H100: Final = f"h100/{GPU}"
_AFTER_AN_HOUR: Final = frozenset({Right("", "kueue-dqo.dev", "nodegpureports", "delete")})
"""For the report of a node that is gone; tests of admission use it as the aggregator does."""


@pytest.fixture(scope="module")
def shared_audited_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """With a record of requests."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane"), audit=True) as plane:
        install_crds(plane)
        yield plane


@pytest.fixture
def audited_plane(shared_audited_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without objects."""
    with servers_ended(shared_audited_plane):
        yield shared_audited_plane
    clear(shared_audited_plane, RackPower.collection())
    remove_objects(shared_audited_plane)


@pytest.mark.parametrize(
    "kind",
    [*ADAPTERS, *COUNTING_PODS],
    ids=[*(kind.label() for kind in ADAPTERS), *(f"{kind.label()}-pods" for kind in COUNTING_PODS)],
)
def test_every_right_is_used_and_none_is_missing(kind: type[Adapter], audited_plane: ControlPlane) -> None:
    """By the API server's own record, through all that the daemon does: it can do with nothing less."""
    plane = audited_plane
    before = len(plane.requests())
    with kind.running(plane) as adapter, running_proxy(plane) as proxy, servers_ended(plane):
        proxy.add(CutWatch(1.0, path="/capacityproviders$"))
        daemon = adapter.start(server=proxy.url, environment=QUICK_ELECTION)
        more: dict[str, Any] = {"cordoned": "CountAllocated"} if kind in COUNTING_PODS else {}
        adapter.begin({"h100": {GPU: 80}}, **more)
        wait_published(plane, {H100: 80})
        eventually(lambda: _has_lease(plane), "the provider has its Lease")
        _fail_twice(adapter, daemon)
        _change_unseen(adapter, proxy, more)
        renewed = _election(adapter)
        eventually(lambda: _election(adapter) != renewed, "the election goes on")
        daemon.server.stop()
        for account in adapter.accounts():
            given = granted(adapter.installed, NAMESPACE, account)
            used = asked(plane.requests()[before:], NAMESPACE, account)
            assert_used_is_granted(used | (given & _AFTER_AN_HOUR), given)


def _has_lease(plane: ControlPlane) -> bool:
    return POOL in {each["metadata"]["name"] for each in plane.admin.items(LEASES)}


def _election(adapter: Adapter) -> str:
    lease = adapter.plane.admin.get(f"{LEASES}/kueue-dqo-{adapter.command}")
    return str(lease["metadata"]["resourceVersion"])


def _fail_twice(adapter: Adapter, daemon: Daemon) -> None:
    """The same twice: an Event, and then its count."""
    reason = adapter.fail()
    wait_failed(adapter.plane, reason)
    adapter.recover()
    wait_published(adapter.plane, {H100: 80})
    wait_failed(adapter.plane, adapter.fail())
    adapter.recover()
    wait_published(adapter.plane, {H100: 80})
    eventually(lambda: daemon.metric("kueue_dqo_events_written_total", verb="patch") > 0, "an Event is counted")


def _change_unseen(adapter: Adapter, proxy: Proxy, more: dict[str, Any]) -> None:
    """Somebody changes the object while no watch of it comes up: what is written next meets another version."""
    fault = proxy.add(Answer(500, verbs=frozenset({"list", "watch"}), path="/capacityproviders$"))
    eventually(lambda: fault.hits > 0, "CapacityProviders are not followed")
    adapter.plane.admin.patch(f"{PROVIDERS}/{POOL}", {"metadata": {"annotations": {"example.com/unseen": "yes"}}})
    adapter.configure(headroom=[{"flavor": "h100", "resource": GPU, "quantity": "8"}], **more)
    wait_published(adapter.plane, {H100: 72})
    proxy.clear()
