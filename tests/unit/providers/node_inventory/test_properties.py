"""What holds of every cluster: a brute-force reference agrees, order never matters, more nodes are never less."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from hypothesis import assume, event, given
from hypothesis import strategies as st

from kueue_dqo.api.core import Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Taint, Toleration
from kueue_dqo.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, Observation
from providers.node_inventory.compute import Claim, observe

# Amounts and their nanos, worked out by hand: the reference must not trust the parser.
NANOS_OF: Final = {
    "0": 0,
    "1n": 1,
    "1": 10**9,
    "300m": 3 * 10**8,
    "0.7": 7 * 10**8,
    "1e3": 10**12,
    "12k": 12 * 10**12,
    "1Ki": 1024 * 10**9,
    "1.5Gi": 1610612736 * 10**9,
    "9007199254740993": 9007199254740993 * 10**9,
    "5Ei": 5764607523034234880 * 10**9,
    "-1": -(10**9),
}
USUAL: Final = [text for text, nanos in NANOS_OF.items() if 0 <= nanos < 10**27]
LARGEST_NANOS: Final = 9223372036854775807 * 10**9
RESOURCES: Final = ["cpu", "memory", "nvidia.com/gpu", "pods"]
FLAVORS: Final = ["f0", "f1", "f2", "f3"]
EFFECTS: Final = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
ODD: Final = [*USUAL, "5Ei", "-1"]


class Cluster(NamedTuple):
    """All that the observation of one provider depends on."""

    claim: Claim
    others: list[Claim]
    flavors: dict[str, ResourceFlavor]
    nodes: list[Node]
    declared: dict[str, set[str]]

    def seen(self, nodes: Iterable[Node] | None = None) -> Observation | CapacityError:
        try:
            return observe(self.claim, self.others, self.flavors, self.nodes if nodes is None else nodes, self.declared)
        except CapacityError as error:
            return error


def texts(found: Observation | CapacityError) -> object:
    """The whole answer as it is published: quantities by their text, which shows their format."""
    if isinstance(found, CapacityError):
        return type(found), str(found)
    return found.summary, [(each.name, [*map(str, each.resources.items())]) for each in found.capacity.flavors]


def reason(found: Observation | CapacityError) -> object:
    return type(found) if isinstance(found, CapacityError) else texts(found)


# Drawn from ready-made lists, because many small draws take most of the time of a test.
def few_of(values: Iterable[Any], at_most: int = 2) -> list[Any]:
    pool = list(values)
    return [each for length in range(at_most + 1) for each in itertools.combinations(pool, length)]


LABELS: Final = [dict(each) for each in few_of(itertools.product("abc", "12"), 3) if len(dict(each)) == len(each)]
TAINTS: Final = few_of(itertools.starmap(Taint, itertools.product("kl", EFFECTS, ["", "v"])))
TOLERATIONS: Final = few_of(
    itertools.starmap(Toleration, itertools.product(["", "k"], ["", "Exists", "Equal"], ["", "v"], ["", *EFFECTS[:2]]))
)
SELECTIONS: Final = [ResourceSelection(*each) for each in itertools.product(few_of(RESOURCES, 3), few_of(RESOURCES))]
STATES: Final = [("True", False, False)] * 12 + list(
    itertools.product(["True", "False", "Unknown", None], [False, True], [False, True])
)

selections = st.one_of(st.just(ResourceSelection()), st.sampled_from(SELECTIONS))
flavor_specs = st.builds(
    ResourceFlavorSpec,
    st.sampled_from([labels for labels in LABELS if len(labels) < 3 and "2" not in labels.values()]),
    st.sampled_from(TAINTS),
    st.sampled_from(TOLERATIONS),
)


def node_of(
    labels: dict[str, str],
    state: tuple[str | None, bool, bool],
    taints: tuple[Taint, ...],
    allocatable: tuple[str | None, ...],
) -> Node:
    """A node of which one resource may be null, and another not named."""
    ready, unschedulable, deleting = state
    return Node(
        NodeMeta("n", labels, "2026-09-20T10:00:00Z" if deleting else None),
        NodeSpec(unschedulable, taints),
        NodeStatus(
            {
                resource: None if text is None else Quantity.of(text)
                for resource, text in zip(RESOURCES, allocatable, strict=True)
                if text != ""
            },
            () if ready is None else (NodeCondition("Ready", ready),),
        ),
    )


def nodes(amounts: list[str]) -> st.SearchStrategy[Node]:
    amount = st.sampled_from([*amounts, *amounts, None, ""])
    return st.builds(
        node_of,
        st.sampled_from(LABELS),
        st.sampled_from(STATES),
        st.one_of(st.just(()), st.sampled_from(TAINTS)),
        st.tuples(amount, amount, amount, amount),
    )


def named(found: list[Node]) -> list[Node]:
    return [
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, name=f"n{number}"))
        for number, each in enumerate(found)
    ]


@st.composite
def clusters(draw: st.DrawFn, amounts: list[str] = USUAL, most_others: int = 2) -> Cluster:
    """A few flavors, a few providers that claim them, a few nodes; sometimes a flavor without an object."""
    existing = FLAVORS[: draw(st.integers(2, 4))]
    claimed = st.lists(st.sampled_from(existing * 4 + FLAVORS), min_size=1, max_size=2, unique=True).map(tuple)
    claims = [
        Claim(f"p{number}", draw(claimed), draw(selections)) for number in range(1 + draw(st.integers(0, most_others)))
    ]
    return Cluster(
        claims[0],
        claims[1:],
        {name: ResourceFlavor(ObjectMeta(name), draw(flavor_specs)) for name in existing},
        named(draw(st.lists(nodes(amounts), max_size=6))),
        {name: set(draw(st.sampled_from(few_of(RESOURCES)))) for name in existing},
    )


# --- the reference: slow, plain, and sharing no code with what it checks --------------------------------------------


class Expected(NamedTuple):
    """What should come out: the error, or amounts in nanos, how many nodes counted, and why others did not."""

    error: type[CapacityError] | None
    nanos: dict[str, dict[str, int]]
    counted: dict[str, int]
    excluded: Counter[str]


def selected(selection: ResourceSelection) -> set[str]:
    """Of all the resources there could be: those of this test, and one that stands for all others."""
    universe = {*RESOURCES, "any other"}
    return (set(selection.include) or universe) - set(selection.exclude)


def matches(flavor: ResourceFlavor, node: Node) -> bool:
    return all(node.metadata.labels.get(key) == value for key, value in flavor.spec.node_labels.items())


def tolerated(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.value == taint.value


def exclusion(flavor: ResourceFlavor, node: Node) -> str | None:
    if node.metadata.deletion_timestamp:
        return "Deleting"
    if {condition.type: condition.status for condition in node.status.conditions}.get("Ready") != "True":
        return "NotReady"
    if node.spec.unschedulable:
        return "Cordoned"
    for taint in node.spec.taints:
        if taint.effect == "PreferNoSchedule":
            continue
        declared = any(each.key == taint.key and each.effect == taint.effect for each in flavor.spec.node_taints)
        if not declared and not any(tolerated(each, taint) for each in flavor.spec.tolerations):
            return "UntoleratedTaint"
    return None


def rivals(cluster: Cluster) -> list[Claim]:
    """Of the others, those that report some resource which this provider reports too."""
    mine = selected(cluster.claim.selection)
    return [other for other in cluster.others if mine & selected(other.selection)]


def is_misconfigured(cluster: Cluster) -> bool:
    """A flavor is missing or claimed twice, or a node belongs to two claimed flavors."""
    for name in cluster.claim.flavors:
        if name not in cluster.flavors or any(name in rival.flavors for rival in rivals(cluster)):
            return True
    claimed = {name for claim in (cluster.claim, *rivals(cluster)) for name in claim.flavors} & cluster.flavors.keys()
    for node in cluster.nodes:
        of = {name for name in claimed if matches(cluster.flavors[name], node)}
        if of & set(cluster.claim.flavors) and len(of) > 1:
            return True
    return False


def counted_nodes(cluster: Cluster, name: str, excluded: Counter[str]) -> list[Node]:
    flavor = cluster.flavors[name]
    found = []
    for node in cluster.nodes:
        if matches(flavor, node):
            why = exclusion(flavor, node)
            if why is None:
                found.append(node)
            else:
                excluded[why] += 1
    return found


def expected_of(cluster: Cluster) -> Expected:
    """The rules of the node inventory, one after the other, over everything there is."""
    expected = Expected(None, {}, {}, Counter())
    selection = cluster.claim.selection
    added: list[int] = []
    for name in cluster.claim.flavors:
        if name not in cluster.flavors:
            continue
        found = counted_nodes(cluster, name, expected.excluded)
        expected.counted[name] = len(found)
        sums: dict[str, int] = {}
        for node in found:
            for resource, quantity in node.status.allocatable.items():
                if quantity is not None and resource in selected(selection):
                    added.append(quantity.nanos)
                    sums[resource] = sums.get(resource, 0) + quantity.nanos
        added += [LARGEST_NANOS - nanos for nanos in sums.values()]
        zeros = set(selection.include) or (set() if found else cluster.declared.get(name, set()))
        sums |= {resource: 0 for resource in zeros & selected(selection) if resource not in sums}
        if sums:
            expected.nanos[name] = sums
    if any(each < 0 for each in added):
        return expected._replace(error=InvalidCapacity)
    return expected._replace(error=Misconfigured) if is_misconfigured(cluster) else expected


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
    capacity = {each.name: each.resources for each in found.capacity.flavors}
    assert {
        name: {resource: quantity.nanos for resource, quantity in resources.items()}
        for name, resources in capacity.items()
    } == expected.nanos
    listed, _, why = found.summary.partition("; excluded: ")
    assert {name: int(count) for name, count in re.findall(r"(f\d): (\d+) nodes?", listed)} == expected.counted
    assert {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", why)} == expected.excluded


@given(clusters(ODD), st.randoms(use_true_random=False))
def test_the_order_of_nodes_changes_no_word_of_the_answer(cluster: Cluster, chance: random.Random) -> None:
    """Amounts, formats, summary, message: else a status is written anew when a list comes in another order."""
    order = list(cluster.nodes)
    chance.shuffle(order)
    assert texts(cluster.seen(order)) == texts(cluster.seen())


@given(clusters(most_others=0), nodes(USUAL))
def test_one_more_node_never_lowers_a_capacity(cluster: Cluster, another: Node) -> None:
    """Whatever node it is: it adds, or it changes nothing."""
    before, after = cluster.seen(), cluster.seen([*cluster.nodes, another])
    assume(not isinstance(before, CapacityError) and not isinstance(after, CapacityError))
    assert isinstance(before, Observation)
    assert isinstance(after, Observation)
    now = {each.name: each.resources for each in after.capacity.flavors}
    for each in before.capacity.flavors:
        for resource, quantity in each.resources.items():
            assert now.get(each.name, {}).get(resource, Quantity(0)) >= quantity


@given(clusters(), st.lists(nodes(USUAL), min_size=6, max_size=6))
def test_the_health_of_nodes_never_decides_whether_flavors_overlap(cluster: Cluster, other_states: list[Node]) -> None:
    """A cordon, a taint, a silent kubelet: what was refused stays refused, and what was published is published."""
    changed = [
        Node(node.metadata, state.spec, NodeStatus(node.status.allocatable, state.status.conditions))
        for node, state in zip(cluster.nodes, other_states, strict=False)
    ]
    before, after = cluster.seen(), cluster.seen(changed)
    assert isinstance(before, CapacityError) == isinstance(after, CapacityError)
    if isinstance(before, CapacityError):
        assert texts(before) == texts(after)


@given(clusters())
def test_the_order_of_other_providers_changes_no_result(cluster: Cluster) -> None:
    """Nobody comes first among them."""
    turned, straight = cluster._replace(others=cluster.others[::-1]).seen(), cluster.seen()
    assert reason(turned) == reason(straight)
    if not isinstance(straight, CapacityError):
        assert texts(turned) == texts(straight)
