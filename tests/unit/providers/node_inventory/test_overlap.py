"""A node counts once: flavors that meet on it are refused, in whatever state it is."""

from __future__ import annotations

import pytest

from kueue_dqo.api.core import Node, Toleration
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.provider import Misconfigured
from providers.nodes.claims import Claim
from tests.unit.providers.node_inventory.inventory import GPU, GPU_TAINT, amounts, flavor, node, seen

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
    flavors = [*TWO, flavor("any", {"gpu": "h100", "pool": "a"})]
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
