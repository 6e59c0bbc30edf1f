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
    """The most nodes that fell at once, the first of them first; of groups of one size, the first.

    At once is within the patience after the first of them: agents that end in one moment are missed at different times,
    depending on when each of them wrote last. Of two patiences it is the smaller one, for how long an agent may be
    silent is its own word: one that says days must not make one accident of all that happened in these days.
    """
    in_order = sorted(fallen)
    times: dict[datetime.timedelta, list[datetime.datetime]] = {}
    for each in in_order:
        times.setdefault(each.patience, []).append(each.since)

    def last_with(first: Fallen, patience: datetime.timedelta) -> datetime.datetime:
        return first.since + min(first.patience, patience)

    def size(first: Fallen) -> int:
        return sum(
            bisect_right(alike, last_with(first, patience)) - bisect_left(alike, first.since)
            for patience, alike in times.items()
        )

    if not in_order:
        return []
    first = max(in_order, key=size)
    others = (each for each in in_order if each is not first)
    return [first, *(each for each in others if first.since <= each.since <= last_with(first, each.patience))]
