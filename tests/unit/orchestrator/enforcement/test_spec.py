"""The spec road: effective numbers in the spec, the admin's declaration in an annotation, and edits of both."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from kueue_dqo.api.dqo import DISTRIBUTED, MISCONFIGURED
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS, DECLARED_QUOTAS, FIELD_MANAGER
from tests.unit.orchestrator.builders import (
    CPU,
    GPU,
    MEMORY,
    Amounts,
    Flavors,
    Quota,
    condition_of,
    groups,
    ref,
    verdict,
)
from tests.unit.orchestrator.enforcement.roads import (
    Limits,
    Manifest,
    after_a_pass,
    annotated,
    as_annotation,
    by_pair,
    declaration,
    edited,
    managed,
    manifest,
    node,
    outcome,
    with_written,
)

DECLARED: Flavors = {"f": {CPU: Quota(10, 5, 8), MEMORY: Quota("20Gi", None, "2Gi")}, "g": {CPU: 30, MEMORY: "1Gi"}}
"""What the admin declared: the flavor f is orchestrated, g is not."""
CAPACITY: Amounts = {"f": {CPU: 4, MEMORY: "8Gi"}}
IN_FORCE: Flavors = {"f": {CPU: Quota(4, 5, 4), MEMORY: Quota("8Gi", None, "2Gi")}, "g": {CPU: 30, MEMORY: "1Gi"}}
"""What a pass makes of both."""


IN_BETWEEN: Flavors = {"f": {CPU: 4, MEMORY: 8}}
"""What is in force before both sides change."""


def _adopted() -> Manifest:
    """A ClusterQueue that the orchestrator has written once."""
    return after_a_pass(manifest(DECLARED), CAPACITY)


def _changed(flavor: str, resource: str, quota: Quota) -> Flavors:
    """What is in force, with another quota for one pair."""
    return {**IN_FORCE, flavor: {**IN_FORCE[flavor], resource: quota}}


def _meant(**changes: Limits | None) -> dict[str, Limits]:
    """The declaration with another quota for `flavor_resource`; None for none."""
    meant = by_pair(groups(DECLARED))
    for name, limits in changes.items():
        pair = name.replace("_", "/")
        if limits is None:
            del meant[pair]
        else:
            meant[pair] = limits
    return meant


# --- adoption ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CLUSTER_QUEUE, COHORT])
def test_the_first_adoption_imports_the_spec(kind: str) -> None:
    """It is in force, and nobody owns it."""
    member = Road.SPEC.member_of(node(manifest(DECLARED, kind=kind)))
    assert member.key == ObjectKey(kind, "a")
    assert (member.uid, member.parent, member.problem) == ("a", "", None)
    assert (member.declared, member.in_force, member.owner) == (groups(DECLARED), groups(DECLARED), None)


@pytest.mark.parametrize(
    ("kind", "field"), [(CLUSTER_QUEUE, "cohortName"), (COHORT, "parentName")], ids=[CLUSTER_QUEUE, COHORT]
)
def test_the_parent_is_seen_whether_or_not_the_declaration_is(kind: str, field: str) -> None:
    """The place in the tree does not hang on annotations."""
    held = manifest(DECLARED, kind=kind)
    held["spec"][field] = "team"
    assert Road.SPEC.member_of(node(held)).parent == "team"
    lost = Road.SPEC.member_of(node(_with(held, **{APPLIED_QUOTAS: "{"})))
    assert lost.problem is not None
    assert (lost.key, lost.uid, lost.parent) == (ObjectKey(kind, "a"), "a", "team")


def test_the_annotation_from_git_governs_where_the_spec_is_empty() -> None:
    """Git leaves spec.resourceGroups out; until the first pass nothing is in force."""
    held = manifest(annotations={DECLARED_QUOTAS: as_annotation(DECLARED)})
    del held["spec"]["resourceGroups"]
    member = Road.SPEC.member_of(node(held))
    assert (member.declared, member.in_force, member.owner) == (groups(DECLARED), (), None)
    after = after_a_pass(held, CAPACITY)
    assert Road.SPEC.member_of(node(after)).in_force == groups(IN_FORCE)
    assert declaration(after) == _meant()


def test_annotations_of_others_do_not_matter() -> None:
    """Nor does the annotation that kubectl writes."""
    held = manifest(DECLARED, annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "declared": "["})
    assert declaration(held) == _meant()


@pytest.mark.parametrize("kind", [CLUSTER_QUEUE, COHORT])
def test_a_pass_puts_the_effective_numbers_into_the_spec_and_keeps_the_declaration(kind: str) -> None:
    """The owner is the orchestrator that wrote them."""
    in_force = IN_FORCE if kind == CLUSTER_QUEUE else _changed("f", CPU, Quota(4, 5, 8))
    member = Road.SPEC.member_of(node(after_a_pass(manifest(DECLARED, kind=kind), CAPACITY)))
    assert member.in_force == groups(in_force)
    assert member.declared == groups(DECLARED)
    assert member.owner == ref("dqo")
    assert member.problem is None


def test_spec_and_both_annotations_are_written_together() -> None:
    """And no other field: the declaration as it was written, what is applied with its writer."""
    held = manifest({"f": {CPU: Quota("2500m", lending=0)}})
    (quotas,) = outcome({"f": {CPU: "1.5"}}, held).quotas.values()
    fields = Road.SPEC.written(node(held), quotas)
    applied = [
        {
            "coveredResources": ["cpu"],
            "flavors": [
                {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1500m", "lendingLimit": "0"}]},
            ],
        }
    ]
    assert fields.keys() == {"metadata", "spec"}
    assert fields["spec"] == {"resourceGroups": applied}
    assert fields["metadata"].keys() == {"annotations"}
    assert {key: json.loads(text) for key, text in fields["metadata"]["annotations"].items()} == {
        "kueue-dqo.dev/declared-quotas": held["spec"]["resourceGroups"],
        "kueue-dqo.dev/applied-quotas": {
            "orchestratorRef": {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "dqo"},
            "resourceGroups": applied,
        },
    }


def test_what_a_pass_has_written_is_known_to_be_written() -> None:
    """By value: another spelling of a number is no difference."""
    held = manifest(DECLARED)
    (quotas,) = outcome(CAPACITY, held).quotas.values()
    assert not Road.SPEC.is_written(node(held), quotas)
    after = after_a_pass(held, CAPACITY)
    assert Road.SPEC.is_written(node(after), quotas)
    assert Road.SPEC.is_written(node(edited(after, _changed("f", CPU, Quota("4000m", 5, "4e0")))), quotas)
    assert Road.SPEC.is_written(
        node(annotated(after, declared=json.dumps(held["spec"]["resourceGroups"], indent=2))), quotas
    )


@pytest.mark.parametrize(
    "differs",
    [
        pytest.param(lambda held: edited(held, _changed("f", CPU, Quota(6, 5, 4))), id="the spec"),
        pytest.param(lambda held: annotated(held, declared=None, applied=None), id="both annotations are gone"),
        pytest.param(lambda held: annotated(held, declared=None), id="the declaration is gone"),
        pytest.param(lambda held: annotated(held, applied=None), id="what is applied is gone"),
        pytest.param(
            lambda held: annotated(
                held, applied=held["metadata"]["annotations"][APPLIED_QUOTAS].replace('"name":"dqo"', '"name":"other"')
            ),
            id="the writer",
        ),
        pytest.param(
            lambda held: annotated(
                held,
                applied=held["metadata"]["annotations"][APPLIED_QUOTAS].replace(
                    '"nominalQuota":"4"', '"nominalQuota":"3"'
                ),
            ),
            id="what is said to be applied",
        ),
    ],
)
def test_what_differs_from_the_quotas_is_not_written_yet(differs: Callable[[Manifest], Manifest]) -> None:
    """Whether in the spec or in an annotation."""
    (quotas,) = outcome(CAPACITY, manifest(DECLARED)).quotas.values()
    after = after_a_pass(manifest(DECLARED), CAPACITY)
    assert differs(after) != after
    assert not Road.SPEC.is_written(node(differs(after)), quotas)


def test_a_declaration_that_an_edit_changed_is_written_though_the_numbers_stay() -> None:
    """All the capacity goes to the one queue, whatever it declares: only the annotation is behind."""
    once = after_a_pass(manifest({"f": {CPU: 10}}), {"f": {CPU: 4}})
    held = edited(once, {"f": {CPU: 6}})
    (quotas,) = outcome({"f": {CPU: 6}}, held).quotas.values()
    assert quotas.resource_groups == node(held).quotas
    assert not Road.SPEC.is_written(node(held), quotas)
    assert Road.SPEC.is_written(node(with_written(held, quotas)), quotas)
    assert declaration(with_written(held, quotas)) == {"f/cpu": ("6", None, None)}


def test_an_object_without_resource_groups_keeps_an_empty_declaration() -> None:
    """Its spec stays an empty list."""
    held = after_a_pass(manifest(kind=COHORT), CAPACITY)
    assert held["spec"]["resourceGroups"] == []
    assert held["metadata"]["annotations"][DECLARED_QUOTAS] == "[]"
    assert declaration(held) == {}
    assert Road.SPEC.member_of(node(held)).owner == ref("dqo")


def test_the_next_capacity_is_split_by_the_declaration() -> None:
    """Two queues of 10 and 20 keep their proportion, though 1m and 1999m are in force."""
    held = [
        manifest(kind=COHORT, name="team"),
        manifest({"f": {CPU: 10}}, name="a"),
        manifest({"f": {CPU: 20}}, name="b"),
    ]
    for each in held[1:]:
        each["spec"]["cohortName"] = "team"
    for capacity, a, b in [("3m", "1m", "2m"), ("2m", "1m", "1m"), ("0", "0", "0"), ("48", "16", "32")]:
        quotas = outcome({"f": {CPU: capacity}}, *held).quotas
        for each in held:
            fields = Road.SPEC.written(node(each), quotas[ObjectKey(each["kind"], each["metadata"]["name"])])
            each["metadata"]["annotations"] = fields["metadata"]["annotations"]
            each["spec"] |= fields["spec"]
        assert [by_pair(node(each).quotas) for each in held] == [
            {},
            {"f/cpu": (a, None, None)},
            {"f/cpu": (b, None, None)},
        ]


def test_both_roads_compute_the_same_quotas() -> None:
    """What differs is where they are written."""
    held = node(manifest(DECLARED))
    assert Road.SPEC.member_of(held) == Road.STATUS.member_of(held)


# --- edits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        pytest.param(IN_FORCE, _meant(), id="nothing"),
        pytest.param(_changed("f", CPU, Quota("4000m", 5, "4e0")), _meant(), id="another spelling of what is there"),
        pytest.param(
            _changed("f", CPU, Quota(6, 5, 4)), _meant(f_cpu=("6", "5", "8")), id="the nominal quota of one pair"
        ),
        pytest.param(_changed("f", CPU, Quota(10, 5, 4)), _meant(), id="the nominal quota that was declared"),
        pytest.param(_changed("f", CPU, Quota(0, 5, 4)), _meant(f_cpu=("0", "5", "8")), id="a nominal quota of 0"),
        pytest.param(
            _changed("f", CPU, Quota(4, 7, 4)), _meant(f_cpu=("10", "7", "8")), id="the borrowingLimit of one pair"
        ),
        pytest.param(_changed("f", CPU, Quota(4, 0, 4)), _meant(f_cpu=("10", "0", "8")), id="a borrowingLimit of 0"),
        pytest.param(
            _changed("f", CPU, Quota(4, None, 4)), _meant(f_cpu=("10", None, "8")), id="no borrowingLimit any more"
        ),
        pytest.param(
            _changed("f", CPU, Quota(4, 5, 3)), _meant(f_cpu=("10", "5", "3")), id="the lendingLimit of one pair"
        ),
        pytest.param(_changed("f", CPU, Quota(4, 5, 0)), _meant(f_cpu=("10", "5", "0")), id="a lendingLimit of 0"),
        pytest.param(
            _changed("f", CPU, Quota(4, 5, None)), _meant(f_cpu=("10", "5", None)), id="no lendingLimit any more"
        ),
        pytest.param(
            _changed("f", MEMORY, Quota("8Gi", "1Gi", "2Gi")),
            _meant(f_memory=("20Gi", "1Gi", "2Gi")),
            id="a borrowingLimit where there was none",
        ),
        pytest.param(
            _changed("f", CPU, Quota(6, 7, 3)), _meant(f_cpu=("6", "7", "3")), id="all three fields of one pair"
        ),
        pytest.param(
            _changed("g", CPU, Quota(31)), _meant(g_cpu=("31", None, None)), id="a flavor that is not orchestrated"
        ),
        pytest.param(
            {**IN_FORCE, "h": {CPU: 7, MEMORY: 0}},
            _meant(h_cpu=("7", None, None), h_memory=("0", None, None)),
            id="a flavor more",
        ),
        pytest.param(
            {**IN_FORCE, "f": {**IN_FORCE["f"], GPU: 2}},
            {**_meant(), f"f/{GPU}": ("2", None, None)},
            id="a resource more",
        ),
        pytest.param({"f": IN_FORCE["f"]}, _meant(g_cpu=None, g_memory=None), id="a flavor less"),
        pytest.param(
            {"f": {CPU: Quota(4, 5, 4)}, "g": {CPU: 30}}, _meant(f_memory=None, g_memory=None), id="a resource less"
        ),
        pytest.param(
            {"f": {CPU: Quota(4, 5, 4), MEMORY: Quota("9Gi", None, "2Gi")}, "h": {CPU: 7}},
            _meant(f_memory=("9Gi", None, "2Gi"), g_cpu=None, g_memory=None, h_cpu=("7", None, None)),
            id="several at once: one edited, one added, two removed",
        ),
        pytest.param({"g": IN_FORCE["g"], "f": IN_FORCE["f"]}, _meant(), id="the order of the flavors"),
    ],
)
def test_what_an_admin_edits_in_the_spec_becomes_the_declaration_and_nothing_else_does(
    spec: Flavors, meant: dict[str, Limits]
) -> None:
    """By value, pair for pair and field for field; the owner stays, and the spec is in force."""
    held = edited(_adopted(), spec)
    assert declaration(held) == meant
    assert Road.SPEC.member_of(node(held)).owner == ref("dqo")
    assert Road.SPEC.member_of(node(held)).in_force == groups(spec)
    # and the next pass keeps it, whatever the capacity
    later: list[Amounts] = [CAPACITY, {"f": {CPU: 1, MEMORY: "1Gi"}}, {"f": {CPU: 1000, MEMORY: "1Ti"}}]
    for capacity in later:
        held = after_a_pass(held, capacity)
        assert declaration(held) == meant


def test_the_annotation_governs_where_git_takes_the_quotas_out_of_the_spec() -> None:
    """Git moves the declaration of an adopted queue into the annotation; its tool then empties the spec.

    Nothing is lost by taking an empty spec for one that is left out: who wants no quotas writes [] into the annotation.
    """
    held = annotated(_adopted(), declared=as_annotation({"f": {CPU: 12}}))
    for moved in (edited(held), _without_groups(held)):
        assert declaration(moved) == {"f/cpu": ("12", None, None)}
        assert by_pair(node(after_a_pass(moved, CAPACITY)).quotas) == {"f/cpu": ("4", None, None)}
    nothing = annotated(_adopted(), declared="[]")
    assert declaration(nothing) == {}
    assert by_pair(node(after_a_pass(nothing, CAPACITY)).quotas) == {}


def _without_groups(held: Manifest) -> Manifest:
    after = copy.deepcopy(held)
    del after["spec"]["resourceGroups"]
    return after


def test_an_edit_keeps_the_shape_that_the_admin_gave_to_the_spec() -> None:
    """Groups, covered resources and flavors in their new order: Kueue tries flavors in that order."""
    held = after_a_pass(manifest({"f": {CPU: 1}, "g": {CPU: 2}}, {"h": {GPU: 3}}), {"f": {CPU: 5}})
    member = Road.SPEC.member_of(node(edited(held, {"h": {GPU: 3}}, {"g": {CPU: 2}, "f": {CPU: 5}})))
    assert member.declared == groups({"h": {GPU: 3}}, {"g": {CPU: 2}, "f": {CPU: 1}})
    held["spec"]["resourceGroups"][0]["coveredResources"] = [CPU, MEMORY]
    assert Road.SPEC.member_of(node(held)).declared[0].covered_resources == (CPU, MEMORY)
    assert declaration(held) == by_pair(groups({"f": {CPU: 1}, "g": {CPU: 2}}, {"h": {GPU: 3}}))


def test_a_pair_that_moves_to_another_flavor_is_another_pair() -> None:
    """The same resource with the same number."""
    held = after_a_pass(manifest({"f": {CPU: 10}}), {"f": {CPU: 4}})
    assert declaration(edited(held, {"g": {CPU: 4}})) == {"g/cpu": ("4", None, None)}


def test_edits_before_the_next_pass_count_as_one() -> None:
    """The spec is compared with what was applied, so an edit that is taken back is none."""
    held = edited(_adopted(), _changed("f", CPU, Quota(6, 5, 4)))
    assert declaration(edited(held, IN_FORCE)) == _meant()


def test_git_edits_the_declaration_by_its_annotation() -> None:
    """The spec is as it was applied, so the annotation is all that changed."""
    declared: Flavors = {"f": {CPU: 100}, "h": {CPU: 7}}
    held = annotated(_adopted(), declared=as_annotation(declared))
    assert declaration(held) == by_pair(groups(declared))
    assert by_pair(node(after_a_pass(held, CAPACITY)).quotas) == {
        "f/cpu": ("4", None, None),
        "h/cpu": ("7", None, None),
    }


@pytest.mark.parametrize(
    ("annotation", "spec", "meant"),
    [
        pytest.param(
            {"f": {CPU: 10, MEMORY: 40}},
            {"f": {CPU: 6, MEMORY: 8}},
            {"f/cpu": ("6", None, None), "f/memory": ("40", None, None)},
            id="git edits one pair, the admin another",
        ),
        pytest.param(
            {"f": {CPU: 10, MEMORY: 20, GPU: 7}},
            {"f": {CPU: 6, MEMORY: 8}},
            {"f/cpu": ("6", None, None), "f/memory": ("20", None, None), f"f/{GPU}": ("7", None, None)},
            id="git adds a pair, the admin edits another",
        ),
        pytest.param(
            {"f": {CPU: 10}},
            {"f": {CPU: 6, MEMORY: 8}},
            {"f/cpu": ("6", None, None)},
            id="git removes a pair, the admin edits another",
        ),
        pytest.param(
            {"f": {CPU: 50, MEMORY: 20}},
            {"f": {MEMORY: 8}},
            {"f/memory": ("20", None, None)},
            id="git edits a pair, the admin removes it",
        ),
    ],
)
def test_edits_of_the_annotation_and_of_the_spec_between_two_passes_both_count(
    annotation: Flavors, spec: Flavors, meant: dict[str, Limits]
) -> None:
    """Only the pairs that differ from what was applied come from the spec, never a number of ours."""
    held = after_a_pass(manifest({"f": {CPU: 10, MEMORY: 20}}), {"f": {CPU: 4, MEMORY: 8}})
    assert declaration(edited(annotated(held, declared=as_annotation(annotation)), spec)) == meant


def test_git_gives_its_shape_to_a_declaration_in_which_it_adds_or_removes_pairs() -> None:
    """Groups and flavors as the annotation has them, with the fields that the admin has edited in the spec."""
    held = after_a_pass(manifest({"f": {CPU: 10}, "g": {CPU: 20}}), {"f": {CPU: 4}})
    held = annotated(held, declared=as_annotation({"h": {GPU: 3}}, {"g": {CPU: 20}, "f": {CPU: 10}}))
    member = Road.SPEC.member_of(node(edited(held, {"f": {CPU: 6}, "g": {CPU: 20}})))
    assert member.declared == groups({"h": {GPU: 3}}, {"g": {CPU: 20}, "f": {CPU: 6}})


@pytest.mark.parametrize(
    ("annotation", "spec"),
    [
        pytest.param({"f": {CPU: 10}}, {"f": {MEMORY: 8}}, id="each removes another pair"),
        pytest.param(
            {"f": {CPU: 10, MEMORY: 20, GPU: 1}}, {"f": {CPU: 4, MEMORY: 8}, "g": {GPU: 1}}, id="each adds another pair"
        ),
        pytest.param({"f": {CPU: 10, MEMORY: 20, GPU: 1}}, {"f": {CPU: 4}}, id="git adds one, the admin removes one"),
        pytest.param({"f": {CPU: 10}}, {"f": {CPU: 4, MEMORY: 8, GPU: 1}}, id="git removes one, the admin adds one"),
    ],
)
def test_pairs_that_come_and_go_on_both_sides_between_two_passes_are_a_misconfiguration(
    annotation: Flavors, spec: Flavors
) -> None:
    """Whose flavors and resources count cannot be told; nothing is written until one side is taken back."""
    held = after_a_pass(manifest({"f": {CPU: 10, MEMORY: 20}}), {"f": {CPU: 4, MEMORY: 8}})
    both = edited(annotated(held, declared=as_annotation(annotation)), spec)
    result = outcome(CAPACITY, both)
    assert result.quotas == {}
    assert verdict(result) == ("False", MISCONFIGURED)
    message = condition_of(result, DISTRIBUTED).message
    assert message.startswith("ClusterQueue/a: ")
    assert DECLARED_QUOTAS in message
    assert "spec.resourceGroups" in message
    assert declaration(edited(annotated(held, declared=as_annotation(annotation)), IN_BETWEEN)) == by_pair(
        groups(annotation)
    )
    assert declaration(edited(held, spec)).keys() == by_pair(groups(spec)).keys()


def test_a_queue_lends_no_more_than_it_has_in_a_flavor_that_is_not_orchestrated_any_more() -> None:
    """10 and 8 to lend were declared, 4 and 4 in force; an admin makes the 4 a 6, and then the flavor is given back.

    The webhook of older Kueues refuses a lendingLimit above the nominal quota.
    """
    held = after_a_pass(manifest({"f": {CPU: Quota(10, lending=8)}}), {"f": {CPU: 4}})
    held = edited(held, {"f": {CPU: Quota(6, lending=4)}})
    after = after_a_pass(held, {"other": {}})
    assert by_pair(node(after).quotas) == {"f/cpu": ("6", None, "6")}


# --- declarations that are lost ------------------------------------------------------------------------------------


def _with(held: Manifest, **annotations: str) -> Manifest:
    after = copy.deepcopy(held)
    after["metadata"]["annotations"] |= annotations
    return after


DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("held", "told"),
    [
        pytest.param(annotated(_adopted(), applied=None), [APPLIED_QUOTAS, FIELD_MANAGER], id="applied-quotas is gone"),
        pytest.param(annotated(_adopted(), declared=None), [DECLARED_QUOTAS], id="declared-quotas is gone"),
        pytest.param(
            annotated(_adopted(), declared=None, applied=None), [APPLIED_QUOTAS, FIELD_MANAGER], id="both are gone"
        ),
        pytest.param(annotated(_adopted(), declared="{"), [DECLARED_QUOTAS], id="declared-quotas is no JSON"),
        pytest.param(annotated(_adopted(), applied="{"), [APPLIED_QUOTAS], id="applied-quotas is no JSON"),
        pytest.param(annotated(_adopted(), declared=""), [DECLARED_QUOTAS], id="declared-quotas is empty"),
        pytest.param(annotated(_adopted(), applied=""), [APPLIED_QUOTAS], id="applied-quotas is empty"),
        pytest.param(annotated(_adopted(), declared="null"), [DECLARED_QUOTAS], id="declared-quotas is null"),
        pytest.param(annotated(_adopted(), declared="{}"), [DECLARED_QUOTAS], id="declared-quotas is no list"),
        pytest.param(
            annotated(_adopted(), applied='{"resourceGroups": []}'),
            [APPLIED_QUOTAS, "orchestratorRef"],
            id="applied-quotas names no writer",
        ),
        pytest.param(
            annotated(
                _adopted(),
                declared='[{"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1K"}]}]}]',
            ),
            [DECLARED_QUOTAS, "nominalQuota", "1K"],
            id="declared-quotas holds no quantity",
        ),
        pytest.param(
            annotated(_adopted(), declared=as_annotation({"f": {CPU: -1}})),
            [DECLARED_QUOTAS, "negative"],
            id="declared-quotas holds a negative quota",
        ),
        pytest.param(
            annotated(_adopted(), declared=as_annotation({"f": {CPU: 1}}, {"f": {CPU: 2}})),
            [DECLARED_QUOTAS, "f/cpu"],
            id="declared-quotas holds two quotas of one pair",
        ),
        pytest.param(
            annotated(_adopted(), declared=DEEP), [DECLARED_QUOTAS], id="declared-quotas is nested too deeply"
        ),
        pytest.param(annotated(_adopted(), applied=DEEP), [APPLIED_QUOTAS], id="applied-quotas is nested too deeply"),
        pytest.param(
            manifest(DECLARED, annotations={DECLARED_QUOTAS: "["}), [DECLARED_QUOTAS], id="from git, and no JSON"
        ),
        pytest.param(
            manifest(DECLARED, annotations={APPLIED_QUOTAS: "{}"}), [DECLARED_QUOTAS], id="applied-quotas stands alone"
        ),
    ],
)
def test_a_declaration_that_is_lost_or_unreadable_is_a_misconfiguration(held: Manifest, told: list[str]) -> None:
    """Nothing is written; the message names the object and the annotation. The spec is what is in force."""
    member = Road.SPEC.member_of(node(held))
    assert member.problem is not None
    assert [each for each in told if each not in member.problem] == []
    assert member.in_force == node(held).quotas
    result = outcome(CAPACITY, held)
    assert result.quotas == {}
    assert verdict(result) == ("False", MISCONFIGURED)
    message = condition_of(result, DISTRIBUTED).message
    assert message.startswith("ClusterQueue/a: ")
    assert member.problem in message


@pytest.mark.parametrize(
    ("held", "told"),
    [
        pytest.param(annotated(_adopted(), applied=None), "restore both annotations, or write", id="applied-quotas"),
        pytest.param(annotated(_adopted(), declared=None), "restore it, or write", id="declared-quotas"),
    ],
)
def test_the_message_of_a_lost_annotation_tells_the_way_out(held: Manifest, told: str) -> None:
    """A person who reads it knows what to do."""
    problem = Road.SPEC.member_of(node(held)).problem
    assert problem is not None
    assert told in problem


def test_one_lost_declaration_stops_the_whole_subtree() -> None:
    """Its share cannot be told, and so nobody's can."""
    lost, fine = annotated(_adopted(), applied=None), manifest(DECLARED, name="fine")
    root = manifest(kind=COHORT, name="team")
    for each in (lost, fine):
        each["spec"]["cohortName"] = "team"
    result = outcome(CAPACITY, fine, root, lost, root=root)
    assert result.quotas == {}
    assert verdict(result) == ("False", MISCONFIGURED)


@pytest.mark.parametrize(
    "managers",
    [
        pytest.param([], id="nobody"),
        pytest.param([managed("kubectl", spec={"f:resourceGroups": {}})], id="another manager"),
        pytest.param([managed(FIELD_MANAGER, metadata={"f:annotations": {}})], id="ours, of annotations only"),
        pytest.param([managed(FIELD_MANAGER, spec={"f:cohortName": {}})], id="ours, of another field of the spec"),
        pytest.param([managed(FIELD_MANAGER, spec=None)], id="ours, of a spec without fields"),
        pytest.param([managed(FIELD_MANAGER, status={"f:resourceGroups": {}})], id="ours, of the status"),
        pytest.param([{"manager": FIELD_MANAGER, "operation": "Update"}], id="ours, of nothing"),
    ],
)
def test_a_spec_that_others_wrote_is_adopted_anew(managers: list[Any]) -> None:
    """Both annotations are gone and the spec is not ours, so it is a declaration."""
    held = edited(annotated(_adopted(), declared=None, applied=None), DECLARED)
    held["metadata"]["managedFields"] = managers
    assert declaration(held) == _meant()
    assert Road.SPEC.member_of(node(held)).owner is None


def test_our_manager_is_found_among_others() -> None:
    """Whatever else it owns, and whoever stands beside it."""
    held = annotated(_adopted(), applied=None)
    held["metadata"]["managedFields"] = [
        managed("kubectl", spec={"f:cohortName": {}}),
        {"manager": FIELD_MANAGER, "operation": "Apply"},
        managed(FIELD_MANAGER, metadata={"f:annotations": {}}, spec={"f:resourceGroups": {}, "f:cohortName": {}}),
        managed("kueue", status={"f:conditions": {}}),
    ]
    assert Road.SPEC.member_of(node(held)).problem is not None


def test_restored_annotations_bring_the_declaration_back() -> None:
    """The way out that the message names."""
    held = _adopted()
    kept = dict(held["metadata"]["annotations"])
    lost = annotated(held, declared=None, applied=None)
    assert Road.SPEC.member_of(node(lost)).problem is not None
    assert declaration(_with(lost, **kept)) == _meant()
