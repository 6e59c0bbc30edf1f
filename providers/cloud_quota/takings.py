"""What CapacityProviders take of things that only a look at an account shows, kept for the looks of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import NamedTuple

from kueue_dqo.api.parameter_checks.cloud_shares import part_of
from kueue_dqo.api.parameters import Combine
from providers.cloud_quota.cloud import Derived, Draw


class Taking(NamedTuple):
    """What one flavor came to take."""

    flavor: str
    shares: Mapping[str, Fraction]
    """Of things, by what they are called: `Derived.taken` of its entries."""
    draws: Mapping[str, Draw]
    """Of limits: `Derived.draws` of its entries."""


def taking_of(flavor: str, combine: Combine, entries: Sequence[Derived]) -> Taking:
    """What the flavor takes with all its entries: of one thing the sum where it adds them up, else the largest part."""
    shares: dict[str, list[Fraction]] = {}
    draws: dict[str, list[Draw]] = {}
    for entry in entries:
        for name, part in entry.taken.items():
            shares.setdefault(name, []).append(part)
        for key, draw in entry.draws.items():
            draws.setdefault(key, []).append(draw)
    return Taking(
        flavor,
        {name: part_of(combine, parts) for name, parts in shares.items()},
        {key: each[0]._replace(amount=part_of(combine, [draw.amount for draw in each])) for key, each in draws.items()},
    )


class Takings:
    """Of one process, by CapacityProvider: those of the last look of each that came to the end.

    A look that fails for another reason leaves them as they are, as it leaves what is published.
    """

    def __init__(self) -> None:
        self._by_provider: dict[str, tuple[Taking, ...]] = {}

    def note(self, provider: str, takings: Iterable[Taking]) -> None:
        """What its flavors take by its last look, whether that is too much or not."""
        self._by_provider[provider] = tuple(takings)

    def of_others(self, provider: str) -> Iterator[tuple[str, Taking]]:
        """Those of all other CapacityProviders, with their names, in the order of these."""
        for name, takings in sorted(self._by_provider.items()):
            if name != provider:
                yield from ((name, each) for each in takings)

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        self._by_provider = {name: each for name, each in self._by_provider.items() if name in providers}
