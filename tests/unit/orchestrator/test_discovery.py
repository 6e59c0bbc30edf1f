"""Discovery: which capacity counts, how it is added up, and when there is none."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import Condition
from kueue_dqo.api.quantity import LARGEST_UNITS
from kueue_dqo.api.resources import FlavorResource
from orchestrator.discovery import Discovery, discover
from tests.unit.orchestrator.builders import (
    CPU,
    GPU,
    MEMORY,
    Amounts,
    Written,
    orchestrator,
    provider,
    synchronized,
)

PRESENT = 2
"""The generation of the provider in the tests of readiness."""


def _discovered(
    providers: Mapping[str, dqo.CapacityProvider], multipliers: Mapping[str, Written] | None = None
) -> Discovery:
    """Discovery over all the providers, each times its multiplier where it has one."""
    multipliers = multipliers or {}
    plain = [name for name in providers if name not in multipliers]
    return discover(orchestrator("dqo", *plain, multipliers=multipliers), providers)


def _capacity(discovery: Discovery) -> dict[str, dict[str, str]] | None:
    if discovery.capacity is None:
        return None
    return {
        flavor.name: {resource: str(amount) for resource, amount in flavor.resources.items()}
        for flavor in discovery.capacity.flavors
    }


def _verdict(discovery: Discovery) -> tuple[str, str, str]:
    return discovery.condition.type, discovery.condition.status, discovery.condition.reason


# --- readiness -----------------------------------------------------------------------------------------------------


def test_capacity_counts_where_its_condition_is_true_for_the_present_generation() -> None:
    """The one state in which a provider is ready."""
    ready = provider("nodes", {"h100": {GPU: "8"}}, generation=PRESENT, conditions=(synchronized(observed=PRESENT),))
    discovery = _discovered({"nodes": ready})
    assert _verdict(discovery) == (dqo.EFFECTIVE_CAPACITY_COMPUTED, "True", dqo.COMPUTED)
    assert _capacity(discovery) == {"h100": {GPU: "8"}}


@pytest.mark.parametrize("reason", [dqo.SOURCE_UNAVAILABLE, dqo.MISCONFIGURED, "Whatever", ""])
def test_the_reason_of_a_true_condition_does_not_matter(reason: str) -> None:
    """Only status and observedGeneration are looked at."""
    ready = provider("nodes", {"h100": {GPU: "8"}}, conditions=(synchronized(reason=reason),))
    assert _capacity(_discovered({"nodes": ready})) == {"h100": {GPU: "8"}}


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param((), id="nobody has reported anything"),
        pytest.param((Condition("Other", "True", "Synchronized", "", PRESENT),), id="only another condition is True"),
        pytest.param((synchronized("False", observed=PRESENT),), id="False for the present generation"),
        pytest.param((synchronized("Unknown", observed=PRESENT),), id="Unknown for the present generation"),
        pytest.param((synchronized("true", observed=PRESENT),), id="a status that no API knows"),
        pytest.param((synchronized(observed=PRESENT - 1),), id="True for an earlier generation"),
        pytest.param((synchronized(observed=PRESENT + 1),), id="True for a later generation"),
        pytest.param((synchronized(observed=None),), id="True for no generation"),
        pytest.param((synchronized(observed=0),), id="True for generation 0"),
    ],
)
def test_capacity_does_not_count_while_the_provider_is_not_ready(conditions: tuple[Condition, ...]) -> None:
    """A capacity that is there is no use, and the effective capacity is cleared."""
    unready = provider("nodes", {"h100": {GPU: "8"}}, generation=PRESENT, conditions=conditions)
    discovery = _discovered({"nodes": unready})
    assert _verdict(discovery) == (dqo.EFFECTIVE_CAPACITY_COMPUTED, "False", dqo.PROVIDER_NOT_READY)
    assert discovery.capacity is None
    assert discovery.flavors is None
    assert discovery.units(FlavorResource("h100", GPU)) == 0


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        pytest.param(
            synchronized(
                "False",
                observed=PRESENT,
                reason=dqo.SOURCE_UNAVAILABLE,
                message="connection refused",
                since="2026-03-04T05:06:07Z",
            ),
            ["False", "SourceUnavailable", "since 2026-03-04T05:06:07Z", "connection refused"],
            id="not True: status, reason, time and message",
        ),
        pytest.param(
            synchronized(observed=7),
            ["stale", "generation 7", f"generation {PRESENT}", "example.com/nodes"],
            id="stale: both generations and who has to report",
        ),
        pytest.param(
            synchronized(observed=None), ["generation 0", f"generation {PRESENT}"], id="no observed generation reads 0"
        ),
        pytest.param(
            Condition("Other", "True"),
            ["no CapacitySynchronized condition", "example.com/nodes"],
            id="no condition: who has not reported",
        ),
    ],
)
def test_the_message_says_why_a_provider_is_not_ready(condition: Condition, told: list[str]) -> None:
    """It names the provider, what is wrong with it and since when."""
    unready = provider("nodes", {"h100": {GPU: "8"}}, generation=PRESENT, conditions=(condition,))
    message = _discovered({"nodes": unready}).condition.message
    assert [each for each in ["CapacityProvider nodes", *told] if each not in message] == []


def test_the_message_leaves_out_what_a_condition_does_not_say() -> None:
    """A condition without time and message leaves no empty places."""
    bare = synchronized("False", reason=dqo.MISCONFIGURED)
    message = _discovered({"nodes": provider("nodes", None, conditions=(bare,))}).condition.message
    assert message == "CapacityProvider nodes is not ready: CapacitySynchronized=False, Misconfigured"


def test_a_provider_object_that_is_missing_is_a_misconfiguration() -> None:
    """The message names it and the field that names it."""
    discovery = discover(orchestrator("dqo", "gone"), {"other": provider("other", {"h100": {GPU: "8"}})})
    assert _verdict(discovery) == (dqo.EFFECTIVE_CAPACITY_COMPUTED, "False", dqo.MISCONFIGURED)
    assert discovery.capacity is None
    assert "CapacityProvider gone" in discovery.condition.message
    assert "spec.capacityDiscovery.providers" in discovery.condition.message


def test_providers_that_the_orchestrator_does_not_list_have_no_part_in_it() -> None:
    """Neither their capacity nor their failure."""
    providers = {
        "mine": provider("mine", {"h100": {GPU: "8"}}),
        "other": provider("other", {"h100": {GPU: "100"}}),
        "broken": provider("broken", None, conditions=()),
    }
    assert _capacity(discover(orchestrator("dqo", "mine"), providers)) == {"h100": {GPU: "8"}}


# --- several causes ------------------------------------------------------------------------------------------------

CAUSES = {
    "missing": (None, dqo.MISCONFIGURED),
    "unready": (provider("unready", {"a": {CPU: "1"}}, conditions=()), dqo.PROVIDER_NOT_READY),
    "negative": (provider("negative", {"b": {CPU: "-1"}}), dqo.AGGREGATION_FAILED),
}


@pytest.mark.parametrize(
    "causes",
    [
        order
        for count in (1, 2, 3)
        for chosen in itertools.combinations(CAUSES, count)
        for order in itertools.permutations(chosen)
    ],
    ids=" then ".join,
)
def test_of_several_causes_the_first_of_the_api_is_the_reason_and_all_are_told(causes: tuple[str, ...]) -> None:
    """Misconfigured, then ProviderNotReady, then AggregationFailed, however the providers are listed."""
    providers = {name: found for name in causes if (found := CAUSES[name][0]) is not None}
    good = provider("good", {"c": {CPU: "5"}})
    discovery = discover(orchestrator("dqo", *causes, "good"), {**providers, "good": good})
    first = next(name for name in CAUSES if name in causes)
    assert discovery.condition.status == "False"
    assert discovery.condition.reason == CAUSES[first][1]
    assert [name for name in causes if f"CapacityProvider {name}" not in discovery.condition.message] == []
    assert discovery.capacity is None


def test_what_a_provider_that_is_not_ready_reports_is_not_judged() -> None:
    """It may be long out of date."""
    stale = provider("stale", {"f": {CPU: "-1"}, "g": {CPU: "12Ei"}}, generation=PRESENT)
    message = _discovered({"stale": stale}, {"stale": "-1"}).condition.message
    assert message.startswith("CapacityProvider stale is stale")
    assert [told for told in ("negative", "adds up", "f/cpu", "g/cpu") if told in message] == []


def test_the_message_of_several_causes_reads_as_one_line() -> None:
    """What a person sees in `kubectl describe`."""
    assert discover(orchestrator("dqo", "east", "west"), {}).condition.message == (
        "CapacityProvider east does not exist: create it, or take it out of spec.capacityDiscovery.providers; "
        "CapacityProvider west does not exist: create it, or take it out of spec.capacityDiscovery.providers"
    )


def test_every_provider_with_the_same_fault_is_told() -> None:
    """Not the first of them only."""
    faulty = {
        name: provider(name, None, conditions=(synchronized("False", reason=dqo.SOURCE_UNAVAILABLE),))
        for name in ("east", "west")
    }
    message = discover(orchestrator("dqo", "east", "north", "south", "west"), faulty).condition.message
    assert [name for name in ("east", "north", "south", "west") if f"CapacityProvider {name}" not in message] == []


def test_the_message_of_success_names_the_providers_and_counts_the_flavors() -> None:
    """A person sees at a glance what the numbers come from."""
    discovery = _discovered({"east": provider("east", {"a": {}, "b": {}}), "west": provider("west", {"b": {}})})
    assert discovery.condition.message == "Capacity of 2 flavors from east, west"


@pytest.mark.parametrize("name", ["there", "gone"])
def test_the_condition_carries_the_generation_of_the_orchestrator(name: str) -> None:
    """Whether or not the capacity was computed."""
    found = discover(orchestrator("dqo", name, generation=41), {"there": provider("there", {"a": {}})})
    assert found.condition.observed_generation == 41


# --- which flavors -------------------------------------------------------------------------------------------------


def test_a_reported_flavor_that_the_provider_does_not_orchestrate_is_ignored() -> None:
    """It is no flavor of the effective capacity."""
    found = provider("nodes", {"listed": {CPU: "4"}, "stray": {CPU: "100"}}, orchestrates=["listed"])
    assert _capacity(_discovered({"nodes": found})) == {"listed": {CPU: "4"}}


def test_each_provider_reports_only_for_the_flavors_that_it_orchestrates_itself() -> None:
    """One lists the flavor and reports nothing, the other reports it and does not list it."""
    lists = provider("lists", {}, orchestrates=["spot"])
    reports = provider("reports", {"spot": {CPU: "100"}, "own": {CPU: "1"}}, orchestrates=["own"])
    assert _capacity(_discovered({"lists": lists, "reports": reports})) == {"own": {CPU: "1"}, "spot": {}}


@pytest.mark.parametrize(
    "reported",
    [
        pytest.param(None, id="a status without capacity"),
        pytest.param({}, id="a capacity without flavors"),
        pytest.param({"stray": {CPU: "1"}}, id="a capacity of another flavor"),
        pytest.param({"h100": {}}, id="the flavor without resources"),
    ],
)
def test_an_orchestrated_flavor_without_a_report_is_there_with_no_resources(reported: Amounts | None) -> None:
    """What is not reported of it is zero."""
    discovery = _discovered({"nodes": provider("nodes", reported, orchestrates=["h100"])})
    assert _capacity(discovery) == {"h100": {}}
    assert discovery.units(FlavorResource("h100", GPU)) == 0


def test_an_explicit_zero_is_shown() -> None:
    """A provider that says zero has said something."""
    assert _capacity(_discovered({"nodes": provider("nodes", {"h100": {GPU: 0}})})) == {"h100": {GPU: "0"}}


def test_effective_capacity_is_sorted_by_flavor_and_resource() -> None:
    """So that the order of the providers makes no difference."""
    one = provider("one", {"z": {"pods": 1, CPU: 1}, "a": {CPU: 1}})
    other = provider("other", {"m": {MEMORY: 1}, "z": {"b": 1}})
    capacity = _discovered({"one": one, "other": other}).capacity
    assert capacity is not None
    assert [(each.name, list(each.resources)) for each in capacity.flavors] == [
        ("a", [CPU]),
        ("m", [MEMORY]),
        ("z", ["b", CPU, "pods"]),
    ]


# --- sums ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "addends", "shown", "units"),
    [
        pytest.param(GPU, [("8", 1)], "8", 8, id="once"),
        pytest.param(GPU, [("8", 1), ("5", 1)], "13", 13, id="two providers add up"),
        pytest.param(GPU, [("8", 0)], "0", 0, id="a multiplier of 0 is not one that is unset"),
        pytest.param(GPU, [("8", 0), ("5", 1)], "5", 5, id="a multiplier of 0 takes one provider out"),
        pytest.param(GPU, [("8", "1.5")], "12", 12, id="a multiplier above 1 overbooks"),
        pytest.param(GPU, [("8", "0.5"), ("3", "2")], "10", 10, id="each provider has its own multiplier"),
        pytest.param(CPU, [("10", "950m")], "9500m", 9500, id="5 % headroom of cpu"),
        pytest.param(GPU, [("10", "0.95")], "9500m", 9, id="half a GPU is shown and not split"),
        pytest.param(GPU, [("1", "0.5"), ("1", "0.5")], "1", 1, id="products are added before they are rounded"),
        pytest.param(GPU, [("1", "0.5"), ("1", "0.499999999")], "999999999n", 0, id="a nano too little for a GPU"),
        pytest.param(CPU, [("1", "0.0005")], "500u", 0, id="half a milli of cpu is shown and not split"),
        pytest.param(CPU, [("1", "0.0015"), ("1", "0.0005")], "2m", 2, id="cpu is split in millis"),
        pytest.param("example.com/cpu", [("1500m", 1)], "1500m", 1, id="only cpu itself is split in millis"),
        pytest.param(MEMORY, [("1k", "0.0001")], "100m", 0, id="memory is split in bytes"),
        pytest.param(GPU, [("100", 0.29)], "29", 29, id="a bare number is the decimal that was written"),
        pytest.param(CPU, [("1m", "333n")], "1n", 0, id="finer than a nano is rounded up to one"),
        pytest.param(CPU, [("1n", "500m"), ("1n", "500m")], "1n", 0, id="halves of a nano are added first"),
        pytest.param(CPU, [("1n", "500m"), ("1n", "501m")], "2n", 0, id="a bit more than a nano is two"),
        pytest.param(MEMORY, [("9007199254740993", 1)], "9007199254740993", 2**53 + 1, id="beyond a float"),
        pytest.param(
            MEMORY,
            [("9007199254740993.123456789", "999.999999999")],
            "9007199254731985924202048007n",
            9007199254731985924,
            id="beyond 28 decimal digits",
        ),
        pytest.param(MEMORY, [("64Gi", "0.5")], "32Gi", 2**35, id="a binary format stays"),
        pytest.param(MEMORY, [("1Gi", "1.5")], "1536Mi", 1536 * 2**20, id="binary in its canonical form"),
        pytest.param(MEMORY, [("1Gi", "0.3")], "322122547200m", 322122547, id="binary with a fraction is decimal"),
        pytest.param(MEMORY, [("1e3", 2)], "2e3", 2000, id="an exponent format stays"),
        pytest.param(MEMORY, [("1k", 1), ("1Ki", 1)], "2024", 2024, id="binary and decimal"),
        pytest.param(MEMORY, [("24k", 1), ("576", 1), ("0Ki", 1)], "24Ki", 24576, id="binary goes first"),
        pytest.param(MEMORY, [("1e3", 1), ("1k", 1)], "2k", 2000, id="decimal goes before exponent"),
    ],
)
def test_capacity_times_multiplier_is_added_up_exactly(
    resource: str, addends: list[tuple[Written, Written]], shown: str, units: int
) -> None:
    """Shown to a nano in the format that came in; only the units to split are rounded down."""
    for order in itertools.permutations(addends):
        providers = {f"p{n}": provider(f"p{n}", {"f": {resource: each}}) for n, (each, _) in enumerate(order)}
        discovery = _discovered(providers, {f"p{n}": times for n, (_, times) in enumerate(order)})
        assert _capacity(discovery) == {"f": {resource: shown}}
        assert discovery.units(FlavorResource("f", resource)) == units


def test_a_multiplier_that_is_not_written_is_one() -> None:
    """The default of the API."""
    assert dqo.DiscoveredProvider("nodes").effective_capacity_multiplier.nanos == 10**9


def test_pairs_are_added_up_one_by_one() -> None:
    """Neither another flavor nor another resource is mixed in."""
    one = provider("one", {"a": {CPU: 1, MEMORY: 2}, "b": {CPU: 4}})
    other = provider("other", {"a": {CPU: 8}, "b": {CPU: 16, MEMORY: 32}})
    assert _capacity(_discovered({"one": one, "other": other}, {"other": 10})) == {
        "a": {CPU: "81", MEMORY: "2"},
        "b": {CPU: "164", MEMORY: "320"},
    }


# --- what cannot be added up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addends",
    [
        pytest.param([(LARGEST_UNITS, 1)], id="reported as such"),
        pytest.param([(LARGEST_UNITS - 1, 1), (1, 1)], id="added up"),
        pytest.param([(2 * LARGEST_UNITS, "0.5")], id="multiplied"),
    ],
)
def test_the_largest_quantity_that_kueue_holds_is_computed(addends: list[tuple[Written, Written]]) -> None:
    """Exactly 2^63 - 1 is no error."""
    providers = {f"p{n}": provider(f"p{n}", {"f": {MEMORY: each}}) for n, (each, _) in enumerate(addends)}
    discovery = _discovered(providers, {f"p{n}": times for n, (_, times) in enumerate(addends)})
    assert _capacity(discovery) == {"f": {MEMORY: "9223372036854775807"}}


@pytest.mark.parametrize(
    "addends",
    [
        pytest.param([(LARGEST_UNITS + 1, 1)], id="one more"),
        pytest.param([("12Ei", 1)], id="what Go reads back as 8Ei"),
        pytest.param([(LARGEST_UNITS, 1), ("1n", 1)], id="a nano more"),
        pytest.param([(LARGEST_UNITS, 1), ("1n", "1n")], id="less than a nano more"),
        pytest.param([("1Pi", "1Pi")], id="a product of 31 digits"),
        pytest.param([("4Ei", 1), ("4Ei", 1)], id="two halves"),
    ],
)
def test_more_than_kueue_holds_is_refused_and_not_capped(addends: list[tuple[Written, Written]]) -> None:
    """The message names the pair."""
    providers = {f"p{n}": provider(f"p{n}", {"f": {MEMORY: each}}) for n, (each, _) in enumerate(addends)}
    discovery = _discovered(providers, {f"p{n}": times for n, (_, times) in enumerate(addends)})
    assert _verdict(discovery) == (dqo.EFFECTIVE_CAPACITY_COMPUTED, "False", dqo.AGGREGATION_FAILED)
    assert discovery.capacity is None
    assert "f/memory" in discovery.condition.message


def test_the_sum_that_is_too_large_is_told_exactly() -> None:
    """With the limit, so that a person can tell by how much."""
    message = _discovered({"p": provider("p", {"f": {MEMORY: "16Ei"}})}).condition.message
    assert "16Ei" in message
    assert "9223372036854775807" in message


@pytest.mark.parametrize(
    ("reported", "multipliers"),
    [
        pytest.param([{"f": {CPU: "-1"}}], [1], id="alone"),
        pytest.param([{"f": {CPU: "-1n"}}], [1], id="by a nano"),
        pytest.param([{"f": {CPU: "-1"}}, {"f": {CPU: "5"}}], [1, 1], id="made good by another provider"),
        pytest.param([{"f": {CPU: "-1"}}], [0], id="times 0"),
        pytest.param([{"f": {CPU: "-1"}}], [-1], id="times a negative multiplier"),
    ],
)
def test_a_negative_capacity_cannot_be_added_up(reported: list[Amounts], multipliers: list[Written]) -> None:
    """The message names the provider, the pair and the value."""
    providers = {f"p{n}": provider(f"p{n}", each) for n, each in enumerate(reported)}
    discovery = _discovered(providers, {f"p{n}": each for n, each in enumerate(multipliers)})
    assert _verdict(discovery) == (dqo.EFFECTIVE_CAPACITY_COMPUTED, "False", dqo.AGGREGATION_FAILED)
    assert discovery.capacity is None
    assert "CapacityProvider p0" in discovery.condition.message
    assert "f/cpu" in discovery.condition.message
    assert f"negative capacity of {'-1n' if '-1n' in str(reported) else '-1'} " in discovery.condition.message


@pytest.mark.parametrize(("multiplier", "told"), [("-0.5", "-500m"), ("-1n", "-1n")])
def test_a_negative_multiplier_is_refused(multiplier: str, told: str) -> None:
    """The API server refuses it too; a manifest may not have met one yet."""
    discovery = _discovered({"p": provider("p", {"f": {CPU: "0"}})}, {"p": multiplier})
    assert discovery.condition.reason == dqo.AGGREGATION_FAILED
    assert f"the multiplier {told} of CapacityProvider p is negative" in discovery.condition.message


def test_a_negative_capacity_of_a_flavor_that_is_not_orchestrated_does_not_matter() -> None:
    """It is ignored whole."""
    found = provider("nodes", {"f": {CPU: "1"}, "stray": {CPU: "-1"}}, orchestrates=["f"])
    assert _capacity(_discovered({"nodes": found})) == {"f": {CPU: "1"}}


@pytest.mark.parametrize(("flavors", "fits"), [(128, True), (129, False)])
def test_an_orchestrator_holds_128_flavors_of_all_providers_together(flavors: int, fits: bool) -> None:
    """Flavors that several providers share count once."""
    names = [f"f{n}" for n in range(flavors)]
    providers = {
        "one": provider("one", {name: {CPU: 1} for name in names[:60]}),
        "two": provider("two", {name: {CPU: 1} for name in names[30:90]}),
        "three": provider("three", {}, orchestrates=names[90:]),
    }
    discovery = _discovered(providers)
    assert discovery.condition.reason == (dqo.COMPUTED if fits else dqo.AGGREGATION_FAILED)
    assert (discovery.capacity is not None) == fits
    if not fits:
        assert "129" in discovery.condition.message
        assert "128" in discovery.condition.message


@pytest.mark.parametrize(("resources", "fits"), [(64, True), (65, False)])
def test_a_flavor_holds_64_resources_of_all_providers_together(resources: int, fits: bool) -> None:
    """Resources that several providers report count once."""
    names = [f"r{n}" for n in range(resources)]
    providers = {
        "one": provider("one", {"f": dict.fromkeys(names[:40], 1)}),
        "two": provider("two", {"f": dict.fromkeys(names[20:], 1), "g": {CPU: 1}}),
    }
    discovery = _discovered(providers)
    assert discovery.condition.reason == (dqo.COMPUTED if fits else dqo.AGGREGATION_FAILED)
    assert (discovery.capacity is not None) == fits
    if not fits:
        assert "flavor f has 65 resources" in discovery.condition.message
        assert "64" in discovery.condition.message
        assert "flavor g" not in discovery.condition.message
