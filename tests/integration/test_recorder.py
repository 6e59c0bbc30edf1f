"""The recorder sees what it is there to see: histories in which an orchestrator breaks its promises."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.history import Key, Manifest, Version
from tests.integration.judge import FIELD_MANAGER, Record, judge
from tests.integration.objects import QUEUES, cohort, orchestrator, provider, queue
from tests.integration.recorder import Recorder


def _written(obj: Manifest, manager: str = FIELD_MANAGER) -> Manifest:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": [{"manager": manager}]}}


def _queue(name: str, cpu: int | str, *, parent: str = "teams") -> Manifest:
    return _written(queue(name, {"default": {"cpu": cpu}, "other": {"cpu": cpu}}, cohort=parent))


def _told(cpu: int | str | None, *, distributed: str = "False", generation: int = 1) -> Manifest:
    obj = orchestrator("dqo", "pool", root=("Cohort", "company"))
    status: dict[str, Any] = {"conditions": [{"type": "Distributed", "status": distributed}]}
    if cpu is not None:
        status["effectiveCapacity"] = {"flavors": [{"name": "default", "resources": {"cpu": cpu}}]}
    return {**obj, "metadata": {"name": "dqo", "generation": generation}, "status": status}


def _judge(*objects: Manifest | None, own: frozenset[int] = frozenset(), road: str = "spec") -> Record:
    """Two teams of 5 below a capacity of 10, and then these objects, each the next version."""
    found = [
        cohort("company"),
        cohort("teams", parent="company"),
        _queue("a", 5),
        _queue("b", 5),
        _told(10, distributed="True"),
    ]
    start = {_key(obj): obj for obj in found}
    versions = [
        Version(number, _key(obj), obj) if obj else Version(number, Key("ClusterQueue", "b"), None)
        for number, obj in enumerate(objects, 1)
    ]
    return judge(start, reversed(versions), own=own, road=road)


def _key(obj: Manifest) -> Key:
    return Key(obj["kind"], obj["metadata"]["name"])


def test_a_redistribution_that_shrinks_first_is_right() -> None:
    record = _judge(_queue("a", 2), _queue("b", 8), _told(10, distributed="True"))
    assert record == Record(2, 1, [])


def test_a_redistribution_that_grows_first_promises_too_much() -> None:
    """Although it ends well. The other flavor is nobody's."""
    record = _judge(_queue("b", 8), _queue("a", 2))
    assert record.wrongs == [
        "version 1: ClusterQueue b let default/cpu rise from 10000 to 13000, of 10000 below Cohort company"
    ]


def test_growth_waits_for_the_capacity_to_be_told() -> None:
    assert not _judge(_told(20), _queue("a", 10), _queue("b", 10)).wrongs
    assert len(_judge(_queue("a", 10), _told(20), _queue("b", 10)).wrongs) == 1


def test_nothing_grows_while_the_capacity_is_not_known() -> None:
    """Shrinking is allowed."""
    assert len(_judge(_queue("a", 2), _told(None), _queue("b", 3), _queue("b", 5)).wrongs) == 1


def test_a_sum_above_the_capacity_may_fall_but_not_rise() -> None:
    """Here the capacity has halved."""
    assert not _judge(_told(5), _queue("a", 4), _queue("b", 1)).wrongs
    assert len(_judge(_told(5), _queue("a", 4), _queue("b", 6)).wrongs) == 1


def test_what_others_write_is_excused_but_counts_once_it_is_known() -> None:
    """It is known at the latest where the orchestrator writes to the same object, and before an edit made later."""
    edit = _queue("a", 9)
    assert not _judge(edit, _queue("b", 1), own=frozenset({1})).wrongs
    assert not _judge(_queue("b", 3), edit, _queue("b", 5), own=frozenset({2})).wrongs
    assert len(_judge(edit, _queue("b", 6), own=frozenset({1})).wrongs) == 1
    assert len(_judge(edit, _queue("a", 8), _queue("b", 6), own=frozenset({1})).wrongs) == 1
    later = _queue("b", 4)
    assert len(_judge(edit, later, _queue("b", 3), _queue("c", 3), own=frozenset({1, 2})).wrongs) == 1


def test_an_edit_is_known_after_some_time() -> None:
    """More than two writes to each of all five objects are more than one pass makes."""
    edited = (_queue("b", 4), _queue("a", 6))
    assert not _judge(*edited, *[_queue("c", 0)] * 9, _queue("c", 1), own=frozenset({2})).wrongs
    assert len(_judge(*edited, *[_queue("c", 0)] * 10, _queue("c", 1), own=frozenset({2})).wrongs) == 1


def test_what_is_deleted_makes_room() -> None:
    assert not _judge(None, _queue("a", 10)).wrongs
    assert len(_judge(None, _queue("a", 11)).wrongs) == 1


def test_what_is_outside_the_subtree_does_not_count() -> None:
    assert not _judge(_queue("c", 50, parent="elsewhere")).wrongs
    assert len(_judge(_queue("c", 50)).wrongs) == 1


def test_fractions_count_as_kueue_counts_them() -> None:
    """Up to the next milli; the capacity down."""
    assert not _judge(_told("10.0019"), _queue("a", "5001m")).wrongs
    assert len(_judge(_told("10.0009"), _queue("a", "5.0001")).wrongs) == 1


def test_distributed_is_said_too_early() -> None:
    """And said rightly afterwards, or by somebody who has not changed his mind."""
    rightly = _judge(_told(8), _queue("a", 3), _told(8, distributed="True"), _queue("b", 4))
    assert rightly.wrongs == []
    early = _judge(_told(8), _queue("a", 2), _told(8, distributed="True"), _queue("b", 6))
    assert len(early.wrongs) == 1
    assert "7000 are in force, of 8000" in early.wrongs[0]


def test_distributed_is_said_too_early_although_others_have_edited() -> None:
    """Their edit is known here, from the write that has followed it; or it has changed nothing."""
    edit, too_little = _queue("a", 9), _queue("a", 2)
    known = _judge(_told(8), edit, too_little, _told(8, distributed="True"), _queue("b", 6), own=frozenset({2}))
    assert len(known.wrongs) == 1
    assert "version 4: DynamicQuotaOrchestrator dqo says that default/cpu is distributed: 7000" in known.wrongs[0]
    idle = _judge(_told(8), too_little, too_little, _told(8, distributed="True"), own=frozenset({3}))
    assert len(idle.wrongs) == 1
    late = _judge(_told(8), too_little, _queue("b", 9), _told(8, distributed="True"), own=frozenset({3}))
    assert len(late.wrongs) == 1
    rightly = _judge(_told(8), edit, _queue("a", 3), _told(8, distributed="True"), own=frozenset({2}))
    assert rightly.wrongs == []


def test_distributed_may_be_said_just_after_an_edit() -> None:
    """The orchestrator does not know of it yet. Later it does, though it has written nothing to that object."""
    word = (_told(10), _told(10, distributed="True"))
    assert not _judge(word[0], _queue("a", 9), word[1], own=frozenset({2})).wrongs
    assert not _judge(word[0], _queue("a", 9), _queue("b", 1), word[1], own=frozenset({2})).wrongs
    writes = [_queue("b", 1), *[_queue("b", 0)] * 8]
    assert len(_judge(word[0], _queue("a", 9), *writes, word[1], own=frozenset({2})).wrongs) == 1


def test_on_the_status_road_effective_quotas_count() -> None:
    def with_effective(name: str, cpu: int) -> Manifest:
        obj = _queue(name, 5)
        return {**obj, "status": {"effectiveQuotas": {"resourceGroups": _queue(name, cpu)["spec"]["resourceGroups"]}}}

    assert not _judge(with_effective("a", 2), with_effective("b", 8), road="status").wrongs
    assert len(_judge(with_effective("b", 8), with_effective("a", 2), road="status").wrongs) == 1


def test_every_version_on_a_control_plane_is_seen_in_order(plane: ControlPlane) -> None:
    """Also of objects that are gone since, and whoever wrote them."""
    plane.admin.apply(
        cohort("company"),
        queue("a", {"default": {"cpu": 5}}, cohort="company"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "company")),
    )
    recorder = Recorder(plane)
    assert recorder.check() == Record(0, 0, [])
    body = {"spec": queue("a", {"default": {"cpu": 9}})["spec"]}
    recorder.own(plane.admin.patch(f"{QUEUES}/a", body))
    assert recorder.check() == Record(0, 0, [])
    plane.admin.patch(f"{QUEUES}/a", {"metadata": {"labels": {"a": "b"}}})
    plane.admin.delete(f"{QUEUES}/a")
    with pytest.raises(AssertionError, match=r"^version [0-9]+: ClusterQueue a was written by somebody unknown$"):
        recorder.check()
