"""What was counted at the last look, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.api.quantity import NANOS
from providers.node_inventory.counting import FlavorCount
from providers.node_inventory.exclusion import Exclusion

_PREFIX = "kueue_dqo_node_inventory"


class NodeMetrics(Collector):
    """Series of the providers that were counted. Those of one that is gone are gone with it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: dict[str, Mapping[str, FlavorCount]] = {}
        registry.register(self)

    def counted(self, provider: str, counts: Mapping[str, FlavorCount]) -> None:
        """What was counted for one provider, by flavor."""
        self._counts[provider] = counts

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        for name in self._counts.keys() - providers:
            del self._counts[name]

    def collect(self) -> Iterator[Metric]:
        pair = ("provider", "flavor")
        nodes = GaugeMetricFamily(f"{_PREFIX}_nodes", "Nodes that count", labels=pair)
        excluded = GaugeMetricFamily(
            f"{_PREFIX}_excluded_nodes",
            "Nodes that belong to the flavor and do not count, by the reason",
            labels=(*pair, "reason"),
        )
        reserve = GaugeMetricFamily(
            f"{_PREFIX}_reserve",
            "What was taken off the nodes that count, for pods that Kueue does not manage",
            labels=(*pair, "resource"),
        )
        allocated = GaugeMetricFamily(
            f"{_PREFIX}_allocated_on_cordoned",
            "What was added for pods that Kueue manages, on cordoned nodes",
            labels=(*pair, "resource"),
        )
        for provider, counts in sorted(self._counts.items()):
            for flavor, count in counts.items():
                nodes.add_metric((provider, flavor), count.nodes)
                for reason in Exclusion:
                    excluded.add_metric((provider, flavor, reason), len(count.excluded.get(reason, ())))
                for family, amounts in ((reserve, count.reserve), (allocated, count.on_cordoned)):
                    for resource, nanos in sorted(amounts.nanos.items()):
                        family.add_metric((provider, flavor, resource), nanos / NANOS)
        yield from (nodes, excluded, reserve, allocated)
