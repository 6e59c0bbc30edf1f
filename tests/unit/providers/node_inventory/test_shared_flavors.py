"""What proves that two providers share no node, and what is taken for sharing all of them."""

from __future__ import annotations

import pytest

from kueue_dqo.api.parameters import LabelSelector, ResourceSelection, SelectorExpression, SelectorOperator
from kueue_dqo.provider import Misconfigured, Peer
from providers.node_inventory.compute import observe
from providers.nodes.claims import Claim
from tests.unit.providers.node_inventory.inventory import GPU, amounts, asks, flavor, node, peer, seen

BOTH = {"pool": "a", "gpu": "h100"}
TWO = (flavor("pool", {"pool": "a"}), flavor("gpu", {"gpu": "h100"}))

# --- selectors -----------------------------------------------------------------------------------------------------

BLUE, GREEN = LabelSelector({"team": "blue"}), LabelSelector({"team": "green"})
ALSO_BLUE = LabelSelector({}, (SelectorExpression("team", SelectorOperator.IN, ("blue",)),))


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        pytest.param(BLUE, GREEN, True, id="one label, two values"),
        pytest.param(
            BLUE, LabelSelector({"team": "green", "zone": "1"}), True, id="one of two labels tells them apart"
        ),
        pytest.param(BLUE, BLUE, False, id="the same"),
        pytest.param(BLUE, LabelSelector({"zone": "1"}), False, id="different labels may meet on a node"),
        pytest.param(BLUE, LabelSelector(), False, id="everything"),
        pytest.param(GREEN, ALSO_BLUE, False, id="an expression proves nothing"),
    ],
)
def test_one_flavor_may_have_two_providers_where_labels_prove_that_they_share_no_node(
    one: LabelSelector, other: LabelSelector, disjoint: bool, turned: bool
) -> None:
    """Whatever nodes there are now: a proof holds tomorrow, too."""
    if turned:
        one, other = other, one
    mine, theirs = Claim("mine", ("batch",), node_selector=one), Claim("theirs", ("batch",), node_selector=other)
    if disjoint:
        assert amounts(seen([], claim=mine, others=[theirs])) == {}
    else:
        with pytest.raises(Misconfigured, match=r"theirs claims the flavor batch as well: .*nodeSelector\.matchLabels"):
            seen([], claim=mine, others=[theirs])


def test_two_providers_of_one_flavor_with_disjoint_nodes_report_each_their_own() -> None:
    nodes = [
        node("n1", {"pool": "a", "team": "blue"}, has={"cpu": 1}),
        node("n2", {"pool": "a", "team": "green"}, has={"cpu": 2}),
        node("n3", {"pool": "a"}, has={"cpu": 4}),
    ]
    blue, green = Claim("b", ("batch",), node_selector=BLUE), Claim("g", ("batch",), node_selector=GREEN)
    assert amounts(seen(nodes, claim=blue, others=[green])) == {"batch": {"cpu": "1"}}
    assert amounts(seen(nodes, claim=green, others=[blue])) == {"batch": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [
        pytest.param(ALSO_BLUE, LabelSelector(), True, id="both select the node"),
        pytest.param(LabelSelector({"team": "red"}), LabelSelector(), False, id="it is not the provider's"),
        pytest.param(LabelSelector(), LabelSelector({"zone": "9"}), False, id="it is not the other one's"),
    ],
)
def test_a_node_is_only_of_the_providers_that_select_it(
    one: LabelSelector, other: LabelSelector, overlaps: bool
) -> None:
    nodes = [node("shared", BOTH | {"team": "blue"})]
    mine, theirs = Claim("mine", ("pool",), node_selector=one), Claim("theirs", ("gpu",), node_selector=other)
    if overlaps:
        with pytest.raises(Misconfigured, match=r"Node shared .* flavors pool, gpu \(of CapacityProvider theirs\)"):
            seen(nodes, TWO, mine, [theirs])
    else:
        seen(nodes, TWO, mine, [theirs])


# --- flavors and parameters of which nothing is known ---------------------------------------------------------------


@pytest.mark.parametrize("theirs", [False, True], ids=["mine", "another provider's"])
def test_a_flavor_without_labels_beside_others_overlaps_and_the_message_says_why(theirs: bool) -> None:
    """It takes every node; also the default flavor of a fresh installation does."""
    flavors = [flavor("gpu", {"gpu": "h100"}), flavor("everything", {})]
    claim, others = Claim("mine", ("gpu", "everything")), []
    if theirs:
        claim, others = Claim("mine", ("gpu",)), [Claim("rest", ("everything",))]
    with pytest.raises(Misconfigured) as raised:
        seen([node("n1", {"gpu": "h100"}), node("n2", {})], flavors, claim, others)
    named = "everything (of CapacityProvider rest)" if theirs else "everything"
    assert str(raised.value) == (
        f"Node n1 would count more than once, for the flavors gpu, {named}: flavor everything has no nodeLabels, so it "
        "takes every node; make their nodeLabels tell the nodes apart"
    )


def test_a_provider_whose_parameters_cannot_be_read_claims_all_resources_of_all_nodes() -> None:
    """It might report any of them."""
    flavors = {"batch": flavor()}
    mine = Claim("mine", ("batch",), ResourceSelection((GPU,)), BLUE)
    known = peer(Claim("other", ("batch",), ResourceSelection((), (GPU,))))
    assert observe(asks(flavors, mine, [known]), [], {}, {}).summary == f"batch: 0 nodes, 0 {GPU}"
    with pytest.raises(Misconfigured) as raised:
        observe(asks(flavors, mine, [Peer(known.provider, None)]), [], {}, {})
    assert str(raised.value) == (
        "CapacityProvider other claims the flavor batch as well: its parameters cannot be read, so it counts as "
        "claiming every resource of every node: see its own condition"
    )


def test_a_node_of_a_provider_whose_parameters_cannot_be_read_is_told_as_such() -> None:
    """What is wrong are not the labels, as far as anybody knows."""
    flavors = {"batch": flavor(), "gpu": flavor("gpu", {"gpu": "h100"})}
    known = peer(Claim("other", ("gpu",), ResourceSelection((GPU,))))
    mine = Claim("mine", ("batch",), ResourceSelection(("cpu",)))
    nodes = [node("n1", {"pool": "a", "gpu": "h100"})]
    assert observe(asks(flavors, mine, [known]), nodes, {}, {}).summary == "batch: 1 node, 1 cpu"
    with pytest.raises(Misconfigured) as raised:
        observe(asks(flavors, mine, [Peer(known.provider, None)]), nodes, {}, {})
    assert str(raised.value) == (
        "Node n1 would count more than once, for the flavors batch, gpu (of CapacityProvider other): CapacityProvider "
        "other's parameters cannot be read, so it counts as claiming every resource of every node: see its own "
        "condition"
    )
