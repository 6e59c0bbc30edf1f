"""The floor of the split: the loop that an engineer would write first."""

from __future__ import annotations

from collections.abc import Sequence


def plain_split(capacity: int, weights: Sequence[int], uids: Sequence[str]) -> list[int]:
    """Rounds down, then gives the units left over to the largest remainders, ties to the smaller UID."""
    total = sum(weights)
    if total == 0:
        return [0] * len(weights)
    shares: list[int] = []
    remainders: list[tuple[int, str, int]] = []
    for index, weight in enumerate(weights):
        share, remainder = divmod(capacity * weight, total)
        shares.append(share)
        remainders.append((-remainder, uids[index], index))
    remainders.sort()
    left = capacity - sum(shares)
    for _, _, index in remainders[:left]:
        shares[index] += 1
    return shares


def plain_split_in_order(capacity: int, weights: Sequence[int]) -> list[int]:
    """As above, for weights that come ordered by UID: a stable sort by the remainder is enough."""
    total = sum(weights)
    if total == 0:
        return [0] * len(weights)
    shares: list[int] = []
    remainders: list[int] = []
    for weight in weights:
        share, remainder = divmod(capacity * weight, total)
        shares.append(share)
        remainders.append(remainder)
    left = capacity - sum(shares)
    for index in sorted(range(len(weights)), key=remainders.__getitem__, reverse=True)[:left]:
        shares[index] += 1
    return shares
