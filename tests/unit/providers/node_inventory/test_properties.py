"""What holds of every cluster: a brute-force reference agrees, order never matters, more nodes are never less."""

from __future__ import annotations

import random
import re

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.core import Node, NodeStatus
from kueue_dqo.api.parameters import Cordoned, Reserve
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, InvalidCapacity, Observation
from tests.unit.providers.node_inventory.clusters import NANOS_OF, ODD, USUAL, Cluster, clusters, nodes
from tests.unit.providers.node_inventory.reference import expected_of

FEWER = settings(max_examples=300)
"""The reference has the thousand."""


def texts(found: Observation | CapacityError) -> object:
    """The whole answer as it is published: quantities by their text, which shows their format."""
    if isinstance(found, CapacityError):
        return type(found), str(found)
    capacity = [(each.name, [*map(str, each.resources.items())]) for each in found.capacity.flavors]
    return found.summary, capacity, found.look_again, found.notices


def amounts(found: Observation | CapacityError) -> dict[tuple[str, str], Quantity]:
    """Of a cluster that publishes anything."""
    assume(isinstance(found, Observation))
    assert isinstance(found, Observation)
    return {
        (each.name, resource): quantity
        for each in found.capacity.flavors
        for resource, quantity in each.resources.items()
    }


def is_less(one: Observation | CapacityError, other: Observation | CapacityError) -> bool:
    """Or the same: an absent pair is nothing."""
    most = amounts(other)
    return all(quantity <= most.get(pair, Quantity(0)) for pair, quantity in amounts(one).items())


def test_the_amounts_of_this_test_are_what_they_are_taken_for() -> None:
    """By hand and by the parser."""
    assert {text: Quantity.of(text).nanos for text in NANOS_OF} == NANOS_OF


@given(clusters(ODD))
def test_a_brute_force_reference_agrees(cluster: Cluster) -> None:
    """On amounts, on what the summary says, and on whether anything is published at all."""
    found, expected = cluster.seen(), expected_of(cluster)
    event(expected.error.__name__ if expected.error else "published")
    if isinstance(found, CapacityError):
        assert type(found) is expected.error, str(found)
        return
    assert expected.error is None
    assert {
        each.name: {resource: quantity.nanos for resource, quantity in each.resources.items()}
        for each in found.capacity.flavors
    } == expected.nanos
    listed, _, why = found.summary.partition("; excluded: ")
    assert {name: int(count) for name, count in re.findall(r"(f\d): (\d+) nodes?", listed)} == expected.counted
    assert {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", why)} == expected.excluded
    assert [notice.message.partition(":")[0].split()[-1] for notice in found.notices] == re.findall(r"(\w+)=", why)
    assert (found.look_again is not None) is ("ReadyDelay" in expected.excluded)


@FEWER
@given(clusters(ODD), st.randoms(use_true_random=False))
def test_the_order_of_nodes_changes_no_word_of_the_answer(cluster: Cluster, chance: random.Random) -> None:
    """Amounts, formats, summary, message: else a status is written anew when a list comes in another order."""
    order = list(cluster.nodes)
    chance.shuffle(order)
    assert texts(cluster.seen(order)) == texts(cluster.seen())


@FEWER
@given(clusters(most_others=0), nodes(USUAL))
def test_one_more_node_never_lowers_a_capacity(cluster: Cluster, another: Node) -> None:
    """Whatever node it is: it adds, or it changes nothing."""
    assert is_less(cluster.seen(), cluster.seen([*cluster.nodes, another]))


@FEWER
@given(clusters(most_others=0))
def test_what_is_still_allocated_on_cordoned_nodes_is_never_more_than_they_have(cluster: Cluster) -> None:
    """It is something between no cordoned node at all and every one of them counting in full."""
    uncordoned = [
        Node(each.metadata, type(each.spec)(unschedulable=False, taints=()), each.status) for each in cluster.nodes
    ]
    without_taints = [
        Node(each.metadata, type(each.spec)(each.spec.unschedulable, ()), each.status) for each in cluster.nodes
    ]
    plain = cluster._replace(parameters=type(cluster.parameters)(resources=cluster.claim.selection))
    excluded = plain.seen(without_taints, cordoned=Cordoned.EXCLUDE)
    still_there = plain.seen(without_taints, cordoned=Cordoned.COUNT_ALLOCATED)
    assert is_less(excluded, still_there)
    assert is_less(still_there, plain.seen(uncordoned))


@FEWER
@given(clusters(most_others=0))
def test_a_reserve_only_lowers_and_never_below_nothing(cluster: Cluster) -> None:
    """Whatever pods request there, also more than the node has."""
    with_reserve, without = (cluster.seen(reserve=reserve) for reserve in (Reserve.UNMANAGED_PODS, Reserve.NONE))
    assert is_less(with_reserve, without)
    assert all(quantity >= Quantity(0) for quantity in amounts(with_reserve).values())
    assert amounts(with_reserve).keys() == amounts(without).keys()


@FEWER
@given(clusters(), st.lists(nodes(USUAL), min_size=6, max_size=6))
def test_the_health_of_nodes_never_decides_whether_flavors_overlap(cluster: Cluster, other_states: list[Node]) -> None:
    """A cordon, a taint, a silent kubelet: what was refused stays refused, and what was published is published."""
    changed = [
        Node(node.metadata, state.spec, NodeStatus(node.status.allocatable, state.status.conditions))
        for node, state in zip(cluster.nodes, other_states, strict=False)
    ]
    before, after = cluster.seen(), cluster.seen(changed)
    # Sums beyond all bounds are of nodes that count, so these do depend on their health.
    assume(not isinstance(before, InvalidCapacity) and not isinstance(after, InvalidCapacity))
    assert isinstance(before, CapacityError) == isinstance(after, CapacityError)
    if isinstance(before, CapacityError):
        assert texts(before) == texts(after)


@FEWER
@given(clusters())
def test_the_order_of_other_providers_changes_no_word_of_the_answer(cluster: Cluster) -> None:
    """Nobody comes first among them."""
    assert texts(cluster._replace(others=cluster.others[::-1]).seen()) == texts(cluster.seen())
