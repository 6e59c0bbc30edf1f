"""What was counted at the last look, by provider and flavor, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

C = TypeVar("C")

PAIR: Final = ("provider", "flavor")
"""The labels that every series begins with."""


class CountMetrics(Collector, Generic[C]):
    """Series of the providers that were counted. Those of one that is gone are gone with it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: dict[str, Mapping[str, C]] = {}
        registry.register(self)

    def counted(self, provider: str, counts: Mapping[str, C]) -> None:
        """What was counted for one provider, by flavor."""
        self._counts[provider] = counts

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        for name in self._counts.keys() - providers:
            del self._counts[name]

    def rows(self) -> Iterator[tuple[tuple[str, str], C]]:
        """What was counted, by provider and flavor."""
        for provider, counts in sorted(self._counts.items()):
            for flavor, count in counts.items():
                yield (provider, flavor), count
