"""What makes a provider publish nothing, and in which words."""

from __future__ import annotations

import pytest

from kueue_dqo.api.core import Node, NodeStatus, Toleration
from kueue_dqo.api.parameters import Cordoned, ExplicitZeros, RequiredResource, ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.nodes.claims import Claim
from providers.nodes.pods import NodePods
from tests.unit.providers.node_inventory.inventory import GPU, READY, amounts, flavor, node, seen, spec

BOTH = {"pool": "a", "gpu": "h100"}
TWO = (flavor("pool", {"pool": "a"}), flavor("gpu", {"gpu": "h100"}))

# --- flavors -------------------------------------------------------------------------------------------------------


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


def test_a_flavor_without_an_object_is_refused() -> None:
    """It may have gone since the question was asked."""
    with pytest.raises(Misconfigured, match=r"^ResourceFlavor gone does not exist: create it, or take it out of spec"):
        seen([node()], claim=Claim("mine", ("batch", "gone")))


# --- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        pytest.param(
            spec(required_resources=(RequiredResource("batch", "cpu"), RequiredResource("h100", GPU))),
            r"requiredResources\[1\]",
            id="a required resource",
        ),
        pytest.param(
            spec(explicit_zeros=(ExplicitZeros("h100", (GPU,)),)), r"explicitZeros\[0\]", id="an explicit zero"
        ),
    ],
)
def test_parameters_may_name_only_flavors_that_are_orchestrated(parameters: object, field: str) -> None:
    """A slip of the pen would let nodes count that are not ready for it; object, field and way out are named."""
    expected = (
        rf"^NodeInventoryParameters tuning: spec\.{field}\.flavor names 'h100', which is not in "
        r"spec\.orchestratedFlavors of CapacityProvider mine \(batch\): add it there, or take it out here$"
    )
    with pytest.raises(Misconfigured, match=expected):
        seen([node()], parameters=parameters)


# --- messages ------------------------------------------------------------------------------------------------------


def test_a_message_lists_every_cause() -> None:
    """A second look is not needed for what the first could say."""
    flavors = [*TWO, flavor("odd", {"pool": "z"}, tolerations=(Toleration("k", "Gt"),))]
    claim = Claim("mine", ("pool", "gpu", "odd"))
    parameters = spec(explicit_zeros=(ExplicitZeros("strange", ("cpu",)),))
    with pytest.raises(Misconfigured) as raised:
        seen([node("shared", BOTH)], flavors, claim, [Claim("twin", ("gpu",))], parameters=parameters)
    for part in (
        "explicitZeros[0].flavor names 'strange'",
        "ResourceFlavor odd has a toleration",
        "CapacityProvider twin claims the flavor gpu",
        "Node shared would count more than once",
    ):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("odd", "listed", "end"),
    [(1, 1, ""), (5, 5, ""), (6, 5, "; and 1 more of the kind"), (9, 5, "; and 4 more of the kind")],
)
def test_a_message_lists_five_causes_of_a_kind_and_counts_the_rest(odd: int, listed: int, end: str) -> None:
    """It has to fit into a condition."""
    flavors = [flavor(f"f{number}", tolerations=(Toleration("k", "Gt"),)) for number in range(odd)]
    with pytest.raises(Misconfigured) as raised:
        seen([], flavors)
    message = str(raised.value)
    assert message.count("has a toleration") == listed
    assert message.endswith(end or "are understood")
    assert ("more of the kind" in message) is bool(end)


# --- impossible numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["-1", "-1n", "-1Gi", -0.5])
def test_a_negative_allocatable_is_invalid(amount: object) -> None:
    """Even where the other nodes make the sum positive. There is a way out before the node is repaired."""
    with pytest.raises(
        InvalidCapacity, match=r"^Node broken .* allocatable of -\S+ memory: .*spec\.resources\.exclude"
    ):
        seen([node("n1", has={"memory": "64Gi"}), node("broken", has={"memory": amount})])


def test_minus_zero_is_zero() -> None:
    """The grammar allows the sign."""
    assert amounts(seen([node(has={"cpu": "-0"})])) == {"batch": {"cpu": "0"}}


@pytest.mark.parametrize(
    ("broken", "selection", "total"),
    [
        pytest.param(
            node("n2", has={"cpu": -1}, unschedulable=True), ResourceSelection(), "2", id="of a node that is cordoned"
        ),
        pytest.param(node("n2", {"pool": "z"}, has={"cpu": -1}), ResourceSelection(), "2", id="of a node of no flavor"),
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


ODD_NAMES = ["UPPER.com/X", "bad name/x y", "a/b/c", "x" * 64]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_nodes_that_have_what_is_no_resource_are_named_with_a_way_out(name: str) -> None:
    """The API server takes any name in the status of a Node. Only `include` helps: `exclude` takes no such name."""
    sound = node("n9")
    with pytest.raises(InvalidCapacity) as refusal:
        seen([sound, node("n1", has={"cpu": 1, name: 1})])
    assert str(refusal.value) == (
        f"Node n1 has {name!r} in status.allocatable, which is no name of a resource, such as cpu or nvidia.com/gpu: "
        "correct the device plugin, or choose the resources that are reported by spec.resources.include of the "
        "parameters"
    )
    several = [node(f"n{number}", has={name: 1}) for number in (3, 1, 2)]
    with pytest.raises(InvalidCapacity, match=r"^3 nodes \(n1, n2, n3\) have '"):
        seen([*several, sound])
    everyone = [node(f"n{number:03}", has={name: 1}) for number in range(500)]
    with pytest.raises(InvalidCapacity, match=r"^500 nodes \(n000, .* and 495 more\) have '") as refusal:
        seen(everyone)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "selection", [ResourceSelection(("cpu",)), ResourceSelection(exclude=(*ODD_NAMES, "memory"))], ids=str
)
def test_an_odd_name_or_amount_that_is_not_selected_is_no_matter(selection: ResourceSelection) -> None:
    """Otherwise one device plugin would freeze a whole provider, with no way out."""
    odd = node(has={"cpu": 1, "memory": "1e300", **dict.fromkeys(ODD_NAMES, "1e300")})
    assert amounts(seen([odd], claim=Claim("mine", ("batch",), selection))) == {"batch": {"cpu": "1"}}


def test_nodes_that_have_an_absurd_amount_are_named_with_a_way_out() -> None:
    """Those that have the most; the amount is shortened."""
    sound = [node("n9", has={"memory": "1Ti"}), node("n8", has={"cpu": 8})]
    absurd = Quantity.of("1e250").nanos
    for listed, start in (
        ([node("n1", has={"memory": "1e300"})], "Node n1 has an allocatable of 1e300 memory, so that"),
        ([node("n1", has={"memory": "6Ei"}), node("n2", has={"memory": "6Ei"})],
         "2 nodes (n1, n2) have an allocatable of 6Ei memory, so that"),
        ([Node(node("n1").metadata, node("n1").spec, NodeStatus({"memory": Quantity(absurd)}, READY))],
         f"Node n1 has an allocatable of 1{'0' * 39}… (234 characters) memory, so that"),
    ):  # fmt: skip
        with pytest.raises(
            InvalidCapacity, match=r"its flavor has more .*9223372036854775807.*\.exclude of"
        ) as refusal:
            seen([*sound, *listed])
        assert str(refusal.value).startswith(start)


def test_a_cordoned_node_that_counts_for_what_its_pods_hold_is_named_as_well() -> None:
    """It is no node that counts, and yet it is the one to repair."""
    cordoned = [node(f"n{number}", has={"memory": "6Ei"}, unschedulable=True) for number in (1, 2)]
    held = {each.metadata.name: NodePods({"memory": Quantity.of("5Ei").nanos}, {}) for each in cordoned}
    with pytest.raises(InvalidCapacity, match=r"^2 nodes \(n1, n2\) have an allocatable of 6Ei memory, so that"):
        seen(cordoned, parameters=spec(cordoned=Cordoned.COUNT_ALLOCATED), pods=held)


def test_invalid_capacity_comes_before_misconfigured_and_tells_of_both() -> None:
    """The order of the reasons in the API."""
    with pytest.raises(InvalidCapacity, match=r"^Node n1 has a negative .*; CapacityProvider other claims the flavor"):
        seen([node(has={"cpu": -1})], others=[Claim("other", ("batch",))])
