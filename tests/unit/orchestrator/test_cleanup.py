"""Quotas that are left behind: on which road, by whom, and whether anybody keeps them up."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kueue_dqo.api.dqo import DynamicQuotaOrchestrator
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import OrchestratorRef
from kueue_dqo.api.scheme import to_manifest
from orchestrator.cleanup import Leftover, Standing, leftovers
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import FIELD_MANAGER
from tests.unit.orchestrator.builders import (
    cohort_key,
    distributed,
    groups,
    orchestrator,
    queue_key,
    ref,
)
from tests.unit.orchestrator.enforcement.roads import Manifest, annotated, managed, manifest
from tests.unit.orchestrator.leftovers import TEN, held, left

ON_BOTH_ROADS = pytest.mark.parametrize("road", list(Road))


def found(objects: list[Manifest], *orchestrators: DynamicQuotaOrchestrator) -> list[Leftover]:
    return leftovers(map(held, objects), {each.metadata.name: each for each in orchestrators})


def judged(objects: list[Manifest], *orchestrators: DynamicQuotaOrchestrator) -> dict[str, tuple[Standing, str]]:
    return {str(each.held.key): (each.standing, each.why) for each in found(objects, *orchestrators)}


# --- what counts as left behind --------------------------------------------------------------------------------------


@ON_BOTH_ROADS
def test_quotas_of_an_orchestrator_that_is_gone_are_abandoned(road: Road) -> None:
    """With who wrote them, and where."""
    (leftover,) = found([left(road=road)])
    assert (leftover.identity, leftover.owner) == ((queue_key("a"), road), ref("dqo"))
    assert (leftover.standing, leftover.why) == (Standing.ABANDONED, "the orchestrator is gone")
    assert leftover.problem is None


@ON_BOTH_ROADS
@pytest.mark.parametrize(
    ("keeper", "why"),
    [
        pytest.param(orchestrator("dqo", root=queue_key("a"), deleting=True), "is being deleted", id="deleting"),
        pytest.param(orchestrator("dqo"), "only discovers", id="discovery only"),
        pytest.param(orchestrator("dqo", root=cohort_key("x")), "its root Cohort/x does not exist", id="no root"),
        pytest.param(
            orchestrator("dqo", root=queue_key("b")), "the object is not below its root ClusterQueue/b", id="moved"
        ),
        pytest.param(
            orchestrator("dqo", root=queue_key("b"), conditions=(distributed("False", reason="Misconfigured"),)),
            "the object is not below its root",
            id="moved, and not distributing",
        ),
    ],
)
def test_an_orchestrator_that_will_not_write_there_again_has_abandoned_them(
    keeper: DynamicQuotaOrchestrator, why: str, road: Road
) -> None:
    """The reason is named."""
    standing, said = judged([left(road=road), manifest(TEN, name="b")], keeper)["ClusterQueue/a"]
    assert standing is Standing.ABANDONED
    assert why in said


def test_quotas_of_an_orchestrator_that_gives_way_to_a_higher_one_are_abandoned() -> None:
    """Whether or not the higher one distributes: the lower one will not write again."""
    objects = [left(parent="team"), manifest(kind="Cohort", name="team")]
    lower = orchestrator("dqo", root=queue_key("a"), conditions=(distributed("False", reason="Conflicting"),))
    higher = orchestrator("above", root=cohort_key("team"), conditions=(distributed("False"),))
    assert judged(objects, lower, higher) == {
        "ClusterQueue/a": (
            Standing.ABANDONED,
            "the orchestrator gives way to above (root Cohort/team), which has not written here",
        )
    }


@ON_BOTH_ROADS
@pytest.mark.parametrize("root", [queue_key("a"), cohort_key("team"), cohort_key("company")], ids=str)
@pytest.mark.parametrize("conditions", [(), (distributed("True"),)], ids=["no condition yet", "distributing"])
def test_an_orchestrator_keeps_up_what_is_below_its_root(root: ObjectKey, conditions: Any, road: Road) -> None:
    """At any depth, the root itself included."""
    objects = [
        left(parent="team", road=road),
        {**manifest(kind="Cohort", name="team"), "spec": {"parentName": "company"}},
        manifest(kind="Cohort", name="company"),
    ]
    keeper = orchestrator("dqo", root=root, conditions=conditions)
    assert judged(objects, keeper)["ClusterQueue/a"] == (Standing.KEPT, f"below its root {root}")


@ON_BOTH_ROADS
def test_an_orchestrator_that_cannot_distribute_has_not_abandoned_its_quotas(road: Road) -> None:
    """It will go on; reason and time help a person to decide."""
    stalled = distributed("False", reason="EffectiveCapacityNotComputed", since="2026-01-31T12:00:00Z")
    keeper = orchestrator("dqo", root=queue_key("a"), conditions=(stalled,))
    why = "Distributed=False EffectiveCapacityNotComputed since 2026-01-31T12:00:00Z"
    assert judged([left(road=road)], keeper) == {"ClusterQueue/a": (Standing.STALLED, why)}


@ON_BOTH_ROADS
@pytest.mark.parametrize(
    "owner", [ref("dqo", group="example.com"), ref("dqo", kind="Other")], ids=["other group", "other kind"]
)
def test_what_others_wrote_is_foreign(owner: OrchestratorRef, road: Road) -> None:
    """Whatever orchestrators there are."""
    (leftover,) = found([left(owner=owner, road=road)], orchestrator("dqo", root=queue_key("a")))
    assert leftover.standing is Standing.FOREIGN
    assert str(owner) in leftover.why


def test_an_object_without_effective_quotas_is_not_listed() -> None:
    """Also where git holds its declaration in the annotation."""
    plain = manifest(TEN, annotations={"kueue-dqo.dev/declared-quotas": json.dumps(to_manifest(groups(TEN)))})
    assert found([manifest(TEN), manifest(kind="Cohort", name="c"), plain]) == []


def test_both_roads_of_one_object_are_listed() -> None:
    """An installation that changed roads leaves quotas on the old one."""
    both = left(road=Road.SPEC) | {"status": left()["status"]}
    assert [each.identity for each in found([both])] == [(queue_key("a"), Road.STATUS), (queue_key("a"), Road.SPEC)]


def test_the_order_does_not_depend_on_that_of_the_objects() -> None:
    """By kind and name."""
    objects = [left("b"), left("a"), left("c", kind="Cohort")]
    names = ["ClusterQueue/a", "ClusterQueue/b", "Cohort/c"]
    assert [str(each.held.key) for each in found(objects)] == names
    assert [str(each.held.key) for each in found(objects[::-1])] == names


def test_a_cycle_of_cohorts_hangs_nothing() -> None:
    """What is inside it is below each of its Cohorts."""
    objects = [
        {**left("c", kind="Cohort"), "spec": {"parentName": "d"}},
        {**manifest(kind="Cohort", name="d"), "spec": {"parentName": "c"}},
    ]
    assert judged(objects, orchestrator("dqo", root=cohort_key("d")))["Cohort/c"][0] is Standing.KEPT


# --- what cannot be restored -----------------------------------------------------------------------------------------


def test_a_lost_declaration_is_a_problem_and_its_writer_is_still_judged() -> None:
    """The annotation that is left names who wrote it."""
    (leftover,) = found([annotated(left(road=Road.SPEC), declared=None)])
    assert (leftover.standing, leftover.owner) == (Standing.ABANDONED, ref("dqo"))
    assert leftover.problem is not None
    assert "declared-quotas is gone" in leftover.problem


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(annotated(left(road=Road.SPEC), applied=None), id="gone"),
        pytest.param(annotated(left(road=Road.SPEC), applied="{"), id="garbled"),
    ],
)
def test_where_the_writer_cannot_be_told_either_nobody_is_judged(lost: Manifest) -> None:
    """It is named all the same."""
    (leftover,) = found([lost])
    assert (leftover.standing, leftover.owner) == (Standing.UNKNOWN, None)
    assert leftover.problem is not None


def test_an_object_that_cannot_be_read_is_named_once() -> None:
    """It may hold anything."""
    broken = manifest(TEN)
    broken["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "ten"
    (leftover,) = found([broken])
    assert leftover.standing is Standing.UNKNOWN
    assert leftover.problem is not None
    assert "it cannot be read" in leftover.problem


# --- the write -------------------------------------------------------------------------------------------------------


def test_on_the_status_road_the_effective_quotas_are_removed() -> None:
    """Where they are still the ones that were judged."""
    (leftover,) = found([left()])
    tested, removed = leftover.restoring()
    assert (tested["op"], tested["path"]) == ("test", "/status/effectiveQuotas")
    assert removed == {"op": "remove", "path": "/status/effectiveQuotas"}


def test_on_the_spec_road_our_field_manager_lets_go_of_the_spec() -> None:
    """Else the object would look as if it had lost its annotations, where the numbers are the same."""
    plain = left(road=Road.SPEC)
    other = managed("kubectl", spec={"f:resourceGroups": {}})
    plain["metadata"]["managedFields"] = [other, *plain["metadata"]["managedFields"]]
    (leftover,) = found([plain])
    operations = json.loads(msgspec.json.encode(leftover.restoring()))
    assert operations[-2:] == [
        {"op": "test", "path": "/metadata/managedFields/1/manager", "value": FIELD_MANAGER},
        {"op": "remove", "path": "/metadata/managedFields/1/fieldsV1/f:spec/f:resourceGroups"},
    ]
    written = {each["path"]: each["value"] for each in operations if each["op"] == "add"}
    assert written == {"/spec/resourceGroups": to_manifest(groups(TEN))}
