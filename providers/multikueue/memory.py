"""What is kept of workers from one look at a CapacityProvider to the next. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.dqo import CAPACITY_SYNCHRONIZED, CapacityProvider
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import find_condition
from providers.multikueue.objects import Problem, WorkerCount
from providers.multikueue.outages import Fate, Outage, outages_in, said

_MARGIN: Final = 0.01
"""Seconds. Whoever looks again at the end of a grace must find that it is over."""


class WorkerState(NamedTuple):
    """What is known of one worker for one CapacityProvider."""

    last: WorkerCount | None
    """What was last read of it; None: nothing, since the process began or the worker was named."""
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
    is_new: bool = False
    """Whether it came while this process looked, and was never read."""


class Memory:
    """Of one process, by CapacityProvider: the workers that its last look was about, and no others."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, _Known]] = {}
        self._states: dict[str, Mapping[str, WorkerState]] = {}

    def resume(self, provider: CapacityProvider, now: datetime.datetime) -> None:
        """Takes up what a process before published, where nothing is known of the provider yet.

        Called before anything can fail, since another message is published then and the times are gone.
        """
        name = provider.metadata.name
        if name in self._known:
            return
        condition = find_condition(provider.status.conditions, CAPACITY_SYNCHRONIZED)
        outages = outages_in(condition.message) if condition is not None else {}
        self._known[name] = {cluster: _Known(None, since) for cluster, since in outages.items() if since <= now}

    def look(
        self,
        provider: CapacityProvider,
        seen: Mapping[str, WorkerCount | Problem],
        grace: Duration,
        now: datetime.datetime,
        *,
        grace_of_new: Duration | None = None,
    ) -> Mapping[str, WorkerState]:
        """What is to be made of each worker that is seen, by name; all others are forgotten.

        A worker is unavailable since the earliest time that anybody knows of: the problem itself, a look before, or
        what a process before has published. One that was read in between begins anew.

        Args:
            provider: its name, and its condition where nothing is known of it yet.
            seen: what counts of each worker now, or why it cannot be read.
            grace: how long a worker is held. A change applies to those that are unavailable already.
            now: UTC.
            grace_of_new: how long a worker is waited for that came while this process looked, and was never read. It
                is no part of what is published, so that others need not wait for it. None: as long as for any.
        """
        self.resume(provider, now)
        name = provider.metadata.name
        before = self._known[name]
        has_looked = name in self._states
        known: dict[str, _Known] = {}
        states: dict[str, WorkerState] = {}
        for cluster, each in sorted(seen.items()):
            if isinstance(each, WorkerCount):
                known[cluster], states[cluster] = _Known(each, None), WorkerState(each, None)
                continue
            last, since, is_new = before.get(cluster, _Known(None, None, is_new=has_looked))
            since = min(since or each.since, each.since, now).replace(microsecond=0)
            known[cluster] = _Known(last, since, is_new)
            mine = grace_of_new if is_new and grace_of_new is not None else grace
            states[cluster] = WorkerState(last, _outage(each, since, last, mine, now))
        self._known[name], self._states[name] = known, states
        return states

    def states(self, provider: str) -> Mapping[str, WorkerState]:
        """What the last look made of the workers, by name, whether or not it led to a capacity."""
        return self._states.get(provider, {})

    def look_again(self, provider: str, now: datetime.datetime) -> float | None:
        """Seconds until the next grace ends, by the last look; None where none will.

        A look that fails cannot tell it: whoever made the look has to see to it that there is another one by then.
        """
        outages = (state.outage for state in self.states(provider).values())
        ends = [each.until for each in outages if each is not None and each.fate is not Fate.OVERDUE]
        return max((min(ends) - now).total_seconds(), 0.0) + _MARGIN if ends else None

    def forget(self, provider: str) -> None:
        """Nobody asks about it any more: if somebody does later, its status says what there is to know."""
        self._known.pop(provider, None)
        self._states.pop(provider, None)

    def keep(self, providers: AbstractSet[str]) -> None:
        """Only these are there."""
        for name in self._known.keys() - providers:
            self.forget(name)


def _outage(
    problem: Problem, since: datetime.datetime, last: WorkerCount | None, grace: Duration, now: datetime.datetime
) -> Outage:
    until = since + datetime.timedelta(seconds=grace.seconds)
    in_time = Fate.AWAITED if last is None else Fate.HELD
    return Outage(since, until, said(problem.text), in_time if now < until else Fate.OVERDUE)
