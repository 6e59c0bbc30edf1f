"""What a provider's daemon tells Prometheus. Capacities are in base units: cores, bytes, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import NANOS
from providers.guards import Guard, Hold
from providers.record import Record

SUCCESS = "success"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class ProviderMetrics:
    """Counters that are moved as things happen."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.observations = Counter(
            "kueue_dqo_provider_observations_total",
            "Looks at the source by their result",
            ("provider", "result"),
            registry=registry,
        )
        self.seconds = Histogram(
            "kueue_dqo_provider_observation_seconds",
            "How long the source took to answer, or to fail",
            buckets=_BUCKETS,
            registry=registry,
        )
        self.status_writes = Counter(
            "kueue_dqo_provider_status_writes_total", "Writes of statuses", ("provider",), registry=registry
        )

    def forget(self, provider: str) -> None:
        """Takes away the series of a provider that is served no more."""
        for counter in (self.observations, self.status_writes):
            counter.remove_by_labels({"provider": provider})


class RecordCollector(Collector):
    """Reads the publisher's records when it is asked: only what a leader serves at present has series."""

    def __init__(self, records: Callable[[], Mapping[str, Record]]) -> None:
        self._records = records

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The families of the present records."""
        labels = ("provider", "flavor", "resource")
        published = GaugeMetricFamily(
            "kueue_dqo_provider_published_capacity", "Capacity in the status, after headroom and guards", labels=labels
        )
        observed = GaugeMetricFamily(
            "kueue_dqo_provider_observed_capacity",
            "Capacity as the source gave it at the last look that succeeded, before headroom and guards",
            labels=labels,
        )
        headroom = GaugeMetricFamily(
            "kueue_dqo_provider_headroom", "What headroom kept back at the last look", labels=labels
        )
        held = GaugeMetricFamily(
            "kueue_dqo_provider_held_until_timestamp_seconds",
            "Until when a guard holds any of the flavor's published capacity, in seconds since the epoch; there only "
            "while it does",
            labels=("provider", "flavor", "guard"),
        )
        looked = GaugeMetricFamily(
            "kueue_dqo_provider_last_observation_timestamp_seconds",
            "When the source last gave a capacity, in seconds since the epoch",
            labels=("provider",),
        )
        synchronized = GaugeMetricFamily(
            "kueue_dqo_provider_synchronized",
            "1 where the condition CapacitySynchronized is True",
            labels=("provider",),
        )
        condition = GaugeMetricFamily(
            "kueue_dqo_provider_condition", "1 for the reason of the condition as it is", labels=("provider", "reason")
        )
        for name, record in sorted(self._records().items()):
            _add(published, name, record.published)
            _add(observed, name, record.observed)
            for pair, amount in record.held_back.items():
                headroom.add_metric((name, *pair), amount.nanos / NANOS)
            for (flavor, guard), until in _ends(record.holds).items():
                held.add_metric((name, flavor, guard), until)
            if record.observed_time is not None:
                looked.add_metric((name,), record.observed_time)
            if record.verdict is not None:
                synchronized.add_metric((name,), float(record.verdict.reason == dqo.SYNCHRONIZED))
                condition.add_metric((name, record.verdict.reason), 1.0)
        yield from (published, observed, headroom, held, looked, synchronized, condition)


def _add(family: GaugeMetricFamily, name: str, capacity: dqo.Capacity | None) -> None:
    # A source may list a flavor twice, which is InvalidCapacity. Series must be unique all the same: the last counts.
    amounts = {
        (flavor.name, resource): amount
        for flavor in (capacity.flavors if capacity is not None else ())
        for resource, amount in flavor.resources.items()
    }
    for pair, amount in amounts.items():
        family.add_metric((name, *pair), amount.nanos / NANOS)


def _ends(holds: Iterable[Hold]) -> dict[tuple[str, Guard], float]:
    """When the last hold of each flavor and guard ends: resources that changed at different times have one each."""
    ends: dict[tuple[str, Guard], float] = {}
    for hold in holds:
        key = hold.flavor, hold.guard
        ends[key] = max(hold.until.timestamp(), ends.get(key, 0.0))
    return ends
