"""How many requests go to each worker, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from kueue_dqo.runtime.request_metrics import RequestCounter


class WorkerRequests:
    """One for a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "kueue_dqo_multikueue_worker_requests",
            "Number of HTTP requests to the API server of a worker, by status code (or <error>) and method.",
            ["worker", "code", "method"],
            registry=registry,
        )

    def of(self, worker: str) -> RequestCounter:
        """What counts those to one worker."""
        return _OfWorker(self._requests, worker)

    def forget(self, worker: str) -> None:
        """It is not followed any more."""
        self._requests.remove_by_labels({"worker": worker})


class _OfWorker:
    def __init__(self, requests: Counter, worker: str) -> None:
        self._requests = requests
        self._worker = worker

    def count(self, code: str, method: str) -> None:
        self._requests.labels(self._worker, code, method).inc()
