"""What a node adds, how amounts are summed, and how the summary shows them."""

from __future__ import annotations

import itertools
import json

import pytest

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS
from kueue_dqo.api.scheme import decode, decode_json, known_kind
from providers.nodes.claims import Claim
from tests.unit.providers.node_inventory.inventory import (
    GPU,
    GPU_TAINT,
    POOL,
    amounts,
    flavor,
    node,
    seen,
)


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


def test_the_summary_reads_as_the_design_has_it() -> None:
    """Devices tell a pool best; reasons are counted over all flavors, each node once."""
    nodes = [node(f"n{number}", has={"cpu": 96, "memory": "1Ti", GPU: 8}) for number in range(10)]
    nodes += [node("bad", conditions=()), node("c1", unschedulable=True), node("c2", unschedulable=True)]
    assert seen(nodes, [flavor("h100")]).summary == f"h100: 10 nodes, 80 {GPU}; excluded: NotReady=1, Cordoned=2"


@pytest.mark.parametrize(
    ("allocatable", "summary"),
    [
        pytest.param({"cpu": 4, "memory": "1Gi", "pods": 110}, "4 cpu, 1Gi memory", id="cpu and memory of all others"),
        pytest.param({"cpu": 4, GPU: 0}, f"4 cpu, 0 {GPU}", id="the zero of a node with no device left"),
        pytest.param({"cpu": 4, GPU: 2, "a.com/x": 0}, f"0 a.com/x, 2 {GPU}", id="the zero of one of two devices"),
        pytest.param({"cpu": 0, GPU: 0}, f"0 {GPU}", id="nothing at all"),
        pytest.param({"cpu": 4, GPU: 2, "example.com/nic": 1}, f"1 example.com/nic, 2 {GPU}", id="devices, by name"),
        pytest.param({"memory": "1Gi"}, "1Gi memory", id="no cpu"),
    ],
)
def test_the_summary_shows_what_tells_a_pool_best(allocatable: dict[str, object], summary: str) -> None:
    """Extended resources where there are any, else cpu and memory; a device of which there is none is told as well."""
    assert seen([node(has=allocatable)]).summary == f"batch: 1 node, {summary}"


def test_the_summary_says_where_nothing_of_what_nodes_have_is_reported() -> None:
    """Its quotas become 0, which is seldom meant."""
    claim = Claim("mine", ("batch",), ResourceSelection(exclude=("cpu",)))
    assert seen([node()], claim=claim).summary == "batch: 1 node, nothing that is reported"
    assert seen([], claim=claim).summary == "batch: 0 nodes"


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
