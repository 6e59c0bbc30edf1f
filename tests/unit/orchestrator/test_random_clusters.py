"""What holds in every cluster: random trees, cycles and missing parents included, with random orchestrators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from random import Random
from typing import Final, NamedTuple, TypeVar

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.dqo import (
    DISTRIBUTED,
    EFFECTIVE_CAPACITY_COMPUTED,
    CapacityProvider,
    DynamicQuotaOrchestrator,
)
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey, find_condition
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import ResourceGroup, quotas_by_pair
from orchestrator.compute import Outcome
from orchestrator.members import Member
from tests.unit.orchestrator import reference
from tests.unit.orchestrator.builders import (
    Quota,
    Written,
    distributed,
    groups,
    orchestrator,
    provider,
    ref,
    settled,
    synchronized,
)

T = TypeVar("T")


class Objects(NamedTuple):
    """All that a snapshot is made of, each list in any order."""

    orchestrators: list[DynamicQuotaOrchestrator]
    providers: list[CapacityProvider]
    members: list[Member]


COHORTS: Final = [f"c{n}" for n in range(4)]
KEYS: Final = [*(ObjectKey(COHORT, name) for name in COHORTS), *(ObjectKey(CLUSTER_QUEUE, f"q{n}") for n in range(5))]
NAMES: Final = ["o0", "o1", "o2", "o3"]
UIDS: Final = ["", "u1", "u2", "u3"]
"""Few, so that some are equal."""
PARENTS: Final = [None, "", *COHORTS, *COHORTS]
"""None: the object is not there."""
OWNERS: Final = [*[None] * 12, *map(ref, NAMES), ref("gone"), ref("o0", kind="Other"), ref("o0", group="")]

PAIRS: Final = [("f", "cpu"), ("f", "memory"), ("g", "cpu"), ("h", "pods")]
NOMINAL: Final[tuple[Written, ...]] = (0, 1, 1, 2, 3, "500m", "0.333", "1Gi")
LIMITS: Final = ((None, None), (2, 0), (0, 2), (None, 1))
AMOUNTS: Final[tuple[Written, ...]] = (0, 1, 7, 10, "9500m", "1Gi", "333n")
ENTRIES: Final[list[dict[str, Written]]] = [
    {"p0": 1},
    {"p1": "0.95"},
    {"p0": 0, "p1": 1},
    {"p0": "1.5", "p1": "1m"},
    {"p1": "333333333n", "p0": "1.000000001"},
    {"p0": 1, "stale": 1},
    {"gone": 1},
]


def _by_flavor(cells: Iterable[tuple[tuple[str, str], T]]) -> dict[str, dict[str, T]]:
    flavors: dict[str, dict[str, T]] = {}
    for (flavor, resource), cell in cells:
        flavors.setdefault(flavor, {})[resource] = cell
    return flavors


def _subsets(cells: Iterable[T]) -> list[dict[str, dict[str, T]]]:
    """Every set of up to three pairs, several times, with cells in turn."""
    in_turn = itertools.cycle(cells)
    return [
        _by_flavor(zip(chosen, in_turn))  # noqa: B905  # the cells never end
        for _ in range(5)
        for count in range(4)
        for chosen in itertools.combinations(PAIRS, count)
    ]


DECLARED: Final = [
    groups(flavors) if flavors else ()
    for flavors in _subsets(Quota(nominal, *limits) for nominal, limits in itertools.product(NOMINAL, LIMITS))
]
REPORTS: Final = st.tuples(st.sampled_from(_subsets(AMOUNTS)), st.sampled_from(["f", "fg", "gh", "fgh", ""]))
STALE: Final = provider("stale", {"f": {"cpu": 1}}, generation=2, conditions=(synchronized(observed=1),))
PLACES: Final = st.tuples(
    *(
        st.tuples(st.sampled_from(PARENTS), st.sampled_from(UIDS), st.sampled_from(DECLARED), st.sampled_from(OWNERS))
        for _ in KEYS
    )
)
ORCHESTRATORS: Final = st.tuples(
    *(
        st.tuples(
            st.sampled_from(ENTRIES),
            st.sampled_from([None, *KEYS[:4], *KEYS]),
            st.sampled_from(UIDS),
            st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z"]),
            st.sampled_from([False, False, False, False, True]),
            st.sampled_from([(), (distributed("True"),), (distributed("False"),)]),
        )
        for _ in NAMES
    )
)


@st.composite
def clusters(draw: st.DrawFn) -> Objects:
    """A cluster with everything that can be wrong with it."""
    members = [
        Member(key, uid, parent, declared, declared, owner)
        for key, (parent, uid, declared, owner) in zip(KEYS, draw(PLACES), strict=True)
        if parent is not None
    ]
    orchestrators = [
        orchestrator(
            name, multipliers=entries, root=root, uid=uid, created=created, deleting=deleting, conditions=conditions
        )
        for name, (entries, root, uid, created, deleting, conditions) in zip(NAMES, draw(ORCHESTRATORS), strict=True)
    ]
    providers = [provider(name, *draw(REPORTS)) for name in ("p0", "p1")]
    return Objects(orchestrators, [*providers, STALE], members)


def _written(outcomes: dict[str, Outcome]) -> dict[str, set[ObjectKey]]:
    return {name: set(outcome.quotas) for name, outcome in outcomes.items() if outcome.quotas}


@given(clusters())
def test_capacities_agree_with_the_reference(cluster: Objects) -> None:
    """Every sum, or none where a provider is missing or stale."""
    expected = reference.Cluster(*cluster)
    for name, outcome in settled(*cluster).items():
        wanted = expected.capacity(name)
        capacity = outcome.status.effective_capacity
        computed = find_condition(outcome.status.conditions, EFFECTIVE_CAPACITY_COMPUTED)
        assert computed is not None
        assert computed.status == ("True" if wanted is not None else "False")
        assert (capacity is None) == (wanted is None)
        if capacity is None or wanted is None:
            continue
        assert {flavor.name for flavor in capacity.flavors} == {flavor for flavor, _ in wanted}
        assert {
            (flavor.name, resource): amount.nanos
            for flavor in capacity.flavors
            for resource, amount in flavor.resources.items()
        } == {pair: math.ceil(amount * 10**9) for pair, amount in wanted.items() if pair[1]}


@given(clusters())
def test_who_writes_where_and_what_agrees_with_the_reference(cluster: Objects) -> None:
    """Every target of those that distribute, with its share to the unit; nobody else writes anything."""
    expected = reference.Cluster(*cluster)
    outcomes = settled(*cluster)
    distributing = expected.distributing()
    assert {
        name
        for name, outcome in outcomes.items()
        if (condition := find_condition(outcome.status.conditions, DISTRIBUTED)) is not None
        and condition.status == "True"
    } == distributing
    assert _written(outcomes) == {name: expected.targets(name) for name in distributing}
    for name in distributing:
        got = {key: _nominal(quotas.resource_groups) for key, quotas in outcomes[name].quotas.items()}
        assert got == expected.quotas(name)


def _nominal(written: tuple[ResourceGroup, ...]) -> dict[tuple[str, str], Fraction]:
    return {
        (pair.flavor, pair.resource): Fraction(quota.nominal_quota.nanos, 10**9)
        for pair, quota in quotas_by_pair(written)
    }


@given(clusters())
def test_no_target_is_written_by_two_and_no_loser_writes(cluster: Objects) -> None:
    """Nor anybody that is being deleted, discovery-only or without capacity."""
    rules = reference.Cluster(*cluster)
    written = _written(settled(*cluster))
    targets = [target for own in written.values() for target in own]
    assert len(targets) == len(set(targets))
    for name in written:
        mine = rules.orchestrators[name]
        assert [other for other in rules.orchestrators if rules.outranks(other, name)] == []
        assert mine.metadata.deletion_timestamp is None
        assert mine.root is not None
        assert rules.capacity(name) is not None


@given(clusters())
def test_limits_are_copied_and_only_a_queue_lends_no_more_than_it_has(cluster: Objects) -> None:
    """What is written has the shape of what was declared; flavors that are not orchestrated keep their quotas."""
    rules = reference.Cluster(*cluster)
    for name, outcome in settled(*cluster).items():
        flavors = {flavor for flavor, _ in rules.capacity(name) or ()}
        for key, quotas in outcome.quotas.items():
            assert quotas.orchestrator_ref == ref(name)
            declared = rules.members[key].declared
            assert _shape(quotas.resource_groups) == _shape(declared)
            for (pair, got), (_, meant) in zip(
                quotas_by_pair(quotas.resource_groups), quotas_by_pair(declared), strict=True
            ):
                assert pair.flavor in flavors or got.nominal_quota == meant.nominal_quota
                assert got.borrowing_limit == meant.borrowing_limit
                capped = key.kind == CLUSTER_QUEUE and pair.flavor in flavors
                most = got.nominal_quota if capped else None
                assert got.lending_limit == _at_most(meant.lending_limit, most)


def _shape(declared: Iterable[ResourceGroup]) -> object:
    """All but the numbers."""
    return [
        (
            group.covered_resources,
            [(flavor.name, [quota.name for quota in flavor.resources]) for flavor in group.flavors],
        )
        for group in declared
    ]


def _at_most(limit: Quantity | None, most: Quantity | None) -> Quantity | None:
    return limit if limit is None or most is None else min(limit, most)


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_never_matters(cluster: Objects, random: Random) -> None:
    """Neither of orchestrators nor of providers nor of members."""
    assert settled(
        _shuffled(cluster.orchestrators, random),
        _shuffled(cluster.providers, random),
        _shuffled(cluster.members, random),
    ) == settled(*cluster)


def _shuffled(objects: list[T], random: Random) -> list[T]:
    return random.sample(objects, k=len(objects))


@given(clusters())
def test_outcomes_are_settled(cluster: Objects) -> None:
    """A second pass over what the first one wrote changes nothing."""
    outcomes = settled(*cluster)
    owners = {key: quotas.orchestrator_ref for each in outcomes.values() for key, quotas in each.quotas.items()}
    after = Objects(
        [
            msgspec.structs.replace(each, status=outcomes[each.metadata.name].status)
            if each.metadata.name in outcomes
            else each
            for each in cluster.orchestrators
        ],
        cluster.providers,
        [member._replace(owner=owners.get(member.key, member.owner)) for member in cluster.members],
    )
    assert settled(*after) == outcomes
