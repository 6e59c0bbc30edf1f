"""What clouds were asked, and what came of it at the last look, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Call
from providers.cloud_quota.compute import FlavorCount

_PREFIX: Final = "kueue_dqo_cloud_quota"
_CALL: Final = ("cloud", "call")
_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class CloudMetrics(Collector):
    """Calls are counted as they end, in whatever thread; what was counted is shown until the provider is gone."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self._clock = clock
        self._counted: dict[str, tuple[FlavorCount, ...]] = {}
        self._oldest: dict[str, float] = {}
        self._calls = Counter(
            f"{_PREFIX}_calls_total",
            "Calls to the cloud, each with its pages and retries, by their result",
            (*_CALL, "result"),
            registry=registry,
        )
        self._throttles = Counter(
            f"{_PREFIX}_throttles_total", "Requests that the cloud refused for their number", _CALL, registry=registry
        )
        self._seconds = Histogram(
            f"{_PREFIX}_call_seconds",
            "How long a call took, with its pages and retries",
            _CALL,
            buckets=_BUCKETS,
            registry=registry,
        )
        registry.register(self)

    def called(self, cloud: str, call: Call) -> None:
        """A call has ended."""
        self._calls.labels(cloud, call.name, call.result).inc()
        self._throttles.labels(cloud, call.name).inc(call.throttles)
        self._seconds.labels(cloud, call.name).observe(call.seconds)

    def looked(self, provider: str, oldest: float | None) -> None:
        """When the oldest answer came that a look used which led to a capacity, by the event loop's clock."""
        if oldest is None:
            self._oldest.pop(provider, None)
        else:
            self._oldest[provider] = oldest

    def counted(self, provider: str, flavors: tuple[FlavorCount, ...]) -> None:
        """What a look came to."""
        self._counted[provider] = flavors

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        self._counted = {name: flavors for name, flavors in self._counted.items() if name in providers}
        self._oldest = {name: oldest for name, oldest in self._oldest.items() if name in providers}

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        limit = GaugeMetricFamily(
            f"{_PREFIX}_limit",
            "What the cloud said of a quota or reservation at the last look, in its own unit; infinite without limit",
            labels=("provider", "source", "region"),
        )
        instances = GaugeMetricFamily(
            f"{_PREFIX}_instances",
            "Whole instances that an entry of a flavor came to at the last look",
            labels=("provider", "flavor", "entry", "region", "type"),
        )
        age = GaugeMetricFamily(
            f"{_PREFIX}_answer_age_seconds",
            "Age of the oldest answer that the last capacity came of, of those asked anew at each interval; it grows "
            "while looks fail",
            labels=("provider",),
        )
        for provider, flavors in sorted(self._counted.items()):
            limits: dict[tuple[str, str], float] = {}
            for flavor in flavors:
                for entry in flavor.entries:
                    labels = (provider, flavor.name, str(entry.number), entry.region, entry.type_name)
                    instances.add_metric(labels, entry.derived.instances)
                    limits |= {(each.source, each.region): each.value for each in entry.derived.limits}
            for (source, region), value in sorted(limits.items()):
                limit.add_metric((provider, source, region), value)
        now = self._clock.monotonic() if self._oldest else 0.0
        for provider, oldest in sorted(self._oldest.items()):
            age.add_metric((provider,), now - oldest)
        yield from (limit, instances, age)
