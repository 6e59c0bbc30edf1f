"""What counts: which nodes, which of their resources, and what makes a provider publish nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import pytest

from kueue_dqo.api.core import Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Taint, Toleration
from kueue_dqo.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS, Quantity
from kueue_dqo.api.scheme import decode, decode_json, known_kind
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Observation
from providers.node_inventory.compute import Claim, Exclusion, observe, why_excluded

POOL = {"pool": "a"}
ONE_CPU = {"cpu": 1}
NOTHING: Mapping[str, AbstractSet[str]] = {}
READY = (NodeCondition("Ready", "True"),)
GPU = "nvidia.com/gpu"
GPU_TAINT = Taint(GPU, "NoSchedule", "present")


def node(
    name: str = "n1",
    labels: Mapping[str, str] = POOL,
    *,
    conditions: tuple[NodeCondition, ...] = READY,
    unschedulable: bool = False,
    deleting: bool = False,
    taints: tuple[Taint, ...] = (),
    has: Mapping[str, object] = ONE_CPU,
) -> Node:
    """A node that counts unless said otherwise; `has` is its allocatable."""
    return Node(
        NodeMeta(name, dict(labels), "2026-09-20T10:00:00Z" if deleting else None),
        NodeSpec(unschedulable, taints),
        NodeStatus({resource: Quantity.of(value) for resource, value in has.items()}, conditions),
    )


def flavor(
    name: str = "batch",
    labels: Mapping[str, str] = POOL,
    *,
    taints: tuple[Taint, ...] = (),
    tolerations: tuple[Toleration, ...] = (),
) -> ResourceFlavor:
    return ResourceFlavor(ObjectMeta(name), ResourceFlavorSpec(dict(labels), taints, tolerations))


def seen(
    nodes: Iterable[Node],
    flavors: Iterable[ResourceFlavor] = (flavor(),),
    claim: Claim | None = None,
    others: Sequence[Claim] = (),
    declared: Mapping[str, AbstractSet[str]] = NOTHING,
) -> Observation:
    """What a provider sees that claims all the flavors, unless another claim is given."""
    by_name = {each.metadata.name: each for each in flavors}
    return observe(claim or Claim("mine", tuple(by_name)), others, by_name, nodes, declared)


def amounts(observation: Observation) -> dict[str, dict[str, str]]:
    return {
        each.name: {resource: str(quantity) for resource, quantity in each.resources.items()}
        for each in observation.capacity.flavors
    }


# --- which nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "carried", "counts"),
    [
        pytest.param({"pool": "a"}, {"pool": "a", "zone": "1"}, True, id="the label among others"),
        pytest.param({"pool": "a", "zone": "1"}, {"zone": "1", "pool": "a"}, True, id="both labels"),
        pytest.param({"pool": "a", "zone": "1"}, {"pool": "a"}, False, id="one of two labels"),
        pytest.param({"pool": "a"}, {"pool": "b"}, False, id="the label with another value"),
        pytest.param({"pool": "a"}, {"a": "pool"}, False, id="key and value swapped"),
        pytest.param({"pool": ""}, {}, False, id="an empty value is not an absent label"),
        pytest.param({"pool": ""}, {"pool": ""}, True, id="an empty value"),
        pytest.param({}, {}, True, id="no label is wanted"),
        pytest.param({}, {"pool": "a"}, True, id="no label is wanted of a node with labels"),
    ],
)
def test_a_node_counts_only_with_every_label_of_the_flavor(
    wanted: dict[str, str], carried: dict[str, str], counts: bool
) -> None:
    """A node without them is no node of the flavor, so no reason is given either."""
    observation = seen([node(labels=carried)], [flavor(labels=wanted)])
    assert amounts(observation) == ({"batch": {"cpu": "1"}} if counts else {})
    assert observation.summary == ("batch: 1 node, 1 cpu" if counts else "batch: 0 nodes")


@pytest.mark.parametrize(
    ("conditions", "counts"),
    [
        pytest.param({"Ready": "True"}, True, id="True"),
        pytest.param({"MemoryPressure": "False", "DiskPressure": "False", "Ready": "True"}, True, id="True, last"),
        pytest.param({"Ready": "True", "DiskPressure": "True"}, True, id="True, under disk pressure"),
        pytest.param({"Ready": "False"}, False, id="False"),
        pytest.param({"Ready": "Unknown"}, False, id="Unknown: its kubelet is silent"),
        pytest.param({"Ready": ""}, False, id="empty"),
        pytest.param({}, False, id="no conditions yet"),
        pytest.param({"KubeletReady": "True", "NetworkUnavailable": "True"}, False, id="only others are True"),
    ],
)
def test_only_the_condition_ready_being_true_makes_a_node_ready(conditions: dict[str, str], counts: bool) -> None:
    """Neither False nor Unknown nor absence will do, and no other condition stands in."""
    one = node(conditions=tuple(NodeCondition(kind, status) for kind, status in conditions.items()))
    assert why_excluded(one, flavor()) is (None if counts else Exclusion.NOT_READY)
    assert amounts(seen([one])) == ({"batch": {"cpu": "1"}} if counts else {})


def test_a_cordoned_node_does_not_count() -> None:
    """Nothing new is scheduled there."""
    assert why_excluded(node(unschedulable=True), flavor()) is Exclusion.CORDONED
    assert amounts(seen([node(unschedulable=True, has={"cpu": 3}), node("n2", has={"cpu": 4})])) == {
        "batch": {"cpu": "4"}
    }


def test_a_node_that_is_being_deleted_does_not_count() -> None:
    """It is about to go, though it is Ready still."""
    assert why_excluded(node(deleting=True), flavor()) is Exclusion.DELETING
    assert amounts(seen([node(deleting=True, has={"cpu": 3}), node("n2", has={"cpu": 4})])) == {"batch": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("taints", "tolerations", "declared", "counts"),
    [
        pytest.param([GPU_TAINT], [], [], False, id="nobody tolerates it"),
        pytest.param([Taint("k", "NoExecute")], [], [], False, id="nobody tolerates NoExecute"),
        pytest.param([Taint("k", "PreferNoSchedule")], [], [], True, id="PreferNoSchedule keeps nobody off"),
        pytest.param([Taint("k", "PreferNoSchedule"), GPU_TAINT], [], [], False, id="one of two keeps pods off"),
        # tolerations
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists")], [], True, id="Exists"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists", "", "NoSchedule")], [], True, id="Exists, the effect"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists", "", "NoExecute")], [], False, id="Exists, other effect"),
        pytest.param([GPU_TAINT], [Toleration("other", "Exists")], [], False, id="Exists, another key"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Equal", "present")], [], True, id="Equal"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "", "present")], [], True, id="no operator is Equal"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Equal", "absent")], [], False, id="Equal, another value"),
        pytest.param([GPU_TAINT], [Toleration(GPU)], [], False, id="no operator and no value is an empty value"),
        pytest.param([Taint("k", "NoSchedule")], [Toleration("k")], [], True, id="an empty value equals none"),
        pytest.param([GPU_TAINT], [Toleration("", "Exists")], [], True, id="Exists of every key"),
        pytest.param([GPU_TAINT], [Toleration("", "Exists", "", "NoExecute")], [], False, id="every key, NoExecute"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoSchedule")], [Toleration("a", "Exists")], [], False,
                     id="one of two taints is tolerated"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoExecute")],
                     [Toleration("b", "Exists"), Toleration("a", "Exists")], [], True, id="each by another toleration"),
        pytest.param([Taint("a", "NoSchedule"), Taint("a", "NoExecute")],
                     [Toleration("a", "Exists", "", "NoSchedule")], [], False, id="same key, one of two effects"),
        # nodeTaints
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoSchedule", "present")], True, id="declared"),
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoSchedule", "other")], True, id="declared with another value"),
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoExecute", "present")], False, id="declared, another effect"),
        pytest.param([GPU_TAINT], [], [Taint("other", "NoSchedule", "present")], False, id="declared, another key"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoExecute")], [Toleration("a", "Exists")],
                     [Taint("b", "NoExecute")], True, id="one is tolerated, one is declared"),
        pytest.param([], [], [Taint("k", "NoSchedule")], True, id="declared, and the node has none"),
    ],
)  # fmt: skip
def test_every_taint_that_keeps_pods_off_is_admitted_by_the_flavor(
    taints: list[Taint], tolerations: list[Toleration], declared: list[Taint], counts: bool
) -> None:
    """By one of its tolerations, as Kubernetes reads them, or by a nodeTaint of the same key and effect."""
    one = node(taints=tuple(taints))
    wanted = flavor(tolerations=tuple(tolerations), taints=tuple(declared))
    assert why_excluded(one, wanted) is (None if counts else Exclusion.UNTOLERATED_TAINT)
    assert amounts(seen([one], [wanted])) == ({"batch": {"cpu": "1"}} if counts else {})


def test_toleration_seconds_make_no_difference() -> None:
    """A pod that tolerates a taint for a while is scheduled there all the same."""
    known = known_kind("kueue.x-k8s.io/v1beta2", "ResourceFlavor")
    assert known is not None
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    manifest = {"metadata": {"name": "batch"}, "spec": {"tolerations": [toleration]}}
    wanted = decode(known, "v1beta2", manifest).object
    assert why_excluded(node(taints=(Taint("k", "NoExecute"),)), wanted) is None


@pytest.mark.parametrize(
    ("deleting", "not_ready", "cordoned", "tainted"), list(itertools.product([True, False], repeat=4))
)
def test_of_several_reasons_the_first_in_their_order_is_given_once(
    deleting: bool, not_ready: bool, cordoned: bool, tainted: bool
) -> None:
    """Deleting, NotReady, Cordoned, UntoleratedTaint: a node stands under one of them in the summary."""
    one = node(
        deleting=deleting,
        conditions=() if not_ready else READY,
        unschedulable=cordoned,
        taints=(GPU_TAINT,) if tainted else (),
    )
    states = {"Deleting": deleting, "NotReady": not_ready, "Cordoned": cordoned, "UntoleratedTaint": tainted}
    first = next((reason for reason, holds in states.items() if holds), None)
    assert why_excluded(one, flavor()) == first
    summary = f"batch: 0 nodes; excluded: {first}=1" if first else "batch: 1 node, 1 cpu"
    assert seen([one]).summary == summary


# --- what of a node ------------------------------------------------------------------------------------------------


def decoded_node(manifest: dict[str, object], *, quick: bool) -> Node:
    """A node as it comes from a file (careful) or from the API server's JSON (quick)."""
    known = known_kind("v1", "Node")
    assert known is not None
    decoded = decode_json(known, "v1", json.dumps(manifest).encode()) if quick else decode(known, "v1", manifest)
    one = decoded.object
    assert isinstance(one, Node)
    return one


@pytest.mark.parametrize("quick", [True, False], ids=["from the API server", "from a file"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"allocatable": {"cpu": "7"}, "capacity": {"cpu": "8"}}, {"cpu": "7"}, id="less than capacity"),
        pytest.param({"allocatable": {"cpu": "7"}, "capacity": {"cpu": "8", GPU: "4"}}, {"cpu": "7"},
                     id="a resource of capacity only"),
        pytest.param({"capacity": {"cpu": "8"}}, None, id="capacity only"),
        pytest.param({"allocatable": {}, "capacity": {"cpu": "8"}}, None, id="an empty allocatable"),
        pytest.param({"allocatable": None, "capacity": {"cpu": "8"}}, None, id="allocatable is null"),
        pytest.param({"allocatable": {"cpu": "7", GPU: "0"}}, {"cpu": "7", GPU: "0"}, id="an explicit zero is kept"),
        pytest.param({"allocatable": {"cpu": "7", GPU: None}}, {"cpu": "7"}, id="null is as absent"),
        pytest.param({"allocatable": {"cpu": 7.5, "memory": 1000}}, {"cpu": "7500m", "memory": "1k"}, id="numbers"),
    ],
)  # fmt: skip
def test_what_a_node_adds_is_its_allocatable(
    status: dict[str, object], expected: dict[str, str] | None, quick: bool
) -> None:
    """Capacity, which includes what the system keeps for itself, never counts."""
    conditions = [{"type": "Ready", "status": "True"}]
    one = decoded_node(
        {"metadata": {"name": "n1", "labels": POOL}, "status": {"conditions": conditions, **status}}, quick=quick
    )
    assert amounts(seen([one])) == ({"batch": expected} if expected is not None else {})


@pytest.mark.parametrize(
    ("values", "total"),
    [
        pytest.param(["100m", "200m", "0.3"], "600m", id="tenths, which floats cannot add"),
        pytest.param(["1n", "1", "1u"], "1000001001n", id="nanos and micros"),
        pytest.param([2**53, 1], "9007199254740993", id="a byte beyond the precision of a float"),
        pytest.param(["29258024Ki", "100Mi", "1Gi", 1000000, "1G", "128974848", "129e6"], "32397790848",
                     id="memory in every format"),
        pytest.param(["1Ki", "24"], "1048", id="binary and decimal below a whole step"),
        pytest.param(["1536Mi", "512Mi"], "2Gi", id="binary"),
        pytest.param(["1e3", "2e3"], "3e3", id="exponents"),
        pytest.param(["1e3", "2k"], "3k", id="exponent and decimal"),
        pytest.param([0, 0], "0", id="zeros"),
        pytest.param([f"{LARGEST_UNITS - 1}", "1"], f"{LARGEST_UNITS}", id="the largest that Kueue holds"),
    ],
)  # fmt: skip
def test_amounts_of_any_format_sum_exactly(values: list[object], total: str) -> None:
    """In every order, with the same text: the format of a sum follows from what was added, not from the order."""
    nodes = [node(f"n{number}", has={"memory": value}) for number, value in enumerate(values)]
    assert {amounts(seen(order))["batch"]["memory"] for order in itertools.permutations(nodes)} == {total}


def test_each_flavor_has_the_sum_of_its_own_nodes() -> None:
    """Flavors stand in the order of the spec, resources by name."""
    nodes = [
        node("a1", has={"memory": "1Gi", "cpu": 1}),
        node("b1", {"pool": "b"}, has={GPU: 8, "cpu": 10}),
        node("a2", has={"memory": "2Gi", "cpu": 2}),
        node("c1", {"pool": "c"}, has={"cpu": 100}),
    ]
    flavors = [flavor("late", {"pool": "b"}), flavor("early", {"pool": "a"})]
    capacity = seen(nodes, flavors).capacity
    assert [each.name for each in capacity.flavors] == ["late", "early"]
    assert [list(each.resources) for each in capacity.flavors] == [["cpu", GPU], ["cpu", "memory"]]
    assert amounts(seen(nodes, flavors)) == {"late": {"cpu": "10", GPU: "8"}, "early": {"cpu": "3", "memory": "3Gi"}}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(ResourceSelection(), {"cpu": "4", "memory": "1Gi", GPU: "8"}, id="all"),
        pytest.param(ResourceSelection(include=("cpu",)), {"cpu": "4"}, id="included ones"),
        pytest.param(ResourceSelection(exclude=("cpu",)), {"memory": "1Gi", GPU: "8"}, id="all but excluded ones"),
        pytest.param(ResourceSelection(("cpu", GPU), ("cpu",)), {GPU: "8"}, id="exclude takes from include"),
    ],
)
def test_only_resources_that_the_parameters_select_are_reported(
    selection: ResourceSelection, expected: dict[str, str]
) -> None:
    """`resources.include`, empty for all, less `resources.exclude`."""
    claim = Claim("mine", ("batch",), selection)
    assert amounts(seen([node(has={"cpu": 4, "memory": "1Gi", GPU: 8})], claim=claim)) == {"batch": expected}


# --- the summary ---------------------------------------------------------------------------------------------------


def test_the_summary_reads_as_the_design_has_it() -> None:
    """Devices tell a pool best; reasons are counted over all flavors, each node once."""
    nodes = [node(f"n{number}", has={"cpu": 96, "memory": "1Ti", GPU: 8}) for number in range(10)]
    nodes += [node("bad", conditions=()), node("c1", unschedulable=True), node("c2", unschedulable=True)]
    assert seen(nodes, [flavor("h100")]).summary == f"h100: 10 nodes, 80 {GPU}; excluded: NotReady=1, Cordoned=2"


@pytest.mark.parametrize(
    ("allocatable", "summary"),
    [
        pytest.param({"cpu": 4, "memory": "1Gi", "pods": 110}, "4 cpu, 1Gi memory", id="cpu and memory of all others"),
        pytest.param({"cpu": 4, GPU: 0}, "4 cpu", id="a node with no device left is shown by its cpu"),
        pytest.param({"cpu": 4, GPU: 2, "example.com/nic": 1}, f"1 example.com/nic, 2 {GPU}", id="devices, by name"),
        pytest.param({"memory": "1Gi"}, "1Gi memory", id="no cpu"),
    ],
)
def test_the_summary_shows_what_tells_a_pool_best(allocatable: dict[str, object], summary: str) -> None:
    """Extended resources where there are any, else cpu and memory."""
    assert seen([node(has=allocatable)]).summary == f"batch: 1 node, {summary}"


def test_the_summary_names_flavors_in_the_order_of_the_spec_and_reasons_in_theirs() -> None:
    """Whatever the order of the nodes; a flavor without nodes is named too."""
    nodes = [
        node("t", {"pool": "b"}, taints=(GPU_TAINT,)),
        node("c", unschedulable=True),
        node("r", conditions=()),
        node("d", {"pool": "b"}, deleting=True),
        node("ok", has={"cpu": 2}),
        node("stranger", {"pool": "z"}, unschedulable=True),
    ]
    expected = "y: 0 nodes; x: 1 node, 2 cpu; excluded: Deleting=1, NotReady=1, Cordoned=1, UntoleratedTaint=1"
    flavors = [flavor("y", {"pool": "b"}), flavor("x")]
    assert {seen(order, flavors).summary for order in itertools.permutations(nodes)} == {expected}


# --- overlap -------------------------------------------------------------------------------------------------------

BOTH = {"pool": "a", "gpu": "h100"}
TWO = (flavor("pool", {"pool": "a"}), flavor("gpu", {"gpu": "h100"}))
STATES = [
    pytest.param(node("shared", BOTH), id="healthy"),
    pytest.param(node("shared", BOTH, conditions=()), id="not ready"),
    pytest.param(node("shared", BOTH, unschedulable=True), id="cordoned"),
    pytest.param(node("shared", BOTH, deleting=True), id="being deleted"),
    pytest.param(node("shared", BOTH, taints=(GPU_TAINT,)), id="tainted"),
]


@pytest.mark.parametrize("shared", STATES)
def test_a_node_of_two_flavors_of_one_provider_is_refused_in_whatever_state(shared: Node) -> None:
    """Labels alone decide, so that a cordon or a taint never makes the overlap come and go."""
    with pytest.raises(Misconfigured, match=r"Node shared would count more than once, for the flavors pool, gpu: "):
        seen([node("n1"), shared], TWO)


def test_a_taint_that_one_of_two_flavors_admits_does_not_tell_them_apart() -> None:
    """Of such a node the other flavor would count nothing, until the taint goes."""
    admits = flavor("gpu", {"gpu": "h100"}, tolerations=(Toleration(GPU, "Exists"),))
    with pytest.raises(Misconfigured, match="Node shared"):
        seen([node("shared", BOTH, taints=(GPU_TAINT,))], [flavor("pool"), admits])


@pytest.mark.parametrize("shared", STATES)
def test_a_node_of_a_flavor_of_another_provider_is_refused_in_whatever_state(shared: Node) -> None:
    """Both providers refuse it, and the message names the other one."""
    pool, gpu = Claim("pools", ("pool",)), Claim("gpus", ("gpu",))
    with pytest.raises(Misconfigured, match=r"Node shared .* flavors pool, gpu \(of CapacityProvider gpus\): "):
        seen([shared], TWO, pool, [gpu])
    with pytest.raises(Misconfigured, match=r"Node shared .* flavors gpu, pool \(of CapacityProvider pools\): "):
        seen([shared], TWO, gpu, [pool])


def test_flavors_of_the_same_labels_overlap() -> None:
    """On a node that carries these labels and no others."""
    same = [flavor("one"), flavor("two")]
    with pytest.raises(Misconfigured, match="Node n1 would count more than once, for the flavors one, two: "):
        seen([node()], same)
    with pytest.raises(Misconfigured, match=r"flavors one, two \(of CapacityProvider other\)"):
        seen([node()], same, Claim("mine", ("one",)), [Claim("other", ("two",))])


def test_two_flavors_that_share_no_node_do_not_overlap() -> None:
    """Different labels may meet on a node some day; none carries both now."""
    nodes = [node("n1", {"pool": "a"}, has={"cpu": 1}), node("n2", {"gpu": "h100"}, has={"cpu": 2})]
    assert amounts(seen(nodes, TWO)) == {"pool": {"cpu": "1"}, "gpu": {"cpu": "2"}}


def test_a_flavor_that_nobody_claims_does_not_overlap() -> None:
    """It is only orchestrated capacity that would be counted twice."""
    assert amounts(seen([node("shared", BOTH)], TWO, Claim("mine", ("pool",)))) == {"pool": {"cpu": "1"}}


def test_a_claimed_flavor_without_an_object_overlaps_with_nothing() -> None:
    """Which nodes it means is not known; its own provider is refused for it."""
    assert amounts(seen([node()], others=[Claim("other", ("gone",))])) == {"batch": {"cpu": "1"}}


def test_an_overlap_among_other_providers_does_not_touch_this_one() -> None:
    """Of the nodes of two others, none is a node of this one."""
    flavors = [flavor("mine", {"pool": "m"}), *TWO]
    others = [Claim("pools", ("pool",)), Claim("gpus", ("gpu",)), Claim("more", ("pool", "gpu"))]
    nodes = [node("n1", {"pool": "m"}, has={"cpu": 3}), node("shared", BOTH)]
    assert amounts(seen(nodes, flavors, Claim("me", ("mine",)), others)) == {"mine": {"cpu": "3"}}


def test_all_the_flavors_that_claim_a_node_are_named() -> None:
    """Two of this provider and one of another."""
    flavors = [*TWO, flavor("any", {})]
    with pytest.raises(Misconfigured, match=r"flavors gpu, pool, any \(of CapacityProvider rest\): make their nodeL"):
        seen([node("shared", BOTH)], flavors, Claim("mine", ("gpu", "pool")), [Claim("rest", ("any",))])


def test_many_overlapping_nodes_are_named_in_short() -> None:
    """Five by name, and how many more there are."""
    nodes = [node(f"n{number}", BOTH) for number in (3, 1, 4, 0, 5, 2, 6, 7)]
    with pytest.raises(Misconfigured, match=r"Node n0, n1, n2, n3, n4 and 3 more would count more than once"):
        seen(nodes, TWO)


ALL = ResourceSelection()
SELECTIONS = [
    # one, other, disjoint
    pytest.param(ALL, ALL, False, id="all and all"),
    pytest.param(ALL, ResourceSelection(include=(GPU,)), False, id="all and one"),
    pytest.param(ResourceSelection(("cpu", "memory")), ResourceSelection((GPU,)), True, id="included ones differ"),
    pytest.param(ResourceSelection(("cpu", GPU)), ResourceSelection((GPU,)), False, id="one is included by both"),
    pytest.param(ResourceSelection((GPU,)), ResourceSelection((), (GPU,)), True, id="one, and all but that one"),
    pytest.param(ResourceSelection((GPU, "cpu")), ResourceSelection((), (GPU,)), False, id="two, and all but one"),
    pytest.param(ResourceSelection((), ("cpu",)), ResourceSelection((), (GPU,)), False, id="all but one each"),
    pytest.param(ResourceSelection((GPU, "cpu"), ("cpu",)), ResourceSelection(("cpu", GPU), (GPU,)), True,
                 id="same names included, each excludes the other's"),
    pytest.param(ResourceSelection((GPU,), (GPU,)), ALL, True, id="nothing at all, and all"),
]  # fmt: skip


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize(("one", "other", "disjoint"), SELECTIONS)
def test_flavors_of_two_providers_may_overlap_only_where_their_resources_are_disjoint(
    one: ResourceSelection, other: ResourceSelection, disjoint: bool, turned: bool
) -> None:
    """An overlap is of a node and a resource: cpu of one provider and GPUs of another add nothing twice."""
    if turned:
        one, other = other, one
    nodes = [node("shared", BOTH, has={"cpu": 4, GPU: 8})]
    mine, theirs = Claim("mine", ("pool",), one), Claim("theirs", ("gpu",), other)
    if disjoint:
        assert set(amounts(seen(nodes, TWO, mine, [theirs]))) <= {"pool"}
    else:
        with pytest.raises(Misconfigured, match="Node shared"):
            seen(nodes, TWO, mine, [theirs])


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize(("one", "other", "disjoint"), SELECTIONS)
def test_one_flavor_may_have_two_providers_only_where_their_resources_are_disjoint(
    one: ResourceSelection, other: ResourceSelection, disjoint: bool, turned: bool
) -> None:
    """Whatever nodes there are, none at all included."""
    if turned:
        one, other = other, one
    mine, theirs = Claim("mine", ("batch",), one), Claim("theirs", ("x", "batch"), other)
    if disjoint:
        assert set(amounts(seen([node(has={"cpu": 4})], claim=mine, others=[theirs]))) <= {"batch"}
    else:
        with pytest.raises(Misconfigured, match="CapacityProvider theirs claims the flavor batch as well: "):
            seen([], claim=mine, others=[theirs])


def test_two_providers_of_one_flavor_with_disjoint_resources_report_each_their_own() -> None:
    """Together they report every resource once."""
    cpu = Claim("cpus", ("batch",), ResourceSelection(exclude=(GPU,)))
    gpu = Claim("gpus", ("batch",), ResourceSelection(include=(GPU,)))
    nodes = [node(has={"cpu": 4, "memory": "1Gi", GPU: 8})]
    assert amounts(seen(nodes, claim=cpu, others=[gpu])) == {"batch": {"cpu": "4", "memory": "1Gi"}}
    assert amounts(seen(nodes, claim=gpu, others=[cpu])) == {"batch": {GPU: "8"}}


# --- Misconfigured, the rest ---------------------------------------------------------------------------------------


def test_a_flavor_without_an_object_is_refused() -> None:
    """The whole provider, also where its other flavor is fine."""
    with pytest.raises(Misconfigured, match=r"^ResourceFlavor gone does not exist: create it, or take it out of spec"):
        seen([node()], claim=Claim("mine", ("batch", "gone")))


@pytest.mark.parametrize("operator", ["Gt", "Lt", "exists", "EXISTS", "In", "Exists "])
def test_a_toleration_operator_that_is_not_understood_is_refused(operator: str) -> None:
    """Whether or not a node has a taint: it might tomorrow, and nobody knows what was meant."""
    wanted = flavor(tolerations=(Toleration("k", "Exists"), Toleration("k", operator, "1")))
    with pytest.raises(Misconfigured, match=f"^ResourceFlavor batch has a toleration with the operator '{operator}': "):
        seen([node()], [wanted])


def test_an_unknown_operator_on_a_flavor_of_another_provider_does_not_touch_this_one() -> None:
    """It is refused there."""
    odd = flavor("odd", {"pool": "z"}, tolerations=(Toleration("k", "Gt", "1"),))
    observation = seen([node()], [flavor(), odd], Claim("mine", ("batch",)), [Claim("other", ("odd",))])
    assert amounts(observation) == {"batch": {"cpu": "1"}}


def numbered(first: int, last: int) -> dict[str, object]:
    return {f"example.com/r{number:02}": 1 for number in range(first, last)}


def test_sixty_four_resources_are_allowed() -> None:
    """The most that the API takes of one flavor."""
    assert len(amounts(seen([node(has=numbered(0, 40)), node("n2", has=numbered(30, 64))]))["batch"]) == 64


def test_sixty_five_resources_are_refused() -> None:
    """Counted over all the nodes of the flavor, of which each has fewer."""
    with pytest.raises(Misconfigured, match=r"^flavor batch has 65 resources; at most 64 are allowed: choose them"):
        seen([node(has=numbered(0, 40)), node("n2", has=numbered(30, 65))])


def test_sixty_five_declared_resources_of_a_flavor_without_nodes_are_not_said_to_be_on_nodes() -> None:
    """They would all be zeros; the limit is the same, the way out too."""
    with pytest.raises(Misconfigured, match=r"^flavor batch has 65 resources") as raised:
        seen([], declared={"batch": set(numbered(0, 65))})
    assert "on its nodes" not in str(raised.value)


def test_resources_that_are_not_selected_do_not_count_for_the_limit() -> None:
    """Choosing is the way out that the message names."""
    claim = Claim("mine", ("batch",), ResourceSelection(exclude=("example.com/r00",)))
    assert len(amounts(seen([node(has=numbered(0, 65))], claim=claim))["batch"]) == 64


def test_two_flavors_may_have_more_than_sixty_four_resources_together() -> None:
    """The limit is of a flavor."""
    nodes = [node(has=numbered(0, 60)), node("n2", {"pool": "b"}, has=numbered(60, 120))]
    assert len(amounts(seen(nodes, [flavor("a"), flavor("b", {"pool": "b"})]))) == 2


def test_a_message_lists_every_cause() -> None:
    """A second look is not needed for what the first could say."""
    flavors = [*TWO, flavor("odd", {"pool": "z"}, tolerations=(Toleration("k", "Gt"),))]
    claim = Claim("mine", ("gone", "pool", "gpu", "odd"))
    with pytest.raises(Misconfigured) as raised:
        seen([node("shared", BOTH, has=numbered(0, 65))], flavors, claim, [Claim("twin", ("gpu",))])
    for part in (
        "ResourceFlavor gone does not exist",
        "ResourceFlavor odd has a toleration",
        "CapacityProvider twin claims the flavor gpu",
        "Node shared would count more than once",
        "flavor pool has 65 resources",
    ):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("missing", "listed", "end"),
    [(1, 1, ""), (5, 5, ""), (6, 5, "; and 1 more of the kind"), (9, 5, "; and 4 more of the kind")],
)
def test_a_message_lists_five_causes_of_a_kind_and_counts_the_rest(missing: int, listed: int, end: str) -> None:
    """It has to fit into a condition."""
    claim = Claim("mine", tuple(f"gone-{number}" for number in range(missing)))
    with pytest.raises(Misconfigured) as raised:
        seen([], claim=claim)
    message = str(raised.value)
    assert message.count("does not exist") == listed
    assert message.endswith(end or "spec.orchestratedFlavors")
    assert ("more of the kind" in message) is bool(end)


# --- InvalidCapacity -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["-1", "-1n", "-1Gi", -0.5])
def test_a_negative_allocatable_is_invalid(amount: object) -> None:
    """Even where the other nodes make the sum positive."""
    with pytest.raises(InvalidCapacity, match=r"^Node broken has a negative allocatable of -\S+ memory: "):
        seen([node("n1", has={"memory": "64Gi"}), node("broken", has={"memory": amount})])


def test_minus_zero_is_zero() -> None:
    """The grammar allows the sign."""
    assert amounts(seen([node(has={"cpu": "-0"})])) == {"batch": {"cpu": "0"}}


@pytest.mark.parametrize(
    ("broken", "selection", "total"),
    [
        pytest.param(node("n2", has={"cpu": -1}, unschedulable=True), ALL, "2", id="of a node that does not count"),
        pytest.param(node("n2", {"pool": "z"}, has={"cpu": -1}), ALL, "2", id="of a node of no flavor"),
        pytest.param(
            node("n2", has={"cpu": 1, "memory": -1}), ResourceSelection(("cpu",)), "3", id="of a resource not selected"
        ),
    ],
)
def test_a_negative_amount_that_would_not_be_added_is_no_matter(
    broken: Node, selection: ResourceSelection, total: str
) -> None:
    """Only what counts can be wrong."""
    claim = Claim("mine", ("batch",), selection)
    assert amounts(seen([node(has={"cpu": 2}), broken], claim=claim)) == {"batch": {"cpu": total}}


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        pytest.param([LARGEST_UNITS], True, id="the largest on one node"),
        pytest.param([LARGEST_UNITS - 5, 5], True, id="the largest on two nodes"),
        pytest.param([LARGEST_UNITS, 1], False, id="one more"),
        pytest.param([LARGEST_UNITS, "1n"], False, id="a billionth more"),
        pytest.param(["8Ei"], False, id="8Ei is one more"),
        pytest.param(["4Ei", "4Ei"], False, id="4Ei twice"),
        pytest.param(["9E", "1E"], False, id="10E"),
    ],
)
def test_a_sum_beyond_the_largest_quantity_is_invalid(values: list[object], allowed: bool) -> None:
    """Kueue would read it as less without a word."""
    nodes = [node(f"n{number}", has={"memory": value}) for number, value in enumerate(values)]
    if allowed:
        assert amounts(seen(nodes)) == {"batch": {"memory": str(LARGEST_UNITS)}}
    else:
        with pytest.raises(InvalidCapacity, match=r"^the nodes of flavor batch have \S+ memory together, more than"):
            seen(nodes)


def test_invalid_capacity_comes_before_misconfigured_and_tells_of_both() -> None:
    """The order of the reasons in the API."""
    with pytest.raises(InvalidCapacity, match=r"^Node n1 has a negative .*; ResourceFlavor gone does not exist: "):
        seen([node(has={"cpu": -1})], claim=Claim("mine", ("batch", "gone")))


# --- explicit zeros ------------------------------------------------------------------------------------------------

WITH_CPU_DECLARED = {"batch": {"cpu", GPU}, "other": {"memory"}}


@pytest.mark.parametrize(
    ("nodes", "selection", "excluded", "declared", "expected"),
    [
        pytest.param([], ("cpu", GPU), [], {}, {"cpu": "0", GPU: "0"}, id="no node: what is included"),
        pytest.param([], (), [], WITH_CPU_DECLARED, {"cpu": "0", GPU: "0"}, id="no node: what queues declare"),
        pytest.param([], ("memory",), [], WITH_CPU_DECLARED, {"memory": "0"}, id="included ones come first"),
        pytest.param([], (), [GPU], WITH_CPU_DECLARED, {"cpu": "0"}, id="declared, less excluded"),
        pytest.param([], ("cpu", GPU), [GPU], {}, {"cpu": "0"}, id="included, less excluded"),
        pytest.param([node(unschedulable=True)], (), [], WITH_CPU_DECLARED, {"cpu": "0", GPU: "0"},
                     id="every node is excluded"),
        pytest.param([node(labels={"pool": "z"})], (), [], WITH_CPU_DECLARED, {"cpu": "0", GPU: "0"},
                     id="nodes of other pools only"),
        pytest.param([node(has={"cpu": 4})], (), [], WITH_CPU_DECLARED, {"cpu": "4"},
                     id="a node counts: nothing is made up"),
        pytest.param([node(has={"cpu": 4})], ("cpu", GPU), [], {}, {"cpu": "4", GPU: "0"},
                     id="a node counts: what is included and not there"),
    ],
)  # fmt: skip
def test_with_nothing_there_zeros_are_published(
    nodes: list[Node],
    selection: tuple[str, ...],
    excluded: list[str],
    declared: Mapping[str, AbstractSet[str]],
    expected: dict[str, str],
) -> None:
    """Of the resources that the parameters include, else of those that queues declare for the flavor."""
    claim = Claim("mine", ("batch",), ResourceSelection(selection, tuple(excluded)))
    assert amounts(seen(nodes, claim=claim, declared=declared)) == {"batch": expected}


def test_a_flavor_of_which_nothing_is_known_is_left_out() -> None:
    """The API wants a resource of each flavor that is listed; the flavor stays orchestrated all the same."""
    flavors = [flavor("unknown", {"pool": "z"}), flavor()]
    observation = seen([node()], flavors)
    assert amounts(observation) == {"batch": {"cpu": "1"}}
    assert observation.summary == "unknown: 0 nodes; batch: 1 node, 1 cpu"


def test_no_node_at_all_is_zero_and_no_error() -> None:
    """The source was read whole and says zero."""
    observation = seen([], declared={"batch": {"cpu"}})
    assert amounts(observation) == {"batch": {"cpu": "0"}}
    assert observation.summary == "batch: 0 nodes, 0 cpu"
