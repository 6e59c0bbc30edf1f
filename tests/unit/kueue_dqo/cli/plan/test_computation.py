"""From manifests to a plan: what is computed, what is filled in, and what counts as a change."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.cli.objects import CLUSTER
from kueue_dqo.cli.plan.computation import Plan, make_plan
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS, DECLARED_QUOTAS
from tests.unit.kueue_dqo.cli.plan.builders import (
    BY_HAND,
    COMPOSITE,
    DELETED,
    GPU,
    MANUAL,
    NODE_INVENTORY,
    NOON,
    QUEUES,
    REF,
    Plain,
    capacity,
    cohort,
    composite_parameters,
    condition,
    condition_of,
    effective,
    flavor,
    groups,
    inventory_parameters,
    manifests_of,
    manual_capacity,
    node,
    nominal,
    obj,
    orchestrator,
    override,
    plan_of,
    pod,
    provider,
    published,
    queue,
    reporting,
    synchronized,
)

SIX_NODES = [node(f"n{number}", has={"cpu": 8}) for number in range(6)]
TEAMS = [
    cohort("teams"),
    queue("team-a", {"batch": {"cpu": 10}}, cohort="teams"),
    queue("team-b", {"batch": {"cpu": 20}}, cohort="teams"),
]
COMPUTED = "EffectiveCapacityComputed"
DISTRIBUTED = "Distributed"


# --- from nodes to quotas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", Road)
def test_quotas_follow_the_nodes_in_one_go(road: Road) -> None:
    """The specification's example, from machines on: 48 cpu over 10 and 20 are 16 and 32."""
    plan = plan_of(*SIX_NODES, flavor(), provider(), orchestrator(root="Cohort/teams"), *TEAMS, road=road)
    assert plan.computed_providers == {"nodes"}
    assert published(plan) == {"batch": {"cpu": "48"}}
    assert (synchronized(plan).status, synchronized(plan).reason) == ("True", "Synchronized")
    assert synchronized(plan).message == "batch: 6 nodes, 48 cpu"
    assert nominal(plan, "team-a") == {"batch/cpu": "16"}
    assert nominal(plan, "team-b") == {"batch/cpu": "32"}
    assert nominal(plan, "teams", "Cohort") == {}


def test_the_capacity_of_a_provider_that_cannot_be_computed_is_not_used() -> None:
    """Its condition says why, and the orchestrator's condition repeats it."""
    plan = plan_of(*SIX_NODES, provider(), orchestrator(), queue())
    assert published(plan) is None
    assert (synchronized(plan).status, synchronized(plan).reason) == ("False", "Misconfigured")
    assert "ResourceFlavor batch does not exist" in synchronized(plan).message
    assert condition_of(plan, COMPUTED).reason == "ProviderNotReady"
    assert "ResourceFlavor batch does not exist" in condition_of(plan, COMPUTED).message
    assert nominal(plan, "q") is None


def test_impossible_numbers_are_invalid_capacity() -> None:
    """Of two reasons of the API the right one reaches the condition."""
    plan = plan_of(node(has={"cpu": -1}), flavor(), provider(), orchestrator(), queue())
    assert (synchronized(plan).status, synchronized(plan).reason) == ("False", "InvalidCapacity")


@pytest.mark.parametrize(
    ("given", "kept", "reason"),
    [
        pytest.param(provider(controller=BY_HAND), None, "ProviderNotReady",
                     id="another controller's, without a status"),
        pytest.param(reporting(controller=NODE_INVENTORY), {"batch": {"cpu": "48"}}, "Computed",
                     id="one with a status"),
        pytest.param(provider(status={"capacity": capacity({"batch": {"cpu": 1}})}), {"batch": {"cpu": "1"}},
                     "ProviderNotReady", id="one with a capacity and no condition"),
        pytest.param(provider(status={"conditions": [condition("Other")]}), None, "ProviderNotReady",
                     id="one with somebody's condition only"),
        pytest.param(provider(deletionTimestamp=DELETED), None, "ProviderNotReady", id="one that is being deleted"),
    ],
)  # fmt: skip
def test_only_a_provider_of_the_node_inventory_without_a_status_is_computed(
    given: Plain, kept: dict[str, dict[str, str]] | None, reason: str
) -> None:
    """Every other one is taken as it stands in the files."""
    plan = plan_of(*SIX_NODES, flavor(), given, orchestrator(), queue())
    assert plan.computed_providers == set()
    assert published(plan) == kept
    assert condition_of(plan, COMPUTED).reason == reason


@pytest.mark.parametrize(
    ("rival", "in_the_way"),
    [
        pytest.param(provider("rival"), True, id="one without a status"),
        pytest.param(reporting("rival", controller=NODE_INVENTORY), True, id="one with a status"),
        pytest.param(provider("rival", deletionTimestamp=DELETED), True, id="one that is being deleted"),
        pytest.param(provider("rival", parameters="gone"), True, id="one whose parameters are missing"),
        pytest.param(reporting("rival"), False, id="one of another controller"),
        pytest.param(provider("rival", parameters="gpus"), False, id="one that reports other resources"),
        pytest.param(reporting("rival", controller=NODE_INVENTORY, parameters="gpus"), False,
                     id="one with a status that reports other resources"),
    ],
)  # fmt: skip
def test_every_provider_of_the_node_inventory_claims_its_flavors(rival: Plain, in_the_way: bool) -> None:
    """Whether it is computed here or not; resources that the parameters keep apart are no conflict."""
    plan = plan_of(
        node(has={"cpu": 8, GPU: 4}),
        flavor(),
        provider(parameters="cpus"),
        inventory_parameters("cpus", exclude=[GPU]),
        inventory_parameters("gpus", include=[GPU]),
        rival,
    )
    assert (synchronized(plan).reason == "Misconfigured") is in_the_way
    assert ("CapacityProvider rival claims the flavor batch as well" in synchronized(plan).message) is in_the_way
    assert published(plan) == (None if in_the_way else {"batch": {"cpu": "8"}})


def test_providers_in_the_way_are_named_in_the_order_of_their_names() -> None:
    """Whatever the order of the files."""
    rivals = [provider("c"), provider("a"), provider("b")]
    messages = {synchronized(plan_of(node(), flavor(), provider(), *order)).message for order in (rivals, rivals[::-1])}
    assert len(messages) == 1
    named = re.findall(r"CapacityProvider (\w) claims", messages.pop())
    assert named == ["a", "b", "c"]


def test_a_resource_flavor_that_is_being_deleted_exists_still() -> None:
    """Its nodes are there, and so are the queues that hold it back."""
    plan = plan_of(node(), flavor(deletionTimestamp=DELETED), provider())
    assert published(plan) == {"batch": {"cpu": "1"}}


def test_a_flavor_without_nodes_is_zero_for_what_queues_declare() -> None:
    """Of this flavor, in whatever queue, in the subtree or not."""
    plan = plan_of(
        flavor(),
        provider(),
        queue("a", {"batch": {"cpu": 1}}),
        cohort("c", {"batch": {GPU: 1}, "other": {"memory": 1}}),
    )
    assert published(plan) == {"batch": {"cpu": "0", GPU: "0"}}
    assert (synchronized(plan).status, synchronized(plan).reason) == ("True", "Synchronized")


def test_a_flavor_without_nodes_is_zero_for_what_the_declaration_names_on_the_spec_road() -> None:
    """There the declaration stands in the annotation, and the spec may have been left out."""
    annotations = {DECLARED_QUOTAS: json.dumps(groups({"batch": {"cpu": 10, "memory": "1Gi"}}))}
    objects = [flavor(), provider(), queue("q", {}, annotations=annotations)]
    assert published(plan_of(*objects, road=Road.SPEC)) == {"batch": {"cpu": "0", "memory": "0"}}
    assert published(plan_of(*objects, road=Road.STATUS)) == {}


# --- parameters ----------------------------------------------------------------------------------------------------


def with_reference(group: str, kind: str, name: str = "chosen") -> Plain:
    given = provider()
    given["spec"]["parameters"] = {"apiGroup": group, "kind": kind, "name": name}
    return given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(provider(parameters="gone"), "spec.parameters names NodeInventoryParameters 'gone', which does "
                     "not exist: create it, or correct the name", id="missing"),
        pytest.param(with_reference("kueue-dqo.dev", "CompositeParameters"), "spec.parameters names kind "
                     "'CompositeParameters' of apiGroup 'kueue-dqo.dev', but the controller reads kind "
                     "'NodeInventoryParameters' of apiGroup 'kueue-dqo.dev': correct it", id="another kind of ours"),
        pytest.param(with_reference("example.com", "NodeInventoryParameters"), "spec.parameters names kind "
                     "'NodeInventoryParameters' of apiGroup 'example.com', but the controller reads kind "
                     "'NodeInventoryParameters' of apiGroup 'kueue-dqo.dev': correct it", id="another group"),
    ],
)  # fmt: skip
def test_parameters_that_are_not_there_or_of_a_wrong_kind_are_misconfigured(given: Plain, message: str) -> None:
    """Nothing is published by defaults that somebody did not ask for."""
    chosen = inventory_parameters("chosen", include=["cpu"])
    plan = plan_of(*SIX_NODES, flavor(), given, chosen, composite_parameters("chosen", "nodes"))
    assert published(plan) is None
    assert (synchronized(plan).status, synchronized(plan).reason) == ("False", "Misconfigured")
    assert synchronized(plan).message == message


def test_parameters_choose_the_resources() -> None:
    """Those that the provider names, and no others."""
    plan = plan_of(
        node(has={"cpu": 8, "memory": "1Gi", "pods": 110}),
        flavor(),
        provider(parameters="some"),
        inventory_parameters("some", include=["cpu", "memory"], exclude=["memory"]),
        inventory_parameters("others", include=["pods"]),
    )
    assert published(plan) == {"batch": {"cpu": "8"}}


def test_a_provider_without_parameters_reports_everything() -> None:
    """No object of parameters in the files changes that."""
    nodes = [node(has={"cpu": 8, "pods": 110})]
    plan = plan_of(*nodes, flavor(), provider(), inventory_parameters("some", include=["cpu"]))
    assert published(plan) == {"batch": {"cpu": "8", "pods": "110"}}


# --- what else is computed ------------------------------------------------------------------------------------------


def test_quotas_follow_nodes_below_a_ceiling_in_one_go() -> None:
    """Nodes and numbers written by hand, the lesser of both, and the shares of that."""
    objects = [*SIX_NODES, flavor(), provider(), provider("budget", controller=MANUAL, parameters="budget")]
    objects += [manual_capacity("budget", {"batch": {"cpu": 30}})]
    objects += [
        provider("both", controller=COMPOSITE, parameters="both"),
        composite_parameters("both", "nodes", "budget"),
    ]
    for order in (objects, objects[::-1]):
        plan = plan_of(*order, orchestrator(root="Cohort/teams", providers=["both"]), *TEAMS)
        assert plan.computed_providers == {"nodes", "budget", "both"}
        assert published(plan, "both") == {"batch": {"cpu": "30"}}
        assert nominal(plan, "team-a") == {"batch/cpu": "10"}
        assert nominal(plan, "team-b") == {"batch/cpu": "20"}
        assert plan.notes == []


def test_numbers_that_were_written_for_a_time_are_those_of_the_time_of_the_plan() -> None:
    """And a note says which time that is."""
    night = override("night", {"batch": {"cpu": 60}}, "2026-09-20T20:00:00Z", "2026-09-21T06:00:00Z")
    objects = [
        flavor(),
        provider(controller=MANUAL, parameters="hours"),
        manual_capacity("hours", {"batch": {"cpu": 30}}, overrides=[night]),
        orchestrator(),
        queue(),
    ]
    by_day = plan_of(*objects)
    assert nominal(by_day, "q") == {"batch/cpu": "30"}
    assert by_day.notes == [
        "planned for 2026-09-20T12:00:00Z, which matters to CapacityProvider/nodes; --at plans for another time"
    ]
    by_night = plan_of(*objects, at=NOON + datetime.timedelta(hours=10))
    assert nominal(by_night, "q") == {"batch/cpu": "60"}
    assert by_night.notes[0].startswith("planned for 2026-09-20T22:00:00Z, ")


BY_PODS = inventory_parameters("by-pods", spec={"reserve": "UnmanagedPods"})


def test_pods_of_one_name_in_two_namespaces_are_two() -> None:
    """Both take off what they request."""
    pods = [pod("agent", "n1", {"cpu": 1}, namespace=namespace) for namespace in ("a", "b")]
    plan = plan_of(node(has={"cpu": 8}), flavor(), provider(parameters="by-pods"), BY_PODS, *pods)
    assert published(plan) == {"batch": {"cpu": "6"}}
    assert plan.notes == []


def test_that_there_are_no_pods_is_said_where_they_would_be_counted() -> None:
    """Manifests in git have none, and the capacity is then larger than in the cluster."""
    objects = [node(has={"cpu": 8}), flavor(), provider(parameters="by-pods"), BY_PODS]
    assert plan_of(*objects).notes == [
        (
            "there is no Pod in the files: computed as if none ran, although the parameters of "
            "CapacityProvider/nodes have them counted (cordoned, reserve); add `kubectl get pods -A -o json`"
        )
    ]
    manifests = manifests_of(*objects)
    manifests.origin = CLUSTER
    assert make_plan(manifests, Road.STATUS, NOON).notes == []


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(provider(), id="no parameters"),
        pytest.param(provider(parameters="plain"), id="parameters that count no pods"),
        pytest.param(reporting(controller=NODE_INVENTORY, parameters="by-pods"), id="a status that stands there"),
    ],
)
def test_nothing_is_said_of_pods_that_nobody_counts(given: Plain) -> None:
    """They make no difference."""
    assert plan_of(node(), flavor(), given, BY_PODS, inventory_parameters("plain")).notes == []


# --- metadata that is filled in -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "observed", "taken"),
    [
        pytest.param(7, 3, 7, id="one is given"),
        pytest.param(7, None, 7, id="one is given, nothing was observed"),
        pytest.param(None, 3, 3, id="what the condition observed"),
        pytest.param(None, None, 1, id="a condition that observed nothing"),
    ],
)
def test_a_missing_generation_is_taken_from_the_condition(
    generation: int | None, observed: int | None, taken: int
) -> None:
    """Of an orchestrator from its own condition; a condition of another type says nothing."""
    conditions = [condition("Other", observed=99), condition(COMPUTED, "False", "x", observed=observed)]
    given = orchestrator(generation=generation, status={"conditions": conditions})
    plan = plan_of(reporting(), given, queue())
    assert plan.orchestrators["dqo"].metadata.generation == taken
    assert condition_of(plan, COMPUTED).observed_generation == taken
    assert condition_of(plan, DISTRIBUTED).observed_generation == taken


@pytest.mark.parametrize(
    ("generation", "observed", "reason"),
    [
        pytest.param(None, 3, "Computed", id="taken as observed"),
        pytest.param(3, 3, "Computed", id="given and observed"),
        pytest.param(4, 3, "ProviderNotReady", id="given and not yet observed"),
    ],
)
def test_a_provider_without_a_generation_is_up_to_date(generation: int | None, observed: int, reason: str) -> None:
    """In git nobody writes generations; a status that stands there is meant to be used."""
    given = reporting()
    given["metadata"].pop("generation")
    if generation is not None:
        given["metadata"]["generation"] = generation
    given["status"]["conditions"][0]["observedGeneration"] = observed
    assert condition_of(plan_of(given, orchestrator(), queue()), COMPUTED).reason == reason


@pytest.mark.parametrize(("generation", "observed"), [(None, 1), (5, 5)])
def test_a_computed_status_is_for_the_generation_of_the_provider(generation: int | None, observed: int) -> None:
    """Else nobody would use it."""
    given = provider()
    given["metadata"].pop("generation")
    if generation is not None:
        given["metadata"]["generation"] = generation
    plan = plan_of(node(), flavor(), given, orchestrator(), queue())
    assert synchronized(plan).observed_generation == observed
    assert condition_of(plan, COMPUTED).reason == "Computed"


def notes_about(plan: Plan, field: str) -> list[str]:
    return [note for note in plan.notes if note.startswith(f"no metadata.{field} on ")]


def test_missing_generations_are_said() -> None:
    """By kind and name; objects that have one are not named, nor are queues, which need none."""
    nameless = [provider("d"), provider("b")]
    for each in nameless:
        each["metadata"].pop("generation")
    plan = plan_of(*nameless, provider("a"), orchestrator("z", generation=None), orchestrator("y"), queue())
    assert notes_about(plan, "generation") == [
        (
            "no metadata.generation on CapacityProvider/b, CapacityProvider/d, DynamicQuotaOrchestrator/z: taken as "
            "the one that its condition observed, else 1"
        )
    ]


def test_nothing_is_said_where_nothing_was_filled_in() -> None:
    """A dump of a cluster has all of it."""
    plan = plan_of(reporting(), orchestrator(root="Cohort/teams"), orchestrator("other", root="Cohort/teams"), *TEAMS)
    assert plan.notes == []


def test_a_missing_uid_is_said_of_the_objects_that_share_capacity() -> None:
    """Ties between them fall by name; queues elsewhere take no part."""
    shared = [queue("b", cohort="teams", uid=None), queue("a", cohort="teams", uid=None), cohort("teams")]
    plan = plan_of(reporting(), orchestrator(root="Cohort/teams"), *shared, queue("elsewhere", uid=None))
    assert notes_about(plan, "uid") == [
        (
            "no metadata.uid on ClusterQueue/a, ClusterQueue/b: ties were settled by name here and may fall on other "
            "queues in the cluster"
        )
    ]


def test_a_missing_uid_is_said_on_the_spec_road_where_the_spec_is_left_out() -> None:
    """There the declaration stands in the annotation only, and it is that which is shared."""
    annotations = {DECLARED_QUOTAS: json.dumps(groups({"batch": {"cpu": 10}}))}
    shared = [queue(name, {}, cohort="teams", uid=None, annotations=annotations) for name in ("a", "b")]
    plan = plan_of(reporting(), orchestrator(root="Cohort/teams"), *shared, cohort("teams"), road=Road.SPEC)
    assert nominal(plan, "a") == {"batch/cpu": "24"}
    (note,) = notes_about(plan, "uid")
    assert note.startswith("no metadata.uid on ClusterQueue/a, ClusterQueue/b: ")


def test_one_missing_uid_among_others_is_said() -> None:
    """Where it stands among the UIDs of the others is not known."""
    shared = [queue("b", cohort="teams"), queue("a", cohort="teams", uid=None), cohort("teams")]
    (note,) = notes_about(plan_of(reporting(), orchestrator(root="Cohort/teams"), *shared), "uid")
    assert note.startswith("no metadata.uid on ClusterQueue/a: ")


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([reporting(), orchestrator(root=None), queue(uid=None)], id="discovery only"),
        pytest.param([orchestrator(), queue(uid=None)], id="no capacity"),
        pytest.param([reporting(), orchestrator(deletionTimestamp=DELETED), queue(uid=None)], id="being deleted"),
        pytest.param([reporting(), queue(uid=None)], id="no orchestrator"),
        pytest.param([reporting(), orchestrator(), queue(uid=None)], id="one queue alone takes everything"),
        pytest.param([reporting(), orchestrator(root="Cohort/c"), cohort("c"),
                      queue("a", {"batch": {"cpu": 1}, "static": {"cpu": 1}}, cohort="c", uid=None),
                      queue("b", {"batch": {"memory": 1}, "static": {"cpu": 1}}, cohort="c", uid=None)],
                     id="what two queues share is not orchestrated"),
        pytest.param([reporting(), orchestrator(), queue(uid=None), orchestrator("r", "ClusterQueue/r"),
                      queue("r", uid=None)], id="two queues, each alone"),
        pytest.param([reporting(), orchestrator(root="Cohort/c"), cohort("c", uid=None),
                      queue(cohort="c", uid=None)], id="one queue and a Cohort that declares nothing"),
    ],
)  # fmt: skip
def test_a_missing_uid_is_not_said_where_no_tie_can_be(objects: list[Plain]) -> None:
    """A note that never matters hides those that do."""
    assert notes_about(plan_of(*objects), "uid") == []


def test_a_missing_uid_of_orchestrators_of_one_root_and_age_is_said() -> None:
    """The smaller UID wins; without one it is the name that decides here, and perhaps the other in the cluster."""
    rivals = [orchestrator(name, creationTimestamp=None, uid=None) for name in ("b", "a")]
    plan = plan_of(reporting(), *rivals, queue())
    assert condition_of(plan, DISTRIBUTED, "a").reason == "QuotasDistributed"
    assert any("a, b" in note for note in notes_about(plan, "uid"))


def test_missing_ages_of_competitors_are_said() -> None:
    """On the same root the age decides; of equal age the UID does."""
    rivals = [orchestrator("b", creationTimestamp=None, uid="1"), orchestrator("a", creationTimestamp=None, uid="2")]
    plan = plan_of(reporting(), *rivals, queue())
    (note,) = notes_about(plan, "creationTimestamp")
    assert note.startswith("no metadata.creationTimestamp on a, b: taken as ")
    assert "equally old" in note
    assert condition_of(plan, DISTRIBUTED, "b").reason == "QuotasDistributed"
    assert condition_of(plan, DISTRIBUTED, "a").reason == "ConflictingDynamicQuotaOrchestrator"


def test_an_orchestrator_without_an_age_is_younger_than_one_that_has_it() -> None:
    """It is not in the cluster yet; the note says so."""
    rivals = [orchestrator("new", creationTimestamp=None, uid="1"), orchestrator("old", uid="2")]
    plan = plan_of(reporting(), *rivals, queue())
    (note,) = notes_about(plan, "creationTimestamp")
    assert note.startswith("no metadata.creationTimestamp on new: taken as the youngest")
    assert condition_of(plan, DISTRIBUTED, "old").reason == "QuotasDistributed"


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="alone"),
        pytest.param([orchestrator("other", root=None, creationTimestamp=None)], id="the other is discovery only"),
        pytest.param([orchestrator("other", creationTimestamp=None, deletionTimestamp=DELETED)],
                     id="the other is being deleted"),
        pytest.param([orchestrator("other", root="ClusterQueue/r", creationTimestamp=None), queue("r")],
                     id="the other has another root"),
    ],
)  # fmt: skip
def test_a_missing_age_is_not_said_where_none_decides(others: list[Plain]) -> None:
    """Ages are compared on one root only."""
    plan = plan_of(reporting(), orchestrator(creationTimestamp=None), queue(), *others)
    assert notes_about(plan, "creationTimestamp") == []


# --- changes -------------------------------------------------------------------------------------------------------

SETTLED_CONDITIONS = [
    condition(COMPUTED, reason="Computed", message="in other words"),
    condition(DISTRIBUTED, reason="QuotasDistributed", message="in other words"),
]
SETTLED_STATUS: Plain = {"effectiveCapacity": capacity({"batch": {"cpu": "48"}}), "conditions": SETTLED_CONDITIONS}


def settled(road: Road, **changes: Any) -> list[Plain]:
    """What a cluster looks like after the plan was carried out: ten cpu declared, 48 in force."""
    if road is Road.STATUS:
        written = queue("q", status=changes.pop("effective", effective({"batch": {"cpu": 48}})))
    else:
        applied = {"orchestratorRef": REF, "resourceGroups": groups({"batch": {"cpu": 48}})}
        annotations = {
            DECLARED_QUOTAS: json.dumps(groups({"batch": {"cpu": 10}})),
            APPLIED_QUOTAS: json.dumps(applied),
        }
        written = queue("q", {"batch": {"cpu": 48}}, annotations=annotations | changes.pop("annotations", {}))
    status = changes.pop("status", SETTLED_STATUS)
    assert not changes
    return [reporting(), orchestrator(status=status), written]


@pytest.mark.parametrize("road", Road)
def test_a_settled_cluster_has_no_changes(road: Road) -> None:
    """Other words in a message are no change."""
    plan = plan_of(*settled(road), road=road)
    assert nominal(plan, "q") == {"batch/cpu": "48"}
    assert plan.changed_quotas() == set()
    assert plan.changed_orchestrators() == set()
    assert not plan.has_changes


def test_the_time_of_a_transition_is_no_change() -> None:
    """Nor is the order in which conditions stand."""
    conditions = [each | {"lastTransitionTime": "2026-09-02T08:00:00Z"} for each in SETTLED_CONDITIONS[::-1]]
    plan = plan_of(*settled(Road.STATUS, status=SETTLED_STATUS | {"conditions": conditions}))
    assert not plan.has_changes


def test_the_spelling_of_a_quantity_is_no_change() -> None:
    """48 cpu are 48000m."""
    status = SETTLED_STATUS | {"effectiveCapacity": capacity({"batch": {"cpu": "48000m"}})}
    plan = plan_of(*settled(Road.STATUS, effective=effective({"batch": {"cpu": "48000m"}}), status=status))
    assert not plan.has_changes


def test_conditions_of_others_are_no_change() -> None:
    """They stay, whatever they say."""
    conditions = [condition("Theirs", "False", "Broken"), *SETTLED_CONDITIONS]
    plan = plan_of(*settled(Road.STATUS, status=SETTLED_STATUS | {"conditions": conditions}))
    assert not plan.has_changes
    assert plan.all_work
    assert [each.type for each in plan.outcomes["dqo"].status.conditions] == ["Theirs", COMPUTED, DISTRIBUTED]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="nothing was written yet"),
        pytest.param(SETTLED_STATUS | {"effectiveCapacity": None}, id="the capacity is missing"),
        pytest.param(SETTLED_STATUS | {"effectiveCapacity": capacity({"batch": {"cpu": 47}})}, id="another amount"),
        pytest.param(SETTLED_STATUS | {"effectiveCapacity": capacity({"batch": {"cpu": 48, GPU: 0}})},
                     id="one resource more"),
        pytest.param(SETTLED_STATUS | {"effectiveCapacity": capacity({"batch": {"cpu": 48}, "x": {}})},
                     id="one flavor more"),
        pytest.param(SETTLED_STATUS | {"conditions": SETTLED_CONDITIONS[:1]}, id="a condition is missing"),
        pytest.param(SETTLED_STATUS | {"conditions": [SETTLED_CONDITIONS[0], SETTLED_CONDITIONS[1] | {"status":
                     "False"}]}, id="another status"),
        pytest.param(SETTLED_STATUS | {"conditions": [SETTLED_CONDITIONS[0], SETTLED_CONDITIONS[1] | {"reason": "X"}]},
                     id="another reason"),
        pytest.param(SETTLED_STATUS | {"conditions": [SETTLED_CONDITIONS[0] | {"observedGeneration": 9},
                     SETTLED_CONDITIONS[1]]}, id="another generation"),
    ],
)  # fmt: skip
def test_another_status_of_an_orchestrator_is_a_change(status: Plain) -> None:
    """Though no quota would become another."""
    plan = plan_of(*settled(Road.STATUS, status=status))
    assert plan.changed_quotas() == set()
    assert plan.changed_orchestrators() == {"dqo"}
    assert plan.has_changes


def test_a_condition_that_discovery_only_leaves_behind_is_a_change() -> None:
    """In that mode Distributed is absent."""
    plan = plan_of(reporting(), orchestrator(root=None, status=SETTLED_STATUS))
    assert plan.changed_orchestrators() == {"dqo"}


@pytest.mark.parametrize(
    ("present", "changes"),
    [
        pytest.param(None, True, id="none yet"),
        pytest.param(effective({"batch": {"cpu": 48}}), False, id="the same"),
        pytest.param(effective({"batch": {"cpu": 47}}), True, id="another amount"),
        pytest.param(effective({}), True, id="an empty list"),
        pytest.param(effective({"batch": {"cpu": {"nominalQuota": 48, "borrowingLimit": 0}}}), True, id="a limit more"),
        pytest.param(effective({"batch": {"cpu": 48}}, REF | {"name": "gone"}), True, id="another owner"),
    ],
)
def test_effective_quotas_change_where_amounts_limits_or_the_owner_differ(present: Plain | None, changes: bool) -> None:
    """The status road compares with what stands in the status."""
    plan = plan_of(reporting(), orchestrator(status=SETTLED_STATUS), queue(status=present))
    assert plan.changed_quotas() == ({ObjectKey("ClusterQueue", "q")} if changes else set())
    assert plan.has_changes is changes


def test_quotas_that_equal_the_declared_ones_are_a_change_while_nobody_wrote_them() -> None:
    """Both numbers are the same, and still a status has to be written."""
    plan = plan_of(reporting(), orchestrator(status=SETTLED_STATUS), queue("q", {"batch": {"cpu": 48}}))
    assert plan.changed_quotas() == {ObjectKey("ClusterQueue", "q")}


def annotated(spec: object, declared: object, applied: object, owner: str = "dqo") -> Plain:
    """A queue on the spec road: quotas of batch/cpu in the spec and in both annotations."""
    quotas = {"orchestratorRef": REF | {"name": owner}, "resourceGroups": groups({"batch": {"cpu": applied}})}
    annotations = {
        DECLARED_QUOTAS: json.dumps(groups({"batch": {"cpu": declared}})),
        APPLIED_QUOTAS: json.dumps(quotas),
    }
    return queue("q", {"batch": {"cpu": spec}}, annotations=annotations)


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        pytest.param(annotated(48, 10, 48), False, id="settled"),
        pytest.param(annotated("48000m", 10, "48"), False, id="settled, spelt otherwise"),
        pytest.param(annotated(40, 10, 40), True, id="the capacity was another"),
        pytest.param(annotated(48, 10, 48, "gone"), True, id="applied for another orchestrator"),
        pytest.param(annotated(20, 10, 48), True, id="an admin edited the spec"),
        pytest.param(annotated(48, 10, 16), True, id="an admin's edit meets the new capacity: the annotations change"),
        pytest.param(queue("q", {"batch": {"cpu": 48}}), True, id="not adopted yet"),
    ],
)
def test_the_spec_road_changes_where_the_spec_or_an_annotation_would_become_another(
    given: Plain, changes: bool
) -> None:
    """All three are written in one."""
    plan = plan_of(reporting(), orchestrator(status=SETTLED_STATUS), given, road=Road.SPEC)
    assert nominal(plan, "q") == {"batch/cpu": "48"}
    assert plan.has_changes is changes


def test_a_computed_provider_is_a_change() -> None:
    """Its status would be written, whatever becomes of the quotas."""
    plan = plan_of(node(), flavor(), provider())
    assert plan.has_changes
    assert not plan.changed_quotas()
    assert not plan.changed_orchestrators()


def test_a_lost_declaration_stops_the_orchestrator_on_the_spec_road_only() -> None:
    """The status road does not read the annotations."""
    lost = queue(annotations={APPLIED_QUOTAS: json.dumps({"orchestratorRef": REF, "resourceGroups": []})})
    objects = [reporting(), orchestrator(), lost]
    plan = plan_of(*objects, road=Road.SPEC)
    assert condition_of(plan, DISTRIBUTED).reason == "Misconfigured"
    assert f"ClusterQueue/q: the annotation {DECLARED_QUOTAS} is gone" in condition_of(plan, DISTRIBUTED).message
    assert nominal(plan, "q") is None
    assert not plan.all_work
    assert condition_of(plan_of(*objects, road=Road.STATUS), DISTRIBUTED).reason == "QuotasDistributed"


def multi_kueue(management: str) -> list[Plain]:
    """A check of MultiKueue, and how its quotas are managed."""
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "workers"}
    spec = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    return [
        obj(QUEUES, "AdmissionCheck", "remote", spec=spec),
        obj(QUEUES, "MultiKueueConfig", "workers", spec={"clusters": ["one"], "quotaManagement": management}),
    ]


REMOTE = {"admissionChecksStrategy": {"admissionChecks": [{"name": "remote"}]}}


@pytest.mark.parametrize("road", Road)
def test_a_queue_whose_quotas_multikueue_sets_stops_the_orchestrator(road: Road) -> None:
    """As it does the daemon: two writers would undo each other's numbers. The whole subtree keeps its quotas."""
    teams = [cohort("teams"), queue("a", cohort="teams", spec=REMOTE), queue("b", cohort="teams")]
    plan = plan_of(reporting(), orchestrator(root="Cohort/teams"), *teams, *multi_kueue("Automated"), road=road)
    found = condition_of(plan, DISTRIBUTED)
    assert (found.status, found.reason) == ("False", "Misconfigured")
    assert "ClusterQueue/a: MultiKueue sets its quotas (AdmissionCheck remote, MultiKueueConfig" in found.message
    assert nominal(plan, "a") is None
    assert nominal(plan, "b") is None
    assert not plan.all_work


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([queue(spec=REMOTE), *multi_kueue("Manual")], id="managed by hand"),
        pytest.param([queue(spec=REMOTE), *multi_kueue("Automated")[:1]], id="without the config"),
        pytest.param([queue(), *multi_kueue("Automated")], id="without the check"),
    ],
)
def test_any_other_queue_of_multikueue_is_shared_out(objects: list[Plain]) -> None:
    """Its quotas are the admin's."""
    plan = plan_of(reporting(), orchestrator(), *objects)
    assert condition_of(plan, DISTRIBUTED).status == "True"
    assert nominal(plan, "q") == {"batch/cpu": "48"}


def test_what_cannot_be_read_of_such_a_queue_is_told_first() -> None:
    """The declaration is lost, whoever sets the quotas."""
    lost = queue(annotations={APPLIED_QUOTAS: json.dumps({"orchestratorRef": REF, "resourceGroups": []})}, spec=REMOTE)
    plan = plan_of(reporting(), orchestrator(), lost, *multi_kueue("Automated"), road=Road.SPEC)
    assert f"the annotation {DECLARED_QUOTAS} is gone" in condition_of(plan, DISTRIBUTED).message


def test_shares_are_of_the_declared_quotas_on_each_road() -> None:
    """On the status road these are the spec's, on the spec road the annotation's."""
    declared = [annotated(40, 10, 40), queue("p", {"batch": {"cpu": 40}}, cohort="teams"), cohort("teams")]
    declared[0]["spec"]["cohortName"] = "teams"
    objects = [reporting(), orchestrator(root="Cohort/teams"), *declared]
    assert nominal(plan_of(*objects, road=Road.STATUS), "q") == {"batch/cpu": "24"}
    assert nominal(plan_of(*objects, road=Road.SPEC), "q") == {"batch/cpu": "9600m"}


# --- does it work --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "works"),
    [
        pytest.param([], True, id="no orchestrator"),
        pytest.param([reporting(), orchestrator(), queue()], True, id="one that distributes"),
        pytest.param([reporting(), orchestrator(root=None)], True, id="discovery only"),
        pytest.param([orchestrator(root=None)], False, id="discovery only, and the provider is missing"),
        pytest.param([orchestrator(), queue()], False, id="the provider is missing"),
        pytest.param([reporting(), orchestrator()], False, id="the root is missing"),
        pytest.param([reporting(), orchestrator(), queue(), orchestrator("second", uid="z")], False,
                     id="one of two has precedence"),
        pytest.param([orchestrator(deletionTimestamp=DELETED)], True, id="one that is being deleted"),
        pytest.param([node(), flavor(), provider(), orchestrator(), queue()], True, id="from nodes"),
        pytest.param([node(), provider(), orchestrator(), queue()], False, id="from nodes, the flavor is missing"),
    ],
)  # fmt: skip
def test_a_plan_works_where_every_orchestrator_computes_and_distributes(objects: list[Plain], works: bool) -> None:
    """Where it should: discovery only distributes nothing, and one that is being deleted does nothing."""
    assert plan_of(*objects).all_work is works


def test_an_orchestrator_that_is_being_deleted_is_in_the_plan_without_an_outcome() -> None:
    """It writes nothing and does not compete."""
    going = orchestrator("going", creationTimestamp="2020-01-01T00:00:00Z", deletionTimestamp=DELETED)
    plan = plan_of(reporting(), going, orchestrator(), queue())
    assert set(plan.orchestrators) == {"dqo", "going"}
    assert set(plan.outcomes) == {"dqo"}
    assert nominal(plan, "q") == {"batch/cpu": "48"}
