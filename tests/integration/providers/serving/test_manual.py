"""The manual provider as a process: overrides that come and go by themselves, and the road without a controller."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import DQO, Daemon, start_orchestrator
from tests.integration.objects import PROVIDERS, flavor, orchestrator, provider, queue, wait_for_quotas
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import Manual
from tests.integration.providers.scenes import (
    GPU,
    LEASES,
    POOL,
    capacity,
    condition_of,
    history_of_providers,
    observations,
    published_in,
    wait_failed,
    wait_observed,
    wait_published,
)

pytestmark = pytest.mark.parametrize("_shared", [Manual], indirect=True, ids=["manual"])

H100: Final = f"h100/{GPU}"


def _override(name: str, begin: datetime.datetime, seconds: int, gpus: int, **more: Any) -> dict[str, Any]:
    end = begin + datetime.timedelta(seconds=seconds)
    return {
        "name": name,
        "begin": begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "end": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "flavors": [{"name": "h100", "resources": {GPU: gpus}}],
        **more,
    }


def _in(seconds: int) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=seconds)


def test_an_override_begins_and_ends_on_its_boundaries_by_itself(adapter: Adapter) -> None:
    """Nothing else happens that would be a reason to look; the message says what holds, and until when."""
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    history = history_of_providers(adapter.plane)
    begin = _in(3)
    adapter.configure(overrides=[_override("maintenance", begin, 2, 40)])
    assert "maintenance" in wait_published(adapter.plane, {H100: 40})
    assert datetime.datetime.now(datetime.UTC) >= begin
    wait_published(adapter.plane, {H100: 80})
    assert datetime.datetime.now(datetime.UTC) >= begin + datetime.timedelta(seconds=2)
    assert published_in(history.versions()) == [{H100: "40"}, {H100: "80"}]  # the plan alone changes nothing


def test_a_recurring_override_holds_in_each_of_its_turns(adapter: Adapter) -> None:
    """It began long ago, and is there today: every day for all of the day."""
    begin = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC)
    always = _override("always", begin, 24 * 3600, 16, recurrence="FREQ=DAILY", timeZone="UTC")
    adapter.begin({"h100": {GPU: 80}}, overrides=[always])
    assert "always" in wait_published(adapter.plane, {H100: 16})


def test_what_only_a_clock_and_a_map_can_tell_is_misconfigured(adapter: Adapter) -> None:
    """A time zone that does not exist, an end before its begin: object, field and value are named."""
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    nowhere = _override("nightly", _in(60), 60, 16, recurrence="FREQ=DAILY", timeZone="Europe/Atlantis")
    adapter.configure(overrides=[nowhere])
    wait_failed(adapter.plane, "Misconfigured", POOL, "spec.overrides[0]", "nightly", "timeZone", "Europe/Atlantis")
    assert capacity(adapter.plane) == {H100: "80"}


def test_a_flavor_that_is_not_orchestrated_is_misconfigured(adapter: Adapter) -> None:
    """Numbers that nobody would see are a slip."""
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    adapter.say({"h100": {GPU: 80}, "a100": {GPU: 8}})
    wait_failed(adapter.plane, "Misconfigured", "a100", "spec.orchestratedFlavors")


def test_more_resources_than_a_status_takes_are_told(adapter: Adapter) -> None:
    """Baseline and override are each within the limit of their kind, and not together."""
    plane = adapter.plane
    adapter.begin({"h100": {f"example.com/resource-{number}": 1 for number in range(40)}})
    wait_published(plane, {f"h100/example.com/resource-{number}": 1 for number in range(40)})
    many = _override("many", _in(-60), 3600, 0)
    many["flavors"] = [{"name": "h100", "resources": {f"example.com/other-{number}": 1 for number in range(40)}}]
    adapter.configure(overrides=[many])
    wait_failed(plane, "Misconfigured", "h100", "80", "64")
    assert len(capacity(plane)) == 40


def test_the_bare_road_is_left_to_people(adapter: Adapter, daemon: Daemon) -> None:
    """A provider without parameters: `dqo capacity set` writes it, its daemon leaves it alone, quotas follow."""
    plane = adapter.plane
    plane.admin.apply(
        flavor("h100"),
        provider("by-hand", "h100", controller=adapter.controller),
        queue("team", {"h100": {GPU: 10}}),
        orchestrator("dqo", "by-hand", root=("ClusterQueue", "team")),
    )
    start_orchestrator(plane)
    _set_capacity(plane, "by-hand", f"{H100}=24")
    wait_for_quotas(plane, pair=H100, team=24)
    before = plane.admin.get(f"{PROVIDERS}/by-hand")
    assert condition_of(before)["message"] == "set by hand with dqo capacity set"
    # What is its own it serves all the time.
    adapter.begin({"h100": {GPU: 80}})
    wait_published(plane, {H100: 80})
    wait_observed(plane, daemon, 1)
    assert plane.admin.get(f"{PROVIDERS}/by-hand") == before
    assert observations(daemon, "by-hand") == 0
    assert "by-hand" not in {each["metadata"]["name"] for each in plane.admin.items(LEASES)}
    _set_capacity(plane, "by-hand", f"{H100}=16")
    wait_for_quotas(plane, pair=H100, team=16)


def _set_capacity(plane: ControlPlane, name: str, *pairs: str) -> None:
    command: list[str | Path] = [DQO, "capacity", "set", name, *pairs, "--kubeconfig", plane.kubeconfig()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
