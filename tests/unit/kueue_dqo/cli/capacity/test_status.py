"""The status that `dqo capacity set` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kueue_dqo.cli.capacity.arguments import amounts_of
from kueue_dqo.cli.capacity.status import Request, summary, wanted_status
from kueue_dqo.cli.errors import CommandError
from providers.status import Held, is_written, patch, read_provider
from tests.unit.kueue_dqo.cli.plan.builders import BY_HAND, DELETED, Plain, capacity, condition, provider

EARLIER = "2026-01-31T12:00:00Z"
NOW = "2026-03-01T00:00:00Z"
OTHER = condition("Verified", reason="Checked", message="") | {"lastTransitionTime": EARLIER}
SYNCHRONIZED = condition("CapacitySynchronized", message="by hand") | {"lastTransitionTime": EARLIER}


def held(
    amounts: Mapping[str, Mapping[str, object]] | None = None,
    *conditions: Plain,
    flavors: tuple[str, ...] = ("batch", "a100"),
    **more: Any,
) -> Held:
    """A provider at generation 3 that publishes the amounts; without any, and without conditions, no status."""
    status: Plain = {}
    if amounts is not None:
        status["capacity"] = capacity(amounts)
    if conditions:
        status["conditions"] = list(conditions)
    given = {"controller": BY_HAND, "generation": 3, "resourceVersion": "7", **more}
    return read_provider(json.dumps(provider("p", flavors, status=status or None, **given)).encode())


def asking(*pairs: str, **more: Any) -> Request:
    return Request(amounts_of(pairs), **more)


def operations(found: Held, request: Request) -> dict[str, Any]:
    """The patch by operation and path."""
    return {
        f"{each['op']} {each['path']}": each.get("value") for each in patch(found, wanted_status(found, request, NOW))
    }


# --- capacity --------------------------------------------------------------------------------------------------------


def test_the_first_capacity_comes_with_its_condition() -> None:
    """In one patch, for this generation, only for the object as it was seen."""
    written = condition("CapacitySynchronized", message="set by hand with dqo capacity set", observed=3) | {
        "lastTransitionTime": NOW
    }
    assert operations(held(), asking("batch/cpu=40", "batch/memory=1024Mi")) == {
        "test /metadata/resourceVersion": "7",
        "add /status": {},
        "add /status/capacity": capacity({"batch": {"cpu": "40", "memory": "1Gi"}}),
        "add /status/conditions": [written],
    }


def test_pairs_that_are_not_named_stay() -> None:
    """Also those of the same flavor; a flavor whose last pair is taken away goes."""
    found = held({"batch": {"cpu": "40", "memory": "1Gi"}, "a100": {"cpu": "8"}}, SYNCHRONIZED)
    changed = operations(found, asking("batch/cpu=50", "a100/cpu-"))
    assert changed["add /status/capacity"] == capacity({"batch": {"cpu": "50", "memory": "1Gi"}})
    assert "add /status" not in changed


def test_a_flavor_that_is_not_orchestrated_any_more_can_be_taken_away_and_not_set() -> None:
    """What is left of it is ignored."""
    found = held({"old": {"cpu": "4"}}, SYNCHRONIZED)
    assert operations(found, asking("old/cpu-"))["add /status/capacity"] == capacity({})
    with pytest.raises(CommandError, match=r"flavor 'old' is not in its spec.orchestratedFlavors \(batch, a100\)"):
        wanted_status(found, asking("old/cpu=4"), NOW)
    said = summary(found, wanted_status(found, asking("batch/cpu=4"), NOW))
    assert said[2].startswith("Note: old is not in spec.orchestratedFlavors, so its capacity is ignored")


def test_what_is_not_published_cannot_be_taken_away() -> None:
    """A misspelt pair must not look like success."""
    with pytest.raises(CommandError, match=r"batch/memory cannot be taken away: .* \(published: batch/cpu\)"):
        wanted_status(held({"batch": {"cpu": 1}}, SYNCHRONIZED), asking("batch/memory-"), NOW)


def test_more_resources_than_the_api_takes_are_refused() -> None:
    """64 in a flavor."""
    pairs = [f"batch/example.com/r{number}=1" for number in range(65)]
    assert wanted_status(held(), asking(*pairs[:64]), NOW).capacity is not None
    with pytest.raises(CommandError, match="has 65 resources; 1 to 64 are allowed"):
        wanted_status(held(), asking(*pairs), NOW)


def test_every_refusal_is_said_at_once() -> None:
    """Not one after the other."""
    with pytest.raises(CommandError, match=r"flavor 'x'.*; flavor 'y'"):
        wanted_status(held(), asking("x/cpu=1", "y/cpu=1"), NOW)


# --- the condition ---------------------------------------------------------------------------------------------------


def test_not_ready_keeps_the_capacity() -> None:
    """The patch does not touch it; the condition says why."""
    found = held({"batch": {"cpu": 40}}, OTHER, SYNCHRONIZED)
    changed = operations(found, asking(reason="SourceUnavailable", message="no power"))
    assert "add /status/capacity" not in changed
    written = condition("CapacitySynchronized", "False", "SourceUnavailable", "no power", 3)
    assert changed["add /status/conditions"] == [OTHER, written | {"lastTransitionTime": NOW}]


@pytest.mark.parametrize(
    ("request_", "time"),
    [
        pytest.param(asking("batch/cpu=1"), EARLIER, id="still True"),
        pytest.param(asking(reason="Misconfigured", message="x"), NOW, id="becomes False"),
    ],
)
def test_the_time_of_the_transition_changes_with_the_status_only(request_: Request, time: str) -> None:
    """Other reasons, messages and generations are no transition."""
    (written,) = wanted_status(held(None, SYNCHRONIZED), request_, NOW).conditions
    assert (written.last_transition_time, written.observed_generation) == (time, 3)


def test_other_conditions_stay_as_they_are() -> None:
    """An empty message included, which the API wants to be there."""
    changed = operations(held({"batch": {"cpu": 1}}, SYNCHRONIZED, OTHER), asking("batch/cpu=2"))
    others = [each for each in changed["add /status/conditions"] if each["type"] != "CapacitySynchronized"]
    assert others == [OTHER]


def test_what_is_written_already_is_known() -> None:
    """By value; another generation is something new to say."""
    found = held({"batch": {"cpu": "1000m"}}, SYNCHRONIZED | {"observedGeneration": 3})
    request = asking("batch/cpu=1", message="by hand")
    assert is_written(found, wanted_status(found, request, NOW))
    stale = held({"batch": {"cpu": "1"}}, SYNCHRONIZED | {"observedGeneration": 2})
    assert not is_written(stale, wanted_status(stale, request, NOW))


# --- whose object it is ----------------------------------------------------------------------------------------------

DAEMONS = ["node-inventory", "cloud-quota", "nvidia-gpu", "multikueue", "composite"]


@pytest.mark.parametrize("name", DAEMONS)
def test_the_object_of_a_daemon_is_refused(name: str) -> None:
    """Unless it is forced."""
    found = held(controller=f"kueue-dqo.dev/{name}")
    with pytest.raises(CommandError, match=f"is kept by kueue-dqo.dev/{name}.*--force"):
        wanted_status(found, asking("batch/cpu=1"), NOW)
    assert wanted_status(found, asking("batch/cpu=1", force=True), NOW).capacity is not None


def test_a_manual_provider_is_the_daemons_only_with_parameters() -> None:
    """Without them nobody writes it but people."""
    assert wanted_status(held(controller="kueue-dqo.dev/manual"), asking("batch/cpu=1"), NOW).capacity is not None
    with pytest.raises(CommandError, match=r"is kept by kueue-dqo\.dev/manual"):
        wanted_status(held(controller="kueue-dqo.dev/manual", parameters="m"), asking("batch/cpu=1"), NOW)


def test_an_object_that_is_being_deleted_is_refused_by_force_too() -> None:
    """It is on its way out."""
    with pytest.raises(CommandError, match="is being deleted"):
        wanted_status(held(deletionTimestamp=DELETED), asking("batch/cpu=1", force=True), NOW)


# --- what is said ----------------------------------------------------------------------------------------------------


def test_the_summary_names_the_whole_capacity_and_what_changed() -> None:
    """In two lines."""
    found = held({"batch": {"cpu": "40", "memory": "1Gi"}, "a100": {"cpu": "8"}}, SYNCHRONIZED)
    status = wanted_status(found, asking("batch/cpu=50", "a100/cpu-", "a100/nvidia.com/gpu=8"), NOW)
    changes = "a100/nvidia.com/gpu 8 (was absent), a100/cpu taken away (was 8)"
    assert summary(found, status) == [
        f"CapacityProvider/p: batch/cpu 50 (was 40), batch/memory 1Gi, {changes}",
        "CapacitySynchronized=True Synchronized at generation 3: set by hand with dqo capacity set",
    ]
