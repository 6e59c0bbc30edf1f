"""What was counted at the last look, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from kueue_dqo.api.quantity import NANOS
from providers.node_inventory.counting import FlavorCount
from providers.node_inventory.exclusion import Exclusion
from providers.nodes.metrics import PAIR, CountMetrics

_PREFIX = "kueue_dqo_node_inventory"


class NodeMetrics(CountMetrics[FlavorCount]):
    """What the nodes of each flavor have, and which of them do not count."""

    def collect(self) -> Iterator[Metric]:
        nodes = GaugeMetricFamily(f"{_PREFIX}_nodes", "Nodes that count", labels=PAIR)
        excluded = GaugeMetricFamily(
            f"{_PREFIX}_excluded_nodes",
            "Nodes that belong to the flavor and do not count, by the reason",
            labels=(*PAIR, "reason"),
        )
        reserve = GaugeMetricFamily(
            f"{_PREFIX}_reserve",
            "What was taken off the nodes that count, for pods that Kueue does not manage",
            labels=(*PAIR, "resource"),
        )
        allocated = GaugeMetricFamily(
            f"{_PREFIX}_allocated_on_cordoned",
            "What was added for pods that Kueue manages, on cordoned nodes",
            labels=(*PAIR, "resource"),
        )
        for pair, count in self.rows():
            nodes.add_metric(pair, count.nodes)
            for reason in Exclusion:
                excluded.add_metric((*pair, reason), len(count.excluded.get(reason, ())))
            for family, amounts in ((reserve, count.reserve), (allocated, count.on_cordoned)):
                for resource, nanos in sorted(amounts.nanos.items()):
                    family.add_metric((*pair, resource), nanos / NANOS)
        yield from (nodes, excluded, reserve, allocated)
