"""What parameters make of nodes: required resources, conditions, the ready delay, a selector."""

from __future__ import annotations

import datetime
import itertools

import pytest

from kueue_dqo.api.core import NodeCondition, Toleration
from kueue_dqo.api.parameters import (
    ExcludedCondition,
    LabelSelector,
    RequiredResource,
    SelectorExpression,
    SelectorOperator,
)
from providers.node_inventory.exclusion import Exclusion, Rules
from tests.unit.providers.node_inventory.inventory import (
    GPU,
    GPU_TAINT,
    NOW,
    READY,
    amounts,
    flavor,
    node,
    ready_since,
    seen,
    spec,
)

NEEDS_GPU = spec(required_resources=(RequiredResource("batch", GPU),))
SICK = spec(excluded_conditions=(ExcludedCondition("Sick"), ExcludedCondition("NetworkReady", "Unknown")))

# --- required resources --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("has", "counts"),
    [
        pytest.param({"cpu": 8}, False, id="not there yet"),
        pytest.param({"cpu": 8, GPU: 0}, False, id="an explicit zero"),
        pytest.param({"cpu": 8, GPU: "1"}, True, id="one"),
        pytest.param({"cpu": 8, "example.com/gpu": 4}, False, id="another resource"),
    ],
)
def test_a_node_counts_once_it_has_what_its_flavor_requires(has: dict[str, object], counts: bool) -> None:
    """Else the CPU of a GPU node would be handed out before its GPUs appear."""
    observation = seen([node(has=has)], parameters=NEEDS_GPU)
    assert ("batch: 1 node" in observation.summary) is counts
    assert observation.summary.endswith("excluded: MissingRequiredResource=1") is not counts


def test_a_required_resource_is_of_one_flavor() -> None:
    """Nodes of another flavor count without it."""
    flavors = [flavor(), flavor("plain", {"pool": "b"})]
    observation = seen([node(), node("n2", {"pool": "b"})], flavors, parameters=NEEDS_GPU)
    assert amounts(observation) == {"plain": {"cpu": "1"}}


def test_every_required_resource_has_to_be_there() -> None:
    required = spec(required_resources=(RequiredResource("batch", GPU), RequiredResource("batch", "example.com/nic")))
    assert seen([node(has={GPU: 8})], parameters=required).summary.endswith("MissingRequiredResource=1")
    assert amounts(seen([node(has={GPU: 8, "example.com/nic": 1})], parameters=required)) != {}


# --- excluded conditions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "counts"),
    [
        pytest.param(NodeCondition("Sick", "True"), False, id="its status is True unless said otherwise"),
        pytest.param(NodeCondition("Sick", "False"), True, id="another status"),
        pytest.param(NodeCondition("Sick", "Unknown"), True, id="nobody knows"),
        pytest.param(NodeCondition("NetworkReady", "Unknown"), False, id="the status that is named"),
        pytest.param(NodeCondition("NetworkReady", "True"), True, id="not the status that is named"),
        pytest.param(NodeCondition("Other", "True"), True, id="another condition"),
    ],
)
def test_a_node_with_an_excluded_condition_does_not_count(condition: NodeCondition, counts: bool) -> None:
    observation = seen([node(conditions=(*READY, condition))], parameters=SICK)
    assert amounts(observation) == ({"batch": {"cpu": "1"}} if counts else {})
    assert observation.summary.endswith("excluded: ExcludedCondition=1") is not counts


# --- ready delay ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        pytest.param(0, 120, id="just now"),
        pytest.param(30, 90, id="a while ago"),
        pytest.param(30.25, 90, id="rounded up to whole seconds"),
        pytest.param(119.5, 1, id="half a second to go"),
        pytest.param(120, None, id="for exactly so long"),
        pytest.param(3600, None, id="long ago"),
        pytest.param(-1, 120, id="a clock that is ahead by a second"),
        pytest.param(-86400, 120, id="a clock that is ahead by a day"),
    ],
)
def test_a_node_counts_when_it_has_been_ready_for_the_delay(age: float, wait: int | None) -> None:
    """It says when to look again: never at once, and never later than the delay takes."""
    observation = seen([node(conditions=ready_since(age))], parameters=spec(120))
    assert observation.look_again == wait
    assert amounts(observation) == ({} if wait else {"batch": {"cpu": "1"}})
    assert observation.summary.endswith("excluded: ReadyDelay=1") is (wait is not None)


def test_the_node_counts_at_the_time_that_was_named() -> None:
    """Else it would be looked at again and again."""
    waiting = [node(conditions=ready_since(30.25))]
    wait = seen(waiting, parameters=spec(120)).look_again
    assert wait is not None
    then = NOW + datetime.timedelta(seconds=wait)
    assert amounts(seen(waiting, parameters=spec(120), now=then)) == {"batch": {"cpu": "1"}}


def test_the_next_look_is_for_the_first_node_whose_delay_ends() -> None:
    """In whatever order they come."""
    nodes = [node(f"n{age}", conditions=ready_since(age)) for age in (10, 100, 50, 500)]
    for order in itertools.permutations(nodes):
        assert seen(order, parameters=spec(120)).look_again == 20


def test_a_node_that_does_not_say_since_when_it_is_ready_counts() -> None:
    """A dump may lack it; without a delay nobody asks."""
    assert amounts(seen([node()], parameters=spec(120))) == {"batch": {"cpu": "1"}}
    assert seen([node(conditions=ready_since(0))]).look_again is None


def test_a_node_that_waits_for_something_else_is_no_reason_to_look_again() -> None:
    """Nobody knows when its kubelet comes back."""
    nodes = [node(conditions=(NodeCondition("Ready", "False", NOW),))]
    assert seen(nodes, parameters=spec(120)).look_again is None


# --- the order -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("states", list(itertools.product([True, False], repeat=7)))
def test_of_all_reasons_the_first_in_their_order_is_given(states: tuple[bool, ...]) -> None:
    """The order in which `Exclusion` lists them."""
    deleting, not_ready, cordoned, tainted, missing, sick, young = states
    ready = NodeCondition("Ready", "False" if not_ready else "True", NOW - datetime.timedelta(seconds=not young and 60))
    one = node(
        deleting=deleting,
        conditions=(NodeCondition("Sick", "True"), ready) if sick else (ready,),
        unschedulable=cordoned,
        taints=(GPU_TAINT,) if tainted else (),
        has={"cpu": 1} if missing else {"cpu": 1, GPU: 1},
    )
    parameters = spec(60, required_resources=NEEDS_GPU.required_resources, excluded_conditions=SICK.excluded_conditions)
    expected = next((reason for reason, holds in zip(Exclusion, states, strict=True) if holds), None)
    assert Rules(flavor(), parameters, NOW).why_excluded(one) is expected


# --- the selector --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "counts"),
    [
        pytest.param(LabelSelector(), True, id="everything"),
        pytest.param(LabelSelector({"zone": "1"}), True, id="a label"),
        pytest.param(LabelSelector({"zone": "2"}), False, id="another value"),
        pytest.param(
            LabelSelector({}, (SelectorExpression("zone", SelectorOperator.IN, ("1", "2")),)), True, id="an expression"
        ),
        pytest.param(
            LabelSelector({"zone": "1"}, (SelectorExpression("spot", SelectorOperator.EXISTS),)), False, id="both"
        ),
    ],
)
def test_a_node_that_is_not_selected_is_none_of_the_providers(selector: LabelSelector, counts: bool) -> None:
    """It is not even mentioned, whatever its state."""
    labels = {"pool": "a", "zone": "1"}
    nodes = [node(labels=labels), node("bad", labels, unschedulable=True)]
    observation = seen(nodes, parameters=spec(node_selector=selector))
    expected = "batch: 1 node, 1 cpu; excluded: Cordoned=1" if counts else "batch: 0 nodes"
    assert observation.summary == expected


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param(LabelSelector({"spot": "no"}), id="matchLabels"),
        pytest.param(
            LabelSelector({}, (SelectorExpression("spot", SelectorOperator.NOT_IN, ("yes",)),)), id="matchExpressions"
        ),
    ],
)
def test_nodes_that_differ_only_in_what_is_selected_by_are_told_apart(selector: LabelSelector) -> None:
    nodes = [
        node("n1", {"pool": "a", "spot": "yes"}, has={"cpu": 1}),
        node("n2", {"pool": "a", "spot": "no"}, has={"cpu": 2}),
    ]
    for order in itertools.permutations(nodes):
        assert amounts(seen(order, parameters=spec(node_selector=selector))) == {"batch": {"cpu": "2"}}


# --- what a person is told -----------------------------------------------------------------------------------------


def test_there_is_one_notice_for_each_reason_and_it_names_nodes_and_the_way_out() -> None:
    """Over all flavors; warnings where nobody wanted it so."""
    flavors = [flavor(tolerations=(Toleration("k", "Exists"),)), flavor("other", {"pool": "b"})]
    parameters = spec(
        120, required_resources=NEEDS_GPU.required_resources, excluded_conditions=SICK.excluded_conditions
    )
    with_gpu = {GPU: 1}
    nodes = [
        node("d", deleting=True),
        node("r2", conditions=()),
        node("r1", {"pool": "b"}, conditions=()),
        node("c", unschedulable=True),
        node("t", taints=(GPU_TAINT,)),
        node("m"),
        node("s", conditions=(*READY, NodeCondition("Sick", "True")), has=with_gpu),
        node("y", conditions=ready_since(5), has=with_gpu),
        node("ok", has=with_gpu),
    ]
    notices = seen(nodes, flavors, parameters=parameters).notices
    assert {notice.reason for notice in notices} == {"NodesExcluded"}
    assert [notice.message.partition(";")[0] for notice in notices] == [
        "1 node does not count, Deleting: d",
        "2 nodes do not count, NotReady: r1, r2",
        "1 node does not count, Cordoned: c",
        "1 node does not count, UntoleratedTaint: t",
        "1 node does not count, MissingRequiredResource: m",
        "1 node does not count, ExcludedCondition: s",
        "1 node does not count, ReadyDelay: y",
    ]
    assert [notice.is_warning for notice in notices] == [False, True, False, True, True, True, False]
    ways_out = [notice.message.partition("; ")[2] for notice in notices]
    for expected, found in zip(
        ("a new one counts", "describe node r1", "uncordon c", "nodeTaints", GPU, "(Sick=True, ", "for 2m"),
        ways_out,
        strict=True,
    ):
        assert expected in found


def test_a_notice_names_the_first_five_nodes_by_name() -> None:
    """The text is the same in whatever order the nodes come."""
    nodes = [node(f"n{number}", unschedulable=True) for number in (7, 3, 1, 6, 2, 5, 4)]
    (notice,) = seen(nodes).notices
    assert "7 nodes do not count, Cordoned: n1, n2, n3, n4, n5 and 2 more; " in notice.message
    assert seen(nodes[::-1]).notices == (notice,)


def test_where_every_node_counts_there_is_nothing_to_tell() -> None:
    assert seen([node()]).notices == ()
