"""What each worker of a fleet has, and which of them cannot be read, for Prometheus. Amounts are in base units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.api.quantity import NANOS
from providers.multikueue.fleet import Fleet
from providers.multikueue.memory import WorkerState
from providers.multikueue.outages import Fate

_PREFIX: Final = "kueue_dqo_multikueue"
_WORKER: Final = ("provider", "worker")


class FleetMetrics(Collector):
    """Series of the providers that were looked at, and of the workers that they have by the last look."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._fleets: dict[str, Fleet] = {}
        self._states: dict[str, Mapping[str, WorkerState]] = {}
        registry.register(self)

    def counted(self, provider: str, fleet: Fleet) -> None:
        """What a look came to. It stays while looks fail, as what is published does."""
        self._fleets[provider] = fleet

    def states(self, provider: str, states: Mapping[str, WorkerState]) -> None:
        """What a look made of the provider's workers, whether or not it led to a capacity: no others are there."""
        self._states[provider] = states

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        self._fleets = {name: each for name, each in self._fleets.items() if name in providers}
        self._states = {name: each for name, each in self._states.items() if name in providers}

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._capacities()
        yield from self._availability()

    def _capacities(self) -> Iterator[Metric]:
        capacity = GaugeMetricFamily(
            f"{_PREFIX}_worker_capacity",
            "What counted of a worker at the last look that led to a capacity, by the manager's flavors",
            labels=(*_WORKER, "flavor", "resource"),
        )
        largest = GaugeMetricFamily(
            f"{_PREFIX}_largest_worker_capacity",
            "The most that a single worker had at the last look that led to a capacity",
            labels=("provider", "flavor", "resource"),
        )
        for provider, fleet in sorted(self._fleets.items()):
            known = self._states.get(provider, fleet.workers)
            for cluster, amounts in sorted(fleet.workers.items()):
                for pair, quantity in sorted(amounts.items()) if cluster in known else ():
                    capacity.add_metric((provider, cluster, *pair), quantity.nanos / NANOS)
            for pair, most in sorted(fleet.largest.items()):
                largest.add_metric((provider, *pair), most.quantity.nanos / NANOS)
        yield from (capacity, largest)

    def _availability(self) -> Iterator[Metric]:
        available = GaugeMetricFamily(f"{_PREFIX}_worker_available", "1 where a worker can be read", labels=_WORKER)
        held = GaugeMetricFamily(
            f"{_PREFIX}_worker_held",
            "1 where a worker cannot be read and counts with what was last read of it",
            labels=_WORKER,
        )
        since = GaugeMetricFamily(
            f"{_PREFIX}_worker_unavailable_since_timestamp_seconds",
            "Since when a worker cannot be read, in seconds since the epoch; absent where it can",
            labels=_WORKER,
        )
        for provider, states in sorted(self._states.items()):
            for cluster, (_, outage) in sorted(states.items()):
                labels = (provider, cluster)
                available.add_metric(labels, float(outage is None))
                held.add_metric(labels, float(outage is not None and outage.fate is Fate.HELD))
                if outage is not None:
                    since.add_metric(labels, outage.since.timestamp())
        yield from (available, held, since)
