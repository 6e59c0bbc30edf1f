"""The status of an orchestrator: what was computed, and how far the writing has come."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition, ObjectKey, find_condition
from kueue_dqo.api.quantity import Quantity
from orchestrator.compute import Outcome
from orchestrator.enforcement.objects import HeldOrchestrator, held_orchestrator
from orchestrator.rivals import Stopped
from orchestrator.statuses import WRITE_REJECTED, Progress, is_same, patch_of, status_of, transitions, unreadable_status
from tests.unit.orchestrator.builders import (
    CPU,
    distributed,
    orchestrator,
    provider,
    queue,
    queue_key,
    settled,
)

NOW, EARLIER = "2026-03-01T12:00:00Z", "2026-02-01T12:00:00Z"
A, B, C = queue_key("a"), queue_key("b"), queue_key("c")
SETTLED = Progress(is_settled=True)
STOPPED = Stopped(A, "argocd", 3, "make it ignore the field")


def _orchestrator(*conditions: Condition) -> dqo.DynamicQuotaOrchestrator:
    return orchestrator("dqo", "pool", root=A, conditions=conditions)


def _outcome(of: dqo.DynamicQuotaOrchestrator, *, has_provider: bool = True) -> Outcome:
    providers = [provider("pool", {"f": {CPU: 8}})] if has_provider else []
    return settled([of], providers, [queue("a", {"f": {CPU: 10}})])["dqo"]


def _distributed(progress: Progress, *present: Condition) -> Condition | None:
    of = _orchestrator(*present)
    return find_condition(status_of(_outcome(of), of, progress, NOW).conditions, dqo.DISTRIBUTED)


# --- Distributed -----------------------------------------------------------------------------------------------------


def test_distributed_is_true_only_when_the_writing_is_through() -> None:
    """Before, it stays as it is, be it absent."""
    assert _distributed(Progress(is_settled=False)) is None
    present = distributed("False", reason="Misconfigured", since=EARLIER)
    assert _distributed(Progress(is_settled=False), present) == present
    through = _distributed(SETTLED)
    assert through is not None
    assert (through.status, through.reason, through.last_transition_time) == ("True", dqo.QUOTAS_DISTRIBUTED, NOW)


def test_false_does_not_wait_for_anything() -> None:
    """There is nothing to write then."""
    of = _orchestrator(distributed("True", since=EARLIER))
    status = status_of(_outcome(of, has_provider=False), of, Progress(is_settled=False), NOW)
    found = find_condition(status.conditions, dqo.DISTRIBUTED)
    assert found is not None
    assert (found.status, found.reason) == ("False", dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED)
    assert found.last_transition_time == NOW


@pytest.mark.parametrize(
    ("progress", "reason", "message"),
    [
        pytest.param(
            Progress(is_settled=True, stopped=[STOPPED]),
            dqo.EFFECTIVE_QUOTAS_CONFLICT,
            "Left alone for ten minutes: ClusterQueue/a (argocd has undone our quotas 3 times in ten minutes: make it "
            "ignore the field)",
            id="stopped",
        ),
        pytest.param(
            Progress(is_settled=True, refused={B: "403 Forbidden: no", A: "422 Invalid: never"}),
            WRITE_REJECTED,
            "2 objects refused: ClusterQueue/a: 422 Invalid: never, ClusterQueue/b: 403 Forbidden: no",
            id="refused",
        ),
        pytest.param(
            Progress(is_settled=True, waiting=[C]),
            WRITE_REJECTED,
            "1 object cannot grow while others hold more than their share: ClusterQueue/c",
            id="waiting",
        ),
        pytest.param(
            Progress(is_settled=True, stopped=[STOPPED], refused={B: "no"}, waiting=[C]),
            dqo.EFFECTIVE_QUOTAS_CONFLICT,
            "Left alone for ten minutes: ClusterQueue/a (argocd has undone our quotas 3 times in ten minutes: make it "
            "ignore the field); 1 object refused: ClusterQueue/b: no; 1 object cannot grow while others hold more than "
            "their share: ClusterQueue/c",
            id="all at once",
        ),
    ],
)
def test_what_is_in_the_way_is_told(progress: Progress, reason: str, message: str) -> None:
    """The first reason, and every message, in a fixed order."""
    found = _distributed(progress, distributed("True", since=EARLIER))
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", reason, message)
    assert found.last_transition_time == NOW


def test_a_message_that_is_too_long_is_cut_and_says_so() -> None:
    """The API server would refuse the whole status."""
    found = _distributed(Progress(is_settled=True, refused={A: "x" * 40_000}))
    assert found is not None
    assert len(found.message) == 32_768
    assert "(cut; " in found.message


@pytest.mark.parametrize(("status", "time"), [("True", EARLIER), ("False", NOW), ("Unknown", NOW)], ids=str)
def test_the_time_is_that_of_the_last_change_of_the_status(status: str, time: str) -> None:
    """Not of its reason, nor of its message."""
    found = _distributed(SETTLED, distributed(status, reason="Other", since=EARLIER))
    assert found is not None
    assert found.last_transition_time == time


def test_conditions_of_others_stay_as_they_are() -> None:
    """Their times as well, also where they have none."""
    theirs = Condition("example.com/Checked", "True", "Yes", "by them", 1, None)
    of = _orchestrator(theirs)
    assert theirs in status_of(_outcome(of), of, SETTLED, NOW).conditions


def test_conditions_stay_in_their_places() -> None:
    """In the order in which they will be read back, so that the answer to a write is known as such; new ones last."""
    theirs, also = Condition("Theirs", "True", "Yes"), Condition("Also", "True", "Yes")
    of = _orchestrator(theirs, distributed("True", since=EARLIER), also)
    assert [each.type for each in status_of(_outcome(of), of, SETTLED, NOW).conditions] == [
        "Theirs",
        dqo.DISTRIBUTED,
        "Also",
        dqo.EFFECTIVE_CAPACITY_COMPUTED,
    ]


# --- what is written -------------------------------------------------------------------------------------------------


def _status(cpu: str | None, *conditions: Condition) -> dqo.DynamicQuotaOrchestratorStatus:
    capacity = dqo.Capacity((dqo.FlavorCapacity("f", {CPU: Quantity.of(cpu)}),)) if cpu is not None else None
    return dqo.DynamicQuotaOrchestratorStatus(capacity, conditions)


ONE = Condition(dqo.EFFECTIVE_CAPACITY_COMPUTED, "True", "R", "m", 1, EARLIER)
OTHER = Condition(dqo.DISTRIBUTED, "True", "R", "m", 1, EARLIER)
FOREIGN = Condition("example.com/Checked", "True", "R", "m", 1, EARLIER)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(_status("1"), _status("1000m"), True, id="by value"),
        pytest.param(_status("1"), _status("2"), False, id="another capacity"),
        pytest.param(_status("1"), _status(None), False, id="no capacity"),
        pytest.param(_status(None, ONE, OTHER), _status(None, OTHER, ONE), True, id="another order"),
        pytest.param(_status(None, ONE), _status(None, ONE, OTHER), False, id="one more"),
        pytest.param(_status(None, FOREIGN, ONE), _status(None, ONE), True, id="one of others"),
        *(
            pytest.param(
                _status(None, ONE), _status(None, msgspec.structs.replace(ONE, **{field: value})), same, id=field
            )
            for field, value, same in (
                ("last_transition_time", NOW, True),
                ("status", "False", False),
                ("reason", "S", False),
                ("message", "n", False),
                ("observed_generation", 2, False),
            )
        ),
    ],
)
def test_a_status_is_written_where_it_says_something_else(
    one: dqo.DynamicQuotaOrchestratorStatus, other: dqo.DynamicQuotaOrchestratorStatus, same: bool
) -> None:
    """A time alone is nothing else."""
    assert is_same(one, other) is same
    assert is_same(other, one) is same


CAPACITY: dict[str, Any] = {"flavors": [{"name": "f", "resources": {"cpu": "1"}}]}
DISTRIBUTED: dict[str, Any] = {
    "type": dqo.DISTRIBUTED,
    "status": "False",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": EARLIER,
}
CONDITIONS = [DISTRIBUTED]
THEIRS: list[dict[str, Any]] = [
    {"type": "example.com/Silent", "status": "True", "reason": "R", "message": "", "lastTransitionTime": EARLIER},
    {"type": "example.com/Sparse", "status": "True", "observedGeneration": 0, "severity": {"level": 3}},
]
"""Not to be written from what is known of a condition: an empty message, fields that lack, fields that are not ours."""


def _held(status: dict[str, Any] | None) -> HeldOrchestrator:
    plain: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "DynamicQuotaOrchestrator",
        "metadata": {"name": "dqo", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": {"capacityDiscovery": {"providers": [{"name": "pool"}]}},
    }
    return held_orchestrator(json.dumps(plain if status is None else {**plain, "status": status}).encode())


VERSION, CAPACITY_SEEN, CONDITIONS_SEEN = "/metadata/resourceVersion", "/status/effectiveCapacity", "/status/conditions"


@pytest.mark.parametrize(
    ("present", "cpu", "operations"),
    [
        pytest.param(
            None,
            "2",
            [("test", VERSION), ("add", "/status"), ("add", CONDITIONS_SEEN), ("add", CAPACITY_SEEN)],
            id="no status",
        ),
        pytest.param(
            {}, "2", [("test", VERSION), ("add", CONDITIONS_SEEN), ("add", CAPACITY_SEEN)], id="an empty status"
        ),
        pytest.param(
            {"conditions": CONDITIONS, "effectiveCapacity": CAPACITY},
            "2",
            [("test", CONDITIONS_SEEN), ("test", CAPACITY_SEEN), ("add", CONDITIONS_SEEN), ("add", CAPACITY_SEEN)],
            id="both are replaced",
        ),
        pytest.param(
            {"conditions": CONDITIONS, "effectiveCapacity": CAPACITY},
            None,
            [("test", CONDITIONS_SEEN), ("test", CAPACITY_SEEN), ("add", CONDITIONS_SEEN), ("remove", CAPACITY_SEEN)],
            id="the capacity is cleared",
        ),
        pytest.param(
            {"conditions": CONDITIONS},
            "2",
            [("test", CONDITIONS_SEEN), ("test", VERSION), ("add", CONDITIONS_SEEN), ("add", CAPACITY_SEEN)],
            id="the capacity is new",
        ),
        pytest.param(
            {"conditions": CONDITIONS},
            None,
            [("test", CONDITIONS_SEEN), ("add", CONDITIONS_SEEN)],
            id="only conditions",
        ),
    ],
)
def test_a_status_is_a_compare_and_set_of_what_was_seen(
    present: dict[str, Any] | None, cpu: str | None, operations: list[tuple[str, str]]
) -> None:
    """Of the fields where they are there, else of the whole object. Every test comes before every change."""
    found = patch_of(_held(present), _status(cpu, ONE))
    assert [(each["op"], each["path"]) for each in found] == operations


def test_the_patch_compares_the_json_that_the_server_sent() -> None:
    """Not what we would write: a number that it keeps as `1000m` is tested as that."""
    held = _held({"conditions": CONDITIONS, "effectiveCapacity": {"flavors": [{"name": "f", "unknown": 1}]}})
    tests = {each["path"]: each["value"] for each in patch_of(held, _status(None)) if each["op"] == "test"}
    assert json.loads(bytes(tests[CONDITIONS_SEEN])) == CONDITIONS
    assert json.loads(bytes(tests[CAPACITY_SEEN])) == {"flavors": [{"name": "f", "unknown": 1}]}


def _written(held: HeldOrchestrator, status: dqo.DynamicQuotaOrchestratorStatus) -> Any:
    """The conditions of the patch, as they go over the wire."""
    (found,) = (each for each in patch_of(held, status) if (each["op"], each["path"]) == ("add", CONDITIONS_SEEN))
    return json.loads(msgspec.json.encode(found["value"]))


def test_conditions_of_others_are_written_as_they_were_sent() -> None:
    """Each in its place; without a field that it has to have, the API server would refuse the whole status."""
    first, last = THEIRS
    held = _held({"conditions": [first, DISTRIBUTED, last]})
    told = Condition(dqo.DISTRIBUTED, "True", "R", "n", 3, NOW)
    assert _written(held, _status("1", ONE, FOREIGN, told)) == [
        first,
        {
            "type": dqo.DISTRIBUTED,
            "status": "True",
            "reason": "R",
            "message": "n",
            "observedGeneration": 3,
            "lastTransitionTime": NOW,
        },
        last,
        {
            "type": dqo.EFFECTIVE_CAPACITY_COMPUTED,
            "status": "True",
            "reason": "R",
            "message": "m",
            "observedGeneration": 1,
            "lastTransitionTime": EARLIER,
        },
    ]


def test_a_condition_of_ours_that_is_not_wanted_any_more_goes() -> None:
    """An orchestrator that has lost its root does not distribute; what others say of it stays."""
    assert [each["type"] for each in _written(_held({"conditions": [DISTRIBUTED, *THEIRS]}), _status("1", ONE))] == [
        "example.com/Silent",
        "example.com/Sparse",
        dqo.EFFECTIVE_CAPACITY_COMPUTED,
    ]


def test_a_condition_of_ours_keeps_its_empty_message() -> None:
    """It may be there from somebody else, and stays as it is while quotas are being written."""
    of = _orchestrator(distributed("False", reason="R", since=EARLIER))
    of = msgspec.structs.replace(
        of,
        status=dqo.DynamicQuotaOrchestratorStatus(None, (Condition(dqo.DISTRIBUTED, "False", "R", "", 1, EARLIER),)),
    )
    held = _held({"conditions": [{**DISTRIBUTED, "message": ""}]})
    written = _written(held, status_of(_outcome(of), of, Progress(is_settled=False), NOW))
    assert written[0] == {**DISTRIBUTED, "message": "", "observedGeneration": 1}


def _unreadable(root: str | None, status: dict[str, Any] | None = None) -> HeldOrchestrator:
    """One that has two entries for one provider."""
    spec: dict[str, Any] = {"capacityDiscovery": {"providers": [{"name": "pool"}, {"name": "pool"}]}}
    if root is not None:
        spec["capacityDistribution"] = {"subtreeRootQuotaRef": {"kind": "Cohort", "name": root}}
    plain: dict[str, Any] = {
        "metadata": {"name": "dqo", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": spec,
    }
    held = held_orchestrator(json.dumps(plain if status is None else {**plain, "status": status}).encode())
    assert held.orchestrator is None
    return held


def test_an_orchestrator_that_cannot_be_read_has_both_conditions_false() -> None:
    """With what is wrong with it."""
    held = _unreadable("teams")._replace(problem="spec.x: what is this")
    status = unreadable_status(held, NOW)
    assert status.effective_capacity is None
    assert [(each.type, each.status, each.reason) for each in status.conditions] == [
        (dqo.EFFECTIVE_CAPACITY_COMPUTED, "False", dqo.MISCONFIGURED),
        (dqo.DISTRIBUTED, "False", dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED),
    ]
    assert {(each.message, each.observed_generation) for each in status.conditions} == {
        ("the object cannot be read: spec.x: what is this", 3)
    }
    assert {each.last_transition_time for each in status.conditions} == {NOW}


def test_an_orchestrator_without_a_root_is_not_said_to_distribute_nothing() -> None:
    """It never was to distribute anything, readable or not."""
    status = unreadable_status(_unreadable(None), NOW)
    assert [each.type for each in status.conditions] == [dqo.EFFECTIVE_CAPACITY_COMPUTED]


def test_what_others_say_of_an_unreadable_orchestrator_stays() -> None:
    """As does the time of a condition that was False before, for whatever reason."""
    held = _unreadable("teams", {"conditions": [*THEIRS, DISTRIBUTED]})
    written = _written(held, unreadable_status(held, NOW))
    assert written[:2] == THEIRS
    assert [(each["type"], each["lastTransitionTime"]) for each in written[2:]] == [
        (dqo.DISTRIBUTED, EARLIER),
        (dqo.EFFECTIVE_CAPACITY_COMPUTED, NOW),
    ]


def test_a_condition_that_cannot_be_read_does_not_hold_back_what_is_wrong() -> None:
    """Its time is not known, so it is a new one; one of others goes back as it is."""
    broken = {"type": "example.com/Broken", "status": "True", "message": 5}
    held = _unreadable("teams", {"conditions": [broken, {**DISTRIBUTED, "message": 5}]})
    written = _written(held, unreadable_status(held, NOW))
    assert written[0] == broken
    assert {each["lastTransitionTime"] for each in written[1:]} == {NOW}


@pytest.mark.parametrize(
    ("before", "told"),
    [
        pytest.param([], [ONE.type], id="new"),
        pytest.param([ONE], [], id="the same"),
        pytest.param([msgspec.structs.replace(ONE, message="other")], [], id="another message"),
        pytest.param([msgspec.structs.replace(ONE, reason="Other")], [ONE.type], id="another reason"),
        pytest.param([msgspec.structs.replace(ONE, status="False")], [ONE.type], id="another status"),
        pytest.param([OTHER], [ONE.type], id="another one is gone"),
    ],
)
def test_an_event_is_worth_a_change_of_status_or_reason(before: list[Condition], told: list[str]) -> None:
    """Not one of the message, which may change with every number."""
    assert [each.type for each in transitions(before, [ONE])] == told


def test_keys_of_cohorts_are_told_by_their_kind() -> None:
    """A queue and a Cohort may have one name."""
    found = _distributed(Progress(is_settled=True, waiting=[ObjectKey("Cohort", "a"), A]))
    assert found is not None
    assert found.message.endswith("ClusterQueue/a, Cohort/a")
