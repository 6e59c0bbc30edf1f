"""From answers to a capacity: how entries combine, what is told, and what is refused with all its reasons."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api.dqo import CapacityProviderStatus
from kueue_dqo.api.meta import Condition
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, Notice, SourceUnavailable
from providers.cloud_quota.cloud import Derived, Draw, Question
from providers.cloud_quota.compute import LONGEST_SLEEP, Counted, observe
from providers.cloud_quota.heard import Heard, SomeAnswers
from providers.cloud_quota.takings import Takings
from tests.unit.providers.cloud_quota.clouds import (
    GPU,
    NOW,
    P5,
    FakeCloud,
    ShapeQuestion,
    amounts_of,
    entry,
    quota,
    reasons,
    request,
    spec,
)

Given = dict[Question[Any], Any]


def heard(values: dict[str, Any], *failures: CapacityError, missing: tuple[str, ...] = ()) -> Heard:
    """Answers by the code of the quota."""
    given: Given = {ShapeQuestion("p5.48xlarge"): P5, **{quota(code): value for code, value in values.items()}}
    return Heard(SomeAnswers(given, frozenset(map(quota, missing))), failures)


def look(asked: Any, answers: Heard, cloud: FakeCloud | None = None, **more: Any) -> Counted:
    remembered = more.pop("takings", Takings())
    return observe(request(asked, **more), cloud or FakeCloud(), answers, set(), remembered)


def derived(text: str = "x", *, after: float | None = None, **more: Any) -> Derived:
    """With amounts by resource, which may be none."""
    amounts = {name: Quantity.of(value) for name, value in more.pop("amounts", {GPU: 8}).items()}
    later = None if after is None else NOW + datetime.timedelta(seconds=after)
    return Derived(instances=1, amounts=amounts, text=text, next=later, **more)


def two(combine: str, first: dict[str, Any], second: dict[str, Any], **more: Any) -> Counted:
    """One flavor of two entries that come to these amounts."""
    asked = spec({"p5": [entry("L-1"), entry("L-2")]}, combine=combine, **more)
    return look(asked, heard({"L-1": derived("one", amounts=first), "L-2": derived("two", amounts=second)}))


# --- what is published -----------------------------------------------------------------------------------------------


def test_instances_become_amounts_and_the_message_says_what_of() -> None:
    counted = look(spec({"p5": [entry("L-1")]}), heard({"L-1": 384.0}))
    assert amounts_of(counted.observation) == {"p5": {"cpu": "384", "memory": "4Ti", GPU: "16"}}
    assert counted.observation.summary == "p5: 16 nvidia.com/gpu; p5 from 2 p5.48xlarge of quota L-1"
    assert counted.observation.look_again is None
    assert counted.observation.notices == ()


@pytest.mark.parametrize(("combine", "gpus", "cpus"), [("Max", "16", "10"), ("Min", "8", "7"), ("Sum", "24", "17")])
def test_each_resource_is_combined_over_the_entries(combine: str, gpus: str, cpus: str) -> None:
    counted = two(combine, {GPU: 8, "cpu": 10}, {GPU: 16, "cpu": 7})
    assert amounts_of(counted.observation) == {"p5": {GPU: gpus, "cpu": cpus}}
    assert counted.observation.summary.endswith(f"p5 from the {combine} of one and two")


@pytest.mark.parametrize("combine", ["Max", "Min", "Sum"])
def test_an_entry_without_a_resource_says_nothing_about_it(combine: str) -> None:
    counted = two(combine, {GPU: 8, "cpu": 10}, {"cpu": 10})
    assert amounts_of(counted.observation)["p5"][GPU] == "8"


def test_no_instance_is_an_explicit_zero() -> None:
    counted = look(spec({"p5": [entry("L-1")]}), heard({"L-1": 191.0}))
    assert amounts_of(counted.observation) == {"p5": {"cpu": "0", "memory": "0", GPU: "0"}}


def test_flavors_come_in_the_order_of_the_provider() -> None:
    asked = spec({"b": [entry("L-1")], "a": [entry("L-2")]})
    counted = look(asked, heard({"L-1": derived("one"), "L-2": derived("two")}), orchestrated=["a", "b"])
    assert list(amounts_of(counted.observation)) == ["a", "b"]
    assert counted.observation.summary == "a: 8 nvidia.com/gpu; b: 8 nvidia.com/gpu; a from two; b from one"


def test_resources_that_are_not_selected_are_not_reported() -> None:
    counted = look(spec({"p5": [entry("L-1")]}, resources={"include": [GPU]}), heard({"L-1": 384.0}))
    assert amounts_of(counted.observation) == {"p5": {GPU: "16"}}


def test_a_flavor_of_which_nothing_is_selected_is_told() -> None:
    counted = look(spec({"p5": [entry("L-1")]}, resources={"include": ["x.com/y"]}), heard({"L-1": 384.0}))
    assert amounts_of(counted.observation) == {}
    assert reasons(counted.observation.notices) == ["FlavorWithoutAmounts"]


def test_notices_are_told_once_each() -> None:
    same, other = Notice("ReservationEnded", "cr-1"), Notice("ReservationEnded", "cr-2")
    asked = spec({"a": [entry("L-1")], "b": [entry("L-2")]})
    answers = heard({"L-1": derived(notices=(same, other)), "L-2": derived(notices=(same,))})
    assert look(asked, answers).observation.notices == (same, other)


@pytest.mark.parametrize(
    ("after", "wanted"),
    [((600, 60, None), 60), ((-5, 60, 600), 60), ((-5, 0, None), None), ((10**9, None, None), LONGEST_SLEEP)],
)
def test_it_looks_again_when_the_first_entry_changes_by_itself(
    after: tuple[float | None, ...], wanted: float | None
) -> None:
    asked = spec({"p5": [entry(f"L-{number}") for number, _ in enumerate(after)]})
    answers = heard({f"L-{number}": derived(after=each) for number, each in enumerate(after)})
    assert look(asked, answers).observation.look_again == wanted


def test_what_each_entry_came_to_is_there_for_metrics() -> None:
    (flavor,) = look(spec({"p5": [entry("L-1"), entry("L-2")]}), heard({"L-1": 384.0, "L-2": 192.0})).flavors
    assert [(each.number, each.region, each.type_name, each.derived.instances) for each in flavor.entries] == [
        (0, "us-east-1", "p5.48xlarge", 2),
        (1, "us-east-1", "p5.48xlarge", 1),
    ]


@settings(max_examples=200)
@given(
    st.sampled_from(["Max", "Min", "Sum"]),
    st.lists(st.dictionaries(st.sampled_from(["cpu", GPU, "x.com/y"]), st.integers(0, 9)), min_size=1, max_size=4),
)
def test_the_order_of_entries_never_matters(combine: str, listed: list[dict[str, int]]) -> None:
    def capacity(amounts: list[dict[str, int]]) -> dict[str, dict[str, str]]:
        codes = [f"L-{number}" for number, _ in enumerate(amounts)]
        asked = spec({"p5": [entry(code) for code in codes]}, combine=combine)
        answers = heard({code: derived(amounts=each) for code, each in zip(codes, amounts, strict=True)})
        return amounts_of(look(asked, answers).observation)

    plain: Callable[[list[int]], int] = {"Max": max, "Min": min, "Sum": sum}[combine]  # type: ignore[assignment]
    wanted = {
        name: str(plain([each[name] for each in listed if name in each]))
        for name in sorted({name for each in listed for name in each})
    }
    assert capacity(listed) == capacity(listed[::-1]) == ({"p5": wanted} if wanted else {})


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(kind: type[CapacityError], asked: Any, answers: Heard, cloud: FakeCloud | None = None, **more: Any) -> str:
    with pytest.raises(CapacityError) as raised:
        look(asked, answers, cloud, **more)
    assert type(raised.value) is kind
    assert str(raised.value).startswith("CloudQuotaParameters aws-parameters: ")
    return str(raised.value)


def test_a_flavor_that_only_the_provider_has_is_refused() -> None:
    text = refused(Misconfigured, spec({"p5": [entry("L-1")]}), heard({"L-1": 1.0}), orchestrated=["p5", "l4", "t4"])
    assert "spec.aws.flavors has nothing for l4, t4, which CapacityProvider aws orchestrates" in text


def test_a_flavor_that_only_the_parameters_have_is_refused() -> None:
    asked = spec({"p5": [entry("L-1")], "p6": [entry("L-2")]})
    text = refused(Misconfigured, asked, heard({"L-1": 1.0, "L-2": 1.0}), orchestrated=["p5"])
    assert "spec.aws.flavors[1].name names 'p6', which is not in spec.orchestratedFlavors" in text


def test_what_an_entry_cannot_be_derived_from_is_told_with_its_place() -> None:
    asked = spec({"p5": [entry("L-1"), entry("L-2")]})
    text = refused(InvalidCapacity, asked, heard({"L-1": 384.0, "L-2": -1.0}))
    assert "spec.aws.flavors[0].entries[1] (p5): quota L-2 is -1, which is no limit" in text


def test_the_same_problem_of_several_entries_is_told_once() -> None:
    asked = spec({"p5": [entry("L-1", share="0.5")], "p6": [entry("L-1", share="0.5")]})
    text = refused(InvalidCapacity, asked, heard({"L-1": -1.0}))
    assert "spec.aws.flavors[0].entries[0] (p5), spec.aws.flavors[1].entries[0] (p6): quota L-1 is -1" in text
    assert text.count("which is no limit") == 1


def test_more_of_a_quota_than_there_is_is_refused() -> None:
    text = refused(Misconfigured, spec({"a": [entry("L-1")], "b": [entry("L-1")]}), heard({"L-1": 384.0}))
    assert "quota L-1 in us-east-1: 2 of it is taken, by a (1), b (1)" in text


def test_more_of_what_was_found_than_there_is_is_refused() -> None:
    asked = spec({"a": [entry("L-1")], "b": [entry("L-2")]})
    taken = {"reservation cr-1": Fraction(3, 4)}
    text = refused(Misconfigured, asked, heard({"L-1": derived(taken=taken), "L-2": derived(taken=taken)}))
    assert "reservation cr-1: 1.5 of it is taken, by a (0.75), b (0.75)" in text


def test_more_of_a_limit_of_many_regions_than_there_is_is_refused() -> None:
    asked = spec({"p5": [entry("L-1"), entry("L-2")]}, combine="Sum")
    each = derived(draws={"ALL": Draw("quota ALL of project p", Fraction(8), Fraction(8))})
    text = refused(Misconfigured, asked, heard({"L-1": each, "L-2": each}))
    assert "quota ALL of project p is 8, and 16 of it is counted, by p5 (16)" in text
    assert "globalMetric" in text


def test_what_another_provider_took_is_refused_to_both() -> None:
    """Each of them hears of it at its look after the other's, be it by name here and by tag there."""
    takings, asked = Takings(), {name: spec({f"{name}-flavor": [entry("L-1", share="0.5")]}) for name in "ab"}
    answers = heard({"L-1": derived(taken={"reservation cr-1": Fraction(1)})})
    look(asked["a"], answers, name="a", takings=takings)
    for name, other in (("b", "a"), ("a", "b")):
        with pytest.raises(Misconfigured) as raised:
            look(asked[name], answers, name=name, takings=takings)
        assert (
            f"reservation cr-1: 2 of it is taken, by {name}-flavor (1), {other}-flavor of CapacityProvider {other} (1)"
        ) in str(raised.value)
    look(asked["a"], heard({"L-1": derived()}), name="a", takings=takings)
    look(asked["b"], answers, name="b", takings=takings)


def test_a_look_that_is_not_whole_leaves_what_the_last_one_took() -> None:
    takings, asked = Takings(), spec({"p5": [entry("L-1"), entry("L-2")]})
    taken = derived(taken={"cr-1": Fraction(1)})
    look(asked, heard({"L-1": taken, "L-2": derived()}), name="a", takings=takings)
    before = list(takings.of_others("b"))
    assert [(name, each.flavor, dict(each.shares)) for name, each in before] == [("a", "p5", {"cr-1": Fraction(1)})]
    for answers in (
        heard({"L-1": derived()}, SourceUnavailable("L-2 failed"), missing=("L-2",)),
        heard({"L-1": derived(), "L-2": -5.0}),
    ):
        with pytest.raises(CapacityError):
            look(asked, answers, name="a", takings=takings)
        assert list(takings.of_others("b")) == before


def test_flavors_that_are_not_orchestrated_take_nothing_from_others() -> None:
    takings = Takings()
    with pytest.raises(Misconfigured):
        look(
            spec({"p5": [entry("L-1")], "p4d": [entry("L-2")]}),
            heard({"L-1": derived(taken={"cr-1": Fraction(1)}), "L-2": derived(taken={"cr-2": Fraction(1)})}),
            orchestrated=["p5"],
            takings=takings,
        )
    assert [each.flavor for _, each in takings.of_others("b")] == ["p5"]


@pytest.mark.parametrize(("status", "remembered"), [("True", {"cr-1", "cr-2"}), ("False", set())])
def test_what_the_last_capacity_told_as_ended_is_known_to_a_new_process(status: str, remembered: set[str]) -> None:
    """The message of a failure names things as well, such as those that are unknown."""
    about = request(spec({"p5": [entry("L-1")]}))
    condition = Condition("CapacitySynchronized", status, message="0 of cr-1 and cr-2 that have ended")
    other = Condition("Other", "True", message="cr-3")
    told = msgspec.structs.replace(about.provider, status=CapacityProviderStatus(None, (other, condition)))
    cloud = FakeCloud()
    observe(dataclasses.replace(about, provider=told), cloud, heard({"L-1": 1.0}), set(), Takings())
    assert cloud.ended == remembered


def test_a_question_without_an_answer_is_told_once_and_never_a_zero() -> None:
    asked = spec({"p5": [entry("L-1"), entry("L-1", share="0.5")]})
    text = refused(SourceUnavailable, asked, heard({}, SourceUnavailable("L-1 timed out"), missing=("L-1",)))
    assert text.endswith(": L-1 timed out")


def test_a_question_without_an_answer_is_told_though_no_entry_comes_to_it() -> None:
    refused(SourceUnavailable, spec({"p5": [entry("L-1")]}), heard({"L-1": 384.0}, SourceUnavailable("L-9 failed")))


def test_all_problems_are_told_and_the_reason_is_the_one_that_a_person_has_to_see_to() -> None:
    asked = spec({"p5": [entry("L-1"), entry("L-2")]})
    failures = SourceUnavailable("L-1 is throttled"), Misconfigured("no permission for L-3")
    text = refused(Misconfigured, asked, heard({"L-2": -5.0}, *failures, missing=("L-1",)))
    assert text.split(": ", 1)[1].split("; ") == [
        "no permission for L-3",
        "spec.aws.flavors[0].entries[1] (p5): quota L-2 is -5, which can be no limit: have it corrected at the cloud",
        "L-1 is throttled",
    ]
    refused(InvalidCapacity, asked, heard({"L-2": -5.0}, failures[0], missing=("L-1",)))
