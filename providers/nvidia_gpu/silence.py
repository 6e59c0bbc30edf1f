"""Which agents are heard, whose last word holds for a while, and when it is the observer that is broken. Pure.

One silent node is a node with a fault: what it reported last counts for the grace, then it is left out by name. Many
that fall silent at once are something else, such as a node image without the driver's library or a policy that refuses
every agent; nothing is known of the nodes then, and the capacity that was published last is the best that there is.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kueue_dqo.api.gpu import LONGEST_HEARTBEAT, GPUInventory, NodeGPUReport
from kueue_dqo.api.parameters import Agents
from providers.nvidia_gpu import silence_wording
from providers.nvidia_gpu.groups import Fallen, largest_group

AGENT_SILENT: Final = "AgentSilent"
"""Nothing was heard of the agent for three heartbeats, or its report was deleted and no other one came."""
NO_REPORT: Final = "NoReport"
"""The node's agent has never told what is there, or its report was deleted on purpose."""
_MISSED_HEARTBEATS: Final = 3
_FEWEST: Final = 2
"""Nodes that the observer is suspected for: a single one of several has a fault of its own, however few there are."""


class Seen(NamedTuple):
    """A report, and when it was made. The times are the API server's, and none of them lies in the future."""

    report: NodeGPUReport
    written: datetime.datetime
    """When the inventory was written last."""
    problem_since: datetime.datetime | None
    """When the API server took the problem that the report has; None where it has none."""
    gone_since: datetime.datetime | None = None
    """When the report was deleted although its node is there."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The agent is heard: what it reports counts."""


@dataclass(frozen=True, slots=True)
class Held:
    """What it reported last counts until then."""

    reason: str
    """`AgentSilent`, or the reason of the agent's problem, such as `LibraryNotFound`."""
    since: datetime.datetime
    until: datetime.datetime


@dataclass(frozen=True, slots=True)
class Excluded:
    """The node does not count."""

    reason: str
    """As of Held, and `NoReport`."""
    since: datetime.datetime | None
    """None where there never was a report."""


AgentState = Fresh | Held | Excluded


class Listening(NamedTuple):
    """What is made of all agents together."""

    states: Mapping[str, AgentState]
    """By node, of every node that is expected to report, in the order given."""
    broken: str | None
    """Why nothing can be said about the capacity (the message of SourceUnavailable), None where it can."""
    look_again: float | None
    """Seconds until a state changes by itself, None where none will."""


class Published(enum.Enum):
    """What the CapacityProvider has published (`status.capacity`)."""

    NOTHING = enum.auto()
    """No capacity, not even one of zero."""
    ZERO = enum.auto()
    """Of no pair more than zero: there is nothing to lose."""
    SOME = enum.auto()


class _Verdict(NamedTuple):
    """What is made of one agent."""

    state: AgentState
    ends: datetime.datetime | None = None
    """When it becomes another one by itself."""
    patience: datetime.timedelta | None = None
    """How long it may be silent; None of a node that was never heard, which cannot fall silent."""


_FRESH: Final = Fresh()
_NEVER: Final = _Verdict(Excluded(NO_REPORT, None))


def listen(
    expected: Mapping[str, Seen | None], agents: Agents, now: datetime.datetime, *, published: Published
) -> Listening:
    """What is made of the agents of the nodes that are expected to report.

    The observer is broken where

    - no agent at all is fresh, but for the first nodes of a pool that was empty: where none was ever heard and zero is
      what is published, they just do not count yet; or
    - two nodes or more that fell silent, or into a problem, within three heartbeats of each other are more than
      `maxSilentPercent` of those that were ever heard: for as long as they stay so, beyond the grace too, or
    - no capacity was ever published, and two nodes or more, which are more than `maxSilentPercent`, have no report yet.

    Nodes that were never heard are not in the second rule, not even with a problem: many new ones at once are a cluster
    that grows, where the driver is still being installed.

    Args:
        expected: by node; None for a node whose agent never reported.
        agents: the parameters.
        now: by the API server's clock.
        published: what the CapacityProvider has published.
    """
    grace = datetime.timedelta(seconds=agents.grace.seconds)
    states: dict[str, AgentState] = {}
    ends: datetime.datetime | None = None
    fallen: list[Fallen] = []
    heard = 0
    for name, seen in expected.items():
        verdict = _judge(seen, grace, now)
        state = states[name] = verdict.state
        if verdict.ends is not None and (ends is None or verdict.ends < ends):
            ends = verdict.ends
        if verdict.patience is not None:
            heard += 1
            if not isinstance(state, Fresh) and state.since is not None:
                fallen.append(Fallen(state.since, verdict.patience, name))
    broken = _why_broken(states, fallen, heard, agents, published)
    return Listening(states, broken, None if ends is None else (ends - now).total_seconds())


def _judge(seen: Seen | None, grace: datetime.timedelta, now: datetime.datetime) -> _Verdict:
    if seen is None:
        return _NEVER
    spec = seen.report.spec
    if spec.inventory is not None:
        return _judge_heard(seen, spec.inventory, grace, now)
    # It has a problem since it began: there is nothing to hold.
    if spec.problem is None or seen.gone_since is not None:
        return _NEVER
    return _Verdict(Excluded(spec.problem.reason, seen.problem_since))


def _judge_heard(seen: Seen, inventory: GPUInventory, grace: datetime.timedelta, now: datetime.datetime) -> _Verdict:
    """Time alone leads from Fresh to Held, to Excluded; and a report that was deleted is given up in the end."""
    problem, gone, patience = seen.report.spec.problem, seen.gone_since, _patience(inventory)
    fell, reason = seen.written + patience, AGENT_SILENT
    if problem is not None:
        # Whichever came first: a node that is left out does not count again because its agent came back with a problem.
        fell, reason = min(fell, seen.problem_since or seen.written), problem.reason
    if gone is None:
        if now < fell:
            return _Verdict(_FRESH, fell, patience)
    elif gone < fell:
        fell, reason = gone, AGENT_SILENT
    else:
        # It was not renewed any more when it was deleted: somebody tidied up after the agent was taken away.
        return _Verdict(Excluded(NO_REPORT, gone))
    until = fell + grace
    if now < until:
        return _Verdict(Held(reason, fell, until), until, patience)
    # An agent that is there writes a deleted report anew within a heartbeat; none is there where that did not happen.
    given_up = None if gone is None else until + patience
    if given_up is None or now < given_up:
        return _Verdict(Excluded(reason, fell), given_up, patience)
    return _Verdict(Excluded(NO_REPORT, gone))


def _patience(inventory: GPUInventory) -> datetime.timedelta:
    """Three heartbeats. The bounds are the definition's: a report may be older than that."""
    heartbeat = min(max(inventory.heartbeat_seconds, 1), LONGEST_HEARTBEAT)
    return _MISSED_HEARTBEATS * datetime.timedelta(seconds=heartbeat)


def _why_broken(
    states: Mapping[str, AgentState], fallen: Sequence[Fallen], heard: int, agents: Agents, published: Published
) -> str | None:
    is_new_pool = heard == 0 and published is Published.ZERO
    if states and not is_new_pool and not any(isinstance(state, Fresh) for state in states.values()):
        return silence_wording.nobody_is_heard(_by_reason(states))
    group = largest_group(fallen)
    if _are_too_many(len(group), heard, agents):
        names = sorted(each.name for each in group)
        return silence_wording.many_fell_silent(
            _by_reason({name: states[name] for name in names}),
            names,
            heard,
            within=max(each.patience for each in group),
            percent=agents.max_silent_percent,
        )
    if published is Published.NOTHING:
        missing = [name for name, state in states.items() if isinstance(state, Excluded) and state.reason == NO_REPORT]
        if _are_too_many(len(missing), len(states), agents):
            return silence_wording.many_are_missing(sorted(missing), len(states), percent=agents.max_silent_percent)
    return None


def _are_too_many(count: int, of: int, agents: Agents) -> bool:
    return count >= _FEWEST and count * 100 > of * agents.max_silent_percent


def _by_reason(states: Mapping[str, AgentState]) -> list[silence_wording.Unheard]:
    """Those that are not fresh: the reasons and the names both in their order, each since the first of them."""
    found: dict[str, list[tuple[str, datetime.datetime | None]]] = {}
    for name, state in sorted(states.items()):
        if not isinstance(state, Fresh):
            found.setdefault(state.reason, []).append((name, state.since))
    return [
        silence_wording.Unheard(
            reason,
            [name for name, _ in nodes],
            min((since for _, since in nodes if since is not None), default=None),
        )
        for reason, nodes in sorted(found.items())
    ]
