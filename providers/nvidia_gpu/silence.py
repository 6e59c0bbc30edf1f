"""Which agents are heard, whose last word holds for a while, and when it is the observer that is broken. Pure.

One silent node is a node with a fault: what it reported last counts for the grace, then it is left out by name. Many
that fall silent at once are something else, such as a node image without the driver's library or a policy that refuses
every agent; nothing is known of the nodes then, and the capacity that was published last is the best that there is.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.parameters import Agents
from providers.nvidia_gpu import silence_wording
from providers.nvidia_gpu.decoding import INVALID_REPORT
from providers.nvidia_gpu.groups import Fallen, largest_group
from providers.nvidia_gpu.hearing import NO_REPORT, AgentState, Fresh, Seen, Verdict, judge
from providers.nvidia_gpu.silence_wording import by_reason
from providers.nvidia_gpu.suspicion import NOBODY, Suspicion, go_on, held_over, still_counted

_FEWEST: Final = 2
"""Nodes that the observer is suspected for: a single one of several has a fault of its own, however few there are."""


class Aside(NamedTuple):
    """Nodes with GPUs that do not count, whatever their agents say, such as cordoned ones."""

    ready: Mapping[str, Seen | None]
    """Those that are Ready: their agents run, and show whether the observer works."""
    others: int
    """How many are not: nothing can be heard of them."""


NOBODY_ASIDE: Final = Aside({}, 0)


class Unknown(NamedTuple):
    """Too many nodes of which nobody knows what they have."""

    nodes: frozenset[str]
    message: str
    """Of SourceUnavailable, where the capacity would fall by them."""


class Listening(NamedTuple):
    """What is made of all agents together."""

    states: Mapping[str, AgentState]
    """By node, of every node that is expected to report, in the order given."""
    broken: str | None
    """Why nothing can be said about the capacity (the message of SourceUnavailable), None where it can."""
    unknown: Unknown | None
    """None where they are few enough."""
    look_again: float | None
    """Seconds until a state changes by itself, None where none will."""
    unheard: frozenset[str]
    """All nodes whose agents are not fresh, those aside included."""
    suspicion: Suspicion = NOBODY
    """For the next look."""


class Published(enum.Enum):
    """What the CapacityProvider has published (`status.capacity`)."""

    NOTHING = enum.auto()
    """No capacity, not even one of zero."""
    ZERO = enum.auto()
    """Of no pair more than zero: there is nothing to lose."""
    SOME = enum.auto()


def listen(  # noqa: PLR0913 - what is known of agents, part by part
    expected: Mapping[str, Seen | None],
    agents: Agents,
    now: datetime.datetime,
    *,
    published: Published,
    aside: Aside = NOBODY_ASIDE,
    suspicion: Suspicion = NOBODY,
) -> Listening:
    """What is made of the agents of the nodes that are expected to report.

    The observer is broken where

    - no agent of any Ready node is fresh, but for two cases. Where none was ever heard and zero is what is published,
      these are the first nodes of a pool that was empty: they just do not count yet. And where the only Ready one of
      several nodes fell silent, it is a node with a fault like the others; or
    - two nodes or more that fell silent, or into a problem, within three heartbeats of each other are more than
      `maxSilentPercent` of those that were ever heard: for as long as they stay so, beyond the grace too, or
    - no capacity was ever published, and two nodes or more, which are more than `maxSilentPercent`, have no report yet.

    Nodes that were never heard are not in the second rule, not even with a problem: many new ones at once are a cluster
    that grows, where the driver is still being installed.

    Nodes whose silence is part of the first two are not left out as soon as the others are heard again: they are held
    for three of their heartbeats more.

    Args:
        expected: by node; None for a node whose agent never reported.
        agents: the parameters.
        now: by the API server's clock.
        published: what the CapacityProvider has published.
        aside: the provider's other nodes with GPUs.
        suspicion: what the last look has left.
    """
    grace = datetime.timedelta(seconds=agents.grace.seconds)
    verdicts = {name: judge(seen, grace, now) for name, seen in expected.items()}
    beside = {name: judge(seen, grace, now) for name, seen in aside.ready.items()}
    everybody = verdicts | beside
    witnesses = [each.ends for each in beside.values() if isinstance(each.state, Fresh) and each.ends is not None]
    is_rest_out = len(everybody) == 1 and aside.others > 0
    nobody = _nobody(verdicts, published, is_other_fresh=bool(witnesses), is_rest_out=is_rest_out)
    group = _a_group(verdicts, agents)
    broken = (
        nobody
        or (group.message if group is not None else None)
        or (_first_ones(verdicts, agents) if published is Published.NOTHING else None)
    )
    suspects = (still_counted(verdicts, grace) if nobody is not None else set()) | (group.names if group else set())
    suspicion = go_on(suspicion, everybody, suspects, now, is_broken=broken is not None)
    unknown = _unknown(verdicts, agents)
    verdicts = {name: held_over(verdict, suspicion.until.get(name)) for name, verdict in verdicts.items()}
    states = {name: verdict.state for name, verdict in verdicts.items()}
    ends = [verdict.ends for verdict in verdicts.values() if verdict.ends is not None]
    if witnesses and not _is_any_fresh(states):
        ends.append(max(witnesses))  # then no agent at all is heard
    return Listening(
        states,
        broken,
        unknown,
        (min(ends) - now).total_seconds() if ends else None,
        frozenset(name for name, each in everybody.items() if not isinstance(each.state, Fresh)),
        suspicion,
    )


def _is_any_fresh(states: Mapping[str, AgentState]) -> bool:
    return any(isinstance(state, Fresh) for state in states.values())


# --- the rules -----------------------------------------------------------------------------------------------------


def _nobody(
    verdicts: Mapping[str, Verdict], published: Published, *, is_other_fresh: bool, is_rest_out: bool
) -> str | None:
    """The first rule. `is_rest_out`: the one node that is there is the only Ready one of several."""
    states = {name: verdict.state for name, verdict in verdicts.items()}
    if not states or is_other_fresh or _is_any_fresh(states):
        return None
    is_any_heard = any(verdict.patience is not None for verdict in verdicts.values())
    if is_rest_out if is_any_heard else published is Published.ZERO:
        return None
    return silence_wording.nobody_is_heard(by_reason(states))


class _Group(NamedTuple):
    names: set[str]
    message: str


def _a_group(verdicts: Mapping[str, Verdict], agents: Agents) -> _Group | None:
    """The second rule."""
    heard, fallen = 0, []
    for name, (state, _, patience, _) in verdicts.items():
        if patience is not None:
            heard += 1
            if not isinstance(state, Fresh) and state.since is not None:
                fallen.append(Fallen(state.since, patience, name))
    group = largest_group(fallen)
    if not _are_too_many(group, heard, agents):
        return None
    names = sorted(each.name for each in group)
    first, *others = group
    message = silence_wording.many_fell_silent(
        by_reason({name: verdicts[name].state for name in names}),
        names,
        heard,
        within=max(min(first.patience, each.patience) for each in others),
        percent=agents.max_silent_percent,
    )
    return _Group(set(names), message)


def _first_ones(verdicts: Mapping[str, Verdict], agents: Agents) -> str | None:
    """The third rule. A report that nobody understands is none; a problem is one, for it may last."""
    missing = [
        name
        for name, (state, _, _, is_unknown) in verdicts.items()
        if not isinstance(state, Fresh)
        and (state.reason == NO_REPORT or (is_unknown and state.reason == INVALID_REPORT))
    ]
    if not _are_too_many(missing, len(verdicts), agents):
        return None
    return silence_wording.many_are_missing(sorted(missing), len(verdicts), percent=agents.max_silent_percent)


def _unknown(verdicts: Mapping[str, Verdict], agents: Agents) -> Unknown | None:
    """Not those whose reports were deleted on purpose."""
    states = {name: verdict.state for name, verdict in verdicts.items() if verdict.is_unknown}
    if not _are_too_many(states, len(verdicts), agents):
        return None
    told = silence_wording.many_are_unknown(
        by_reason(states), len(states), len(verdicts), percent=agents.max_silent_percent
    )
    return Unknown(frozenset(states), told)


def _are_too_many(nodes: Collection[object], of: int, agents: Agents) -> bool:
    return len(nodes) >= _FEWEST and len(nodes) * 100 > of * agents.max_silent_percent
