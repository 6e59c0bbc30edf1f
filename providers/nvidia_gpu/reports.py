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

from kueue_dqo.api.gpu import AgentProblem, GPUInventory, NodeGPUReport
from providers.nvidia_gpu.decoding import INVALID_REPORT, Report
from providers.nvidia_gpu.hearing import Seen, patience_of


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
        if before is not None and before.owner and before.owner != report.owner:
            # What another machine had under that name says nothing of this one. A problem alone has no owner yet.
            before = known = None
        if before is not None and report.deleted is not None:
            # Whatever its agent still writes there goes with it.
            gone = before.gone_since or (now if is_live else min(report.deleted, now))
            self._seen[name] = before._replace(gone_since=gone)
            return before.gone_since is None
        spec = report.content.spec
        if (
            before is not None
            and spec.inventory is None
            and spec.problem is None
            and _standing(before, now) is not None
        ):
            # An agent that has no report begins with an empty one: it has not spoken yet.
            self._seen[name] = before._replace(gone_since=before.gone_since or now)
            return before.gone_since is None
        is_renewed = known is None or report.renewed != known.renewed
        content, since, began = self._problem(report, now, before, known, is_live=is_live)
        written = now if is_live and is_renewed else min(report.inventory_written or since or now, now)
        if before is not None:
            written = max(written, min(before.written, now))
        gone_since = None if report.deleted is None else min(report.deleted, now)
        self._seen[name] = Seen(content, written, since, gone_since, report.owner)
        self._known[name] = _Known(report.renewed, began)
        return before is None or before.gone_since is not None or not _says_the_same(before.report, content)

    def lose(self, name: str, now: datetime.datetime, *, node: str | None) -> None:
        """A report was deleted. While its node is there, somebody took the word of its agent away.

        `node` is the UID of the node of that name; None where there is none.
        """
        before = self._seen.get(name)
        if before is not None and node is not None and before.is_of(node):
            self._seen[name] = before._replace(gone_since=before.gone_since or now)
        else:
            self._forget(name)

    def see_node(self, name: str, node: str | None) -> None:
        """A node came, changed or went (None): nothing that is gone of another one has to be remembered."""
        before = self._seen.get(name)
        if before is not None and before.gone_since is not None and (node is None or not before.is_of(node)):
            self._forget(name)

    def clear(self) -> None:
        """Nothing is known any more: as at the start of the process."""
        self._seen.clear()
        self._known.clear()

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
                since = now if is_live else min(report.problem_began or now, now)
                began = report.renewed
            if before is not None and before.gone_since is not None:
                since = min(since, before.gone_since)  # nothing was heard since then
            return _with_inventory(content, _standing(before, now)), since, began
        if before is None or since is None or report.renewed != began or _is_invalid(before.report):
            return content, None, None
        return _with_problem(content, before.report.spec.problem), since, began


def _is_invalid(report: NodeGPUReport) -> bool:
    """Whether it makes no sense: that is over as soon as it does."""
    return report.spec.problem is not None and report.spec.problem.reason == INVALID_REPORT


def _standing(before: Seen | None, now: datetime.datetime) -> GPUInventory | None:
    """The inventory that was known before, and stands while there is no other one but a problem.

    That of a deleted report stands for as long as an agent takes that is there, and writes it anew.
    """
    inventory = before.report.spec.inventory if before is not None else None
    if before is None or inventory is None or before.gone_since is None:
        return inventory
    return inventory if now < before.gone_since + patience_of(inventory) else None


def _with_inventory(content: NodeGPUReport, standing: GPUInventory | None) -> NodeGPUReport:
    if content.spec.inventory is not None or standing is None:
        return content
    return msgspec.structs.replace(content, spec=msgspec.structs.replace(content.spec, inventory=standing))


def _with_problem(content: NodeGPUReport, problem: AgentProblem | None) -> NodeGPUReport:
    return msgspec.structs.replace(content, spec=msgspec.structs.replace(content.spec, problem=problem))


def _says_the_same(one: NodeGPUReport, other: NodeGPUReport) -> bool:
    """Equal parts are the same objects but for a problem that was kept."""
    return one is other or (one.spec.inventory is other.spec.inventory and one.spec.problem == other.spec.problem)
