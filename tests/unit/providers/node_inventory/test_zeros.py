"""What is published where there is nothing: zeros on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import pytest

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import ExplicitZeros, ResourceSelection
from providers.nodes.claims import Claim
from tests.unit.providers.node_inventory.inventory import GPU, amounts, flavor, node, seen, spec

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


@pytest.mark.parametrize("nodes", [[], [node(has={"cpu": 4})]], ids=["no node", "a node without it"])
def test_explicit_zeros_are_published_where_no_node_has_any(nodes: list[Node]) -> None:
    """Also where nodes count: when the device plugin of the whole pool is down, its nodes may list no devices."""
    parameters = spec(explicit_zeros=(ExplicitZeros("batch", (GPU,)),))
    observation = seen(nodes, parameters=parameters)
    assert amounts(observation) == {"batch": {GPU: "0"} | ({"cpu": "4"} if nodes else {})}


def test_explicit_zeros_hide_nothing_and_come_beside_what_queues_declare() -> None:
    parameters = spec(explicit_zeros=(ExplicitZeros("batch", (GPU,)),))
    assert amounts(seen([node(has={GPU: 8})], parameters=parameters)) == {"batch": {GPU: "8"}}
    declared = {"batch": {"cpu"}}
    assert amounts(seen([], parameters=parameters, declared=declared)) == {"batch": {"cpu": "0", GPU: "0"}}


def test_an_excluded_resource_is_no_explicit_zero() -> None:
    """What is not reported is not reported."""
    selection = ResourceSelection(exclude=(GPU,))
    parameters = spec(resources=selection, explicit_zeros=(ExplicitZeros("batch", (GPU, "cpu")),))
    assert amounts(seen([], parameters=parameters)) == {"batch": {"cpu": "0"}}


def test_explicit_zeros_are_of_their_flavor() -> None:
    parameters = spec(explicit_zeros=(ExplicitZeros("b", (GPU,)),))
    observation = seen([], [flavor("a", {"pool": "a"}), flavor("b", {"pool": "b"})], parameters=parameters)
    assert amounts(observation) == {"b": {GPU: "0"}}
