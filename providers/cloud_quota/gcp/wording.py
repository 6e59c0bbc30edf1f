"""How reservations are told to a person, and what a text of before says of those that end. Pure.

Compute Engine forgets a reservation that was deleted. That it ended, and is no slip of the pen, is known to a process
that has just begun by the message of a status alone: so what is written here is read here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.meta import parse_time
from providers.cloud_quota import wording
from providers.cloud_quota.cloud import Ended
from providers.cloud_quota.gcp.questions import Reservation

READY: Final = "READY"
UPDATING: Final = "UPDATING"
"""Its size is being changed, for a moment: it holds what it says."""
DELETING: Final = "DELETING"
COUNTING: Final = frozenset({READY, UPDATING})

EARLY: Final = datetime.timedelta(minutes=10)
"""How long before its end a reservation may be gone: Compute Engine deletes it, and our clock may be another one."""

_GONE: Final = "deleted: 0"
_UNTIL: Final = ", until "
_ENDING: Final = re.compile(
    r"(?<![\w.-])(?P<name>[a-z][-a-z0-9]*) in (?P<place>[a-z][-a-z0-9]*)(?P<owner> of project [^\s()]+)? "
    rf"\((?:{_GONE}|[^()]*{_UNTIL}(?P<end>[^()\s]+)|{DELETING}[^()]*)\)"
)


def name_text(name: str, place: str, owner: str | None) -> str:
    """`big in us-central1-a`, `big in us-central1-a of project owner-1`.

    Args:
        name: of the reservation.
        place: its zone; its region where no zone is known.
        owner: the project that owns it; None: the account's own.
    """
    return f"{name} in {place}" + ("" if owner is None else f" of project {owner}")


def state_text(reservation: Reservation, count: int, instances: int) -> str:
    """`4`, `2 of 5`, `4, until 2026-12-01T06:00:00Z`, `4, UPDATING`, `CREATING: 0 of 4`.

    Args:
        reservation: of which it is told.
        count: how many instances it holds.
        instances: how many of them count, by the entry's share.
    """
    if reservation.status in COUNTING:
        text = f"{count}" if instances == count else f"{instances} of {count}"
        text += "" if reservation.status == READY else f", {reservation.status}"
    else:
        text = f"{reservation.status}: 0 of {count}"
    if reservation.status == DELETING:
        return text  # whatever was to be
    return text + (f"{_UNTIL}{reservation.delete_at}" if reservation.delete_at else "")


def gone_text(name: str) -> str:
    """`big in us-central1 (deleted: 0)`, of a text by `name_text`."""
    return f"{name} ({_GONE})"


def memories(name: str, zone: str, owner: str | None, end: str = "") -> Iterator[str]:
    """By what a reservation is remembered that ends: where it is, and in its region.

    Args:
        name: of the reservation.
        zone: where it is.
        owner: as of `name_text`.
        end: when it ends, RFC 3339; empty: it does so already.
    """
    for place in (zone, zone_region(zone)):
        yield name_text(name, place, owner) + (f"{_UNTIL}{end}" if end else "")


def is_over(name: str, ended: Ended, now: datetime.datetime) -> bool:
    """Whether that of a text by `name_text` was seen to end, or to have an end that has come."""
    return wording.is_over(name, _UNTIL, ended, now, early=EARLY)


def remembered(message: str) -> Iterator[str]:
    """What `memories` said of those that end, read from the message about them."""
    for found in _ENDING.finditer(message):
        owner = found["owner"].rpartition(" ")[2] if found["owner"] else None
        end = found["end"] or ""
        if end and not _is_time(end):
            continue  # no text of ours
        if zone_region(found["place"]).count("-"):
            yield from memories(found["name"], found["place"], owner, end)
        else:
            yield name_text(found["name"], found["place"], owner)


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def zone_region(zone: str) -> str:
    """The region of a zone: `us-central1` of `us-central1-a`."""
    return zone.rpartition("-")[0]
