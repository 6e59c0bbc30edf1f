"""What of an observation is published, before any guard, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import CommonParameters, Headroom, ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS, Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.pipeline import Settled, check_flavors, message_of_status, settle

GPU = "nvidia.com/gpu"


def provider(*flavors: str) -> dqo.CapacityProvider:
    spec = dqo.CapacityProviderSpec("example.com/x", tuple(map(dqo.FlavorRef, flavors or ("h100", "a100"))))
    return dqo.CapacityProvider(ObjectMeta("pool"), spec)


def flavor(name: str, amounts: Mapping[str, object]) -> dqo.FlavorCapacity:
    return dqo.FlavorCapacity(name, {resource: Quantity.of(amount) for resource, amount in amounts.items()})


def settled(
    *flavors: dqo.FlavorCapacity,
    headroom: tuple[Headroom, ...] = (),
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> Settled:
    parameters = CommonParameters(resources=ResourceSelection(include, exclude), headroom=headroom)
    return settle(provider(), parameters, dqo.Capacity(flavors))


def percent(share: int, resource: str = GPU, of: str = "h100") -> Headroom:
    return Headroom(of, resource, percent=share)


def quantity(amount: object, resource: str = GPU, of: str = "h100") -> Headroom:
    return Headroom(of, resource, quantity=Quantity.of(amount))


# --- selection -----------------------------------------------------------------------------------------------------


def test_flavors_come_in_the_order_of_the_spec_and_resources_by_name() -> None:
    capacity = settled(flavor("a100", {"memory": 1, "cpu": 2}), flavor("h100", {GPU: 8})).capacity
    assert [(each.name, list(each.resources)) for each in capacity.flavors] == [
        ("h100", [GPU]),
        ("a100", ["cpu", "memory"]),
    ]


def test_a_flavor_without_resources_is_left_out() -> None:
    assert settled(flavor("h100", {}), flavor("a100", {"cpu": 0})).capacity == dqo.Capacity(
        (flavor("a100", {"cpu": 0}),)
    )
    assert settled(flavor("h100", {"cpu": 1}), include=(GPU,)).capacity == dqo.Capacity()


def test_only_selected_resources_are_published() -> None:
    observed = flavor("h100", {"cpu": 1, "memory": 2, GPU: 3})
    assert settled(observed, include=("cpu", GPU), exclude=(GPU,)).capacity.flavors == (flavor("h100", {"cpu": 1}),)


def test_a_flavor_that_is_not_orchestrated_is_left_out_and_said_to_be() -> None:
    found = settled(flavor("x", {"cpu": -1}), flavor("h100", {GPU: 8}))
    assert found.capacity.flavors == (flavor("h100", {GPU: 8}),)
    assert found.notes == ("left out x: not in spec.orchestratedFlavors",)


def test_a_flavor_of_which_nothing_is_selected_is_said_to_be() -> None:
    """Its quotas become 0; where the source itself has nothing of it, that is for the source to say."""
    found = settled(flavor("h100", {"cpu": 1}), flavor("a100", {}), flavor("x", {"cpu": 1}), include=(GPU,))
    assert found.notes == (
        "h100: nothing of what is observed is reported (resources.include, resources.exclude)",
        "left out x: not in spec.orchestratedFlavors",
    )
    assert settled(flavor("h100", {"cpu": 1, GPU: 0}), include=(GPU,)).notes == ()


def test_an_absurd_amount_is_shortened() -> None:
    """It has hundreds of digits where it is written without an exponent."""
    amount = dqo.FlavorCapacity("h100", {GPU: Quantity(10**259)})
    with pytest.raises(InvalidCapacity, match=r"the source reports 10{39}… \(234 characters\) nvidia"):
        settled(amount)


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        ((flavor("h100", {GPU: -1}),), f"-1 {GPU} of flavor h100: 0 or more"),
        ((flavor("h100", {"cpu": "-1n"}),), "-1n cpu of flavor h100: 0 or more"),
        ((flavor("h100", {"memory": LARGEST_UNITS + 1}),), "9223372036854775808 memory of flavor h100, more than"),
        ((flavor("h100", {"": 1}),), "1 '' of flavor h100, which is no name of a resource"),
        ((flavor("h100", {"a b": 1}),), "1 'a b' of flavor h100, which is no name of a resource"),
        ((flavor("h100", {"x" * 400: 1}),), "(400 characters) of flavor h100"),
        ((flavor("h100", {"cpu": 1}), flavor("h100", {"memory": 1})), "flavor 'h100' 2 times"),
    ],
)
def test_impossible_numbers_are_invalid(observed: tuple[dqo.FlavorCapacity, ...], words: str) -> None:
    with pytest.raises(InvalidCapacity) as caught:
        settled(*observed)
    assert words in str(caught.value)


def test_the_largest_quantity_is_published() -> None:
    assert settled(flavor("h100", {"memory": LARGEST_UNITS})).capacity.flavors == (
        flavor("h100", {"memory": LARGEST_UNITS}),
    )


def test_a_resource_that_is_not_selected_is_not_judged() -> None:
    assert settled(flavor("h100", {"cpu": -1, GPU: 8}), include=(GPU,)).capacity.flavors == (flavor("h100", {GPU: 8}),)


def test_more_resources_than_the_api_takes_are_misconfigured() -> None:
    assert settled(flavor("h100", {f"r{number}": 1 for number in range(64)})).capacity.flavors
    many = flavor("h100", {f"r{number}": 1 for number in range(65)})
    with pytest.raises(Misconfigured, match=r"flavor h100 has 65 resources; at most 64 .* resources\.include"):
        settled(many)
    assert settled(many, exclude=("r7",)).capacity.flavors


def test_more_flavors_than_the_api_takes_are_misconfigured() -> None:
    with pytest.raises(Misconfigured, match="65 flavors; at most 64"):
        settle(provider(*(f"f{number}" for number in range(65))), CommonParameters(), dqo.Capacity())


def test_of_several_causes_invalid_numbers_come_first_and_the_others_are_said() -> None:
    with pytest.raises(InvalidCapacity, match=r"-1 cpu of flavor h100.*; .*: spec\.headroom\[0\]\.flavor names 'x'"):
        settled(flavor("h100", {"cpu": -1}), headroom=(percent(10, of="x"),))


def test_each_flavor_needs_an_object() -> None:
    flavors = {"h100": ResourceFlavor(ObjectMeta("h100"))}
    check_flavors(provider("h100"), flavors)
    with pytest.raises(Misconfigured) as caught:
        check_flavors(provider("a100", "h100", "b200"), flavors)
    assert str(caught.value) == (
        "ResourceFlavor a100 does not exist: create it, or take it out of spec.orchestratedFlavors; "
        "ResourceFlavor b200 does not exist: create it, or take it out of spec.orchestratedFlavors"
    )


# --- headroom ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headroom", "observed", "published", "kept"),
    [
        (percent(10), 80, 72, 8),
        (percent(10), 81, 72, 9),
        (percent(1), 1, 0, 1),
        (percent(100), 80, 0, 80),
        (percent(10, "cpu"), "1001m", "900m", "101m"),
        (percent(10, "memory"), "10Gi", 9663676416, 1073741824),
        (percent(50), LARGEST_UNITS, (LARGEST_UNITS - 1) // 2, (LARGEST_UNITS + 1) // 2),
        (quantity(8), 80, 72, 8),
        (quantity("7500m"), 80, 72, 8),
        (quantity("500u", "cpu"), 1, "999m", "1m"),
        (quantity(100), 80, 0, 80),
        (quantity(1), "500m", 0, "500m"),
    ],
)
def test_headroom_is_rounded_in_its_favour_and_takes_no_more_than_there_is(
    headroom: Headroom, observed: object, published: object, kept: object
) -> None:
    found = settled(flavor("h100", {headroom.resource: observed}), headroom=(headroom,))
    assert found.capacity.flavors == (flavor("h100", {headroom.resource: published}),)
    assert found.held_back == {FlavorResource("h100", headroom.resource): Quantity.of(kept)}
    assert found.notes == (
        f"headroom h100: {found.held_back[FlavorResource('h100', headroom.resource)]} {headroom.resource}",
    )


def test_headroom_keeps_the_format_of_what_is_observed() -> None:
    found = settled(flavor("h100", {"memory": "10Gi"}), headroom=(percent(50, "memory"),))
    assert str(found.capacity.flavors[0].resources["memory"]) == "5Gi"
    assert found.notes == ("headroom h100: 5Gi memory",)


def test_headroom_of_nothing_keeps_nothing_back() -> None:
    found = settled(flavor("h100", {GPU: 0, "cpu": 5}), headroom=(percent(10), quantity(0, "cpu")))
    assert (found.held_back, found.notes) == ({}, ())


def test_headroom_of_each_flavor_is_one_note() -> None:
    found = settled(
        flavor("a100", {GPU: 16}),
        flavor("h100", {GPU: 80, "cpu": 100}),
        headroom=(percent(10), quantity(1, of="a100"), quantity(4, "cpu")),
    )
    assert found.notes == (f"headroom h100: 8 {GPU}, 4 cpu", f"headroom a100: 1 {GPU}")


def test_headroom_for_what_is_not_there_now_is_no_mistake() -> None:
    found = settled(flavor("h100", {"cpu": 5}), headroom=(percent(10), percent(10, of="a100")))
    assert found.capacity.flavors == (flavor("h100", {"cpu": 5}),)
    assert found.notes == (f"headroom finds nothing reported of h100/{GPU}, a100/{GPU}",)


@pytest.mark.parametrize(
    ("headroom", "words"),
    [
        (percent(10, of="x"), r"spec\.headroom\[0\]\.flavor .* 'x', .* \(h100, a100\)"),
        (percent(10, "cpu"), r"spec\.headroom\[0\]\.resource .* 'cpu', which the provider does not report"),
    ],
)
def test_headroom_for_what_is_never_reported_is_misconfigured(headroom: Headroom, words: str) -> None:
    with pytest.raises(Misconfigured, match=words):
        settled(flavor("h100", {GPU: 80, "cpu": 1}), headroom=(headroom,), exclude=("cpu",))


@settings(max_examples=300)
@given(
    st.integers(0, LARGEST_UNITS * 10**9),
    st.sampled_from(["cpu", GPU]),
    st.one_of(st.integers(1, 100).map(percent), st.integers(0, 2 * 10**28).map(lambda nanos: nanos)),
)
def test_what_is_published_and_what_is_kept_back_add_up(observed: int, resource: str, wanted: Headroom | int) -> None:
    if isinstance(wanted, int):
        headroom = Headroom("h100", resource, quantity=Quantity(wanted))
        least = wanted
    else:
        headroom = percent(wanted.percent or 0, resource)
        least = observed * (wanted.percent or 0) // 100
    found = settled(dqo.FlavorCapacity("h100", {resource: Quantity(observed)}), headroom=(headroom,))
    published = found.capacity.flavors[0].resources[resource].nanos
    kept = found.held_back.get(FlavorResource("h100", resource), Quantity(0)).nanos
    unit = 10**6 if resource == "cpu" else 10**9
    assert published + kept == observed
    assert published >= 0
    assert min(observed, least) <= kept <= least + unit


# --- the message ---------------------------------------------------------------------------------------------------


def test_the_message_lists_what_there_is_to_say() -> None:
    assert message_of_status((), "h100: 10 nodes", ("headroom h100: 8 cpu", "left out x")) == (
        "h100: 10 nodes; headroom h100: 8 cpu; left out x"
    )
    assert message_of_status((), "", ()) == ""
