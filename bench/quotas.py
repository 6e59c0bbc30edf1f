"""Input for the split: capacities and declared quotas of pairs, in the unit of each resource."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, NamedTuple

FLAVORS: Final = ("a100", "h100", "l40s", "on-demand")
RESOURCES: Final = ("cpu", "ephemeral-storage", "memory", "nvidia.com/gpu")
PAIRS: Final = len(FLAVORS) * len(RESOURCES)
GIBIBYTE: Final = 1024**3
_SEED: Final = 20


class Pair(NamedTuple):
    """What there is to split of one pair: weights in the order of the queues' UIDs."""

    flavor: str
    resource: str
    capacity: int
    weights: list[int]


def uids(queues: int) -> list[str]:
    """A UID for each queue, in their order."""
    chance = random.Random(_SEED)
    return sorted(f"{chance.getrandbits(128):032x}" for _ in range(queues))


def varied(queues: int) -> list[Pair]:
    """Weights of any size up to 2^40, hardly two alike, a few of them 0."""
    return _pairs(queues, lambda chance, _: 0 if chance.random() < 0.01 else chance.getrandbits(40))


def realistic(queues: int) -> list[Pair]:
    """Weights as people write them: few distinct ones, many 0."""
    return _pairs(queues, lambda chance, resource: chance.choice(_USUAL[resource]))


_USUAL: Final = {
    "cpu": (0, 4_000, 8_000, 16_000, 32_000, 64_000, 96_000, 500_000),
    "ephemeral-storage": (0, *(size * GIBIBYTE for size in (100, 200, 500, 1024))),
    "memory": tuple(size * GIBIBYTE for size in (16, 32, 64, 128, 256, 400, 1024, 2048)),
    "nvidia.com/gpu": (0, 0, 1, 2, 4, 8, 16, 64),
}

INPUTS: Final = {"varied": varied, "realistic": realistic}


def _pairs(queues: int, weight: Callable[[random.Random, str], int]) -> list[Pair]:
    pairs: list[Pair] = []
    for flavor in FLAVORS:
        for resource in RESOURCES:
            chance = random.Random(f"{_SEED} {flavor} {resource}")
            weights = [weight(chance, resource) for _ in range(queues)]
            capacity = sum(weights) * chance.randrange(50, 125) // 100 + 7
            pairs.append(Pair(flavor, resource, capacity, weights))
    return pairs
