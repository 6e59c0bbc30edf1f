"""Each warning where it is due, and its silence where it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from kueue_dqo.api.quantity import LARGEST_UNITS
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.warnings import LEASE, Sign, warnings
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
    POOL,
    QUEUES,
    REF,
    Plain,
    cohort,
    composite_parameters,
    flavor,
    groups,
    inventory_parameters,
    manifests_of,
    manual_capacity,
    node,
    obj,
    orchestrator,
    plan_of,
    provider,
    published,
    queue,
    reporting,
    usage,
)


def warned(*objects: Plain, road: Road = Road.STATUS) -> list[str]:
    return warnings(plan_of(*objects, road=road))


def about(text: str, found: list[str]) -> list[str]:
    return [warning for warning in found if text in warning]


@pytest.mark.parametrize("road", Road)
def test_an_ordinary_plan_warns_of_nothing(road: Road) -> None:
    """Nodes, queues within their quota, no autoscaler: a warning has to mean something."""
    teams = [
        queue("a", {"batch": {"cpu": 1}}, cohort="teams", status=usage({"batch": {"cpu": 2}})),
        queue("b", {"batch": {"cpu": 1}}, cohort="teams"),
        cohort("teams"),
    ]
    nodes = [node(has={"cpu": 4}), node("n2", {"pool": "z"})]
    assert warned(*nodes, flavor(), provider(), orchestrator(root="Cohort/teams"), *teams, road=road) == []


# --- a pair that no provider reports --------------------------------------------------------------------------------

LICENCE = "example.com/license"


def test_a_pair_that_becomes_zero_unreported_is_named_with_those_who_lose_it() -> None:
    """And with the two ways out."""
    queues = [
        queue("a", {"batch": {"cpu": 1, LICENCE: 5}}, cohort="teams"),
        queue("b", {"batch": {LICENCE: 5}}, cohort="teams"),
        queue("c", {"batch": {"cpu": 1}}, cohort="teams"),
        cohort("teams"),
    ]
    assert warned(reporting(), orchestrator(root="Cohort/teams"), *queues) == [
        (
            f"batch/{LICENCE} becomes 0 for ClusterQueue/a, ClusterQueue/b: no provider of orchestrator dqo reports "
            f"{LICENCE}, and it orchestrates flavor batch; have it reported, or give {LICENCE} a flavor of its own"
        )
    ]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([reporting(amounts={"batch": {"cpu": 48, LICENCE: 0}}), queue("q", {"batch": {LICENCE: 5}})],
                     id="zero is reported"),
        pytest.param([reporting(), queue("q", {"batch": {LICENCE: 0}})], id="nobody has any of it"),
        pytest.param([reporting(), queue("q", {"static": {LICENCE: 5}})], id="the flavor is not orchestrated"),
        pytest.param([queue("q", {"batch": {LICENCE: 5}})], id="nothing is distributed"),
        pytest.param([reporting(), queue(), queue("elsewhere", {"batch": {LICENCE: 5}})], id="outside the subtree"),
    ],
)  # fmt: skip
def test_no_pair_becomes_zero_unreported_where(objects: list[Plain]) -> None:
    """Only a quota that there was can be lost."""
    assert about("becomes 0", warned(orchestrator(), *objects)) == []


# --- a queue over its new quota -------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["flavorsReservation", "flavorsUsage"])
def test_a_queue_of_a_cohort_over_its_new_quota_may_be_preempted(field: str) -> None:
    """Kueue evicts nobody for that, but what is above counts as borrowed."""
    busy = queue("q", cohort="teams", status=usage({"batch": {"cpu": "50500m"}}, field))
    assert warned(reporting(), orchestrator(), busy) == [
        (
            "ClusterQueue/q uses 50500m batch/cpu, its new quota is 48: the 2500m above it count as borrowed, and "
            "queues of its cohort may reclaim them by preemption"
        )
    ]


def test_a_queue_without_a_cohort_over_its_new_quota_only_waits() -> None:
    """There is nobody who could take anything back."""
    busy = queue("q", status=usage({"batch": {"cpu": 50}}))
    assert warned(reporting(), orchestrator(), busy) == [
        (
            "ClusterQueue/q uses 50 batch/cpu, its new quota is 48: nobody is evicted, and nothing more is admitted "
            "until usage has fallen"
        )
    ]


def test_a_queue_is_warned_of_for_each_pair_that_it_is_over() -> None:
    """And for no other."""
    amounts = {"batch": {"cpu": 48, "memory": "1Gi", GPU: 8}}
    quotas = {"batch": {"cpu": 1, "memory": "3Gi", GPU: 1}}
    busy = queue("q", quotas, status=usage({"batch": {"cpu": 49, "memory": "2Gi", GPU: 8}}))
    found = warned(reporting(amounts=amounts), orchestrator(), busy)
    assert [warning.partition(",")[0] for warning in found] == [
        "ClusterQueue/q uses 49 batch/cpu",
        "ClusterQueue/q uses 2Gi batch/memory",
    ]


def test_a_queue_that_borrows_while_its_quota_stays_is_no_news() -> None:
    """Nothing changes for it; nor does anything in a flavor that is not orchestrated."""
    busy = queue(
        "q", {"batch": {"cpu": 48}, "other": {"cpu": 5}}, status=usage({"batch": {"cpu": 50}, "other": {"cpu": 9}})
    )
    assert warned(reporting(), orchestrator(), busy) == []


def test_reservations_count_against_the_quota_before_usage_does() -> None:
    """A Workload that has reserved and waits for a check uses nothing yet."""
    status = usage({"batch": {"cpu": 50}}) | usage({"batch": {"cpu": 1}}, "flavorsUsage")
    assert about("uses 50 batch/cpu", warned(reporting(), orchestrator(), queue(status=status)))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([orchestrator(), queue(status=usage({"batch": {"cpu": 48}}))], id="it uses exactly its quota"),
        pytest.param([orchestrator(), queue(status=usage({"batch": {"cpu": "48000m"}}))], id="spelt otherwise"),
        pytest.param([orchestrator(), queue()], id="nothing is known of its usage"),
        pytest.param([orchestrator(), queue(status=usage({"other": {"cpu": 99}, "batch": {"pods": 99}}))],
                     id="pairs without a quota"),
        pytest.param([orchestrator(root=None), queue(status=usage({"batch": {"cpu": 99}}))], id="discovery only"),
        pytest.param([orchestrator(), queue(), queue("elsewhere", status=usage({"batch": {"cpu": 99}}))],
                     id="outside the subtree"),
        pytest.param([orchestrator(providers=["gone"]), queue(status=usage({"batch": {"cpu": 99}}))],
                     id="its quota stays"),
    ],
)  # fmt: skip
def test_no_queue_is_over_its_new_quota_where(objects: list[Plain]) -> None:
    """Equal is not over, and without a new quota there is nothing to be over."""
    assert about(" uses ", warned(reporting(), *objects)) == []


def test_queues_over_their_new_quota_come_by_name() -> None:
    """Whatever their UIDs."""
    busy = usage({"batch": {"cpu": 99}})
    queues = [queue(name, cohort="teams", uid=f"{9 - number}", status=busy) for number, name in enumerate("abc")]
    found = warned(reporting(), orchestrator(root="Cohort/teams"), cohort("teams"), *queues)
    assert [warning.split()[0] for warning in found] == ["ClusterQueue/a", "ClusterQueue/b", "ClusterQueue/c"]


# --- nodes ----------------------------------------------------------------------------------------------------------


def test_no_node_in_the_files_is_pointed_out_once() -> None:
    """It is an answer, but seldom the one that was meant."""
    objects = [flavor(), flavor("gpu", {"pool": "b"}), provider("a"), provider("b", ["gpu"])]
    assert warned(*objects) == [
        "there is no Node in the files: the capacity of a, b is zero; add `kubectl get nodes -o json`"
    ]


def test_a_flavor_that_no_node_matches_is_pointed_out() -> None:
    """The others of the same provider are not."""
    objects = [node(), flavor(), flavor("gpu", {"pool": "b"}), provider(flavors=["batch", "gpu"])]
    assert warned(*objects) == [
        (
            "no Node matches flavor gpu of CapacityProvider nodes: its capacity is zero; compare the flavor's "
            "nodeLabels with the labels of the nodes"
        )
    ]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([node(), flavor(), provider()], id="a node matches"),
        pytest.param([node(cordoned=True), flavor(), provider()], id="a node matches and does not count"),
        pytest.param([reporting()], id="no nodes, and the provider has a status"),
        pytest.param([node(labels={}), flavor(), reporting()], id="another controller's flavor"),
        pytest.param([node(labels={}), flavor(), reporting(controller=NODE_INVENTORY)], id="it has a status"),
        pytest.param([node(), provider()], id="the flavor is missing, which is said elsewhere"),
        pytest.param([flavor()], id="no provider"),
    ],
)
def test_nodes_are_not_missed_where(objects: list[Plain]) -> None:
    """Only what is computed from nodes here depends on them."""
    assert about("Node", warned(*objects)) == []


@pytest.mark.parametrize(
    "nodes", [pytest.param([], id="no node at all"), pytest.param([node(labels={})], id="no node matches")]
)
def test_a_provider_that_publishes_nothing_is_not_said_to_have_zero(nodes: list[Plain]) -> None:
    """Misconfigured, it keeps its last capacity: zero and unknown are not the same."""
    twins = [provider("a"), provider("b")]
    assert about("capacity of a, b is zero", warned(*nodes, flavor(), *twins)) == []
    assert about("its capacity is zero", warned(*nodes, flavor(), *twins)) == []


# --- capacity that is passed over -------------------------------------------------------------------------------------


def test_a_reported_flavor_that_is_not_orchestrated_is_pointed_out() -> None:
    """Its capacity is ignored."""
    given = reporting(amounts={"batch": {"cpu": 48}, "extra": {"cpu": 1}})
    given["spec"]["orchestratedFlavors"] = [{"name": "batch"}]
    assert warned(given, orchestrator(), queue()) == [
        (
            "CapacityProvider nodes reports flavor extra, which it does not orchestrate: that capacity is ignored; "
            "add the flavor to spec.orchestratedFlavors"
        )
    ]


def test_an_orchestrated_flavor_that_is_not_reported_is_no_capacity_passed_over() -> None:
    """It is zero, which is said of the pairs that become it."""
    given = reporting(amounts={"batch": {"cpu": 48}})
    given["spec"]["orchestratedFlavors"] = [{"name": "batch"}, {"name": "extra"}]
    assert warned(given, orchestrator(), queue()) == []


def test_nodes_that_the_parameters_do_not_select_match_nothing() -> None:
    """The message says where to look besides."""
    selector = {"nodeSelector": {"matchLabels": {"rack": "1"}}}
    given = [
        flavor(),
        provider(parameters="rack"),
        inventory_parameters("rack", spec=selector),
        orchestrator(),
        queue(),
    ]
    found = about("no Node matches", warned(node(labels=POOL | {"rack": "2"}), *given))
    assert found == [
        (
            "no Node matches flavor batch of CapacityProvider nodes: its capacity is zero; compare the flavor's "
            "nodeLabels, and the nodeSelector of the parameters, with the labels of the nodes"
        )
    ]
    assert warned(node(labels=POOL | {"rack": "1"}), *given) == []


@pytest.mark.parametrize("controller", [MANUAL, COMPOSITE])
def test_only_the_node_inventory_misses_nodes(controller: str) -> None:
    """Numbers of a person need none."""
    given = provider(controller=controller, parameters="p")
    specs = [manual_capacity("p", {"batch": {"cpu": 1}}), composite_parameters("p", "other"), reporting("other")]
    plan = plan_of(flavor(), given, *specs)
    assert plan.computed_providers == {"nodes"}
    assert published(plan) is not None
    assert warnings(plan) == []


# --- composites -----------------------------------------------------------------------------------------------------


def composite(name: str = "ceiling", parameters: str = "members") -> Plain:
    return reporting(name, controller=COMPOSITE, parameters=parameters)


def composite_of(*members: str, name: str = "members") -> Plain:
    return composite_parameters(name, *members)


def test_a_composite_beside_its_member_counts_twice() -> None:
    """Each member that the same orchestrator lists is named."""
    objects = [composite(), composite_of("cloud", "nodes", "unlisted"), reporting("nodes"), reporting("cloud")]
    lists = orchestrator(providers=["nodes", "ceiling", "cloud"])
    assert warned(*objects, lists, queue()) == [
        (
            f"orchestrator dqo lists the composite ceiling and its member {member}: the capacity of {member} counts "
            "twice; list only one of them"
        )
        for member in ("cloud", "nodes")
    ]


@pytest.mark.parametrize(
    ("objects", "lists"),
    [
        pytest.param([composite(), composite_of("nodes")], [["ceiling"]], id="the composite alone"),
        pytest.param([composite(), composite_of("cloud")], [["ceiling", "nodes"]], id="beside one that is no member"),
        pytest.param([composite(), composite_of("nodes")], [["ceiling"], ["nodes"]], id="in two orchestrators"),
        pytest.param([composite()], [["ceiling", "nodes"]], id="its parameters are missing"),
        pytest.param(
            [composite(parameters="others"), composite_of("nodes")],
            [["ceiling", "nodes"]],
            id="its parameters are others",
        ),
        pytest.param([reporting("ceiling"), composite_of("nodes")], [["ceiling", "nodes"]], id="it is no composite"),
        pytest.param([composite_of("nodes")], [["ceiling", "nodes"]], id="the composite has no object"),
        pytest.param(
            [reporting("ceiling", controller=COMPOSITE), composite_of("nodes")],
            [["ceiling", "nodes"]],
            id="it has no parameters",
        ),
        pytest.param(
            [composite() | {"spec": composite()["spec"] | {"controllerName": BY_HAND}}, composite_of("nodes")],
            [["ceiling", "nodes"]],
            id="another controller's, of the same parameters",
        ),
    ],
)
def test_nothing_counts_twice_where(objects: list[Plain], lists: Sequence[list[str]]) -> None:
    """A composite by itself is what it is for."""
    orchestrators = [orchestrator(f"o{number}", root=None, providers=each) for number, each in enumerate(lists)]
    assert about("twice", warned(*objects, reporting("nodes"), *orchestrators)) == []


def test_a_composite_beside_a_member_of_its_member_counts_twice_too() -> None:
    """A composite of composites holds the capacity of all below it."""
    objects = [composite("outer", "o"), composite_of("inner", name="o")]
    objects += [composite("inner", "i"), composite_of("nodes", name="i"), reporting("nodes")]
    found = about("twice", warned(*objects, orchestrator(root=None, providers=["outer", "nodes"])))
    assert len(found) == 1
    assert "outer" in found[0]
    assert "the capacity of nodes counts twice" in found[0]


def test_composites_of_one_orchestrator_come_by_name() -> None:
    """Whatever the order in which it lists them."""
    names = ["d", "b", "e", "a", "c"]
    objects = [composite(name) for name in names]
    lists = orchestrator(root=None, providers=[*names, "nodes"])
    found = about("twice", warned(*objects, composite_of("nodes"), reporting("nodes"), lists))
    assert [warning.split()[5] for warning in found] == sorted(names)


MORE_COMPOSITES = [
    pytest.param("Min", ["nodes", "ceiling"], True, id="the lesser of nodes and a ceiling"),
    pytest.param("Min", ["ceiling", "elsewhere"], False, id="the lesser of two ceilings"),
    pytest.param("Max", ["nodes", "ceiling"], False, id="the greater of nodes and a ceiling"),
    pytest.param("Max", ["nodes", "more-nodes"], True, id="the greater of nodes and nodes"),
    pytest.param("Sum", ["nodes", "ceiling"], False, id="nodes and a ceiling together"),
    pytest.param("Sum", ["nodes", "other-flavor"], True, id="nodes, and what has no part in the flavor"),
    pytest.param("Sum", ["other-flavor"], False, id="nobody reports the flavor"),
    pytest.param("Min", ["gone"], False, id="a member that is not there"),
    pytest.param("Min", ["inner"], True, id="a composite of nodes"),
    pytest.param("Min", ["outer", "ceiling"], False, id="a member of itself"),
]


@pytest.mark.parametrize(("combine", "members", "warns"), MORE_COMPOSITES)
def test_a_composite_that_reports_no_more_than_the_nodes_blocks_the_scale_up(
    combine: str, members: list[str], warns: bool
) -> None:
    """As nodes alone do. One that goes beyond them does not."""
    objects = [
        *(node(labels={KARPENTER: "p"}), flavor(labels={KARPENTER: "p"}), flavor("other", {"pool": "z"})),
        *(reporting(name, controller=NODE_INVENTORY) for name in ("nodes", "more-nodes")),
        *(reporting("ceiling"), reporting("elsewhere"), reporting("other-flavor", {"other": {"cpu": 1}})),
        *(composite("inner", "i"), composite_parameters("i", "nodes", combine="Sum")),
        *(composite("outer", "o"), composite_parameters("o", *members, combine=combine)),
    ]
    found = warned(*objects, orchestrator(providers=["outer"]), queue())
    assert [text.startswith("the quota of flavor batch comes from nodes") for text in found] == [True] * warns


# --- autoscaled flavors ---------------------------------------------------------------------------------------------

NODES = [node(), flavor(), provider(), orchestrator()]
TWO_POOLS = [
    node(),
    node("n2", {"pool": "b"}),
    flavor(),
    flavor("gpu", {"pool": "b"}),
    provider(flavors=["batch", "gpu"]),
    orchestrator(),
]
BOTH_FLAVORS = {"batch": {"cpu": 1}, "gpu": {"cpu": 1}}


def check(name: str = "capacity", controller: str = "kueue.x-k8s.io/provisioning-request") -> Plain:
    return obj(QUEUES, "AdmissionCheck", name, spec={"controllerName": controller})


def checked(*rules: Plain, quotas: Mapping[str, Mapping[str, object]] | None = None) -> Plain:
    return queue("q", quotas, spec={"admissionChecksStrategy": {"admissionChecks": list(rules)}})


def scaled(found: list[str]) -> list[str]:
    return [warning.split()[4] for warning in about("an autoscaler adds its nodes", found)]


def test_quota_from_nodes_that_an_autoscaler_adds_blocks_the_scale_up() -> None:
    """The warning says how the autoscaler was noticed, and where else capacity could come from."""
    assert warned(*NODES, check(), checked({"name": "capacity"})) == [
        (
            "the quota of flavor batch comes from nodes, and an autoscaler adds its nodes on demand (ClusterQueue/q "
            "uses AdmissionCheck capacity (a ProvisioningRequest)): such a quota blocks the scale-up; take the "
            "capacity from a ceiling (cloud quota, manual) instead"
        )
    ]


@pytest.mark.parametrize(
    ("rules", "flavors"),
    [
        pytest.param([{"name": "capacity"}], ["batch", "gpu"], id="on all flavors"),
        pytest.param([{"name": "capacity", "onFlavors": []}], ["batch", "gpu"], id="an empty list is all"),
        pytest.param([{"name": "capacity", "onFlavors": ["gpu"]}], ["gpu"], id="on one flavor"),
        pytest.param([{"name": "capacity", "onFlavors": ["elsewhere"]}], [], id="on a flavor not from nodes"),
        pytest.param([{"name": "other"}, {"name": "capacity", "onFlavors": ["batch"]}], ["batch"], id="one of two"),
        pytest.param([{"name": "gone"}], [], id="a check without an object"),
        pytest.param([{"name": "other"}], [], id="a check of another controller"),
        pytest.param([], [], id="no check"),
    ],
)
def test_a_provisioning_request_is_noticed_on_the_flavors_of_its_rule(rules: list[Plain], flavors: list[str]) -> None:
    """`admissionChecksStrategy`, whose rules may name flavors."""
    checks = [check(), check("other", "example.com/budget")]
    assert scaled(warned(*TWO_POOLS, *checks, checked(*rules, quotas=BOTH_FLAVORS))) == flavors


@pytest.mark.parametrize(
    ("names", "flavors"),
    [(["capacity"], ["batch", "gpu"]), (["other", "capacity"], ["batch", "gpu"]), (["other"], []), ([], [])],
)
def test_a_provisioning_request_is_noticed_in_the_list_of_v1beta1(names: list[str], flavors: list[str]) -> None:
    """There `admissionChecks` are for every flavor."""
    old = queue("q", BOTH_FLAVORS, spec={"admissionChecks": names})
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    assert scaled(warned(*TWO_POOLS, check(), check("other", "example.com/budget"), old)) == flavors


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([reporting(), orchestrator(), flavor()], id="the capacity is no node inventory"),
        pytest.param([node(), flavor(), provider(), orchestrator(providers=["gone"])], id="nothing is distributed"),
        pytest.param([node(), flavor(), provider(), orchestrator(root="ClusterQueue/r"), queue("r")],
                     id="the queue is in no subtree"),
    ],
)  # fmt: skip
def test_a_provisioning_request_is_no_matter_where(objects: list[Plain]) -> None:
    """It is the quota from nodes that blocks it."""
    assert scaled(warned(*objects, check(), checked({"name": "capacity"}))) == []


def test_the_first_queue_by_name_is_named_as_the_reason() -> None:
    """Whatever its UID."""
    queues = [checked({"name": "capacity"}), checked({"name": "capacity"})]
    for each, name, uid in zip(queues, ("a", "b"), ("2", "1"), strict=True):
        each["metadata"] |= {"name": name, "uid": uid}
        each["spec"]["cohortName"] = "teams"
    objects = [node(), flavor(), provider(), orchestrator(root="Cohort/teams"), cohort("teams"), check(), *queues]
    assert about("(ClusterQueue/a uses AdmissionCheck capacity", warned(*objects))


KARPENTER = "karpenter.sh/nodepool"
ON_THE_FLAVOR = [node(labels={KARPENTER: "p"}), flavor(labels={KARPENTER: "p"})]
ON_NODES = [node(), node("n2", {"pool": "a", KARPENTER: "p"}), flavor()]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([*ON_THE_FLAVOR, provider()], id="a label of the flavor"),
        pytest.param([*ON_NODES, provider()], id="a label of one of its nodes"),
        pytest.param([flavor(labels={KARPENTER: "p"}), provider()], id="a label of the flavor, no node yet"),
        pytest.param([*ON_NODES, reporting(controller=NODE_INVENTORY)], id="the inventory has a status in the files"),
    ],
)
def test_karpenter_is_noticed_by_its_label(objects: list[Plain]) -> None:
    """On the flavor or on a node of it."""
    found = about("autoscaler", warned(*objects, orchestrator(), queue()))
    assert len(found) == 1
    assert found[0].startswith("the quota of flavor batch comes from nodes, and an autoscaler adds its nodes on demand")
    assert f"(its nodes carry {KARPENTER})" in found[0]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([node(), node("n2", {KARPENTER: "p"}), flavor(), provider(), orchestrator()],
                     id="on nodes of another pool"),
        pytest.param([*ON_NODES, reporting(), orchestrator()], id="the capacity is no node inventory"),
        pytest.param([*NODES, flavor("unclaimed", {KARPENTER: "p"})], id="on a flavor that is not orchestrated"),
        pytest.param([node(labels={KARPENTER: "p"}), provider(), orchestrator()], id="the flavor has no object"),
    ],
)  # fmt: skip
def test_karpenter_is_no_matter_where(objects: list[Plain]) -> None:
    """Its nodes have to be those that the quota comes from."""
    assert scaled(warned(*objects, queue())) == []


def test_no_quota_comes_from_nodes_while_there_is_no_orchestrator() -> None:
    """The declared quota stays, and blocks nothing."""
    assert scaled(warned(*ON_NODES, provider(), queue())) == []


# --- the other road -------------------------------------------------------------------------------------------------


def applied(name: str) -> Plain:
    quotas = groups({"batch": {"cpu": 48}})
    written = {"orchestratorRef": REF, "resourceGroups": quotas}
    annotations = {DECLARED_QUOTAS: json.dumps(quotas), APPLIED_QUOTAS: json.dumps(written)}
    return queue(name, {"batch": {"cpu": 48}}, annotations=annotations)


def test_applied_quotas_in_the_spec_are_noticed_on_the_status_road() -> None:
    """There the spec would be taken for the declaration."""
    assert warned(reporting(), orchestrator(), applied("q"), applied("p"), queue("r")) == [
        (
            f"ClusterQueue/p, ClusterQueue/q: the spec holds applied quotas, not declared ones (annotation "
            f"{APPLIED_QUOTAS}), so these shares are of the wrong numbers: plan with --road spec"
        )
    ]


def test_applied_quotas_are_no_matter_on_the_spec_road_or_where_there_are_none() -> None:
    """The spec road knows them; a declaration alone, as it stands in git, misleads nobody."""
    assert warned(reporting(), orchestrator(), applied("q"), road=Road.SPEC) == []
    declared = queue(annotations={DECLARED_QUOTAS: json.dumps(groups({"batch": {"cpu": 10}}))})
    assert warned(reporting(), orchestrator(), declared) == []


# --- quotas that Kueue cannot hold ----------------------------------------------------------------------------------


@pytest.mark.parametrize("quota", [LARGEST_UNITS + 1, "8Ei", "10E"])
def test_a_declared_quota_above_what_kueue_holds_is_noticed(quota: object) -> None:
    """Kueue caps it without a word, and its share would be another."""
    found = warned(
        reporting(amounts={"batch": {"memory": 1}}), orchestrator(), queue("q", {"batch": {"memory": quota}})
    )
    assert len(found) == 1
    assert found[0].startswith("ClusterQueue/q declares ")
    assert f"batch/memory: Kueue reads any quantity above {LARGEST_UNITS} as that;" in found[0]


def test_the_largest_quota_is_fine() -> None:
    """The bound itself is held."""
    quotas = {"batch": {"memory": LARGEST_UNITS}}
    assert warned(reporting(amounts={"batch": {"memory": 1}}), orchestrator(), queue("q", quotas)) == []


# --- all together ---------------------------------------------------------------------------------------------------


def test_warnings_about_lost_quota_come_first() -> None:
    """Then those about the sources, whatever the order of the objects."""
    objects = [
        queue("q", {"batch": {"cpu": "8Ei", LICENCE: 1}}, status=usage({"batch": {"cpu": 99}})),
        applied("p"),
        flavor(labels={KARPENTER: "p"}),
        flavor("gpu", {"pool": "b"}),
        provider(flavors=["batch", "gpu"]),
        node(labels={KARPENTER: "p"}),
        composite() | {"spec": composite()["spec"] | {"orchestratedFlavors": [{"name": "gpu"}]}},
        composite_of("nodes"),
        orchestrator(providers=["nodes", "ceiling"]),
    ]
    expected = [
        "becomes 0",
        " uses ",
        "no Node matches",
        "does not orchestrate",
        "twice",
        "autoscaler",
        "--road spec",
        "declares",
    ]
    for order in (objects, objects[::-1]):
        found = warned(*order)
        assert [next(text for text in expected if text in warning) for warning in found] == expected


# --- a provider that gives no sign of life ---------------------------------------------------------------------------


def warned_of(signs: Mapping[str, Sign]) -> list[str]:
    """Of two providers that report, in a cluster that has these Leases."""
    manifests = manifests_of(reporting("a"), reporting("b", {"other": {"cpu": 1}}))
    manifests.objects[LEASE] = dict(signs)
    return warnings(make_plan(manifests, Road.SPEC, NOON))


def test_a_provider_whose_lease_ran_out_seems_to_be_dead() -> None:
    """Its condition stays True for ever. By name, whatever the order of the Leases."""
    assert warned_of({"b": Sign("gpus/b", 61), "a": Sign("kueue-system/a", 3600.7)}) == [
        (
            f"{BY_HAND} seems to be dead, so that the capacity of CapacityProvider a may be old: its Lease "
            "kueue-system/a ran out 3600 s ago by the clock of this machine; look at the provider's pod"
        ),
        (
            f"{BY_HAND} seems to be dead, so that the capacity of CapacityProvider b may be old: its Lease "
            "gpus/b ran out 61 s ago by the clock of this machine; look at the provider's pod"
        ),
    ]


@pytest.mark.parametrize(
    "signs",
    [
        pytest.param({}, id="without Leases"),
        pytest.param({"a": Sign("kueue-system/a", -10)}, id="in force"),
        pytest.param({"a": Sign("kueue-system/a", 60)}, id="late by no more than clocks may differ"),
        pytest.param({"gone": Sign("kueue-system/gone", 3600)}, id="of a provider that is gone"),
    ],
)
def test_any_other_provider_is_taken_for_alive(signs: Mapping[str, Sign]) -> None:
    """One without a Lease gives no sign at all."""
    assert warned_of(signs) == []


def test_warnings_of_a_kind_come_by_name() -> None:
    """Whatever the order of the files."""
    names = ["f", "b", "e", "a", "d", "c"]
    composites = [
        composite(f"ceiling-{name}", f"members-{name}")
        | {"spec": composite("x", f"members-{name}")["spec"] | {"orchestratedFlavors": [{"name": "other"}]}}
        for name in names
    ]
    objects = [
        node(labels={KARPENTER: "p"}),
        *(flavor(name, {KARPENTER: name}) for name in names),
        *(flavor(f"{name}-empty", {"pool": "z"}) for name in names),
        *(provider(name, [name, f"{name}-empty"]) for name in names),
        reporting("all", {"batch": {"cpu": 1}}),
        *composites,
        *(composite_of("all", name=f"members-{name}") for name in names),
        *(orchestrator(name, f"ClusterQueue/{name}", ["all", f"ceiling-{name}", name]) for name in names),
        *(
            queue(name, {"batch": {f"{other}.example.com": "8Ei" for other in names}, "other": {"cpu": 1}})
            for name in names
        ),
    ]
    found = warned(*objects)
    assert found == warned(*objects[::-1])
    for text in ("becomes 0", "no Node matches", "does not orchestrate", "twice", "autoscaler", "declares"):
        of_a_kind = [warning.partition(" declares")[0] for warning in about(text, found)]
        assert len(of_a_kind) >= len(names), text
        if text != "becomes 0":
            assert of_a_kind == sorted(of_a_kind)
    first = [warning.partition(" ")[0] for warning in about("becomes 0 for ClusterQueue/a:", found)]
    assert first == [*(f"batch/{name}.example.com" for name in sorted(names)), "other/cpu"]


def test_an_orchestrator_that_is_being_deleted_warns_of_nothing() -> None:
    """It takes nothing away any more."""
    going = orchestrator(deletionTimestamp=DELETED)
    busy = queue("q", {"batch": {"cpu": 1, LICENCE: 5}}, status=usage({"batch": {"cpu": 99}}))
    assert warned(reporting(controller=BY_HAND), going, busy) == []
