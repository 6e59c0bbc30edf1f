"""The kinds that are read of a worker: which it needs to have, how they are decoded, and what they are together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import (
    CAPACITY_PROVIDERS,
    CLUSTER_QUEUES,
    COHORTS,
    DYNAMIC_QUOTA_ORCHESTRATORS,
    LOCAL_QUEUES,
    Resource,
)
from providers.multikueue import decoding
from providers.multikueue.objects import WorkerView

ALWAYS: Final = frozenset({CLUSTER_QUEUES, LOCAL_QUEUES})
"""What is read of every worker."""
OPTIONAL: Final = frozenset({COHORTS})
"""What a worker may do without: an older Kueue has no such kind."""


def decoder_of(served: Resource) -> Callable[[bytes], Any]:
    """What decodes the objects of a resource in the version that is served."""
    match served.plural:
        case CLUSTER_QUEUES.plural:
            return decoding.worker_queue(served.version)
        case COHORTS.plural:
            return decoding.worker_cohort(served.version)
        case LOCAL_QUEUES.plural:
            return decoding.local_queue
        case CAPACITY_PROVIDERS.plural:
            return decoding.capacity_provider
        case _:
            return decoding.orchestrator


def view_of(caches: Mapping[Resource, Cache[Any]]) -> WorkerView:
    """A live view of what the caches hold."""

    def held(resource: Resource) -> Mapping[str, Any]:
        return caches[resource].objects if resource in caches else {}

    return WorkerView(
        queues=held(CLUSTER_QUEUES),
        local_queues=held(LOCAL_QUEUES),
        cohorts=held(COHORTS),
        providers=held(CAPACITY_PROVIDERS),
        orchestrators=held(DYNAMIC_QUOTA_ORCHESTRATORS),
    )
