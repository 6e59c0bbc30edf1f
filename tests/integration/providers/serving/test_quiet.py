"""Conformance: no provider writes where nothing changed, or looks at what is not its own."""

from __future__ import annotations

from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import PROVIDERS
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    events,
    history_of_providers,
    observations,
    told,
    wait_failed,
    wait_observed,
    wait_told,
)
from tests.integration.providers.serving.begin import (
    PATH,
    begin,
)


def test_nothing_is_written_where_nothing_changed(adapter: Adapter, daemon: Daemon) -> None:
    """However often it looks: no status, no Event. Told by the objects' versions and by its metric."""
    begin(adapter)
    wait_told(adapter.plane, "Synchronized")
    wait_observed(adapter.plane, daemon, 1)
    history = history_of_providers(adapter.plane)
    written = daemon.metric("kueue_dqo_provider_status_writes_total", provider=POOL)
    before = events(adapter.plane)
    wait_observed(adapter.plane, daemon, 3)
    assert [each for each in history.versions() if each.key.name == POOL] == []
    assert daemon.metric("kueue_dqo_provider_status_writes_total", provider=POOL) == written
    assert events(adapter.plane) == before


def test_a_failure_that_stays_the_same_is_written_once(adapter: Adapter, daemon: Daemon) -> None:
    """However often it is tried again."""
    begin(adapter)
    wait_failed(adapter.plane, adapter.fail())
    wait_observed(adapter.plane, daemon, 1)
    history = history_of_providers(adapter.plane)
    wait_observed(adapter.plane, daemon, 2)
    assert [each for each in history.versions() if each.key.name == POOL] == []


def test_series_of_an_object_that_is_gone_disappear(adapter: Adapter, daemon: Daemon) -> None:
    """None of its name is left."""
    begin(adapter)
    assert daemon.metric("kueue_dqo_provider_published_capacity", provider=POOL, flavor="h100", resource=GPU) == 80
    assert f'provider="{POOL}"' in daemon.get("/metrics")[1]
    adapter.plane.admin.delete(PATH)
    eventually(lambda: f'provider="{POOL}"' not in daemon.get("/metrics")[1], "its series are gone")


def test_providers_of_other_controllers_are_left_alone(adapter: Adapter, daemon: Daemon) -> None:
    """Not even looked at."""
    begin(adapter)
    other = adapter.capacity_provider("h100")
    other = {**other, "metadata": {"name": "others"}, "spec": {**other["spec"], "controllerName": "example.com/other"}}
    adapter.plane.admin.apply(other)
    wait_observed(adapter.plane, daemon, 1)
    found = adapter.plane.admin.get(f"{PROVIDERS}/others")
    assert "status" not in found
    assert observations(daemon, "others") == 0
    assert not told(adapter.plane, "Synchronized", "others")
