"""What pods hold of nodes: on cordoned ones it still counts, and what Kueue does not manage is kept back."""

from __future__ import annotations

import pytest

from kueue_dqo.api.core import NodeCondition, Taint
from kueue_dqo.api.parameters import Cordoned, LabelSelector, RequiredResource, Reserve, ResourceSelection
from providers.nodes.pods import NodePods
from tests.unit.providers.node_inventory.inventory import (
    GPU,
    GPU_TAINT,
    amounts,
    flavor,
    nanos,
    node,
    ready_since,
    seen,
    spec,
    taken,
)

COUNT_ALLOCATED = spec(cordoned=Cordoned.COUNT_ALLOCATED)
RESERVE = spec(reserve=Reserve.UNMANAGED_PODS)
CORDON = Taint("node.kubernetes.io/unschedulable", "NoSchedule")

# --- cordoned nodes ------------------------------------------------------------------------------------------------


def test_what_kueues_pods_hold_on_a_cordoned_node_counts_until_they_end() -> None:
    """Ten nodes of 8 GPUs, one cordoned with 5 in use: 77 until the pods end, then 72. The cordon stays told."""
    nodes = [node(f"n{number}", has={GPU: 8, "cpu": 96}) for number in range(9)]
    nodes.append(node("drained", unschedulable=True, taints=(CORDON,), has={GPU: 8, "cpu": 96}))
    held = NodePods(allocated=nanos(gpu=5, cpu=40), unmanaged=nanos(cpu=1))
    busy = seen(nodes, [flavor("h100")], parameters=COUNT_ALLOCATED, pods={"drained": held})
    assert amounts(busy) == {"h100": {"cpu": "904", GPU: "77"}}
    assert busy.summary == (
        f"h100: 9 nodes, 77 {GPU} (including 5 {GPU} still allocated on cordoned nodes); excluded: Cordoned=1"
    )
    idle = seen(nodes, [flavor("h100")], parameters=COUNT_ALLOCATED)
    assert amounts(idle) == {"h100": {"cpu": "864", GPU: "72"}}
    assert idle.summary == f"h100: 9 nodes, 72 {GPU}; excluded: Cordoned=1"


def test_by_default_a_cordoned_node_adds_nothing() -> None:
    """Whatever runs there."""
    held = {"n1": NodePods(allocated=nanos(cpu=1))}
    assert amounts(seen([node(unschedulable=True)], parameters=spec(), pods=held)) == {}


@pytest.mark.parametrize(
    ("has", "allocated", "added"),
    [
        pytest.param({"cpu": 8}, nanos(cpu=3), {"cpu": "3"}, id="a part"),
        pytest.param({"cpu": 8}, nanos(cpu=8), {"cpu": "8"}, id="all"),
        pytest.param({"cpu": 8}, nanos(cpu=9), {"cpu": "8"}, id="never more than the node has"),
        pytest.param({"cpu": 8}, nanos(cpu=3, gpu=2), {"cpu": "3"}, id="not what the node does not have"),
        pytest.param({"cpu": 8, GPU: 0}, nanos(cpu=3, gpu=2), {"cpu": "3"}, id="its devices are gone"),
        pytest.param({"memory": "8Gi"}, nanos(memory=2**30), {"memory": "1Gi"}, id="in the format of the node"),
        pytest.param({"cpu": -8}, nanos(cpu=3), None, id="a node that reports nonsense"),
    ],
)
def test_each_resource_counts_by_itself(
    has: dict[str, object], allocated: dict[str, int], added: dict[str, str] | None
) -> None:
    pods = {"n1": NodePods(allocated)}
    observation = seen([node(unschedulable=True, has=has)], parameters=COUNT_ALLOCATED, pods=pods)
    assert amounts(observation) == ({"batch": added} if added else {})


def test_a_reason_that_comes_before_the_cordon_takes_everything() -> None:
    """Of a node that goes, or is not ready, nobody knows whether its pods still run."""
    pods = {"n1": NodePods(nanos(cpu=1))}
    for one in (
        node(unschedulable=True, deleting=True),
        node(unschedulable=True, conditions=(NodeCondition("Ready", "Unknown"),)),
    ):
        assert amounts(seen([one], parameters=COUNT_ALLOCATED, pods=pods)) == {}


def test_a_reason_that_comes_after_the_cordon_does_not_matter() -> None:
    """The cordon itself brings a taint."""
    parameters = spec(600, cordoned=Cordoned.COUNT_ALLOCATED, required_resources=(RequiredResource("batch", GPU),))
    one = node(unschedulable=True, taints=(CORDON, GPU_TAINT), conditions=ready_since(1))
    observation = seen([one], parameters=parameters, pods={"n1": NodePods(nanos(cpu=0.5))})
    assert amounts(observation) == {"batch": {"cpu": "500m"}}
    assert observation.look_again is None


def test_only_selected_resources_and_nodes_of_the_provider_count() -> None:
    pods = {name: NodePods(nanos(cpu=1, memory=5)) for name in ("n1", "n2", "n3")}
    nodes = [
        node(unschedulable=True, has={"cpu": 4, "memory": 10}),
        node("n2", {"pool": "z"}, unschedulable=True),
        node("n3", {"pool": "a", "zone": "2"}, unschedulable=True),
    ]
    parameters = spec(
        cordoned=Cordoned.COUNT_ALLOCATED,
        resources=ResourceSelection(exclude=("memory",)),
        node_selector=LabelSelector({"pool": "a"}),
    )
    observation = seen(nodes, [flavor(labels={"pool": "a"})], parameters=parameters, pods=pods)
    assert amounts(observation) == {"batch": {"cpu": "2"}}


def test_a_cordoned_node_is_none_that_counts_so_that_declared_zeros_are_published() -> None:
    """Beside what is still allocated."""
    observation = seen(
        [node(unschedulable=True, has={GPU: 8, "cpu": 4})],
        parameters=COUNT_ALLOCATED,
        declared={"batch": {"cpu", GPU}},
        pods={"n1": NodePods(nanos(gpu=2))},
    )
    assert amounts(observation) == {"batch": {"cpu": "0", GPU: "2"}}


# --- reserve -------------------------------------------------------------------------------------------------------


def test_what_other_pods_request_is_kept_back_node_by_node() -> None:
    """Never more than the node has: what is too much on one node takes nothing off another."""
    nodes = [
        node("n1", has={"cpu": 8, "memory": "16Gi", GPU: 4}),
        node("n2", has={"cpu": 8, "memory": "16Gi"}),
        node("n3", has={"cpu": 8, "memory": "16Gi"}),
    ]
    pods = {
        "n1": NodePods(nanos(cpu=6), nanos(cpu=1.5, memory=2**30)),
        "n2": NodePods({}, nanos(cpu=99, gpu=2)),
        "gone": NodePods({}, nanos(cpu=1)),
    }
    inventory = taken(nodes, parameters=RESERVE, pods=pods)
    assert amounts(inventory.observation) == {"batch": {"cpu": "14500m", "memory": "47Gi", GPU: "4"}}
    assert inventory.observation.summary == (
        f"batch: 3 nodes, 4 {GPU} (without 9500m cpu, 1Gi memory reserved for pods that Kueue does not manage)"
    )
    assert inventory.counts["batch"].reserve.nanos == {"cpu": 9_500_000_000, "memory": 2**30 * 10**9}


def test_pods_that_kueue_manages_are_not_kept_back() -> None:
    """Kueue subtracts its own usage."""
    observation = seen([node(has={"cpu": 8})], parameters=RESERVE, pods={"n1": NodePods(nanos(cpu=5))})
    assert observation.summary == "batch: 1 node, 8 cpu"


def test_nothing_is_kept_back_of_nodes_that_do_not_count() -> None:
    pods = {"n1": NodePods({}, nanos(cpu=1))}
    observation = seen([node(unschedulable=True), node("n2")], parameters=RESERVE, pods=pods)
    assert observation.summary == "batch: 1 node, 1 cpu; excluded: Cordoned=1"


def test_by_default_nothing_is_kept_back() -> None:
    observation = seen([node()], parameters=spec(), pods={"n1": NodePods({}, nanos(cpu=1))})
    assert amounts(observation) == {"batch": {"cpu": "1"}}


def test_where_only_cordoned_nodes_are_asked_for_nothing_is_kept_back() -> None:
    """And the other way round, of a cordoned node nothing counts."""
    pods = {name: NodePods(nanos(cpu=0.5), nanos(cpu=0.25)) for name in ("n1", "n2")}
    nodes = [node("n1"), node("n2", unschedulable=True)]
    assert amounts(seen(nodes, parameters=COUNT_ALLOCATED, pods=pods)) == {"batch": {"cpu": "1500m"}}
    assert amounts(seen(nodes, parameters=RESERVE, pods=pods)) == {"batch": {"cpu": "750m"}}


def test_a_node_that_is_full_of_other_pods_stays_an_explicit_zero() -> None:
    observation = seen([node()], parameters=RESERVE, pods={"n1": NodePods({}, nanos(cpu=1))})
    assert amounts(observation) == {"batch": {"cpu": "0"}}


def test_the_summary_says_of_each_flavor_what_pods_hold_of_it() -> None:
    """Of another flavor it would be a riddle."""
    nodes = [
        node("n1", has={GPU: 8, "cpu": 96}),
        node("n2", unschedulable=True, has={GPU: 8, "cpu": 96}),
        node("n3", {"pool": "b"}),
        node("n4", {"pool": "b"}, unschedulable=True),
        node("n5", {"pool": "c"}),
    ]
    pods = {
        "n1": NodePods({}, nanos(cpu=1, gpu=2)),
        "n2": NodePods(nanos(cpu=40, gpu=4)),
        "n4": NodePods(nanos(cpu=0.25)),
    }
    parameters = spec(cordoned=Cordoned.COUNT_ALLOCATED, reserve=Reserve.UNMANAGED_PODS)
    flavors = [flavor("h100"), flavor("batch", {"pool": "b"}), flavor("idle", {"pool": "c"})]
    assert seen(nodes, flavors, parameters=parameters, pods=pods).summary == (
        f"h100: 1 node, 10 {GPU} (including 4 {GPU} still allocated on cordoned nodes; "
        f"without 1 cpu, 2 {GPU} reserved for pods that Kueue does not manage); "
        "batch: 1 node, 1250m cpu (including 250m cpu still allocated on cordoned nodes); "
        "idle: 1 node, 1 cpu; excluded: Cordoned=2"
    )


def test_the_summary_does_not_speak_of_amounts_that_it_does_not_show() -> None:
    """Every pod takes one of `pods`, which tells nobody anything."""
    nodes = [node("n1", has={"pods": 110}), node("n2", has={"pods": 110}, unschedulable=True)]
    pods = {name: NodePods(nanos(pods=3), nanos(pods=2)) for name in ("n1", "n2")}
    parameters = spec(cordoned=Cordoned.COUNT_ALLOCATED, reserve=Reserve.UNMANAGED_PODS)
    observation = seen(nodes, parameters=parameters, pods=pods)
    assert amounts(observation) == {"batch": {"pods": "111"}}
    assert observation.summary == "batch: 1 node; excluded: Cordoned=1"
