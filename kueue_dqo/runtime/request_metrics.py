"""What a client counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class RequestMetrics:
    """Requests to the API server, by the name that client-go gives them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "rest_client_requests",
            "Number of HTTP requests to the API server, by status code (or <error>) and method.",
            ["code", "method"],
            registry=registry,
        )
