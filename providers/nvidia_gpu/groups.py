"""Who fell silent at once. Pure."""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Fallen(NamedTuple):
    """A node whose agent was heard and is not any more, or has a problem."""

    since: datetime.datetime
    patience: datetime.timedelta
    """How long its agent may say nothing: three of its heartbeats."""
    name: str


def largest_group(fallen: Iterable[Fallen]) -> list[Fallen]:
    """The most nodes that fell at once, in the order in which they fell; of groups of one size, the first.

    At once is within the patience after the first of them; of two nodes, that of the slower agent. For agents that end
    in one moment are missed at different times: it depends on when each of them wrote last.
    """
    in_order = sorted(fallen)
    times: dict[datetime.timedelta, list[datetime.datetime]] = {}
    for each in in_order:
        times.setdefault(each.patience, []).append(each.since)

    def last_with(first: Fallen, patience: datetime.timedelta) -> datetime.datetime:
        return first.since + max(first.patience, patience)

    def size(first: Fallen) -> int:
        return sum(
            bisect_right(alike, last_with(first, patience)) - bisect_left(alike, first.since)
            for patience, alike in times.items()
        )

    if not in_order:
        return []
    first = max(in_order, key=size)
    return [each for each in in_order if first.since <= each.since <= last_with(first, each.patience)]
