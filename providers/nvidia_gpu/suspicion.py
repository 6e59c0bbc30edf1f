"""Who may be silent only because nobody could be heard. Pure.

When a broken observer works again, agents come back one after the other. Those that are the last to do so were not
silent by a fault of their nodes: their nodes are not left out before they have had the time to speak.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from providers.nvidia_gpu.hearing import Excluded, Fresh, Held, Verdict


class Suspicion(NamedTuple):
    """What is kept of one look for the next one."""

    until: Mapping[str, datetime.datetime | None]
    """By node, how long it is held at least; None while the observer is broken."""
    left_out: frozenset[str]
    """Nodes that did not count while the observer worked, and were not heard since: these have a fault of their own."""


NOBODY: Final = Suspicion({}, frozenset())


def still_counted(verdicts: Mapping[str, Verdict], grace: datetime.timedelta) -> set[str]:
    """Where no agent is fresh: the nodes that counted until the last one fell. Others were left out before."""
    fell = {name: since for name, each in verdicts.items() if (since := _fell(each)) is not None}
    last = max(fell.values(), default=None)
    return {name for name, since in fell.items() if last is not None and since + grace >= last}


def go_on(
    before: Suspicion,
    verdicts: Mapping[str, Verdict],
    suspects: AbstractSet[str],
    now: datetime.datetime,
    *,
    is_broken: bool,
) -> Suspicion:
    """What is known after a look.

    Args:
        before: after the last look.
        verdicts: of all nodes with GPUs whose agents may be heard.
        suspects: of these, whose silence is part of the observer's being broken now.
        now: by the API server's clock.
        is_broken: whether it is. It was until now if it was at the last look, however long ago that is.
    """
    silent = {
        name: each.patience
        for name, each in verdicts.items()
        if each.patience is not None and not isinstance(each.state, Fresh)
    }
    # What is known of a node ends with its silence, and with its report: one that was deleted is not waited for.
    until = {name: time for name, time in before.until.items() if name in silent}
    left_out = before.left_out & silent.keys()
    if is_broken:
        return Suspicion(dict.fromkeys(until.keys() | (suspects - left_out)), left_out)
    ending = {name: now + silent[name] if time is None else time for name, time in until.items()}
    ending = {name: time for name, time in ending.items() if now < time}
    left_out = frozenset(
        name for name in silent if isinstance(held_over(verdicts[name], ending.get(name)).state, Excluded)
    )
    return Suspicion(ending, left_out)


def held_over(verdict: Verdict, until: datetime.datetime | None) -> Verdict:
    """The verdict of a node that is held until then at least; None where it is under no suspicion."""
    state, ends = verdict.state, verdict.ends
    if until is None or isinstance(state, Fresh) or state.since is None:
        return verdict
    if isinstance(state, Held):
        until = max(state.until, until)  # the report of an agent that is gone is given up later than both
    elif ends is not None:
        until = min(ends, until)
    return verdict._replace(state=Held(state.reason, state.since, until), ends=until)


def _fell(verdict: Verdict) -> datetime.datetime | None:
    """When it fell silent, or into a problem; None of one that did not, or was never heard."""
    state = verdict.state
    return None if isinstance(state, Fresh) or verdict.patience is None else state.since
