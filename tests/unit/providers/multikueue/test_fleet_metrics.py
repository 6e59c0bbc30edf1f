"""What Prometheus is told of a fleet."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from providers.multikueue.metrics import FleetMetrics
from tests.unit.providers.multikueue.fleets import GPU, Processes, Seen, at, down, worker

WORKER1 = worker({"cpu": "1500m"})
WORKER2 = worker({"cpu": "8", GPU: "5"})
PREFIX = "kueue_dqo_multikueue_"


class Told:
    """A daemon's looks, and what its registry then says."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = FleetMetrics(self.registry)
        self.fleet = Processes()

    def look(self, now: float, **seen: Seen) -> None:
        self.fleet.look(now, **seen)
        if self.fleet.error is None and self.fleet.fleet is not None:
            self.metrics.counted("fleet", self.fleet.fleet)
        self.metrics.states("fleet", self.fleet.memory.states("fleet"))

    def series(self, name: str) -> dict[tuple[str, ...], float]:
        """By the values of the labels but the provider's, which is always the same."""
        return {
            tuple(value for label, value in sample.labels.items() if label != "provider"): sample.value
            for family in self.registry.collect()
            if family.name == PREFIX + name
            for sample in family.samples
            if sample.labels["provider"] == "fleet"
        }


def test_what_each_worker_has_is_told_in_base_units() -> None:
    told = Told()
    told.look(0, worker1=WORKER1, worker2=WORKER2)
    assert told.series("worker_capacity") == {
        ("worker1", "gpu", "cpu"): 1.5,
        ("worker2", "gpu", "cpu"): 8.0,
        ("worker2", "gpu", GPU): 5.0,
    }
    assert told.series("largest_worker_capacity") == {("gpu", "cpu"): 8.0, ("gpu", GPU): 5.0}
    assert b"kueue_dqo_multikueue_worker_capacity{flavor=" in generate_latest(told.registry)


def test_workers_that_cannot_be_read_can_be_alerted_on() -> None:
    told = Told()
    told.look(0, worker1=WORKER1, worker2=WORKER2)
    assert told.series("worker_available") == {("worker1",): 1.0, ("worker2",): 1.0}
    assert told.series("worker_held") == {("worker1",): 0.0, ("worker2",): 0.0}
    assert told.series("worker_unavailable_since_timestamp_seconds") == {}
    told.look(60, worker1=WORKER1, worker2=down(50))
    assert told.series("worker_available") == {("worker1",): 1.0, ("worker2",): 0.0}
    assert told.series("worker_held") == {("worker1",): 0.0, ("worker2",): 1.0}
    assert told.series("worker_unavailable_since_timestamp_seconds") == {("worker2",): at(50).timestamp()}
    assert ("worker2", "gpu", GPU) in told.series("worker_capacity")
    told.look(400, worker1=WORKER1, worker2=down(50))
    assert told.series("worker_available") == {("worker1",): 1.0, ("worker2",): 0.0}
    assert told.series("worker_held") == {("worker1",): 0.0, ("worker2",): 0.0}
    assert ("worker2", "gpu", GPU) not in told.series("worker_capacity")
    assert told.series("largest_worker_capacity") == {("gpu", "cpu"): 1.5}


def test_capacities_stay_while_looks_fail() -> None:
    """As what is published does; availability is that of the last look."""
    told = Told()
    told.look(0, worker1=WORKER1, worker2=WORKER2)
    capacities = told.series("worker_capacity")
    told.look(400, worker1=down(50), worker2=down(50))
    assert told.fleet.error is not None
    assert told.series("worker_capacity") == capacities
    assert told.series("worker_available") == {("worker1",): 0.0, ("worker2",): 0.0}


def test_series_of_workers_that_are_gone_vanish() -> None:
    """Also while looks fail."""
    told = Told()
    told.look(0, worker1=WORKER1, worker2=WORKER2)
    told.look(400, worker1=down(50))
    assert told.fleet.error is not None
    for name in ("worker_capacity", "worker_available", "worker_held", "worker_unavailable_since_timestamp_seconds"):
        assert {labels[0] for labels in told.series(name)} == {"worker1"}


def test_series_of_providers_that_are_gone_vanish() -> None:
    told = Told()
    told.look(0, worker1=WORKER1, worker2=down(0))
    told.look(400, worker1=WORKER1, worker2=down(0))
    told.metrics.keep({"fleet"})
    assert told.series("worker_capacity")
    told.metrics.keep({"other"})
    assert b"{" not in generate_latest(told.registry)
