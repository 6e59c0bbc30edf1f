"""What a person is told where the observer is broken, and how to repair it. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.wording import counted, some
from providers.nvidia_gpu.hearing import AgentState, Fresh

_AGENTS: Final = "-l app.kubernetes.io/component=nvidia-gpu-agent"
_LOOK: Final = (
    f"look at the agents: `kubectl get pods -A -o wide {_AGENTS}`, "
    f"`kubectl logs -n kueue-dqo-system --prefix {_AGENTS}`"
)
_LEAVE_OUT: Final = "nodes that are to have none are left out by spec.nodeSelector of the parameters"
_NAMED_AT_MOST: Final = 5


class Unheard(NamedTuple):
    """Nodes whose agents are not heard for one reason."""

    reason: str
    nodes: Sequence[str]
    since: datetime.datetime | None
    """Of the first of them."""


def by_reason(states: Mapping[str, AgentState]) -> list[Unheard]:
    """Those that are not fresh: the reasons and the names both in their order, each since the first of them."""
    found: dict[str, list[tuple[str, datetime.datetime | None]]] = {}
    for name, state in sorted(states.items()):
        if not isinstance(state, Fresh):
            found.setdefault(state.reason, []).append((name, state.since))
    return [
        Unheard(
            reason,
            [name for name, _ in nodes],
            min((since for _, since in nodes if since is not None), default=None),
        )
        for reason, nodes in sorted(found.items())
    ]


def nobody_is_heard(unheard: Iterable[Unheard]) -> str:
    """None of the agents is fresh."""
    return (
        f"no agent of any node with GPUs is heard, {_told(unheard)}: the last capacity stays until one is; {_LOOK}; "
        f"{_LEAVE_OUT}"
    )


def many_fell_silent(
    unheard: Iterable[Unheard], names: Sequence[str], heard: int, *, within: datetime.timedelta, percent: int
) -> str:
    """So many of those that were heard before fell silent at once."""
    span = Duration(int(within.total_seconds()))
    taken_away = " ".join(names[:_NAMED_AT_MOST]) + (" …" if len(names) > _NAMED_AT_MOST else "")
    return (
        f"{len(names)} of the {heard} agents that were heard fell out within {span} of each other, {_told(unheard)}: "
        f"more than spec.agents.maxSilentPercent of the parameters, {percent}, so that it is taken for a fault of the "
        f"agents, not of the nodes, and the last capacity stays until they are heard; {_LOOK}; where they were taken "
        f"away on purpose, delete their reports (`kubectl delete nodegpureports.kueue-dqo.dev {taken_away}`); "
        f"{_LEAVE_OUT}; maxSilentPercent: 100 leaves every silent node out once spec.agents.grace is over"
    )


def many_are_missing(names: Sequence[str], nodes: int, *, percent: int) -> str:
    """Nothing was ever published, and so many have not told what they have."""
    return (
        f"{len(names)} of {counted(nodes, 'node')} with GPUs have no report yet ({some(names, at_most=_NAMED_AT_MOST)})"
        f": more than spec.agents.maxSilentPercent of the parameters, {percent}, so that the first capacity waits for "
        f"them; {_LOOK}; {_LEAVE_OUT}; with maxSilentPercent: 100 it does not wait"
    )


def many_are_unknown(unheard: Iterable[Unheard], unknown: int, nodes: int, *, percent: int) -> str:
    """Nothing is known of so many since this process began, and without them less would be published than is."""
    return (
        f"nothing is known of {unknown} of {counted(nodes, 'node')} with GPUs, {_told(unheard)}: more than "
        f"spec.agents.maxSilentPercent of the parameters, {percent}, so that the last capacity, which is more than "
        f"what the others have, stays until they report; {_LOOK}; {_LEAVE_OUT}; maxSilentPercent: 100 does not wait "
        "for them"
    )


def _told(unheard: Iterable[Unheard]) -> str:
    """`AgentSilent since 2026-12-24T00:00:00Z (n1, n2), NoReport (n3)`."""
    return ", ".join(
        f"{each.reason}{'' if each.since is None else f' since {time_text(each.since)}'} "
        f"({some(each.nodes, at_most=_NAMED_AT_MOST)})"
        for each in unheard
    )
