"""Reports whose nodes are gone, and which of them are to be deleted. Pure.

Nodes own their reports, so that the API server deletes most of them. It does not know of one that a late agent wrote
after its node was gone, or that was written without an owner.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from providers.nvidia_gpu.decoding import Report

_AFTER: Final = 3600.0
"""Seconds that a report is seen without its node, by one process and without a break, before it is deleted."""


class Orphans:
    """Remembers since when reports are without their nodes."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}
        """By name and UID of the report, in seconds of a monotonic clock."""

    def due(self, reports: Mapping[str, Report], nodes: Container[str], now: float) -> list[Report]:
        """Those that are to be deleted. Both views have to be whole; `now` is in seconds of a monotonic clock."""
        orphans = [report for name, report in reports.items() if name not in nodes]
        self._since = {(each.node, each.uid): self._since.get((each.node, each.uid), now) for each in orphans}
        return [each for each in orphans if now - self._since[each.node, each.uid] >= _AFTER]

    def forget(self) -> None:
        """Nobody has watched from here on: everything begins anew."""
        self._since = {}
