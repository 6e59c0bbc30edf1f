"""Short ways to say what a worker has, and what is counted of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.multikueue import Counts, InactiveQueues, ManagerQueues, MultiKueueParametersSpec
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import FlavorQuotas, ResourceGroup, ResourceQuota
from providers.multikueue.counting import count
from providers.multikueue.objects import (
    LocalQueue,
    Unreadable,
    WorkerCohort,
    WorkerCount,
    WorkerProblem,
    WorkerQueue,
    WorkerView,
)

GPU = "nvidia.com/gpu"
Quotas = Mapping[str, str]
"""By resource: the nominal quota, then `borrow=` and `lend=` where there are limits, such as `8 borrow=2`."""


def parameters(
    counts: Counts = Counts.QUOTA_IN_FORCE,
    *,
    inactive: InactiveQueues = InactiveQueues.EXCLUDE,
    providers: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> MultiKueueParametersSpec:
    return MultiKueueParametersSpec(
        manager_queues=ManagerQueues(cluster_queues=("batch",)),
        counts=counts,
        inactive_queues=inactive,
        worker_providers=providers,
        resources=ResourceSelection(exclude=exclude),
    )


def quotas(**flavors: Quotas) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            tuple(resources),
            (FlavorQuotas(flavor, tuple(_quota(name, text) for name, text in resources.items())),),
        )
        for flavor, resources in flavors.items()
    )


def _quota(resource: str, text: str) -> ResourceQuota:
    nominal, *limits = text.split()
    by_name = {name: Quantity.of(value) for name, _, value in (limit.partition("=") for limit in limits)}
    return ResourceQuota(resource, Quantity.of(nominal), by_name.get("borrow"), by_name.get("lend"))


def queue(parent: str = "", *, inactive: str = "", **flavors: Quotas) -> WorkerQueue:
    return WorkerQueue(parent, quotas(**flavors), inactive)


def cohort(parent: str = "", **flavors: Quotas) -> WorkerCohort:
    return WorkerCohort(parent, quotas(**flavors))


def view(
    queues: Mapping[str, WorkerQueue | Unreadable],
    *,
    local: Mapping[str, str | LocalQueue | Unreadable] | None = None,
    cohorts: Mapping[str, WorkerCohort | Unreadable] | None = None,
    providers: Iterable[dqo.CapacityProvider] = (),
    orchestrators: Iterable[dqo.DynamicQuotaOrchestrator] = (),
) -> WorkerView:
    """LocalQueues as the name of what they lead to; unless said otherwise, one in `ns` leads to each queue."""
    if local is None:
        local = {f"ns/{name}": name for name in queues}
    return WorkerView(
        queues=queues,
        local_queues={key: LocalQueue(each) if isinstance(each, str) else each for key, each in local.items()},
        cohorts=cohorts or {},
        providers={each.metadata.name: each for each in providers},
        orchestrators={each.metadata.name: each for each in orchestrators},
    )


def keys(*names: str) -> frozenset[str]:
    """The keys of the LocalQueues `a`, `b`, … of `ns`."""
    return frozenset(f"ns/{name}" for name in names)


def texts(found: WorkerCount) -> dict[str, str]:
    """`{"default/cpu": "8"}`."""
    return {str(pair): str(quantity) for pair, quantity in found.amounts.items()}


def problem(worker: WorkerView, reached: Iterable[str], spec: MultiKueueParametersSpec) -> str:
    with pytest.raises(WorkerProblem) as raised:
        count(worker, [*reached], spec)
    return str(raised.value)
