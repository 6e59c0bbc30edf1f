"""What was counted at the last look, and the state of all reports, for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric

from providers.nodes.metrics import PAIR, CountMetrics
from providers.nvidia_gpu.counting import FlavorCount
from providers.nvidia_gpu.decoding import INVALID_REPORT
from providers.nvidia_gpu.hearing import Seen

_PREFIX: Final = "kueue_dqo_nvidia_gpu"
STATES: Final = ("good", "problem", "invalid", "deleted")
_GOOD, _PROBLEM, _INVALID, _DELETED = STATES


class GpuMetrics(CountMetrics[FlavorCount]):
    """`reports` is the live view of all that are known."""

    def __init__(self, registry: CollectorRegistry, reports: Mapping[str, Seen]) -> None:
        self._reports = reports
        super().__init__(registry)

    def collect(self) -> Iterator[Metric]:
        nodes = GaugeMetricFamily(f"{_PREFIX}_nodes", "Nodes that count", labels=PAIR)
        excluded = GaugeMetricFamily(
            f"{_PREFIX}_excluded_nodes",
            "Nodes with GPUs that belong to the flavor and do not count, by the reason",
            labels=(*PAIR, "reason"),
        )
        held = GaugeMetricFamily(
            f"{_PREFIX}_held_nodes",
            "Nodes that count as their agents said last, by the reason",
            labels=(*PAIR, "reason"),
        )
        unhealthy = GaugeMetricFamily(
            f"{_PREFIX}_unhealthy_devices",
            "Devices of the nodes that count which are not given to jobs, by the reason",
            labels=(*PAIR, "reason"),
        )
        capped = GaugeMetricFamily(
            f"{_PREFIX}_capped",
            "Healthy devices that do not count because the nodes have fewer to allocate",
            labels=(*PAIR, "resource"),
        )
        for pair, count in self.rows():
            nodes.add_metric(pair, count.nodes)
            by_label = (
                (excluded, {reason: len(names) for reason, names in count.excluded.items()}),
                (held, Counter(state.reason for state in count.held.values())),
                (unhealthy, Counter(device.reason for _, device in count.unhealthy)),
                (capped, dict(count.capped())),
            )
            for family, numbers in by_label:
                for label, number in sorted(numbers.items()):
                    family.add_metric((*pair, label), number)
        reports = GaugeMetricFamily(f"{_PREFIX}_reports", "Reports of agents, by their state", labels=("state",))
        states = Counter(map(_state_of, self._reports.values()))
        for state in STATES:
            reports.add_metric((state,), states[state])
        yield from (nodes, excluded, held, unhealthy, capped, reports)


def _state_of(seen: Seen) -> str:
    if seen.gone_since is not None:
        return _DELETED
    problem = seen.report.spec.problem
    if problem is None:
        return _GOOD
    return _INVALID if problem.reason == INVALID_REPORT else _PROBLEM
