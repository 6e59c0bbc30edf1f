"""Distribution: splits units of capacity in proportion to nominal quotas. Integers only.

Source of every rule: Dynamic Quota Orchestration in the documentation of Kueue 0.20,
section Distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from orchestrator.members import Member


def split(capacity: int, weights: Sequence[int]) -> list[int]:
    """Shares of `capacity` in proportion to the weights, in their order.

    Each share is rounded down; the units left over go one each to the largest remainders, ties to the earlier
    position: so the weights come ordered by UID. The shares sum to the capacity, or are all 0 where every weight is. A
        weight of 0 gets 0.

    Args:
        capacity: units to split, 0 or more.
        weights: 0 or more each, in any common unit.
    """
    total = sum(weights)
    if total == 0:
        return [0] * len(weights)
    products = [capacity * weight for weight in weights]
    shares = [product // total for product in products]
    left_over = capacity - sum(shares)
    if left_over == 0:
        return shares
    remainders = [product % total for product in products]
    # The remainders sum to left_over × total and each is below the total: the threshold is above 0, so a weight of 0
    # is too low.
    threshold = sorted(remainders, reverse=True)[left_over - 1]
    at_threshold = left_over - sum(1 for remainder in remainders if remainder > threshold)
    for position, remainder in enumerate(remainders):
        if remainder > threshold:
            shares[position] += 1
        elif remainder == threshold and at_threshold:
            shares[position] += 1
            at_threshold -= 1
    return shares


def distribute(
    members: Iterable[Member], flavors: AbstractSet[str], units: Callable[[FlavorResource], int]
) -> Mapping[FlavorResource, list[int]]:
    """Shares of every pair in an orchestrated flavor, in the order of the members that declare the pair.

    The split is flat: Cohorts and ClusterQueues of every level share one pool.

    Args:
        members: of the subtree, ordered by UID.
        flavors: the orchestrated ones; pairs of others are not split.
        units: units of a pair that there are to split (1m for cpu, 1 for every other resource).

    Returns:
        Units by pair, one for each member that declares it.
    """
    weights: dict[FlavorResource, list[int]] = {}
    for member in members:
        for pair, quota in quotas_by_pair(member.declared):
            if pair.flavor in flavors:
                weights.setdefault(pair, []).append(quota.nominal_quota.nanos)
    return {pair: split(units(pair), _reduced(nominal)) for pair, nominal in weights.items()}


def _reduced(weights: list[int]) -> list[int]:
    """The same proportions in smaller numbers, which are quicker to multiply than nanos."""
    divisor = math.gcd(*weights)
    return [weight // divisor for weight in weights] if divisor > 1 else weights
