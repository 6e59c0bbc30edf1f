"""Composites that read each other in a ring: none of them can be computed before the others. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping


def ring_of(start: str, members: Mapping[str, Iterable[str]]) -> tuple[str, ...] | None:
    """The shortest ring that leads from `start` back to it, such as (a, b, a); None where there is none.

    What merely leads to a ring is not on it. Of several shortest rings it is the one by the members listed first.

    Args:
        start: the composite that is asked about.
        members: of each composite, by name. What is no key reads nothing.
    """
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        reader = waiting.popleft()
        for member in members.get(reader, ()):
            if member == start:
                return _back(reader, came_from, start)
            if member not in came_from:
                came_from[member] = reader
                waiting.append(member)
    return None


def _back(last: str, came_from: Mapping[str, str], start: str) -> tuple[str, ...]:
    ring = [start, last]
    while ring[-1] != start:
        ring.append(came_from[ring[-1]])
    return tuple(reversed(ring))
