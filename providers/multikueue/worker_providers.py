"""What the CapacityProviders of a worker report for its related queues. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.multikueue import MultiKueueParametersSpec
from kueue_dqo.api.readiness import why_not_ready
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from providers.multikueue.cohort_trees import roots_above
from providers.multikueue.objects import Unreadable, WorkerProblem, WorkerQueue, WorkerView
from providers.multikueue.tally import MOST_NUMBERS, Tally

_LONGEST_CAUSE: Final = 300
"""Characters of what is said about one provider, whose own message may name all its nodes."""
_WAY_OUT: Final = "name the worker's CapacityProviders in spec.workerProviders of the parameters"


def add_providers(
    view: WorkerView, queues: Mapping[str, WorkerQueue], spec: MultiKueueParametersSpec, tally: Tally
) -> str:
    """Adds what the providers report of the flavors that they orchestrate, each once, without multipliers.

    They are those that the parameters name, else those that an orchestrator of the worker names whose subtree has one
    of the queues in it. There is at least one queue. Returns the providers in words.

    Raises:
        WorkerProblem: a provider is not there or not ready; the parameters name none, and no orchestrator does; they
            report too much to be counted.
    """
    names = sorted(set(spec.worker_providers)) or _discovered(view, queues)
    providers, problems = [], []
    for name in names:
        provider = view.providers.get(name)
        why = _why_unusable(name, provider)
        if why is not None:
            problems.append(why)
        elif isinstance(provider, dqo.CapacityProvider):
            providers.append(provider)
    if problems:
        raise WorkerProblem(some(problems))
    whose = f"the CapacityProviders {some(names)}"
    number = sum(len(flavor.resources) for each in providers for flavor in _capacity(each).flavors)
    if number > MOST_NUMBERS:
        msg = f"{whose} have {number} amounts, more than the {MOST_NUMBERS} that are counted of a worker: {_WAY_OUT}"
        raise WorkerProblem(msg)
    for provider in providers:
        _add(provider, tally)
    return whose


def _capacity(provider: dqo.CapacityProvider) -> dqo.Capacity:
    return provider.status.capacity or dqo.Capacity()


def _add(provider: dqo.CapacityProvider, tally: Tally) -> None:
    for flavor in _capacity(provider).flavors:
        if flavor.name not in provider.flavor_names:
            continue
        for resource, quantity in flavor.resources.items():
            pair = FlavorResource(flavor.name, resource)
            if tally.takes(f"{dqo.CAPACITY_PROVIDER} {provider.metadata.name}", "capacity", pair, quantity):
                tally.add(pair, quantity.nanos, quantity.format)


def _why_unusable(name: str, provider: dqo.CapacityProvider | Unreadable | None) -> str | None:
    if provider is None:
        return (
            f"{dqo.CAPACITY_PROVIDER} {name} does not exist: create it, or take it out of spec.workerProviders of the "
            "parameters, or where these name none, of the worker's orchestrators"
        )
    if isinstance(provider, Unreadable):
        return f"{dqo.CAPACITY_PROVIDER} {name} cannot be read: {provider.why}"
    if provider.metadata.deletion_timestamp is not None:
        return f"{dqo.CAPACITY_PROVIDER} {name} is being deleted since {provider.metadata.deletion_timestamp}"
    why = why_not_ready(provider)
    return why if why is None or len(why) <= _LONGEST_CAUSE else f"{why[:_LONGEST_CAUSE]}…"


def _discovered(view: WorkerView, queues: Mapping[str, WorkerQueue]) -> list[str]:
    """The providers of the orchestrators whose root is one of the queues or a Cohort above one."""
    unreadable = [
        f"{dqo.DYNAMIC_QUOTA_ORCHESTRATOR} {name} cannot be read: {each.why}"
        for name, each in sorted(view.orchestrators.items())
        if isinstance(each, Unreadable)
    ]
    if unreadable:
        msg = f"{some(unreadable)}; or {_WAY_OUT}"
        raise WorkerProblem(msg)
    above = {ObjectKey(CLUSTER_QUEUE, name) for name in queues}
    above |= {ObjectKey(COHORT, name) for name in roots_above(view, queues) if name in view.cohorts}
    found = {
        provider.name
        for orchestrator in view.orchestrators.values()
        if isinstance(orchestrator, dqo.DynamicQuotaOrchestrator) and orchestrator.competes
        if orchestrator.root in above
        for provider in orchestrator.spec.capacity_discovery.providers
    }
    if not found:
        msg = (
            f"no {dqo.DYNAMIC_QUOTA_ORCHESTRATOR} distributes to a related {CLUSTER_QUEUE} ({some(sorted(queues))}): "
            f"{_WAY_OUT}"
        )
        raise WorkerProblem(msg)
    return sorted(found)
