"""What is made of one agent: it is heard, its last word holds for a while, or its node does not count. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final, NamedTuple

from kueue_dqo.api.gpu import LONGEST_HEARTBEAT, GPUInventory, NodeGPUReport

AGENT_SILENT: Final = "AgentSilent"
"""Nothing was heard of the agent for three heartbeats, or its report was deleted and no other one came."""
NO_REPORT: Final = "NoReport"
"""The node's agent has never told what is there, or its report was deleted on purpose."""
_MISSED_HEARTBEATS: Final = 3


class Seen(NamedTuple):
    """A report, and when it was made. The times are the API server's, and none of them lies in the future."""

    report: NodeGPUReport
    """Where it says nothing but that there is a problem, with the inventory that was known before."""
    written: datetime.datetime
    """When the inventory was written last."""
    problem_since: datetime.datetime | None
    """When the API server took the problem that the report has; None where it has none."""
    gone_since: datetime.datetime | None = None
    """When the report was deleted although its node is there."""
    owner: str = ""
    """The UID of the Node that owns it; empty where none does."""

    def is_of(self, node_uid: str) -> bool:
        """Whether it is a report of that node, not of another one that had its name before."""
        return not self.owner or not node_uid or self.owner == node_uid


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


class Verdict(NamedTuple):
    """What is made of one agent."""

    state: AgentState
    ends: datetime.datetime | None = None
    """When it becomes another one by itself."""
    patience: datetime.timedelta | None = None
    """How long it may be silent; None of a node that was never heard, which cannot fall silent."""
    is_unknown: bool = False
    """Whether nobody knows what the node has, nor ever did."""


_NEVER: Final = Verdict(Excluded(NO_REPORT, None), is_unknown=True)


def judge(seen: Seen | None, grace: datetime.timedelta, now: datetime.datetime) -> Verdict:
    """What is made of an agent; None for a node without a report."""
    if seen is None:
        return _NEVER
    spec = seen.report.spec
    if spec.inventory is not None:
        return _judge_heard(seen, spec.inventory, grace, now)
    # It has a problem since it began: there is nothing to hold.
    if spec.problem is None or seen.gone_since is not None:
        return _NEVER
    return Verdict(Excluded(spec.problem.reason, seen.problem_since), is_unknown=True)


def _judge_heard(seen: Seen, inventory: GPUInventory, grace: datetime.timedelta, now: datetime.datetime) -> Verdict:
    """Time alone leads from Fresh to Held, to Excluded; and a report that was deleted is given up in the end."""
    problem, gone, patience = seen.report.spec.problem, seen.gone_since, patience_of(inventory)
    fell, reason = seen.written + patience, AGENT_SILENT
    if problem is not None:
        # Whichever came first: a node that is left out does not count again because its agent came back with a problem.
        fell, reason = min(fell, seen.problem_since or seen.written), problem.reason
    if gone is None:
        if now < fell:
            return Verdict(Fresh(), fell, patience)
    elif gone < fell:
        fell, reason = gone, AGENT_SILENT
    else:
        # It was not renewed any more when it was deleted: somebody tidied up after the agent was taken away.
        return Verdict(Excluded(NO_REPORT, gone))
    until = fell + grace
    if now < until:
        return Verdict(Held(reason, fell, until), until, patience)
    # An agent that is there writes a deleted report anew within a heartbeat; none is there where that did not happen.
    given_up = None if gone is None else until + patience
    if given_up is None or now < given_up:
        return Verdict(Excluded(reason, fell), given_up, patience)
    return Verdict(Excluded(NO_REPORT, gone))


def patience_of(inventory: GPUInventory) -> datetime.timedelta:
    """Three heartbeats. The bounds are the definition's: a report may be older than that."""
    heartbeat = min(max(inventory.heartbeat_seconds, 1), LONGEST_HEARTBEAT)
    return _MISSED_HEARTBEATS * datetime.timedelta(seconds=heartbeat)
