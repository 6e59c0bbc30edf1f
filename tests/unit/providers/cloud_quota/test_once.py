"""One look without a daemon: what would be published, and what that came from."""

from __future__ import annotations

import datetime
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.cloud import CloudQuotaParameters, CloudQuotaParametersSpec
from kueue_dqo.api.meta import Condition, ObjectMeta
from kueue_dqo.api.parameters import ParametersObject
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import InvalidCapacity, SourceUnavailable
from providers.cloud_quota.cloud import Result
from providers.cloud_quota.once import Asked, Given, Once, made_up
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.providers.cloud_quota.clouds import NOW, FakeCloud, ShapeQuestion, entry, provider, quota, spec

CAPACITY = dqo.Capacity((dqo.FlavorCapacity("p5", {"cpu": Quantity.of("7")}),))


class AtNow(VirtualClock):
    """Whose time is that of the tests."""

    def now(self) -> datetime.datetime:
        return NOW


def parameters(**named: CloudQuotaParametersSpec) -> Mapping[str, CloudQuotaParameters]:
    """By name, which is that of the CapacityProvider of `provider`."""
    names = {name: f"{name}-parameters" for name in named}
    return {names[name]: ParametersObject(ObjectMeta(names[name]), each) for name, each in named.items()}


def given(
    specs: Mapping[str, CloudQuotaParametersSpec], providers: Mapping[str, dqo.CapacityProvider] | None = None
) -> Given:
    ours = {name: provider(name, [flavor.name for flavor in each.account.flavors]) for name, each in specs.items()}
    return Given(providers=ours if providers is None else providers, parameters=parameters(**specs), flavors={})


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    """The one that all parameters are about."""
    fake = FakeCloud({quota("L-1"): 384.0, quota("L-2"): 768.0})
    for module in ("asking", "once"):
        monkeypatch.setattr(f"providers.cloud_quota.{module}.cloud_of", lambda _: fake)
    return fake


@contextmanager
def once(objects: Given) -> Iterator[Once]:
    asking = Once(objects, clock=AtNow(), random=random.Random(1))
    try:
        yield asking
    finally:
        asking.close()
        for thread in threading.enumerate():
            if thread.name.startswith("cloud-"):
                thread.join()  # it lets go of the account


async def ask(objects: Given, name: str = "a") -> Asked:
    with once(objects) as asking:
        return await asking.ask(objects.providers[name])


def published(asked: Asked) -> dict[str, dict[str, str]]:
    """The capacity of the status."""
    capacity = asked.provider.status.capacity or dqo.Capacity()
    return {each.name: {name: str(amount) for name, amount in each.resources.items()} for each in capacity.flavors}


def condition(asked: Asked) -> Condition:
    (found,) = asked.provider.status.conditions
    return found


async def test_the_status_is_the_one_that_a_daemon_would_write_first(cloud: FakeCloud) -> None:
    asked = await ask(given({"a": spec({"p5": [entry()]})}))
    assert published(asked) == {"p5": {"cpu": "384", "memory": "4Ti", "nvidia.com/gpu": "16"}}
    assert condition(asked) == Condition(
        "CapacitySynchronized", "True", "Synchronized", asked.verdict.message, 1, "2026-12-01T12:00:00Z"
    )
    assert asked.verdict.message == "p5: 16 nvidia.com/gpu; p5 from 2 p5.48xlarge of quota L-1"
    assert asked.is_published
    assert asked.account == cloud.described(spec({}).account)


async def test_a_provider_without_a_generation_is_taken_as_a_new_one(cloud: FakeCloud) -> None:
    """As it stands in files. The API server gives 1 to what is new."""
    del cloud
    objects = given({"a": spec({"p5": [entry()]})})
    bare = msgspec.structs.replace(objects.providers["a"], metadata=ObjectMeta("a"))
    with once(objects) as asking:
        asked = await asking.ask(bare)
    assert condition(asked).observed_generation == 1
    assert asked.provider.metadata.generation is None


async def test_what_all_parameters_have_counts(cloud: FakeCloud) -> None:
    """Selection of resources, and headroom, by the publisher's own code."""
    del cloud
    more: dict[str, Any] = {
        "resources": {"include": ["nvidia.com/gpu"]},
        "headroom": [{"flavor": "p5", "resource": "nvidia.com/gpu", "quantity": "3"}],
    }
    asked = await ask(given({"a": spec({"p5": [entry()]}, **more)}))
    assert published(asked) == {"p5": {"nvidia.com/gpu": "13"}}
    assert asked.settled is not None
    assert asked.settled.notes == ("headroom p5: 3 nvidia.com/gpu",)
    assert asked.verdict.message.endswith("; headroom p5: 3 nvidia.com/gpu")


@pytest.mark.parametrize(
    ("answer", "result", "reason"),
    [
        (SourceUnavailable("it was throttled"), Result.THROTTLED, "SourceUnavailable"),
        (InvalidCapacity("it is no number"), Result.OK, "InvalidCapacity"),
        (KeyError("Value"), Result.OK, "SourceUnavailable"),
    ],
    ids=["throttled", "invalid", "a mistake of the code"],
)
async def test_what_fails_leaves_the_capacity_and_shows_its_calls(
    cloud: FakeCloud, answer: Exception, result: Result, reason: str
) -> None:
    """The one that the object has, if it has one."""
    cloud.answers[quota("L-1")] = answer
    cloud.results[quota("L-1")] = result
    objects = given({"a": spec({"p5": [entry()]})})
    held = msgspec.structs.replace(objects.providers["a"], status=dqo.CapacityProviderStatus(CAPACITY))
    asked = await ask(Given(providers={"a": held}, parameters=objects.parameters, flavors={}))
    assert asked.provider.status.capacity == CAPACITY
    assert (condition(asked).status, condition(asked).reason) == ("False", reason)
    assert str(answer) in condition(asked).message
    assert not asked.is_published
    assert result in [call.result for call in asked.calls]
    fresh = await ask(objects)
    assert fresh.provider.status.capacity is None


async def test_one_account_is_asked_once(cloud: FakeCloud) -> None:
    """Who asks it after another one gets the same answers, and shows the calls that were its own."""
    objects = given(
        {"a": spec({"p5": [entry("L-1", share="0.5")]}), "b": spec({"x": [entry("L-1", share="0.5"), entry("L-2")]})}
    )
    with once(objects) as asking:
        first = await asking.ask(objects.providers["a"])
        second = await asking.ask(objects.providers["b"])
    assert cloud.times == {"L-1": 1, "L-2": 1, "p5.48xlarge": 1}
    assert (len(first.calls), len(second.calls)) == (2, 1)
    assert first.is_published
    assert second.is_published
    assert [each.closed for each in cloud.opened] == [1]


async def test_others_in_the_files_take_their_shares(cloud: FakeCloud) -> None:
    """As the peers that a daemon sees: more than all of a quota is refused to both."""
    del cloud
    objects = given({name: spec({f"p5-{name}": [entry("L-1", share="0.6")]}) for name in "ab"})
    for name in "ab":
        asked = await ask(objects, name)
        assert asked.verdict.reason == "Misconfigured"
        assert "quota L-1 in us-east-1: 1.2 of it is taken" in asked.verdict.message


async def test_parameters_that_are_not_there_are_told(cloud: FakeCloud) -> None:
    """Nobody is asked then."""
    objects = given({"a": spec({"p5": [entry()]})})
    asked = await ask(Given(providers=objects.providers, parameters={}, flavors={}))
    assert asked.verdict.reason == "Misconfigured"
    assert "names CloudQuotaParameters 'a-parameters', which does not exist" in asked.verdict.message
    assert (asked.account, asked.calls, cloud.asked) == ("", (), [])


def test_a_capacity_provider_is_made_up_for_parameters_that_none_names() -> None:
    """With all of their flavors, in their order. One that is being deleted, or another controller's, names nothing."""
    specs = {"a": spec({"z": [entry()], "y": [entry()]}), "b": spec({"x": [entry()]})}
    objects = given(specs)
    assert made_up(objects) == {}
    made = made_up(Given(providers={"b": objects.providers["b"]}, parameters=objects.parameters, flavors={}))
    assert list(made) == ["a-parameters"]
    assert made["a-parameters"].flavor_names == ("z", "y")
    assert made["a-parameters"].spec.parameters == objects.providers["a"].spec.parameters
    going = msgspec.structs.replace(
        objects.providers["a"], metadata=ObjectMeta("a", deletion_timestamp="2026-12-01T12:00:00Z")
    )
    other = msgspec.structs.replace(
        objects.providers["b"],
        spec=msgspec.structs.replace(objects.providers["b"].spec, controller_name="example.com/other"),
    )
    assert list(made_up(Given(providers={"a": going, "b": other}, parameters=objects.parameters, flavors={}))) == [
        "a-parameters",
        "b-parameters",
    ]


async def test_the_account_is_let_go_whatever_it_answers(cloud: FakeCloud) -> None:
    cloud.answers[ShapeQuestion("p5.48xlarge")] = SourceUnavailable("gone")
    await ask(given({"a": spec({"p5": [entry()]})}))
    assert [each.closed for each in cloud.opened] == [1]
