"""Short ways to say what was heard of the agents of a test's nodes, and when."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.gpu import GPU, AgentProblem, DeviceCount, GPUInventory, NodeGPUReport, NodeGPUReportSpec, ReportMeta
from kueue_dqo.api.parameters import Agents
from providers.nvidia_gpu.hearing import Excluded, Fresh, Held, Seen
from providers.nvidia_gpu.silence import NOBODY_ASIDE, Aside, Listening, Published, listen
from providers.nvidia_gpu.suspicion import NOBODY, Suspicion

NOW: Final = datetime.datetime(2026, 9, 20, 10, 0, tzinfo=datetime.UTC)
HEARTBEAT: Final = 300
PATIENCE: Final = 3 * HEARTBEAT
GRACE: Final = 600
LIBRARY: Final = "LibraryNotFound"
FRESH: Final = Fresh()
NO_REPORT: Final = Excluded("NoReport", None)


def at(seconds: float) -> datetime.datetime:
    """So many seconds after NOW."""
    return NOW + datetime.timedelta(seconds=seconds)


def heard(
    ago: float = 10,
    *,
    heartbeat: int = HEARTBEAT,
    problem: str | None = None,
    problem_ago: float | None = None,
    gone_ago: float | None = None,
    has_inventory: bool = True,
) -> Seen:
    """A report whose inventory was written so many seconds before NOW."""
    inventory = GPUInventory("2026-09-20T10:00:00Z", heartbeat, gpus=8, devices=(DeviceCount(GPU, 8),))
    told = None if problem is None else AgentProblem(problem, "it says so", "2026-09-20T09:00:00Z")
    return Seen(
        NodeGPUReport(ReportMeta("any"), NodeGPUReportSpec(inventory if has_inventory else None, told)),
        at(-ago),
        None if problem_ago is None else at(-problem_ago),
        None if gone_ago is None else at(-gone_ago),
    )


def silent(since: float, *, heartbeat: int = HEARTBEAT) -> Seen:
    """A report whose agent is silent since so many seconds before NOW."""
    return heard(since + 3 * heartbeat, heartbeat=heartbeat)


def troubled(since: float, problem: str = LIBRARY) -> Seen:
    """A report with a problem since so many seconds before NOW, its inventory written shortly before that."""
    return heard(since + 10, problem=problem, problem_ago=since)


def fresh_nodes(count: int, *, first: int = 1) -> dict[str, Seen | None]:
    """Nodes whose agents were all heard just now."""
    return {f"n{number:02}": heard() for number in range(first, first + count)}


def listening(
    expected: Mapping[str, Seen | None],
    *,
    after: float = 0,
    grace: int = GRACE,
    percent: int = 20,
    published: Published = Published.SOME,
    aside: Aside = NOBODY_ASIDE,
    suspicion: Suspicion = NOBODY,
) -> Listening:
    """What is made of it so many seconds after NOW, if nothing more is heard."""
    agents = Agents(Duration(grace), percent)
    return listen(expected, agents, at(after), published=published, aside=aside, suspicion=suspicion)


def held(reason: str, since: float, *, grace: int = GRACE) -> Held:
    """Since so many seconds before NOW."""
    return Held(reason, at(-since), at(grace - since))


def excluded(reason: str, since: float) -> Excluded:
    """Since so many seconds before NOW."""
    return Excluded(reason, at(-since))
