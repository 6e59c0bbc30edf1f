"""What a client counts."""

from __future__ import annotations

from typing import Protocol

from prometheus_client import CollectorRegistry, Counter


class RequestCounter(Protocol):
    """Counts the requests of a client."""

    def count(self, code: str, method: str) -> None:
        """One request, by the status code of its answer (or <error>)."""
        ...


class RequestMetrics:
    """Requests to the API server, by the name that client-go gives them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests",
            "Number of HTTP requests to the API server, by status code (or <error>) and method.",
            ["code", "method"],
            registry=registry,
        )

    def count(self, code: str, method: str) -> None:
        """One request, by the status code of its answer (or <error>)."""
        self._requests.labels(code, method).inc()
