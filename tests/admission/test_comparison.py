"""What counts as the same: chance is let through, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.admission.comparison import Settled, decisions, differences, same_up_to_chance, settled_of

_NEVER = "previously considered podsets requests (0) + current podset request (6) > maximum capacity (0)"
_HEAD = "couldn't assign flavors to pod set main: "


def _lack(resource: str, flavor: str, how: str) -> str:
    unused = "" if how == _NEVER else "unused "
    return f"insufficient {unused}quota for {resource} in flavor {flavor}, {how}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([_lack("cpu", "f1", _NEVER)], [_lack("memory", "f1", _NEVER)]),
        ([_lack("cpu", "f1", _NEVER)], [_lack("cpu", "f1", _NEVER), _lack("memory", "f1", "2Gi more needed")]),
        (
            [_lack("cpu", "f1", _NEVER), _lack("cpu", "f2", "1 more needed")],
            [_lack("memory", "f1", _NEVER), _lack("cpu", "f2", "1 more needed")],
        ),
    ],
)
def test_which_of_several_hopeless_resources_is_named_is_chance(one: list[str], other: list[str]) -> None:
    """Kueue goes through them in any order, and no further once one can never fit."""
    assert same_up_to_chance(_HEAD + ", ".join(one), _HEAD + ", ".join(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([_lack("cpu", "f1", "1 more needed")], [_lack("cpu", "f1", "2 more needed")]),
        ([_lack("cpu", "f1", "1 more needed")], [_lack("memory", "f1", "1 more needed")]),
        ([_lack("cpu", "f1", _NEVER)], [_lack("cpu", "f1", "1 more needed")]),
        ([_lack("cpu", "f1", _NEVER)], [_lack("cpu", "f2", _NEVER)]),
        ([_lack("cpu", "f1", _NEVER)], [_lack("cpu", "f1", _NEVER.replace("(6)", "(5)"))]),
        ([_lack("cpu", "f1", _NEVER)], [_lack("cpu", "f1", _NEVER), "flavor f2 doesn't match node affinity"]),
    ],
)
def test_everything_else_in_a_message_counts(one: list[str], other: list[str]) -> None:
    """Amounts, flavors, resources, other reasons."""
    assert not same_up_to_chance(_HEAD + ", ".join(one), _HEAD + ", ".join(other))


def _settled(**changed: Any) -> Settled:
    conditions = [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "for job-j-1a2b3 (UID: 7, x)",
        },
        {"type": "Evicted", "status": "False", "reason": "QuotaReserved", "message": "Previously: something"},
    ]
    usage = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}
    status = {"conditions": conditions, "admission": {"clusterQueue": "q", "podSetAssignments": [usage]}, **changed}
    owners = [{"kind": "Job", "name": "j"}]
    metadata = {"name": "job-j-1a2b3", "namespace": "n", "ownerReferences": owners}
    return settled_of([{"kind": "Workload", "metadata": metadata, "spec": {"priority": 1}, "status": status}])


def test_amounts_names_and_what_is_no_more_do_not_differ() -> None:
    """By value, without UIDs and hashes; a condition that is False is as good as none."""
    one, other = _settled(), copy.deepcopy(_settled())
    workload = other["workloads"]["n/j"]
    workload["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = "1000m"
    del workload["conditions"]["Evicted"]
    assert one["workloads"]["n/j"]["conditions"]["QuotaReserved"]["message"] == "for <workload of j> (UID: <uid>, x)"
    assert differences(one, other) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 2),
        ("active", False),
        ("evictions", [{"reason": "Preempted", "underlyingCause": "", "count": 1}]),
        ("admission", None),
        ("admissionChecks", [{"name": "c", "state": "Ready", "message": ""}]),
    ],
)
def test_what_was_decided_differs(field: str, value: object) -> None:
    """Each of these is told, also where only decisions count."""
    one, other = _settled(), copy.deepcopy(_settled())
    other["workloads"]["n/j"][field] = value
    assert len(differences(one, other)) == 1
    assert len(differences(decisions(one), decisions(other))) == 1


def test_one_too_many_and_one_too_few_differ() -> None:
    """On either side."""
    empty = settled_of([])
    assert differences(_settled(), empty) == ["Workload n/j: is missing"]
    assert differences(empty, _settled()) == ["Workload n/j: should not be there"]


def test_what_is_called_unstable_does_not_differ() -> None:
    """The message of QuotaReserved, or its reason as well."""
    waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "one"}
    one = _settled(conditions=[waits], admission=None)
    other = _settled(conditions=[{**waits, "message": "two"}], admission=None)
    third = _settled(conditions=[{**waits, "reason": "Inadmissible"}], admission=None)
    assert len(differences(one, other)) == len(differences(one, third)) == 1
    assert differences(one, other, {"Workload n/j": ["QuotaReserved"]}) == []
    assert len(differences(one, third, {"Workload n/j": ["QuotaReserved"]})) == 1
    assert differences(one, third, {"Workload n/j": ["QuotaReserved!"]}) == []
