"""Reservations of both kinds, and how a person is told of them. Pure.

EC2 calls both capacity reservations and lists them together; a capacity block is one of another type.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import AwsCapacityBlocks, AwsCapacityReservations, AwsEntry
from kueue_dqo.api.meta import parse_time, time_text
from kueue_dqo.api.wording import counted, some
from providers.cloud_quota import wording
from providers.cloud_quota.aws.questions import Reservation
from providers.cloud_quota.cloud import Ended
from providers.cloud_quota.wording import details

OVER: Final = frozenset({"expired", "cancelled", "failed", "payment-failed", "unsupported"})
"""States that a reservation never leaves. EC2 forgets it after a while."""

Wanted = AwsCapacityReservations | AwsCapacityBlocks


class Kind(NamedTuple):
    """One of the two types of capacity reservations."""

    type: str
    """ReservationType of EC2."""
    label: str
    field: str
    """Of the parameters."""


ON_DEMAND: Final = Kind("default", "capacity reservation", "capacityReservations")
BLOCK: Final = Kind("capacity-block", "capacity block", "capacityBlocks")


class Part(NamedTuple):
    """What a reservation comes to at one moment, before the entry's share."""

    instances: int
    why: str = ""
    """Why it is not all of them: `is scheduled`."""
    next: datetime.datetime | None = None
    """When it changes by itself."""


def label_of(kind: Kind, name: str) -> str:
    """`capacity reservation cr-0a1b`, the same in claims and in what is taken."""
    return f"{kind.label} {name}"


# --- wording ---------------------------------------------------------------------------------------------------------


def summary_text(  # noqa: PLR0913, PLR0917 - the parts of one sentence
    entry: AwsEntry, wanted: Wanted, kind: Kind, where: str, instances: int, texts: list[str]
) -> str:
    """`6 p5.48xlarge of 2 capacity reservations in us-east-1 (share 0.5): cr-0a: 4 of 8, cr-0b: 2 of 4`."""
    if not texts:
        return f"0 {entry.instance_type}: no {kind.label} in {where} has {_tags_text(wanted.tags)}"
    limits = f" ({', '.join(details(entry))})" if details(entry) else ""
    return f"{instances} {entry.instance_type} of {counted(len(texts), kind.label)} in {where}{limits}: {some(texts)}"


def part_text(each: Reservation, part: Part, instances: int) -> str:
    """`cr-0a: 4`, `cr-0b is scheduled and starts at 2026-12-24T00:00:00Z: 0 of 4`."""
    why = f" {part.why}" if part.why else ""
    of = f" of {each.total}" if each.total is not None and each.total != instances else ""
    return f"{each.id}{why}: {instances}{of}"


def ended_text(kind: Kind, name: str, where: str) -> str:
    return (
        f"{label_of(kind, name)} in {where} has ended and counts as 0: take it out of {kind.field} soon, since EC2 "
        "forgets it, and an id that is not known is a mistake"
    )


def none_text(entry: AwsEntry, wanted: Wanted, kind: Kind, where: str) -> str:
    return (
        f"No {kind.label} of {entry.instance_type} in {where} has {_tags_text(wanted.tags)}, so it is 0: tag those "
        f"that are meant, correct tags of {kind.field}, or name by id what another account shares"
    )


def _tags_text(tags: Mapping[str, str]) -> str:
    """`the tags team=ml, pool=a`."""
    return f"the {'tag' if len(tags) == 1 else 'tags'} {some(f'{key}={value}' for key, value in sorted(tags.items()))}"


# --- what is remembered ----------------------------------------------------------------------------------------------

GONE: Final = "has ended"
UNTIL: Final = "until"
_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_ENDED: Final = re.compile(rf"\b(cr-[0-9a-f]+) (?:{GONE}|is (?:{'|'.join(sorted(OVER))})): 0\b")
_ENDS: Final = re.compile(rf"\b(cr-[0-9a-f]+) (?:{UNTIL}|ends at|ended at) ({_TIME})\b")


def memory(name: str, end: datetime.datetime) -> str:
    """By what a reservation is remembered that has an end."""
    return f"{name} {UNTIL} {time_text(end)}"


def is_over(name: str, ended: Ended, now: datetime.datetime) -> bool:
    """Whether that reservation was seen to end, or to have an end that has come."""
    return wording.is_over(name, f" {UNTIL} ", ended, now)


def remembered(message: str) -> Iterator[str]:
    """What is remembered of the reservations that the message, one of an earlier look, is about."""
    yield from (found[1] for found in _ENDED.finditer(message))
    for found in _ENDS.finditer(message):
        try:
            yield memory(found[1], parse_time(found[2]))
        except ValueError:
            continue  # no text of ours
