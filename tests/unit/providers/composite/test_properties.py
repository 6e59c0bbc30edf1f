"""What holds of every composite: a plain reference agrees, order never matters, no member makes more than it should."""

from __future__ import annotations

import random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import Combine, CompositeParametersSpec, OnMemberNotReady
from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, Observation, Request, SourceUnavailable
from providers.composite.compute import observe
from tests.unit.providers.composite.questions import amounts_of, failed, parameters, provider, ready, request

# Amounts and their nanos, worked out by hand: the reference must not trust the parser.
NANOS_OF = {"0": 0, "1n": 1, "300m": 3 * 10**8, "8": 8 * 10**9, "1Ki": 1024 * 10**9, "7E": 7 * 10**27, "-1": -(10**9)}
LARGEST = (2**63 - 1) * 10**9
NAMES = "abcd"
FLAVORS = ["f0", "f1", "f2"]
Amounts = dict[str, dict[str, str]]


class World:
    """Members in any state, by a seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.combine = chance.choice(list(Combine))
        self.policy = chance.choice(list(OnMemberNotReady))
        self.flavors = chance.sample(FLAVORS, k=chance.randint(1, 3))
        self.members = chance.sample(NAMES, k=chance.randint(1, 4))
        self.missing = {name for name in NAMES if chance.random() < 0.03}
        self.unready = {name for name in NAMES if chance.random() < 0.15}
        usual = ["0", "1n", "300m", "8", "1Ki"]
        self.reported: dict[str, Amounts] = {
            name: {
                flavor: {
                    resource: chance.choice([*usual * 6, "7E", "-1"])
                    for resource in chance.sample(["cpu", "memory", "x/gpu"], k=chance.randint(0, 3))
                }
                for flavor in chance.sample(FLAVORS, k=chance.randint(0, 3))
            }
            for name in NAMES
        }
        self.orchestrated = {name: chance.sample(FLAVORS, k=chance.randint(1, 3)) for name in NAMES}

    def providers(self) -> list[dqo.CapacityProvider]:
        return [
            provider(
                name,
                self.reported[name],
                flavors=self.orchestrated[name],
                condition=failed() if name in self.unready else ready(),
            )
            for name in NAMES
            if name not in self.missing
        ]

    def asked(self, members: list[str] | None = None) -> Request[CompositeParametersSpec]:
        spec = parameters(members or self.members, self.combine, self.policy)
        return request(spec, *self.providers(), flavors=self.flavors)


worlds = st.integers(0, 2**32).map(World)


def seen(asked: Request[CompositeParametersSpec]) -> Observation | CapacityError:
    try:
        return observe(asked)
    except CapacityError as error:
        return error


def nanos(found: Observation) -> dict[tuple[str, str], int]:
    return {
        (flavor.name, name): quantity.nanos
        for flavor in found.capacity.flavors
        for name, quantity in flavor.resources.items()
    }


def expected(world: World) -> type[CapacityError] | dict[tuple[str, str], int]:
    """The rules, one after the other, pair by pair."""
    if any(name in world.missing for name in world.members):
        return Misconfigured
    usable = [name for name in world.members if name not in world.unready]
    if not usable or (len(usable) < len(world.members) and world.policy is OnMemberNotReady.FAIL):
        return SourceUnavailable
    result: dict[tuple[str, str], int] = {}
    for flavor in world.flavors:
        for resource in ("cpu", "memory", "x/gpu"):
            found = [
                NANOS_OF[world.reported[name][flavor][resource]]
                for name in usable
                if flavor in world.orchestrated[name] and resource in world.reported[name].get(flavor, {})
            ]
            if any(each < 0 for each in found) or (world.combine is Combine.SUM and sum(found) > LARGEST):
                return InvalidCapacity
            if found:
                by_rule = {Combine.MIN: min(found), Combine.MAX: max(found), Combine.SUM: sum(found)}
                result[flavor, resource] = by_rule[world.combine]
    return result


@given(worlds)
def test_a_plain_reference_agrees(world: World) -> None:
    """On each amount, to the nano, and on whether anything is published at all."""
    found, wanted = seen(world.asked()), expected(world)
    event(type(found).__name__)
    assert (nanos(found) if isinstance(found, Observation) else type(found)) == wanted


@settings(max_examples=300)
@given(worlds)
def test_the_order_of_members_changes_no_amount(world: World) -> None:
    """Nor its text: else a status is written anew when a list is reordered."""
    straight, turned = seen(world.asked()), seen(world.asked(world.members[::-1]))
    if isinstance(straight, Observation) and isinstance(turned, Observation):
        assert nanos(straight) == nanos(turned)
        if world.combine is Combine.SUM:
            assert amounts_of(straight) == amounts_of(turned)
    else:
        assert type(straight) is type(turned)


@settings(max_examples=300)
@given(worlds)
def test_the_minimum_is_no_more_than_any_member_and_the_maximum_no_less(world: World) -> None:
    """Of the pairs that a member reports."""
    found = seen(world.asked())
    if isinstance(found, CapacityError) or world.combine is Combine.SUM:
        return
    for name in set(world.members) - world.unready:
        for (flavor, resource), amount in nanos(found).items():
            theirs = world.reported[name].get(flavor, {}).get(resource)
            if theirs is not None and flavor in world.orchestrated[name]:
                assert amount <= NANOS_OF[theirs] if world.combine is Combine.MIN else amount >= NANOS_OF[theirs]
