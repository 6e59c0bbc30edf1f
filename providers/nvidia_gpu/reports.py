"""What is known of the reports of all nodes, news by news. Pure.

A report is not only what it says: when the agent was heard last, since when it has a problem, and that it is gone
although its node is there, follow from the order in which things were seen.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api.gpu import AgentProblem, NodeGPUReport
from providers.nvidia_gpu.decoding import INVALID_REPORT, Report
from providers.nvidia_gpu.silence import Seen


class _Known(NamedTuple):
    renewed: str
    """The inventory's `renewTime`."""
    when_problem_began: str | None
    """What it was when a problem came up that is not over; None without one."""


class Reports:
    """Of every node that has a report, or had one that is gone although the node is there."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._known: dict[str, _Known] = {}
        self.seen: Final[Mapping[str, Seen]] = MappingProxyType(self._seen)
        """By the name of the node, a live view."""

    def take(self, report: Report, now: datetime.datetime, *, is_live: bool) -> bool:
        """A report came or changed. Returns whether it says anything that it did not say before.

        `is_live`: the watch shows it, so that it was written just now. By our own clock then: that of the API server
        may go otherwise.
        """
        name = report.node
        before, known = self._seen.get(name), self._known.get(name)
        is_renewed = known is None or report.renewed != known.renewed
        content, since, began = self._problem(report, now, before, known, is_live=is_live)
        written = now if is_live and is_renewed else min(report.inventory_written or since or now, now)
        if before is not None:
            written = max(written, min(before.written, now))
        self._seen[name] = Seen(content, written, since)
        self._known[name] = _Known(report.renewed, began)
        return before is None or before.gone_since is not None or not _says_the_same(before.report, content)

    def lose(self, name: str, now: datetime.datetime, *, is_node_there: bool) -> None:
        """A report was deleted. While its node is there, somebody took the word of its agent away."""
        before = self._seen.get(name)
        if before is not None and is_node_there:
            self._seen[name] = before._replace(gone_since=now)
        else:
            self._forget(name)

    def lose_node(self, name: str) -> None:
        """A node is gone: nothing that is gone of it has to be remembered."""
        before = self._seen.get(name)
        if before is not None and before.gone_since is not None:
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        self._known.pop(name, None)

    @staticmethod
    def _problem(
        report: Report, now: datetime.datetime, before: Seen | None, known: _Known | None, *, is_live: bool
    ) -> tuple[NodeGPUReport, datetime.datetime | None, str | None]:
        """What counts as the report, since when it has a problem, and the inventory's time when that began.

        An agent that is started anew takes its problem away before it has read anything. Until it has, nothing is
        known but the problem, and it must not begin anew either: a grace time would never end.
        """
        content = report.content
        since, began = (before.problem_since, known.when_problem_began) if before and known else (None, None)
        if content.spec.problem is not None:
            if since is None:
                since = now if is_live else min(report.problem_written or now, now)
                began = report.renewed
            return content, since, began
        if before is None or since is None or report.renewed != began or _is_invalid(before.report):
            return content, None, None
        return _with_problem(content, before.report.spec.problem), since, began


def _is_invalid(report: NodeGPUReport) -> bool:
    """Whether it makes no sense: that is over as soon as it does."""
    return report.spec.problem is not None and report.spec.problem.reason == INVALID_REPORT


def _with_problem(content: NodeGPUReport, problem: AgentProblem | None) -> NodeGPUReport:
    return msgspec.structs.replace(content, spec=msgspec.structs.replace(content.spec, problem=problem))


def _says_the_same(one: NodeGPUReport, other: NodeGPUReport) -> bool:
    """Equal parts are the same objects but for a problem that was kept."""
    return one is other or (one.spec.inventory is other.spec.inventory and one.spec.problem == other.spec.problem)
