"""What holds for every split."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import FlavorQuotas, ResourceGroup, ResourceQuota
from kueue_dqo.api.resources import FlavorResource
from orchestrator.distribution import distribute, split
from orchestrator.members import Member
from tests.unit.orchestrator import reference

CAPACITIES = st.one_of(st.integers(0, 30), st.integers(0, 2**63 - 1), st.integers(0, 1000 * (2**63 - 1)))
FEW_WEIGHTS = st.one_of(
    st.lists(st.integers(0, 5), max_size=12),  # many ties, many zeros
    st.lists(st.integers(0, 10**9 * (2**63 - 1)), max_size=12),
    st.lists(st.sampled_from([0, 1, 10**9, 10**9 + 1, 2**63 - 1]), max_size=12),
)
MANY_WEIGHTS = st.builds(
    lambda pattern, times: pattern * times, st.lists(st.integers(0, 2**40), min_size=1, max_size=7), st.integers(1, 400)
)


@given(CAPACITIES, st.one_of(FEW_WEIGHTS, MANY_WEIGHTS))
@example(10, [1, 1, 1])
@example(5, [])
@example(5, [0])
def test_shares_sum_to_the_capacity_whenever_some_weight_is_positive(capacity: int, weights: list[int]) -> None:
    """Nothing is lost and nothing is made, over a handful of members and over thousands."""
    shares = split(capacity, weights)
    assert len(shares) == len(weights)
    assert sum(shares) == (capacity if any(weights) else 0)


@given(CAPACITIES, FEW_WEIGHTS)
def test_each_share_is_within_one_unit_of_the_exact_one(capacity: int, weights: list[int]) -> None:
    """Rounded down, or one unit more; and nothing where the weight is 0."""
    total = sum(weights)
    for share, weight in zip(split(capacity, weights), weights, strict=True):
        exact = Fraction(capacity * weight, total) if total else Fraction(0)
        assert share in {math.floor(exact), math.floor(exact) + 1}
        assert share == exact or exact.denominator > 1
        assert share == 0 or weight > 0


@given(CAPACITIES, FEW_WEIGHTS)
def test_units_left_over_go_to_the_largest_remainders_and_of_equal_ones_to_the_earlier(
    capacity: int, weights: list[int]
) -> None:
    """Whoever got a unit ranks before whoever did not."""
    total = sum(weights) or 1
    got = [
        (capacity * weight % total, -at, share > capacity * weight // total)
        for at, (weight, share) in enumerate(zip(weights, split(capacity, weights), strict=True))
    ]
    lucky = [(remainder, position) for remainder, position, more in got if more]
    unlucky = [(remainder, position) for remainder, position, more in got if not more]
    assert not lucky or not unlucky or min(lucky) > max(unlucky)


@given(CAPACITIES, st.one_of(FEW_WEIGHTS, MANY_WEIGHTS.map(lambda weights: weights[:200])))
def test_shares_agree_with_the_reference(capacity: int, weights: list[int]) -> None:
    """An independent computation in fractions."""
    assert split(capacity, weights) == reference.split(capacity, weights)


@given(CAPACITIES, FEW_WEIGHTS, st.integers(2, 10**9))
def test_only_the_proportions_of_the_weights_count(capacity: int, weights: list[int], factor: int) -> None:
    """Nominal quotas in cpus or in nanos of cpus split alike."""
    assert split(capacity, [weight * factor for weight in weights]) == split(capacity, weights)


@given(CAPACITIES, st.integers(0, 100), FEW_WEIGHTS)
def test_a_weight_of_zero_has_no_part_in_the_split(capacity: int, at: int, weights: list[int]) -> None:
    """The others get what they would get without it."""
    at = min(at, len(weights))
    shares = split(capacity, [*weights[:at], 0, *weights[at:]])
    assert shares.pop(at) == 0
    assert shares == split(capacity, weights)


@given(
    st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), CAPACITIES),
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["f", "g", "h"]), st.sampled_from(["cpu", "memory", "pods"]), st.integers(0, 99)),
            unique_by=lambda entry: entry[:2],
            max_size=9,
        ),
        max_size=6,
    ),
)
def test_each_pair_is_split_by_itself_over_those_who_list_it(
    units: dict[str, int], declared: list[list[tuple[str, str, int]]]
) -> None:
    """In the order of the members; pairs of a flavor that is not orchestrated are left out."""
    members = [_member(at, quotas) for at, quotas in enumerate(declared)]
    got = distribute(members, {"f", "g", "unused"}, lambda pair: units.get(pair.resource, 0))
    wanted: dict[FlavorResource, list[int]] = {}
    for flavor, resource in {(flavor, resource) for quotas in declared for flavor, resource, _ in quotas}:
        weights = [nominal for quotas in declared for *pair, nominal in quotas if pair == [flavor, resource]]
        if flavor != "h":
            wanted[FlavorResource(flavor, resource)] = reference.split(units.get(resource, 0), weights)
    assert got == wanted


def _member(at: int, quotas: list[tuple[str, str, int]]) -> Member:
    """A queue with one resource group for each pair."""
    groups = tuple(
        ResourceGroup((resource,), (FlavorQuotas(flavor, (ResourceQuota(resource, Quantity(nominal)),)),))
        for flavor, resource, nominal in quotas
    )
    return Member(ObjectKey(CLUSTER_QUEUE, f"q{at}"), f"{at}", "", groups, groups)
