"""A small cluster whose quotas are written one by one: writes land late, in any order, or fail.

Sums are counted here once more and by themselves, as Kueue counts them: whole units, rounded up.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from orchestrator.transition import Transition, Write
from tests.unit.orchestrator.builders import Amounts, Flavors, groups, nominals, ref

UNIT: Final = {"cpu": 10**6}
"""Nanos in the unit of a resource; 10⁹ where nothing is said."""
OWNER: Final = ref("dqo")
Fate = Callable[[Write], str]
"""What becomes of a write: it lands, is refused, or is `lost` or `lost but landed`, which the sender cannot tell."""


def lands(_: Write) -> str:
    """No write fails."""
    return "lands"


def quotas(*each: Flavors) -> EffectiveQuotas:
    """Effective quotas of the orchestrator under test, one resource group for each argument."""
    return EffectiveQuotas(OWNER, groups(*each))


def nanos(capacity: Amounts) -> dict[FlavorResource, int]:
    """Capacity by pair, in nanos."""
    return {
        FlavorResource(flavor, resource): Quantity.of(amount).nanos
        for flavor, resources in capacity.items()
        for resource, amount in resources.items()
    }


def units(quotas: EffectiveQuotas) -> dict[FlavorResource, int]:
    """Nominal quotas in whole units, rounded up."""
    return {
        pair: -(-quota.nominal_quota.nanos // UNIT.get(pair.resource, 10**9))
        for pair, quota in quotas_by_pair(quotas.resource_groups)
    }


class Cluster:
    """What is in force, what should be, and the writes on their way; checks each write when it is handed out."""

    def __init__(
        self,
        held: Mapping[ObjectKey, EffectiveQuotas],
        wanted: Mapping[ObjectKey, EffectiveQuotas],
        capacity: Mapping[FlavorResource, int],
    ) -> None:
        """Takes both ends, and the capacity in nanos of the pairs that are orchestrated."""
        self.held = dict(held)
        self.wanted = dict(wanted)
        self.capacity = dict(capacity)
        self.on_the_way: dict[ObjectKey, Write] = {}
        self.unknown: dict[ObjectKey, EffectiveQuotas] = {}
        """What may be in force besides, of objects whose write was lost."""
        self.amounts = {key: [units(quotas)] for key, quotas in self.held.items()}
        """All that an object may hold at this moment: what is in force, then what is on its way or unknown."""
        self.goals = {key: units(quotas) for key, quotas in self.wanted.items()}
        self.given_up: set[ObjectKey] = set()
        self.writes = 0
        self.transition = self.start()

    def start(self) -> Transition:
        """A new transition from what is in force; objects whose last write was lost are left alone."""
        self.transition = Transition(
            self.wanted,
            {key: held.resource_groups for key, held in self.held.items()},
            self.capacity.get,
            left_alone={key: self.unknown[key].resource_groups if key in self.unknown else () for key in self.given_up},
            is_written=lambda key, wanted: self.held[key] == wanted,
        )
        return self.transition

    # --- sums --------------------------------------------------------------------------------------------------------

    def limit(self, pair: FlavorResource) -> int:
        """Units that there are."""
        return self.capacity[pair] // UNIT.get(pair.resource, 10**9)

    def highest(self, pair: FlavorResource) -> int:
        """The sum in force, each object at the largest of its ends."""
        return sum(max(end.get(pair, 0) for end in ends) for ends in self.amounts.values())

    def moving(self, pair: FlavorResource) -> int:
        """What the writes on their way change."""
        ends = [self.amounts[key] for key in self.on_the_way]
        return sum(abs(after.get(pair, 0) - before.get(pair, 0)) for before, after in ends)

    def unclaimed(self, pair: FlavorResource) -> int:
        """The room that growth wants and that no write on its way takes."""
        lacking = sum(
            max(0, goal.get(pair, 0) - self.amounts[key][-1].get(pair, 0))
            for key, goal in self.goals.items()
            if key not in self.given_up
        )
        return max(0, min(self.limit(pair) - self.highest(pair), lacking))

    # --- writes ------------------------------------------------------------------------------------------------------

    def send(self) -> Write | None:
        """Takes one write, and checks that it may be sent; or that there is none that should be."""
        before = {pair: (self.highest(pair), self.unclaimed(pair), self.moving(pair)) for pair in self.capacity}
        write = self.transition.next_write()
        if write is None:
            self._check_that_nothing_need_be_sent()
            return None
        assert write.key not in self.on_the_way
        assert write.key not in self.given_up
        held, sent = self.amounts[write.key][0], units(write.quotas)
        self.on_the_way[write.key] = write
        self.amounts[write.key].append(sent)
        self.writes += 1
        for pair, (highest, unclaimed, moving) in before.items():
            assert self.highest(pair) <= max(self.limit(pair), highest), f"{write.key} promises too much of {pair}"
            if pair in sent and sent[pair] < held.get(pair, 0):
                assert unclaimed <= moving, f"{write.key} deepens the dip of {pair}"
        assert write.is_last == (write.quotas == self.wanted[write.key])
        return write

    def _check_that_nothing_need_be_sent(self) -> None:
        for pair in self.capacity:
            steps = [
                self.goals[key].get(pair, 0) - self.amounts[key][0].get(pair, 0) for key in self.transition.waiting
            ]
            if self.unclaimed(pair) > self.moving(pair):
                assert max(steps, default=0) <= 0, f"growth of {pair} is kept waiting"
            else:
                assert min(steps, default=0) >= 0, f"a shrink of {pair} is kept waiting"

    def settle(self, key: ObjectKey, fate: str) -> None:
        """Lets a write that is on its way land or fail."""
        write, before = self.on_the_way.pop(key), self.held[key]
        if fate in {"lands", "lost but landed"}:
            self.held[key] = write.quotas
        if fate == "lands":
            self.transition.landed(key)
        else:
            self.given_up.add(key)
            self.transition.failed(key, may_have_landed=fate != "refused")
        if fate.startswith("lost"):
            self.unknown[key] = write.quotas if fate == "lost" else before
        self.amounts[key] = [units(each[key]) for each in (self.held, self.unknown) if key in each]

    def drain(self, concurrency: int, chance: random.Random, fate: Fate = lands) -> None:
        """Sends and settles, in a random order, until nothing can be done any more."""
        while True:
            while len(self.on_the_way) < concurrency and self.send() is not None:
                pass
            assert self.transition.in_flight == len(self.on_the_way)
            if not self.on_the_way:
                return
            key = chance.choice(list(self.on_the_way))
            self.settle(key, fate(self.on_the_way[key]))

    def waves(self) -> list[dict[str, dict[str, str]]]:
        """All that may be sent at once, by object, and again after all of it has landed, until nothing is left."""
        waves: list[dict[str, dict[str, str]]] = []
        while True:
            while self.send() is not None:
                pass
            if not self.on_the_way:
                return waves
            waves.append({key.name: nominals(write.quotas) for key, write in self.on_the_way.items()})
            for key in list(self.on_the_way):
                self.settle(key, "lands")
