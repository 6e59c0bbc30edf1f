"""What the caches count."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class CacheMetrics:
    """One holder for all caches of a process; the label is the resource's full name."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ["resource"]
        self.objects = Gauge("kueue_dqo_cache_objects", "Objects held.", labels, registry=registry)
        self.up_to_date = Gauge(
            "kueue_dqo_cache_up_to_date",
            "1 while the cache follows the API server, 0 while it cannot.",
            labels,
            registry=registry,
        )
        self.lists = Counter("kueue_dqo_cache_lists", "Complete lists taken in.", labels, registry=registry)
        self.watches = Counter(
            "kueue_dqo_cache_watches", "Watches that the API server accepted.", labels, registry=registry
        )
        self.failures = Counter(
            "kueue_dqo_cache_failures",
            "Lists and watches that failed, by the name of the error.",
            [*labels, "error"],
            registry=registry,
        )
        self.undecodable = Counter(
            "kueue_dqo_cache_undecodable", "Versions of objects that could not be decoded.", labels, registry=registry
        )
