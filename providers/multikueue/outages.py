"""Workers that cannot be read, as a message lists them, and what a new process reads back from it. Pure.

A restarted or newly elected process knows nothing but the object. All that it must not lose is since when each worker
is unavailable: else every restart would begin the grace anew, and a worker that is gone would count for ever.
"""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.meta import parse_time, time_text
from providers.multikueue.foreign_text import LONGEST_WHY, one_line

_LEFT_OUT: Final = "left out"
_OVERDUE: Final = "beyond its grace"
_BEFORE: Final = "at the last look"
_ROOM_FOR_CAUSES: Final = 6_000
"""Characters of all causes together; beyond that, workers are listed without theirs."""
_ROOM: Final = 16_000
"""Characters of the whole list, so that it stands in a message of the API server's limit with what else is said."""


class Fate(enum.Enum):
    """What becomes of a worker while it is unavailable."""

    HELD = enum.auto()
    """What was last read of it counts."""
    AWAITED = enum.auto()
    """Its grace is not over, but this process has read nothing of it yet."""
    UNREAD = enum.auto()
    """Its grace is not over, but nothing of it is part of what is published: the others need not wait for it."""
    OVERDUE = enum.auto()
    """Its grace is over."""


class Outage(NamedTuple):
    """Since when and why a worker cannot be read. Times are UTC and whole seconds, as messages have them."""

    since: datetime.datetime
    until: datetime.datetime
    """The end of its grace."""
    why: str
    """One line that no message can be forged with."""
    fate: Fate


def said(text: str) -> str:
    """What others said, for a message: one line, printable, cut, and never the beginning of another part.

    Parts of a message begin behind semicolons, so a text of others has none.
    """
    beginning = text[: 4 * LONGEST_WHY]
    return one_line(" ".join(beginning.split())).replace(";", ",")


def texts_of(outages: Mapping[str, Outage], *, is_counted: bool) -> list[str]:
    """`left out: worker2, unavailable since 2026-12-01T03:15:00Z: cannot list …`, by name; `outages_in` reads it back.

    Args:
        outages: by the names of the workers.
        is_counted: whether the others are published without those whose grace is over.
    """
    overdue = _LEFT_OUT if is_counted else _OVERDUE
    texts: list[str] = []
    used = causes = 0
    for cluster, outage in sorted(outages.items()):
        text = f"{_beginning(outage, overdue)}: {_since_text(cluster, outage.since)}"
        if outage.why and causes + len(outage.why) <= _ROOM_FOR_CAUSES:
            causes += len(outage.why)
            text = f"{text}: {outage.why}"
        used += len(text)
        if used > _ROOM:
            return [*texts, f"and {len(outages) - len(texts)} more are unavailable"]
        texts.append(text)
    return texts


def _beginning(outage: Outage, overdue: str) -> str:
    match outage.fate:
        case Fate.HELD:
            return f"held until {time_text(outage.until)}"
        case Fate.AWAITED:
            return f"awaited until {time_text(outage.until)}"
        case Fate.UNREAD:
            return _LEFT_OUT
        case Fate.OVERDUE:
            return overdue


def times_text(times: Mapping[str, datetime.datetime], left_out: AbstractSet[str]) -> str:
    """The same in short, for where nobody looks at workers: `at the last look: worker2, unavailable since …`.

    Args:
        times: since when which workers are unavailable.
        left_out: those of them of which nothing is part of what is published.
    """
    texts: list[str] = []
    used = 0
    for cluster, since in sorted(times.items()):
        text = f"{_LEFT_OUT if cluster in left_out else _BEFORE}: {_since_text(cluster, since)}"
        used += len(text)
        if used > _ROOM:
            texts.append(f"and {len(times) - len(texts)} more are unavailable")
            break
        texts.append(text)
    return "; ".join(texts)


def _since_text(cluster: str, since: datetime.datetime) -> str:
    return f"{cluster}, unavailable since {time_text(since)}"


# --- read back from a message --------------------------------------------------------------------------------------

_TIME: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"
_OUTAGE: Final = re.compile(
    rf"(?:\A|; )(?:(?:held|awaited) until {_TIME}|(?P<out>{_LEFT_OUT})|{_OVERDUE}|{_BEFORE}): "
    rf"(?P<cluster>[a-z0-9.-]{{1,253}}), unavailable since (?P<since>{_TIME})",
    re.ASCII,
)


def outages_in(message: str) -> dict[str, datetime.datetime]:
    """Since when which workers are unavailable by a message that `texts_of` is part of; the earliest time of each.

    Whatever else the message says is passed over.
    """
    found: dict[str, datetime.datetime] = {}
    for match in _OUTAGE.finditer(message):
        try:
            since = parse_time(match["since"])
        except ValueError:
            continue  # no text of ours
        found[match["cluster"]] = min(since, found.get(match["cluster"], since))
    return found


def left_out_in(message: str) -> frozenset[str]:
    """Which of these are left out by that message, and not told of in any other way."""
    found = {True: set[str](), False: set[str]()}
    for match in _OUTAGE.finditer(message):
        found[match["out"] is not None].add(match["cluster"])
    return frozenset(found[True] - found[False])
