"""Transitions: in which order the quotas of a subtree are written, so that they never promise more than there is. Pure.

The API has no transaction over objects. Growing first promises too much; shrinking everything first opens a dip in
which running jobs lose their quota for a moment, and Kueue preempts them. So:

- The *sum in force* of a pair is what the members of the subtree hold of it now. A write may raise it only up to the
  effective capacity. Lowering is always allowed. A write whose outcome is not known counts as the larger of its two
  ends.
- Growth is released as soon as shrinks that have landed make room for it. An object waits for room for all that it
  lacks, which saves writes, but only while the writes under way move as much as the room that is left unclaimed;
  where they move less, the object takes the part for which there is room.
- A shrink waits while more room is left unclaimed than the writes under way move, so that what is missing for a moment
  is bounded by what is written at once. An object that may move in another pair is written without that shrink. Where
  the sum is above the capacity, no shrink waits. A shrink is not divided, and a pair that is no longer declared goes
  with the first write.

Amounts are counted as Kueue counts them: in milli of cpu and whole units of every other resource, rounded up.

Every write brings a quota to its end, or uses up the room of a pair until a shrink lands or growth fails, or moves
nothing and is the last of its object. So there are never more writes than objects, pairs, and twice the quotas that
change, together. With sixteen writes at once, a redistribution takes one or two for each object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource, unit_nanos
from orchestrator.accounts import Amounts, PairAccount, Target, larger, partial_quotas, units_of


class Write(NamedTuple):
    """One write that may be sent now. `is_last` where it brings the object all the way."""

    key: ObjectKey
    quotas: EffectiveQuotas
    is_last: bool


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
        self._capacity = capacity
        self._pairs: dict[FlavorResource, PairAccount] = {}
        self._not_counted: set[FlavorResource] = set()
        self._targets: dict[ObjectKey, Target] = {}
        self._neutral: deque[Target] = deque()
        self._in_flight = 0
        self._not_done = 0
        left_alone = left_alone or {}
        for key, quotas in wanted.items():
            held = self._amounts(in_force[key])
            goal = self._amounts(quotas.resource_groups)
            target = Target(key, quotas, in_force[key], held, goal, is_done=is_written(key, quotas))
            if key in left_alone:
                target.is_given_up = True
                target.held = larger(held, self._amounts(left_alone[key]))
            self._targets[key] = target
            self._not_done += not target.is_done
            for pair, amount in target.held.items():
                self._pairs[pair].highest += amount
            if target.is_waiting:
                self._count_lacking(target, target.held, 1)
                self._line_up(target)

    @property
    def in_flight(self) -> int:
        """How many writes have been handed out and not been reported."""
        return self._in_flight

    @property
    def waiting(self) -> list[ObjectKey]:
        """The objects that are neither as they should be, nor given up, nor being written."""
        return [key for key, target in self._targets.items() if target.is_waiting]

    @property
    def is_complete(self) -> bool:
        """Whether every object is as it should be."""
        return not self._not_done

    def next_write(self) -> Write | None:
        """A write that may be sent now, None where none may (or none is left)."""
        target = self._next_to_grow() or self._next_to_shrink() or self._next_neutral()
        return self._send(target) if target is not None else None

    def landed(self, key: ObjectKey) -> None:
        """The write to this object is in force. Raises ValueError where none is under way."""
        target, now = self._under_way(key)
        self._settle(target, now)
        if now == target.wanted:
            target.is_done = True
            self._not_done -= 1
        else:
            self._line_up(target)

    def failed(self, key: ObjectKey, *, may_have_landed: bool) -> None:
        """The write to this object failed; it is left alone from now on, at the larger of its ends if need be.

        Raises ValueError where no write to it is under way.
        """
        target, now = self._under_way(key)
        self._count_lacking(target, now, -1)
        target.is_given_up = True
        self._settle(target, larger(target.held, now) if may_have_landed else target.held)

    # --- choosing ---------------------------------------------------------------------------------------------------

    def _next_to_grow(self) -> Target | None:
        """The first in line for a pair with room, where it can be brought all the way or must take a part."""
        for state in self._pairs.values():
            if state.growing and state.unclaimed:
                target = next(iter(state.growing.values()))
                if state.is_dipping or self._can_finish(target):
                    return target
        return None

    def _next_to_shrink(self) -> Target | None:
        """The first in line for a pair that may shrink now."""
        for state in self._pairs.values():
            if state.shrinking and not state.is_dipping:
                return next(iter(state.shrinking.values()))
        return None

    def _next_neutral(self) -> Target | None:
        """An object none of whose nominal quotas moves."""
        return self._neutral.popleft() if self._neutral else None

    def _can_finish(self, target: Target) -> bool:
        """Whether one write may bring the object all the way."""
        return all(self._within_reach(target, pair) == amount for pair, amount in target.wanted.items())

    def _within_reach(self, target: Target, pair: FlavorResource) -> int:
        """How far a write may bring the quota now."""
        state, held, wanted = self._pairs[pair], target.held.get(pair, 0), target.wanted[pair]
        if wanted >= held:
            return min(wanted, held + state.room)
        return held if state.is_dipping else wanted

    def _send(self, target: Target) -> Write:
        for state, _, _ in self._changes(target.held, target.wanted):
            state.growing.pop(target.key, None)
            state.shrinking.pop(target.key, None)
        step = {pair: self._within_reach(target, pair) for pair in target.wanted}
        for state, before, after in self._changes(target.held, step):
            state.moving += abs(after - before)
            if after > before:
                state.highest += after - before
                state.lacking -= after - before
        target.in_flight = step
        self._in_flight += 1
        is_last = step == target.wanted
        return Write(target.key, target.quotas if is_last else partial_quotas(target, step), is_last)

    # --- keeping count ----------------------------------------------------------------------------------------------

    def _under_way(self, key: ObjectKey) -> tuple[Target, Amounts]:
        target = self._targets.get(key)
        if target is None or target.in_flight is None:
            msg = f"no write to {key} is under way: report each write that was handed out once"
            raise ValueError(msg)
        return target, target.in_flight

    def _settle(self, target: Target, now: Amounts) -> None:
        """The object counts at `now`, and no write to it is under way."""
        in_flight = target.in_flight or {}
        for state, before, after in self._changes(target.held, in_flight):
            state.moving -= abs(after - before)
        for state, before, after in self._changes(larger(target.held, in_flight), now):
            state.highest += after - before
        target.held, target.in_flight = now, None
        self._in_flight -= 1

    def _count_lacking(self, target: Target, held: Amounts, sign: int) -> None:
        """Adds what the object lacks when it holds `held`, or takes it away."""
        for state, before, after in self._changes(held, target.wanted):
            state.lacking += sign * max(0, after - before)

    def _line_up(self, target: Target) -> None:
        """Lines the object up for what it still needs."""
        is_neutral = True
        for state, before, after in self._changes(target.held, target.wanted):
            is_neutral = False
            (state.growing if after > before else state.shrinking)[target.key] = target
        if is_neutral:
            self._neutral.append(target)

    def _changes(self, before: Amounts, after: Amounts) -> Iterator[tuple[PairAccount, int, int]]:
        """The pairs that differ, and both amounts."""
        for pair in before | after:
            one, other = before.get(pair, 0), after.get(pair, 0)
            if one != other:
                yield self._pairs[pair], one, other

    def _amounts(self, groups: tuple[ResourceGroup, ...]) -> Amounts:
        return {
            pair: units_of(quota.nominal_quota, pair)
            for pair, quota in quotas_by_pair(groups)
            if self._is_counted(pair)
        }

    def _is_counted(self, pair: FlavorResource) -> bool:
        if pair in self._pairs:
            return True
        if pair in self._not_counted:
            return False
        capacity = self._capacity(pair)
        if capacity is None:
            self._not_counted.add(pair)
            return False
        self._pairs[pair] = PairAccount(capacity // unit_nanos(pair.resource))
        return True
