"""Small random clusters, drawn so that what matters happens often."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from hypothesis import strategies as st

from kueue_dqo.api.core import Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Taint, Toleration
from kueue_dqo.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import (
    Cordoned,
    ExcludedCondition,
    ExplicitZeros,
    LabelSelector,
    NodeInventoryParametersSpec,
    RequiredResource,
    Reserve,
    ResourceSelection,
    SelectorExpression,
    SelectorOperator,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, Observation
from providers.node_inventory.compute import observe
from providers.nodes.claims import Claim
from providers.nodes.pods import NodePods
from tests.unit.providers.node_inventory.inventory import NOW, asks, peer, spec

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
USUAL: Final = [text for text, nanos in NANOS_OF.items() if nanos >= 0]
ODD: Final = [*USUAL, "-1"]
RESOURCES: Final = ["cpu", "memory", "nvidia.com/gpu", "pods"]
FLAVORS: Final = ["f0", "f1", "f2", "f3"]
EFFECTS: Final = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
DELAY: Final = 60


class Cluster(NamedTuple):
    """All that the observation of one provider depends on."""

    claim: Claim
    parameters: NodeInventoryParametersSpec
    others: list[Claim]
    flavors: dict[str, ResourceFlavor]
    nodes: list[Node]
    pods: dict[str, NodePods]
    declared: dict[str, set[str]]

    def seen(self, nodes: Iterable[Node] | None = None, **changed: Any) -> Observation | CapacityError:
        """With these parameters changed."""
        parameters = msgspec.structs.replace(self.parameters, **changed)
        request = asks(self.flavors, self.claim, [peer(other) for other in self.others], parameters=parameters)
        try:
            return observe(request, self.nodes if nodes is None else nodes, self.declared, self.pods)
        except CapacityError as error:
            return error


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
SELECTORS: Final = [
    LabelSelector({"a": "1"}),
    LabelSelector({"a": "2"}),
    LabelSelector({}, (SelectorExpression("b", SelectorOperator.IN, ("1",)),)),
    LabelSelector({}, (SelectorExpression("b", SelectorOperator.NOT_IN, ("1",)),)),
    LabelSelector({"a": "1"}, (SelectorExpression("c", SelectorOperator.EXISTS),)),
    LabelSelector({}, (SelectorExpression("c", SelectorOperator.DOES_NOT_EXIST),)),
]
STATES: Final = [("True", False, False)] * 12 + list(
    itertools.product(["True", "False", "Unknown", None], [False, True], [False, True])
)
AGES: Final = [None, None, 3 * DELAY, DELAY, DELAY - 1, DELAY / 3, 0, -5, -3 * DELAY]
"""For how many seconds a node has been Ready; None: it does not say."""

CHOICES: Final = list(itertools.product(*[[False, True]] * 4, Cordoned, Reserve))
"""Of parameters: a delay, a required resource, an excluded condition, an explicit zero, and what pods do."""

selections = st.one_of(st.just(ResourceSelection()), st.sampled_from(SELECTIONS))
selectors = st.one_of(st.just(LabelSelector()), st.just(LabelSelector()), st.sampled_from(SELECTORS))
flavor_specs = st.builds(
    ResourceFlavorSpec,
    st.sampled_from([labels for labels in LABELS if len(labels) < 3 and "2" not in labels.values()]),
    st.sampled_from(TAINTS),
    st.sampled_from(TOLERATIONS),
)
HELD: Final = [dict(each) for each in few_of(itertools.product([*RESOURCES, "unknown"], [1, 10**9, 10**15]))]
pods = st.builds(NodePods, st.sampled_from(HELD), st.sampled_from(HELD))


def node_of(
    labels: dict[str, str],
    state: tuple[str | None, bool, bool],
    age: float | None,
    sick: str | None,
    taints: tuple[Taint, ...],
    allocatable: tuple[str | None, ...],
) -> Node:
    """A node of which one resource may be null, and another not named."""
    ready, unschedulable, deleting = state
    since = None if age is None else NOW - datetime.timedelta(seconds=age)
    conditions = () if ready is None else (NodeCondition("Ready", ready, since),)
    return Node(
        NodeMeta("n", labels, "2026-09-20T10:00:00Z" if deleting else None),
        NodeSpec(unschedulable, taints),
        NodeStatus(
            {
                resource: None if text is None else Quantity.of(text)
                for resource, text in zip(RESOURCES, allocatable, strict=True)
                if text != ""
            },
            conditions if sick is None else (NodeCondition("Sick", sick), *conditions),
        ),
    )


def nodes(amounts: list[str]) -> st.SearchStrategy[Node]:
    amount = st.sampled_from([*amounts, *amounts, None, ""])
    return st.builds(
        node_of,
        st.sampled_from(LABELS),
        st.sampled_from(STATES),
        st.sampled_from(AGES),
        st.sampled_from([None, None, "True", "False"]),
        st.one_of(st.just(()), st.sampled_from(TAINTS)),
        st.tuples(amount, amount, amount, amount),
    )


def named(found: list[Node]) -> list[Node]:
    return [
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, name=f"n{number}"))
        for number, each in enumerate(found)
    ]


@st.composite
def parameters(draw: st.DrawFn, claim: Claim) -> NodeInventoryParametersSpec:
    """What the claim says, and any of the rest; flavors are the claim's own."""
    flavor, resource = draw(st.sampled_from(list(itertools.product(claim.flavors, RESOURCES))))
    delays, requires, excludes, zeros, cordoned, reserve = draw(st.sampled_from(CHOICES))
    return spec(
        DELAY if delays else 0,
        resources=claim.selection,
        node_selector=claim.node_selector,
        required_resources=(RequiredResource(flavor, resource),) if requires else (),
        excluded_conditions=(ExcludedCondition("Sick"),) if excludes else (),
        explicit_zeros=(ExplicitZeros(flavor, (resource,)),) if zeros else (),
        cordoned=cordoned,
        reserve=reserve,
    )


@st.composite
def clusters(draw: st.DrawFn, amounts: list[str] = USUAL, most_others: int = 2) -> Cluster:
    """A few flavors, a few providers that claim them, a few nodes; others may claim a flavor that has no object."""
    existing = FLAVORS[: draw(st.integers(2, 4))]
    claimed = [each for each in few_of(existing) if each]
    others = [*claimed, *(each for each in few_of(FLAVORS) if each)]
    claims = [
        Claim(f"p{number}", draw(st.sampled_from(others if number else claimed)), draw(selections), draw(selectors))
        for number in range(1 + draw(st.integers(0, most_others)))
    ]
    found = named(draw(st.lists(nodes(amounts), max_size=6)))
    return Cluster(
        claims[0],
        draw(parameters(claims[0])),
        claims[1:],
        {name: ResourceFlavor(ObjectMeta(name), draw(flavor_specs)) for name in existing},
        found,
        dict(zip([each.metadata.name for each in found], draw(st.lists(pods, max_size=6)), strict=False)),
        {name: set(draw(st.sampled_from(few_of(RESOURCES)))) for name in existing},
    )
