"""A provider whose guards decide, observation by observation, in virtual time."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import Guards
from kueue_dqo.api.quantity import Quantity
from providers.guards import Decision, GuardMemory, Hold, holds_in
from providers.pipeline import message_of_status

GPU = "nvidia.com/gpu"
NOON = datetime.datetime(2026, 11, 30, 12, 0, 0, tzinfo=datetime.UTC)
AWAKE = 5000.0
"""What the monotonic clock says at noon."""

Amounts = Mapping[str, Mapping[str, object]]
"""By flavor and resource."""


def guards(fall: int = 0, rise: int = 0, percent: int | None = None, grace: int | None = None) -> Guards:
    return Guards(Duration(fall), Duration(rise), percent, None if grace is None else Duration(grace))


def capacity(amounts: Amounts) -> dqo.Capacity:
    return dqo.Capacity(
        tuple(
            dqo.FlavorCapacity(flavor, {name: Quantity.of(amount) for name, amount in resources.items()})
            for flavor, resources in amounts.items()
            if resources
        )
    )


def h100(gpus: object, **others: object) -> dqo.Capacity:
    return capacity({"h100": {GPU: gpus, **others}})


NOTHING = capacity({})


class Guarded:
    """Its decisions are published at once, unless said otherwise. Seconds are counted from noon."""

    def __init__(
        self, of: Guards, published: dqo.Capacity | None, *, flavors: tuple[str, ...] = ("h100", "a100"), uid: str = "u"
    ) -> None:
        self.guards = of
        self.published = published
        self.flavors = flavors
        self.uid = uid
        self.acknowledged: str | None = None
        self.message = ""
        self.wall_is_off_by = 0
        """Seconds by which somebody has set the wall clock since noon."""
        self.answered = frozenset(flavors)
        """The flavors of the spec that the status is for."""
        self.memory = GuardMemory(known=self.answered)

    def see(self, seconds: float, observed: dqo.Capacity, *, lands: bool = True) -> Decision:
        """What is decided on what is observed; `lands` tells whether it gets published as well."""
        decision = self.memory.decide(
            self.guards,
            provider=self.provider(),
            published=self.published,
            observed=observed,
            now=NOON + datetime.timedelta(seconds=seconds + self.wall_is_off_by),
            monotonic=AWAKE + seconds,
        )
        if lands:
            self.published, self.answered = decision.capacity, frozenset(self.flavors)
            self.message = message_of_status(decision.holds, "h100: 10 nodes", ("headroom h100: 8 cpu",))
        return decision

    def provider(self) -> dqo.CapacityProvider:
        annotations = {} if self.acknowledged is None else {"kueue-dqo.dev/acknowledge": self.acknowledged}
        return dqo.CapacityProvider(
            ObjectMeta("pool", self.uid, annotations=annotations),
            dqo.CapacityProviderSpec("example.com/x", tuple(map(dqo.FlavorRef, self.flavors))),
        )

    def restart(self) -> Guarded:
        """Another process takes over, which knows nothing but the object."""
        successor = Guarded(self.guards, self.published, flavors=self.flavors, uid=self.uid)
        successor.acknowledged = self.acknowledged
        successor.message = self.message
        successor.wall_is_off_by = self.wall_is_off_by
        successor.answered = self.answered
        successor.memory = GuardMemory(resumed=holds_in(self.message), known=self.answered)
        return successor


def only(decision: Decision) -> Hold:
    (hold,) = decision.holds
    return hold


def seconds_of(hold: Hold) -> float:
    """Until when it holds, in seconds from noon by the wall clock."""
    return (hold.until - NOON).total_seconds()
