"""The status of a CapacityProvider as it is read, and as it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.scheme import ObjectInvalid
from kueue_dqo.api.wording import LONGEST_MESSAGE
from providers.status import Held, Verdict, held_provider, is_written, patch, read_provider, status_of
from tests.unit.providers.publishing import capacity_of

EARLIER = "2026-01-31T12:00:00Z"
NOW = "2026-03-01T00:00:00Z"
OURS = {
    "type": "CapacitySynchronized",
    "status": "True",
    "reason": "Synchronized",
    "message": "10 nodes",
    "observedGeneration": 3,
    "lastTransitionTime": EARLIER,
}
OTHER = {"type": "Verified", "status": "True", "reason": "Checked", "lastTransitionTime": EARLIER, "unknown": [1]}
GOOD = Verdict(dqo.SYNCHRONIZED, "10 nodes", capacity_of({"h100": {"memory": "2Gi"}}))
BAD = Verdict(dqo.SOURCE_UNAVAILABLE, "no answer")


def raw(status: Any = None, **spec: Any) -> bytes:
    """A provider at generation 3; `spec` replaces parts of it."""
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "CapacityProvider",
        "metadata": {"name": "pool", "uid": "u", "generation": 3, "resourceVersion": "7"},
        "spec": {"controllerName": "example.com/x", "orchestratedFlavors": [{"name": "h100"}], **spec},
    }
    return json.dumps(manifest if status is None else manifest | {"status": status}).encode()


def held(status: Any = None) -> Held:
    return held_provider(raw(status))


def published(memory: object, *conditions: Any) -> Any:
    return {
        "capacity": {"flavors": [{"name": "h100", "resources": {"memory": memory}}]},
        "conditions": list(conditions),
    }


def operations(found: Held, verdict: Verdict) -> dict[str, Any]:
    """The patch by operation and path."""
    return {f"{each['op']} {each['path']}": each["value"] for each in patch(found, status_of(found, verdict, NOW))}


# --- what is written -------------------------------------------------------------------------------------------------


def test_the_first_status_is_added_whole() -> None:
    assert operations(held(), GOOD) == {
        "test /metadata/resourceVersion": "7",
        "add /status": {},
        "add /status/capacity": {"flavors": [{"name": "h100", "resources": {"memory": "2Gi"}}]},
        "add /status/conditions": [OURS | {"lastTransitionTime": NOW}],
    }


def test_a_failure_leaves_the_capacity_out() -> None:
    """And turns the condition, with the time at which it turned."""
    assert operations(held(published("1Gi", OURS)), BAD) == {
        "test /metadata/resourceVersion": "7",
        "add /status/conditions": [
            OURS | {"status": "False", "reason": "SourceUnavailable", "message": "no answer", "lastTransitionTime": NOW}
        ],
    }


def test_conditions_of_others_go_back_as_they_came() -> None:
    """What a typed one lacks would be lost."""
    written = operations(held(published("1Gi", OURS, OTHER)), GOOD)
    assert written["add /status/conditions"] == [OTHER, OURS]


def test_what_is_written_already_is_not_written_again() -> None:
    """Amounts compare by value."""
    for memory in ("2Gi", "2048Mi", 2147483648, "2147483648"):
        found = held(published(memory, OTHER, OURS))
        assert is_written(found, status_of(found, GOOD, NOW))


@pytest.mark.parametrize(
    "part",
    [
        {"status": "False"},
        {"reason": "Misconfigured"},
        {"message": "by hand"},
        {"observedGeneration": 2},
        {"type": "Other"},
        {"lastTransitionTime": None},
    ],
    ids=str,
)
def test_every_part_of_the_condition_counts(part: dict[str, Any]) -> None:
    found = held(published("2Gi", OURS | part))
    assert not is_written(found, status_of(found, GOOD, NOW))


@pytest.mark.parametrize("memory", ["3Gi", "2Gi1", None])
def test_every_amount_counts(memory: str | None) -> None:
    """One that cannot be read is as good as none."""
    found = held(published(memory, OURS))
    assert not is_written(found, status_of(found, GOOD, NOW))


def test_a_flavor_of_somebody_elses_does_not_survive() -> None:
    status = published("2Gi", OURS)
    status["capacity"]["flavors"].append({"name": "x", "resources": {"cpu": "1"}})
    written = operations(held(status), GOOD)
    assert written["add /status/capacity"] == {"flavors": [{"name": "h100", "resources": {"memory": "2Gi"}}]}


def test_a_message_fits_into_a_condition() -> None:
    verdict = Verdict(dqo.MISCONFIGURED, "x" * (LONGEST_MESSAGE + 1))
    assert len(status_of(held(), verdict, NOW).conditions[0].message) == LONGEST_MESSAGE


# --- what is read ----------------------------------------------------------------------------------------------------


def test_a_status_that_cannot_be_read_is_as_good_as_none() -> None:
    """What others have said there stays."""
    found = held(published("two", OTHER))
    assert found.problem is None
    assert found.provider.status.capacity is None
    assert (found.has_status, found.conditions) == (True, (OTHER,))


def test_a_spec_that_cannot_be_read_leaves_a_stand_in() -> None:
    """It says what is wrong, and has a condition of its own that can be compared."""
    content = raw(published("1Gi", OURS | {"reason": "Misconfigured", "status": "False"}), orchestratedFlavors=[])
    found = held_provider(content)
    assert found.problem is not None
    assert "spec.orchestratedFlavors: is empty" in found.problem
    assert found.provider.metadata.uid == "u"
    assert found.provider.spec.controller_name == "example.com/x"
    assert [each.status for each in found.provider.status.conditions] == ["Unknown"]
    verdict = Verdict(dqo.MISCONFIGURED, "10 nodes")
    assert is_written(found, status_of(found, verdict, NOW))


def test_what_a_person_has_to_hear_of_is_no_stand_in() -> None:
    with pytest.raises(ObjectInvalid):
        read_provider(raw(orchestratedFlavors=[]))


def test_a_condition_that_cannot_be_read_is_none() -> None:
    found = held(published("2Gi", OURS | {"status": 1}))
    assert found.condition is None
    assert operations(found, GOOD)["add /status/conditions"] == [OURS | {"lastTransitionTime": NOW}]
