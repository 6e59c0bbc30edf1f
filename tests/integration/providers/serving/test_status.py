"""Conformance: what every provider, ours and a third party's, makes of its status, and what others do to it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    capacity_of,
    condition_of,
    history_of_providers,
    observations,
    wait_failed,
    wait_published,
)
from tests.integration.providers.serving.begin import (
    H100,
    PATH,
    begin,
)

OTHER: Final = {
    "type": "example.com/Checked",
    "status": "True",
    "reason": "ByHand",
    "message": "of somebody else",
    "lastTransitionTime": "2026-01-31T12:00:00Z",
}


def _conditions(adapter: Adapter) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = adapter.plane.admin.get(PATH)["status"]["conditions"]
    return found


def test_capacity_and_condition_are_published_in_one_write(adapter: Adapter) -> None:
    """By the provider's own field manager, in the subresource, with one line for people."""
    history = history_of_providers(adapter.plane)
    message = begin(adapter)
    assert "h100" in message
    assert "80" in message
    assert GPU in message
    statuses = [
        each.obj["status"] for each in history.versions() if each.key.name == POOL and each.obj and "status" in each.obj
    ]
    assert len(statuses) == 1
    managers = [each for each in adapter.plane.admin.get(PATH)["metadata"]["managedFields"] if "subresource" in each]
    assert [(each["manager"], each["subresource"]) for each in managers] == [(f"kueue-dqo-{adapter.command}", "status")]


def test_an_edit_of_the_spec_is_answered_by_one_write_for_the_new_generation(adapter: Adapter) -> None:
    """The capacity of the old one may not be used until then. Here it is to be as other parameters say."""
    begin(adapter)
    other = adapter.parameters()
    headroom = [{"flavor": "h100", "resource": GPU, "quantity": "8"}]
    adapter.plane.admin.apply({**other, "metadata": {"name": "other"}, "spec": {**other["spec"], "headroom": headroom}})
    history = history_of_providers(adapter.plane)
    adapter.plane.admin.patch(PATH, {"spec": {"parameters": {"name": "other"}}})
    wait_published(adapter.plane, {H100: 72})
    edit, status = (each.obj for each in history.versions() if each.key.name == POOL)
    assert edit is not None
    assert status is not None
    assert [condition_of(each)["observedGeneration"] for each in (edit, status)] == [1, 2]
    assert [capacity_of(each) for each in (edit, status)] == [{H100: "80"}, {H100: "72"}]


def test_an_edit_that_changes_no_capacity_is_answered_too(adapter: Adapter) -> None:
    """The generation is what counts. The condition has not turned, so its time stays."""
    begin(adapter)
    before = condition_of(adapter.plane.admin.get(PATH))
    adapter.plane.admin.apply({**adapter.parameters(), "metadata": {"name": "same"}})
    adapter.plane.admin.patch(PATH, {"spec": {"parameters": {"name": "same"}}})
    wait_published(adapter.plane, {H100: 80})
    after = condition_of(adapter.plane.admin.get(PATH))
    assert after == {**before, "observedGeneration": 2}


def test_a_change_of_the_source_is_published(adapter: Adapter) -> None:
    """Up, and down to an explicit zero."""
    begin(adapter)
    for amount in (88, 0):
        adapter.say({"h100": {GPU: amount}})
        wait_published(adapter.plane, {H100: amount})


def test_an_object_that_is_deleted_and_created_again_is_another_one(adapter: Adapter) -> None:
    """It is published for at once."""
    begin(adapter)
    first = adapter.plane.admin.get(PATH)["metadata"]["uid"]
    adapter.plane.admin.delete(PATH)
    adapter.plane.admin.apply(adapter.capacity_provider("h100"))
    wait_published(adapter.plane, {H100: 80})
    assert adapter.plane.admin.get(PATH)["metadata"]["uid"] != first


def test_nothing_is_written_to_an_object_that_is_being_deleted(adapter: Adapter, daemon: Daemon) -> None:
    """It is on its way out, however its source changes."""
    begin(adapter)
    adapter.plane.admin.patch(PATH, {"metadata": {"finalizers": ["example.com/hold"]}})
    adapter.plane.admin.delete(PATH)
    eventually(lambda: not daemon.metric("kueue_dqo_provider_synchronized", provider=POOL), "it is not served any more")
    before = adapter.plane.admin.get(PATH)
    adapter.say({"h100": {GPU: 8}})
    other = adapter.capacity_provider("h100")
    adapter.plane.admin.apply({**other, "metadata": {"name": "witness"}})
    eventually(lambda: observations(daemon, "witness") > 0, "it has looked")
    assert adapter.plane.admin.get(PATH) == before


# --- others in the status --------------------------------------------------------------------------------------------

INTERFERENCES: Final = {
    "everything is wiped": [{"op": "remove", "path": "/status"}],
    "the capacity is wiped": [{"op": "remove", "path": "/status/capacity"}],
    "the capacity is overwritten": [
        {"op": "replace", "path": f"/status/capacity/flavors/0/resources/{GPU.replace('/', '~1')}", "value": "999"}
    ],
    "a resource is added": [{"op": "add", "path": "/status/capacity/flavors/0/resources/cpu", "value": "1"}],
    "a flavor is added": [
        {"op": "add", "path": "/status/capacity/flavors/-", "value": {"name": "x", "resources": {"cpu": "1"}}}
    ],
    "the condition is taken away": [{"op": "replace", "path": "/status/conditions", "value": []}],
    "the condition is turned": [
        {"op": "replace", "path": "/status/conditions/0/status", "value": "False"},
        {"op": "replace", "path": "/status/conditions/0/reason", "value": "Misconfigured"},
    ],
    "the message is edited": [{"op": "replace", "path": "/status/conditions/0/message", "value": "by hand"}],
    "the generation is edited": [{"op": "replace", "path": "/status/conditions/0/observedGeneration", "value": 9}],
}


@pytest.mark.parametrize("what", INTERFERENCES)
def test_what_others_do_to_the_status_is_undone(what: str, adapter: Adapter) -> None:
    """Wiped, overwritten or edited: by one write. Whoever does it again and again is answered ever more slowly."""
    message = begin(adapter)
    history = history_of_providers(adapter.plane)
    adapter.plane.admin.patch(f"{PATH}/status", INTERFERENCES[what], JSON_PATCH, manager="somebody")
    assert wait_published(adapter.plane, {H100: 80}, message) == message
    # A lost update of the status is possible in theory only: nobody else writes here.
    assert len([each for each in history.versions() if each.key.name == POOL]) == 2


def test_conditions_of_others_are_kept(adapter: Adapter) -> None:
    """Those that were there first, and those that came later, as they are."""
    begin(adapter)
    adapter.plane.admin.patch(
        f"{PATH}/status", [{"op": "add", "path": "/status/conditions/0", "value": OTHER}], JSON_PATCH
    )
    adapter.say({"h100": {GPU: 72}})
    wait_published(adapter.plane, {H100: 72})
    assert OTHER in _conditions(adapter)
    reason = adapter.fail()
    wait_failed(adapter.plane, reason)
    assert OTHER in _conditions(adapter)
    assert len(_conditions(adapter)) == 2
