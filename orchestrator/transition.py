"""Transitions: in which order the quotas of a subtree are written, so that they never promise more than there is. Pure.

The API has no transaction over objects. Growing first promises too much; shrinking everything first opens a dip in
which running jobs lose their quota for a moment, and Kueue preempts them. So:

- The *sum in force* of a pair is what the members of the subtree hold of it now. A write may raise it only up to the
  effective capacity. Lowering is always allowed. A write whose outcome is not known counts as the larger of its two
  ends.
- Growth is released as soon as shrinks that have landed make room for it, in part where the room is for a part only.
- A shrink waits while room that others have made is still unclaimed by growth on its way, so that what is missing for
  a moment is never more than what the writes in flight move. Where the sum is above the capacity, no shrink waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup, ResourceQuota, map_quotas, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from orchestrator.effective_quotas import with_lending_capped

_LOOK_AHEAD: Final = 64
"""How many shrinks that must wait are passed over in search of one that need not."""

Amounts = dict[FlavorResource, int]
"""Nominal quotas in nanos, by pair."""


class Write(NamedTuple):
    """One write that may be sent now. `is_last` where it brings the object all the way."""

    key: ObjectKey
    quotas: EffectiveQuotas
    is_last: bool


@dataclass(slots=True)
class _Target:
    """An object on its way from `held` to `wanted`, both for the pairs that are counted."""

    key: ObjectKey
    quotas: EffectiveQuotas
    held: Amounts
    wanted: Amounts
    in_flight: Amounts | None = None
    """What the write under way would leave in force."""
    is_done: bool = False
    is_given_up: bool = False

    @property
    def is_waiting(self) -> bool:
        return not (self.is_done or self.is_given_up or self.in_flight is not None)

    def wants(self, pair: FlavorResource) -> bool:
        """Whether it needs more of the pair than it holds or is about to."""
        held = self.held if self.in_flight is None else self.in_flight
        return not self.is_done and not self.is_given_up and self.wanted.get(pair, 0) > held.get(pair, 0)

    @property
    def shrinking(self) -> list[FlavorResource]:
        """The pairs of which it holds too much."""
        return [pair for pair, held in self.held.items() if held > self.wanted.get(pair, 0)]


@dataclass(slots=True)
class _Pair:
    """The state of one pair, in nanos. `highest` counts every write under way at the larger of its ends."""

    capacity: int
    unit: int
    highest: int = 0
    growing: deque[_Target] = field(default_factory=deque)
    lined_up: set[ObjectKey] = field(default_factory=set)
    """Who is in `growing`."""

    @property
    def room(self) -> int:
        """By how much the sum may still rise, in whole units."""
        return max(0, self.capacity - self.highest) // self.unit * self.unit

    def line_up(self, target: _Target) -> None:
        if target.key not in self.lined_up:
            self.lined_up.add(target.key)
            self.growing.append(target)


class Transition:
    """Hands out the writes of one subtree, and is told how each went.

    The caller sends what `next_write` gives, several at once where it likes, and reports each by `landed` or
    `failed`. When nothing is under way and `next_write` gives None, nothing more can be done: `waiting` then holds the
    objects for which there is no room.
    """

    def __init__(
        self,
        wanted: Mapping[ObjectKey, EffectiveQuotas],
        in_force: Mapping[ObjectKey, tuple[ResourceGroup, ...]],
        capacity: Callable[[FlavorResource], int | None],
        *,
        left_alone: Mapping[ObjectKey, tuple[ResourceGroup, ...]] | None = None,
        is_written: Callable[[ObjectKey, EffectiveQuotas], bool],
    ) -> None:
        """Takes the state to start from.

        Args:
            wanted: what each member of the subtree should hold in the end.
            in_force: what each member holds now.
            capacity: nanos of a pair that there are to hand out; None for a pair that is not orchestrated and not
                counted.
            left_alone: members that are not written to, and what they may hold besides, because the outcome of a write
                is not known (nothing where it is). They count at the larger of both.
            is_written: whether a member holds these quotas in every respect (limits and owner included).
        """
        self._pairs: dict[FlavorResource, _Pair | None] = {}
        self._capacity = capacity
        self._targets: dict[ObjectKey, _Target] = {}
        self._others: deque[_Target] = deque()
        self._with_room: set[FlavorResource] = set()
        self._in_flight = 0
        for key, quotas in wanted.items():
            held, goal = self._amounts(in_force[key]), self._amounts(quotas.resource_groups)
            self._targets[key] = target = _Target(key, quotas, held, goal, is_done=is_written(key, quotas))
            if key in (left_alone or {}):
                target.is_given_up = True
            at_most = _highest(held, self._amounts((left_alone or {}).get(key, ())))
            for pair, amount in at_most.items():
                self._state(pair).highest += amount
        for target in self._targets.values():
            self._enqueue(target)

    @property
    def in_flight(self) -> int:
        """How many writes have been handed out and not been reported."""
        return self._in_flight

    @property
    def waiting(self) -> list[ObjectKey]:
        """The objects that are neither as they should be nor given up."""
        return [key for key, target in self._targets.items() if target.is_waiting]

    @property
    def is_complete(self) -> bool:
        """Whether every object is as it should be."""
        return all(target.is_done for target in self._targets.values())

    def next_write(self) -> Write | None:
        """A write that may be sent now, None where none may (or none is left)."""
        return self._growth() or self._other()

    def landed(self, key: ObjectKey) -> None:
        """The write to this object is in force."""
        target = self._targets[key]
        now = target.in_flight
        if now is None:
            msg = f"no write to {key} is under way"
            raise ValueError(msg)
        self._settle(target, now)
        target.is_done = now == target.wanted
        self._enqueue(target)

    def failed(self, key: ObjectKey, *, may_have_landed: bool) -> None:
        """The write to this object failed; it is left alone from now on, at the larger of its ends if need be."""
        target = self._targets[key]
        if target.in_flight is None:
            msg = f"no write to {key} is under way"
            raise ValueError(msg)
        target.is_given_up = True
        if may_have_landed:
            self._in_flight -= 1
            target.in_flight = None
        else:
            self._settle(target, target.held)

    # --- choosing ---------------------------------------------------------------------------------------------------

    def _growth(self) -> Write | None:
        """Growth for which there is room, of the object that has waited longest for the pair."""
        for pair in sorted(self._with_room):
            growing = self._state(pair).growing
            while growing and not growing[0].wants(pair):
                self._state(pair).lined_up.discard(growing.popleft().key)
            if not growing:
                self._with_room.discard(pair)
                continue
            # Those at the front that are under way are few: never more than there are writes in flight.
            target = next((each for each in growing if each.is_waiting and each.wants(pair)), None)
            if target is not None:
                return self._send(target)
        return None

    def _other(self) -> Write | None:
        """A shrink, or a write that moves no nominal quota."""
        for _ in range(min(len(self._others), _LOOK_AHEAD)):
            target = self._others.popleft()
            shrinking = target.shrinking
            if not target.is_waiting or not (shrinking or target.held == target.wanted):
                continue
            if self._must_wait(shrinking):
                self._others.append(target)
                continue
            return self._send(target)
        return None

    def _must_wait(self, shrinking: Iterable[FlavorResource]) -> bool:
        """Whether shrinking these pairs would only deepen a dip that growth on its way is about to fill."""
        states = [(pair, self._state(pair)) for pair in shrinking]
        if any(state.highest > state.capacity for _, state in states):
            return False
        return any(
            pair in self._with_room and any(each.wants(pair) for each in state.growing) for pair, state in states
        )

    def _send(self, target: _Target) -> Write:
        step = {}
        for pair, wanted in target.wanted.items():
            held = target.held.get(pair, 0)
            step[pair] = min(wanted, held + self._state(pair).room)
        target.in_flight = step
        self._in_flight += 1
        for pair, amount in step.items():
            growth = amount - target.held.get(pair, 0)
            if growth > 0:
                self._state(pair).highest += growth
                self._note_room(pair)
        is_last = step == target.wanted
        return Write(target.key, target.quotas if is_last else _partial(target.key, target.quotas, step), is_last)

    # --- keeping count ----------------------------------------------------------------------------------------------

    def _settle(self, target: _Target, now: Amounts) -> None:
        """The object holds `now`, and no write to it is under way."""
        before = _highest(target.held, target.in_flight or {})
        for pair in before.keys() | now.keys():
            self._state(pair).highest += now.get(pair, 0) - before.get(pair, 0)
            self._note_room(pair)
        target.held, target.in_flight = now, None
        self._in_flight -= 1

    def _enqueue(self, target: _Target) -> None:
        """Lines the object up for what it still needs."""
        if not target.is_waiting:
            return
        for pair in target.wanted:
            if target.wants(pair):
                self._state(pair).line_up(target)
                self._note_room(pair)
        if target.shrinking or target.held == target.wanted:
            self._others.append(target)

    def _amounts(self, groups: tuple[ResourceGroup, ...]) -> Amounts:
        amounts: Amounts = {}
        for pair, quota in quotas_by_pair(groups):
            if self._is_counted(pair):
                amounts[pair] = amounts.get(pair, 0) + quota.nominal_quota.nanos
        return amounts

    def _is_counted(self, pair: FlavorResource) -> bool:
        if pair not in self._pairs:
            capacity = self._capacity(pair)
            self._pairs[pair] = _Pair(capacity, unit_nanos(pair.resource)) if capacity is not None else None
        return self._pairs[pair] is not None

    def _state(self, pair: FlavorResource) -> _Pair:
        state = self._pairs[pair]
        assert state is not None, f"{pair} is not counted"  # noqa: S101 - amounts hold counted pairs only
        return state

    def _note_room(self, pair: FlavorResource) -> None:
        state = self._state(pair)
        if state.room and state.growing:
            self._with_room.add(pair)
        else:
            self._with_room.discard(pair)


def _highest(one: Amounts, other: Amounts) -> Amounts:
    return {pair: max(one.get(pair, 0), other.get(pair, 0)) for pair in one.keys() | other.keys()}


def _partial(key: ObjectKey, quotas: EffectiveQuotas, step: Amounts) -> EffectiveQuotas:
    """The quotas with the nominal ones that are within reach now."""

    def change(pair: FlavorResource, quota: ResourceQuota) -> ResourceQuota:
        if pair not in step:
            return quota
        nominal = Quantity(step[pair], quota.nominal_quota.format)
        changed = msgspec.structs.replace(quota, nominal_quota=nominal)
        return with_lending_capped(changed) if key.kind == CLUSTER_QUEUE else changed

    return msgspec.structs.replace(quotas, resource_groups=map_quotas(quotas.resource_groups, change))
