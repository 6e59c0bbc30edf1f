"""ClusterQueues and Cohorts as the API server sends them, readable or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.api.scheme import ObjectInvalid
from orchestrator.enforcement.held import View, held_of
from orchestrator.enforcement.roads import Road
from tests.unit.orchestrator.builders import CPU, Flavors, groups, queue, ref
from tests.unit.orchestrator.enforcement.roads import Manifest, manifest

TEN: Flavors = {"f": {CPU: 10}}
FOUR: Flavors = {"f": {CPU: 4}}
BOTH_KINDS = pytest.mark.parametrize(("kind", "parent"), [("ClusterQueue", "cohortName"), ("Cohort", "parentName")])


def _raw(plain: Manifest) -> bytes:
    return json.dumps(plain).encode()


@BOTH_KINDS
def test_an_object_is_held_with_the_json_that_a_write_compares(kind: str, parent: str) -> None:
    """As the server sent it: unknown fields and other ways to write a number included."""
    plain = manifest(TEN, kind=kind)
    plain["metadata"]["resourceVersion"] = "7"
    plain["spec"][parent] = "team"
    plain["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0] = {"name": "cpu", "nominalQuota": "10000m", "x": 1}
    plain["status"] = {"effectiveQuotas": {"orchestratorRef": {"apiGroup": "g", "kind": "K", "name": "n"}}}
    held = held_of(kind, _raw(plain))
    assert (held.key, held.resource_version, held.node.parent) == (ObjectKey(kind, "a"), "7", "team")
    assert held.problem is None
    assert held.node.quotas == groups(TEN)
    assert held.groups is not None
    assert json.loads(bytes(held.groups)) == plain["spec"]["resourceGroups"]
    assert held.effective is not None
    assert json.loads(bytes(held.effective)) == plain["status"]["effectiveQuotas"]


@pytest.mark.parametrize(
    ("change", "present"),
    [
        pytest.param({}, (False, False, False, False), id="nothing"),
        pytest.param({"spec": None, "status": None}, (False, False, False, False), id="null"),
        pytest.param({"spec": {}, "status": {}}, (False, False, False, True), id="empty"),
        pytest.param(
            {"spec": {"resourceGroups": None}, "status": {"effectiveQuotas": None}},
            (False, False, False, True),
            id="null inside",
        ),
        pytest.param({"spec": {"resourceGroups": []}}, (True, False, False, False), id="no groups"),
        pytest.param(
            {"metadata": {"name": "a", "annotations": None}}, (False, False, False, False), id="null annotations"
        ),
        pytest.param({"metadata": {"name": "a", "annotations": {}}}, (False, False, True, False), id="no annotations"),
    ],
)
def test_what_is_absent_is_told_from_what_is_empty(
    change: dict[str, Any], present: tuple[bool, bool, bool, bool]
) -> None:
    """A JSON patch has to add the one and can replace in the other: groups, effective quotas, annotations, status."""
    held = held_of("ClusterQueue", _raw({"metadata": {"name": "a"}} | change))
    found = (held.groups is not None, held.effective is not None, held.has_annotations, held.has_status)
    assert found == present


@BOTH_KINDS
@pytest.mark.parametrize(
    "spec",
    [
        {"resourceGroups": [{"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "many"}]}]}]},
        {"resourceGroups": "none"},
    ],
    ids=["a quantity", "a shape"],
)
def test_an_object_that_cannot_be_read_keeps_its_place_in_the_tree(
    kind: str, parent: str, spec: dict[str, Any]
) -> None:
    """With its problem: a subtree from which it vanished would be shared out among the others."""
    plain = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "spec": {**spec, parent: "team"}}
    held = held_of(kind, _raw(plain))
    assert held.problem is not None
    assert held.problem.startswith("it cannot be read: ")
    assert (held.key, held.resource_version, held.node.metadata.uid) == (ObjectKey(kind, "a"), "7", "u")
    assert held.node.parent == "team"
    for road in Road:
        assert road.view(held).member.problem == held.problem


@pytest.mark.parametrize(
    "plain",
    [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": None}}, {"metadata": {"name": ""}, "spec": 1}],
    ids=json.dumps,
)
def test_an_object_without_a_name_is_refused(plain: dict[str, Any]) -> None:
    """Nobody could say which one it is."""
    with pytest.raises(ObjectInvalid):
        held_of("ClusterQueue", _raw(plain))


@pytest.mark.parametrize(
    ("applied", "in_force", "is_settled", "is_reverted"),
    [
        pytest.param(FOUR, FOUR, True, False, id="as it was written"),
        pytest.param(FOUR, TEN, True, True, id="undone"),
        pytest.param(FOUR, TEN, False, False, id="edited: it is another declaration"),
        pytest.param(None, TEN, False, False, id="never written"),
    ],
)
def test_a_revert_is_another_spec_without_another_declaration(
    applied: Flavors | None, in_force: Flavors, is_settled: bool, is_reverted: bool
) -> None:
    """Only where something was written that could be undone."""
    quotas = EffectiveQuotas(ref("dqo"), groups(applied)) if applied is not None else None
    member = queue("a", TEN)._replace(in_force=groups(in_force))
    assert View(member, quotas, is_settled=is_settled).is_reverted is is_reverted
