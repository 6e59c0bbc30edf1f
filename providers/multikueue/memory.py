"""What is kept of workers from one look at a CapacityProvider to the next. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.dqo import CAPACITY_SYNCHRONIZED, CapacityProvider
from kueue_dqo.api.meta import find_condition
from kueue_dqo.api.multikueue import AfterGrace, UnavailableWorkers
from kueue_dqo.api.resources import FlavorResource
from providers.multikueue.objects import Problem, WorkerCount
from providers.multikueue.outages import Fate, Outage, left_out_in, outages_in, said, times_text
from providers.multikueue.totals import pairs_of

_MARGIN: Final = 0.01
"""Seconds. Whoever looks again at the end of a grace must find that it is over."""


class WorkerState(NamedTuple):
    """What is known of one worker for one CapacityProvider."""

    last: WorkerCount | None
    """What was last read of it; None: nothing, since the process began, the worker was named or asked for the same."""
    outage: Outage | None
    """None where it can be read."""

    @property
    def counted(self) -> WorkerCount | None:
        """What counts of it now; None: nothing."""
        is_counted = self.outage is None or self.outage.fate is Fate.HELD
        return self.last if is_counted else None


class _Known(NamedTuple):
    """What outlasts a look."""

    last: WorkerCount | None
    since: datetime.datetime | None
    """Since when it is unavailable; None where it can be read."""
    is_out: bool = False
    """Whether nothing of it is part of what is published: it came while a process looked, or was left out by one
    before, and was never read since."""
    asked: Hashable = None
    """What `last` is the answer to."""


class Memory:
    """Of one process, by CapacityProvider: the workers that its last look was about, and no others."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, _Known]] = {}
        self._states: dict[str, Mapping[str, WorkerState]] = {}
        self._answered: dict[str, frozenset[FlavorResource]] = {}

    def resume(self, provider: CapacityProvider, now: datetime.datetime) -> None:
        """Takes up what a process before published, where nothing is known of the provider yet.

        Called before anything can fail, since another message is published then and the times are gone.
        """
        name = provider.metadata.name
        if name in self._known:
            return
        condition = find_condition(provider.status.conditions, CAPACITY_SYNCHRONIZED)
        message = condition.message if condition is not None else ""
        left_out = left_out_in(message)
        self._known[name] = {
            cluster: _Known(None, since, cluster in left_out)
            for cluster, since in outages_in(message).items()
            if since <= now
        }
        self._answered[name] = pairs_of(provider.status.capacity)

    def answered(self, provider: str) -> frozenset[FlavorResource]:
        """The pairs of the last answer: this process' own, or that of the one before it.

        What others add to the status meanwhile is none of them.
        """
        return self._answered.get(provider, frozenset())

    def answer(self, provider: str, pairs: frozenset[FlavorResource]) -> None:
        """These are the pairs of the last answer from now on."""
        self._answered[provider] = pairs

    def look(
        self,
        provider: CapacityProvider,
        seen: Mapping[str, WorkerCount | Problem],
        unavailable: UnavailableWorkers,
        now: datetime.datetime,
        *,
        asked: Mapping[str, Hashable] | None = None,
    ) -> Mapping[str, WorkerState]:
        """What is to be made of each worker that is seen, by name; all others are forgotten.

        A worker is unavailable since the earliest time that anybody knows of: the problem itself, a look before, or
        what a process before has published. One that was read in between begins anew.

        Args:
            provider: its name, and its condition where nothing is known of it yet.
            seen: what counts of each worker now, or why it cannot be read.
            unavailable: how long a worker is held, which for those that are unavailable already changes as well, and
                whether others need not wait for a worker of which nothing is part of what is published.
            now: UTC.
            asked: what is asked of each worker. What was read of one holds for the same question alone. None: it is
                always the same.
        """
        asked = asked or {}
        may_leave_out = unavailable.after_grace is AfterGrace.LEAVE_OUT
        self.resume(provider, now)
        name = provider.metadata.name
        before = self._known[name]
        has_looked = name in self._states
        known: dict[str, _Known] = {}
        states: dict[str, WorkerState] = {}
        for cluster, each in sorted(seen.items()):
            if isinstance(each, WorkerCount):
                known[cluster] = _Known(each, None, asked=asked.get(cluster))
                states[cluster] = WorkerState(each, None)
                continue
            held = before.get(cluster, _Known(None, None, is_out=has_looked))
            last = held.last if held.asked == asked.get(cluster) else None
            since = min(held.since or each.since, each.since, now).replace(microsecond=0)
            known[cluster] = held._replace(since=since)
            until = since + datetime.timedelta(seconds=unavailable.grace.seconds)
            fate = _fate(is_over=now >= until, is_out=held.is_out and may_leave_out, is_known=last is not None)
            states[cluster] = WorkerState(last, Outage(since, until, said(each.text), fate))
        self._known[name], self._states[name] = known, states
        return states

    def states(self, provider: str) -> Mapping[str, WorkerState]:
        """What the last look made of the workers, by name, whether or not it led to a capacity."""
        return self._states.get(provider, {})

    def reminder(self, provider: str) -> str:
        """Since when which workers are unavailable, for a message about something else that failed; empty for none.

        Without it in the message that is published, a new process would not know it.
        """
        known = self._known.get(provider, {})
        times = {cluster: each.since for cluster, each in known.items() if each.since is not None}
        return times_text(times, {cluster for cluster, each in known.items() if each.is_out})

    def look_again(self, provider: str, now: datetime.datetime) -> float | None:
        """Seconds until the next grace ends, by the last look; None where none will.

        A look that fails cannot tell it: whoever made the look has to see to it that there is another one by then.
        """
        outages = (state.outage for state in self.states(provider).values())
        ends = [each.until for each in outages if each is not None and each.fate in (Fate.HELD, Fate.AWAITED)]
        return max((min(ends) - now).total_seconds(), 0.0) + _MARGIN if ends else None

    def forget(self, provider: str) -> None:
        """Nobody asks about it any more: if somebody does later, its status says what there is to know."""
        self._known.pop(provider, None)
        self._states.pop(provider, None)
        self._answered.pop(provider, None)

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        for name in self._known.keys() - providers:
            self.forget(name)


def _fate(*, is_over: bool, is_out: bool, is_known: bool) -> Fate:
    if is_over:
        return Fate.OVERDUE
    if is_out:
        return Fate.UNREAD
    return Fate.HELD if is_known else Fate.AWAITED
