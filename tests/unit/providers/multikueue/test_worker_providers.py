"""Whose report counts where the workers' CapacityProviders are what counts, and when it may not be used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import msgspec
import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition, ObjectMeta
from kueue_dqo.api.multikueue import Counts, InactiveQueues, MultiKueueParametersSpec
from kueue_dqo.api.quantity import Quantity
from providers.multikueue.counting import count
from providers.multikueue.objects import Unreadable, WorkerCount, WorkerView
from tests.unit.providers.multikueue.views import GPU, cohort, keys, parameters, problem, queue, texts, view

PROVIDERS = parameters(Counts.WORKER_PROVIDERS)
BROKEN = Unreadable("spec: an object is wanted")


def named(*names: str, exclude: tuple[str, ...] = ()) -> MultiKueueParametersSpec:
    return parameters(Counts.WORKER_PROVIDERS, providers=names, exclude=exclude)


def provider(
    name: str,
    amounts: Mapping[str, Mapping[str, str]] | None = None,
    *,
    flavors: tuple[str, ...] | None = None,
    status: str = "True",
    observed: int = 2,
    deleted: str | None = None,
) -> dqo.CapacityProvider:
    """One that is ready and orchestrates what it reports, unless said otherwise."""
    amounts = {"default": {"cpu": "4"}} if amounts is None else amounts
    reported = tuple(
        dqo.FlavorCapacity(flavor, {resource: Quantity.of(text) for resource, text in resources.items()})
        for flavor, resources in amounts.items()
    )
    condition = Condition(
        dqo.CAPACITY_SYNCHRONIZED,
        status,
        dqo.SYNCHRONIZED if status == "True" else dqo.SOURCE_UNAVAILABLE,
        "" if status == "True" else "cannot list nodes",
        observed,
        "2026-11-30T10:00:00Z",
    )
    return dqo.CapacityProvider(
        ObjectMeta(name, generation=2, deletion_timestamp=deleted),
        dqo.CapacityProviderSpec(
            "example.com/source", tuple(map(dqo.FlavorRef, amounts if flavors is None else flavors))
        ),
        dqo.CapacityProviderStatus(dqo.Capacity(reported), (condition,)),
    )


def orchestrator(
    name: str, root: tuple[str, str] | None, *providers: str, deleted: str | None = None
) -> dqo.DynamicQuotaOrchestrator:
    """It has twice of what its providers report."""
    discovered = tuple(dqo.DiscoveredProvider(each, Quantity.of(2)) for each in providers)
    distribution = None if root is None else dqo.CapacityDistribution(dqo.SubtreeRootQuotaRef(*root))
    return dqo.DynamicQuotaOrchestrator(
        ObjectMeta(name, deletion_timestamp=deleted),
        dqo.DynamicQuotaOrchestratorSpec(dqo.CapacityDiscovery(discovered), distribution),
    )


def tree(*orchestrators: dqo.DynamicQuotaOrchestrator, providers: tuple[dqo.CapacityProvider, ...]) -> WorkerView:
    """`mine` is in `team`, which is in `all`, which is in `implicit`, that has no object; `alone` is in none."""
    return view(
        {
            "mine": queue("team", default={"cpu": "1"}),
            "sibling": queue("team", default={"cpu": "1"}),
            "alone": queue(default={"cpu": "1"}),
        },
        cohorts={"team": cohort("all"), "all": cohort("implicit"), "others": cohort("all")},
        providers=providers,
        orchestrators=orchestrators,
    )


# --- which providers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [("ClusterQueue", "mine"), ("Cohort", "team"), ("Cohort", "all")])
def test_providers_of_an_orchestrator_with_a_related_queue_below_its_root_count(root: tuple[str, str]) -> None:
    """As they report: the orchestrator's multipliers are its own business."""
    worker = tree(orchestrator("o", root, "p"), providers=(provider("p"), provider("q")))
    found = count(worker, keys("mine"), PROVIDERS)
    assert (texts(found), found.queues) == ({"default/cpu": "4"}, ("mine",))


@pytest.mark.parametrize(
    "root",
    [
        ("ClusterQueue", "sibling"),
        ("ClusterQueue", "team"),
        ("Cohort", "mine"),
        ("Cohort", "others"),
        ("Cohort", "implicit"),
        ("Cohort", ""),
        None,
    ],
)
def test_orchestrators_elsewhere_do_not_count(root: tuple[str, str] | None) -> None:
    """Nor those that distribute nothing. Without any it is told what to write."""
    worker = tree(orchestrator("o", root, "p"), providers=(provider("p"),))
    assert problem(worker, keys("mine"), PROVIDERS) == (
        "no DynamicQuotaOrchestrator distributes to a related ClusterQueue (mine): name the worker's CapacityProviders "
        "in spec.workerProviders of the parameters"
    )


def test_an_orchestrator_that_is_being_deleted_does_not_count() -> None:
    """It distributes nothing any more."""
    root = ("Cohort", "all")
    deleted = orchestrator("o", root, "p", deleted="2026-11-30T10:00:00Z")
    providers = (provider("p"), provider("q", {"default": {"cpu": "1"}}))
    assert "no DynamicQuotaOrchestrator" in problem(tree(deleted, providers=providers), keys("mine"), PROVIDERS)
    worker = tree(deleted, orchestrator("n", root, "q"), providers=providers)
    assert texts(count(worker, keys("mine"), PROVIDERS)) == {"default/cpu": "1"}


def test_each_provider_counts_once() -> None:
    """Several orchestrators may list it, and several queues lead to it; different ones are added up."""
    worker = tree(
        orchestrator("o", ("Cohort", "all"), "p", "q"),
        orchestrator("n", ("ClusterQueue", "alone"), "q", "r"),
        providers=(
            provider("p", {"default": {"cpu": "1", "memory": "1Gi"}}),
            provider("q", {"default": {"cpu": "2"}, "gpu": {GPU: "8"}}),
            provider("r", {"gpu": {GPU: "16"}}),
        ),
    )
    found = count(worker, keys("mine", "sibling", "alone"), PROVIDERS)
    assert texts(found) == {"default/cpu": "3", "default/memory": "1Gi", f"gpu/{GPU}": "24"}
    assert list(found.amounts) == sorted(found.amounts)
    assert texts(count(worker, keys("mine"), PROVIDERS))[f"gpu/{GPU}"] == "8"


def test_named_providers_go_before_orchestrators() -> None:
    """Each once, whoever lists them; not even an orchestrator that cannot be read matters then."""
    worker = tree(
        orchestrator("o", ("Cohort", "all"), "p"), providers=(provider("p"), provider("q", {"f": {"x": "1"}}))
    )
    broken = dataclasses.replace(worker, orchestrators={**worker.orchestrators, "broken": BROKEN})
    for each in (worker, broken):
        assert texts(count(each, keys("mine"), named("q", "q"))) == {"f/x": "1"}
        assert texts(count(each, keys("mine"), named("q", "p"))) == {"default/cpu": "4", "f/x": "1"}


@pytest.mark.parametrize("spec", [PROVIDERS, named("p")])
def test_providers_count_for_nothing_where_no_related_queue_does(spec: MultiKueueParametersSpec) -> None:
    """Also where there are inactive ones, which are told; with Count they are enough."""
    worker = view(
        {"mine": queue(inactive="Stopped")},
        providers=[provider("p")],
        orchestrators=[orchestrator("o", ("ClusterQueue", "mine"), "p")],
    )
    assert count(worker, keys("elsewhere"), spec) == WorkerCount({}, (), {})
    assert count(worker, keys("mine"), spec) == WorkerCount({}, (), {"mine": "Stopped"})
    counted = msgspec.structs.replace(spec, inactive_queues=InactiveQueues.COUNT)
    assert texts(count(worker, keys("mine"), counted)) == {"default/cpu": "4"}


# --- what they report ------------------------------------------------------------------------------------------------


def test_only_orchestrated_flavors_of_a_provider_count() -> None:
    """As every reader of its status does it. A zero is an answer."""
    amounts = {"default": {"cpu": "0"}, "stale": {"cpu": "4"}}
    worker = tree(providers=(provider("p", amounts, flavors=("default", "silent")),))
    assert texts(count(worker, keys("mine"), named("p"))) == {"default/cpu": "0"}


@pytest.mark.parametrize("value", ["-1", "9223372036854775808"])
def test_a_capacity_that_cannot_be_is_a_problem_unless_it_is_not_reported(value: str) -> None:
    """Provider, pair and value are named."""
    worker = tree(providers=(provider("p", {"default": {"cpu": "4", "memory": value}}),))
    told = problem(worker, keys("mine"), named("p"))
    assert told.startswith(f"CapacityProvider p has a capacity of {value} for default/memory: ")
    assert texts(count(worker, keys("mine"), named("p", exclude=("memory",)))) == {"default/cpu": "4"}


def test_a_sum_beyond_the_largest_quantity_is_a_problem() -> None:
    """The providers are named."""
    half = {"default": {"memory": "4611686018427387904"}}
    worker = tree(providers=(provider("p", half), provider("q", half)))
    told = problem(worker, keys("mine"), named("q", "p"))
    assert told.startswith("the CapacityProviders p, q have 9223372036854775808 of default/memory together, more than")


# --- what may not be used ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (provider("p", status="False"), "CapacityProvider p is not ready: CapacitySynchronized=False, SourceUnavai"),
        (provider("p", observed=1), "CapacityProvider p is stale: its status is for generation 1"),
        (provider("p", deleted="2026-11-30T11:00:00Z"), "CapacityProvider p is being deleted since 2026-11-30T11:"),
        (BROKEN, "CapacityProvider p cannot be read: spec: an object is wanted"),
        (None, "CapacityProvider p does not exist: create it, or take it out of spec.workerProviders"),
    ],
)
@pytest.mark.parametrize("spec", [PROVIDERS, named("p", "q")])
def test_a_provider_whose_capacity_may_not_be_used_is_a_problem(
    broken: dqo.CapacityProvider | Unreadable | None, why: str, spec: MultiKueueParametersSpec
) -> None:
    """Though another one is ready: a part of the worker is no answer."""
    worker = tree(orchestrator("o", ("Cohort", "all"), "p", "q"), providers=(provider("q"),))
    if broken is not None:
        worker = dataclasses.replace(worker, providers={**worker.providers, "p": broken})
    assert problem(worker, keys("mine"), spec).startswith(why)


def test_all_providers_that_may_not_be_used_are_told_each_in_short() -> None:
    """By name. Their own messages may be as long as a condition's can be."""
    long = provider("p", status="False")
    condition = long.status.conditions[0]
    conditions = (msgspec.structs.replace(condition, message="node-1, " * 4000),)
    status = msgspec.structs.replace(long.status, conditions=conditions)
    worker = tree(providers=(msgspec.structs.replace(long, status=status),))
    told = problem(worker, keys("mine"), named("q", "p"))
    assert told.index("CapacityProvider p is not ready") < told.index("CapacityProvider q does not exist")
    assert len(told) < 600


def test_missing_providers_of_orchestrators_are_told_by_name() -> None:
    """Whoever lists them first."""
    names = [f"p{index}" for index in range(8)]
    told = problem(tree(orchestrator("o", ("Cohort", "all"), *names[::-1]), providers=()), keys("mine"), PROVIDERS)
    assert [word for word in told.replace(",", "").split() if word in names] == names[:5]
    assert told.endswith(" and 3 more")


def test_an_orchestrator_that_cannot_be_read_is_a_problem() -> None:
    """Its providers may be those that are asked for."""
    worker = tree(orchestrator("o", ("Cohort", "all"), "p"), providers=(provider("p"),))
    worker = dataclasses.replace(worker, orchestrators={**worker.orchestrators, "broken": BROKEN})
    told = problem(worker, keys("mine"), PROVIDERS)
    assert told.startswith("DynamicQuotaOrchestrator broken cannot be read: spec: an object is wanted; or name the ")


def test_cohorts_above_a_related_queue_have_to_be_known() -> None:
    """An orchestrator may be at home there."""
    worker = tree(orchestrator("o", ("Cohort", "team"), "p"), providers=(provider("p"),))
    unreadable = dataclasses.replace(worker, cohorts={**worker.cohorts, "all": BROKEN})
    assert "Cohort all, which ClusterQueue mine is in, cannot be read" in problem(unreadable, keys("mine"), PROVIDERS)
    cyclic = dataclasses.replace(worker, cohorts={**worker.cohorts, "all": cohort("team")})
    assert "all → team → all" in problem(cyclic, keys("mine"), PROVIDERS)
    assert texts(count(cyclic, keys("mine"), named("p"))) == {"default/cpu": "4"}


def test_providers_that_report_too_much_to_be_added_up_are_a_problem() -> None:
    """Nothing else could be done meanwhile. As much as that is counted."""
    many = {"default": {f"r{index}": "1" for index in range(10_000)}}
    names = [f"p{index}" for index in range(10)]
    worker = tree(providers=(*(provider(name, many) for name in names), provider("one")))
    assert len(count(worker, keys("mine"), named(*names)).amounts) == 10_000
    told = problem(worker, keys("mine"), named(*names, "one"))
    assert told.startswith("the CapacityProviders one, p0, p1, p2, p3 and 6 more have 100001 amounts, more than the")
