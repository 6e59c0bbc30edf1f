"""Reservations of Compute Engine: what they hold, whether it is in use or not. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from kueue_dqo.api.cloud import GcpEntry, GcpProject, GcpReservations, region_of
from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.wording import some
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Notice, SourceUnavailable
from providers.cloud_quota import arithmetic
from providers.cloud_quota.cloud import Answers, Ended, Limit
from providers.cloud_quota.gcp.machine import accelerators_of, count_of, listed
from providers.cloud_quota.gcp.questions import (
    Reservation,
    ReservationList,
    ReservationsQuestion,
    machine_question,
    owner_of,
)

READY: Final = "READY"
DELETING: Final = "DELETING"
RESERVATION_ENDED: Final = "ReservationEnded"
"""The reason of the Event about a reservation that is named and will be, or was, deleted by itself."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the reservations of an entry come to."""

    instances: int
    text: str
    """`reservations big in us-central1-a (4), old in us-central1-b (DELETING: 0)`."""
    next: datetime.datetime | None
    limits: tuple[Limit, ...]
    found: tuple[str, ...]
    """Each of them, for a person and as a key: `reservation big in us-central1-a of project p`."""
    notices: tuple[Notice, ...]


def zone_region(zone: str) -> str:
    """The region of a zone: `us-central1` of `us-central1-a`."""
    return zone.rpartition("-")[0]


def held(account: GcpProject, entry: GcpEntry, named: GcpReservations, answers: Answers, ended: Ended) -> Held:
    """What the named reservations hold: all of their instances, and never what is left of them.

    In each zone a name may be another reservation: all of them count. One that is not READY counts nothing.

    Raises:
        Misconfigured: one does not exist, or reserves something else than instances of the entry.
        SourceUnavailable: of one of the zones nothing is known.
        InvalidCapacity: one says nonsense.
    """
    owner, region = owner_of(account, entry), region_of(account, entry)
    answer = answers[ReservationsQuestion(owner)]
    _check_whole(answer, named, owner, region)
    texts: list[str] = []
    found: list[Reservation] = []
    notices: list[Notice] = []
    for name in named.names:
        here = [each for each in answer.reservations if each.name == name and _is_asked(each.zone, named, region)]
        here.sort(key=lambda each: each.zone)
        found += here
        if not here:
            texts.append(_absent(name, named, owner, region, ended))
            notices.append(_gone(name, owner, region))
    instances, limits, moments = 0, [], []
    for each in found:
        count = _instances(each, account, entry, answers, owner)
        counts = each.status == READY
        if counts:
            instances += arithmetic.whole_instances(Fraction(count), entry, 1, what=_label(each, owner))
        limits.append(Limit(f"{owner}/{each.zone}/{each.name}", region, float(count if counts else 0)))
        texts.append(f"{each.name} in {each.zone} ({_state(each, count)})")
        if each.delete_at or each.status == DELETING:
            # Its end is known beforehand: once it is gone, that is no slip of the pen.
            ended.add(_memory(each.name, owner, region))
        if each.delete_at:
            moments.append(_moment(each, owner))
    if entry.max_instances is not None:
        instances = min(instances, entry.max_instances)
    of = "" if owner == account.project else f" of project {owner}"
    return Held(
        instances,
        f"{'reservation' if len(texts) == 1 else 'reservations'} {', '.join(texts)}{of}",
        min(moments, default=None),
        tuple(limits),
        tuple(_label(each, owner) for each in found),
        tuple(notices),
    )


def _is_asked(zone: str, named: GcpReservations, region: str) -> bool:
    return zone in named.zones if named.zones else zone_region(zone) == region


def _check_whole(answer: ReservationList, named: GcpReservations, owner: str, region: str) -> None:
    """What is missing elsewhere in the world does not matter; what cannot be told to be elsewhere does."""
    missing = [place for place in answer.missing if _may_concern(place, named, region)]
    if missing:
        raise SourceUnavailable(
            f"reservations of project {owner}: the cloud could not tell those of {some(missing)}; the last capacity "
            "stays until it can"
        )


def _may_concern(place: str, named: GcpReservations, region: str) -> bool:
    # `projects/p/zones/us-central1-a`, `zones/us-central1-a`, `regions/us-central1: UNREACHABLE …`, or what may come.
    kind, _, rest = place.rpartition("zones/")
    if kind or place.startswith("zones/"):
        return _is_asked(rest.split(":")[0].strip(), named, region)
    kind, _, rest = place.rpartition("regions/")
    if kind or place.startswith("regions/"):
        return rest.split(":")[0].strip() == region
    return True


def _absent(name: str, named: GcpReservations, owner: str, region: str, ended: Ended) -> str:
    zones: Sequence[str] = named.zones or (region,)
    if _memory(name, owner, region) not in ended:
        raise Misconfigured(
            f"reservation {name} of project {owner} does not exist in {some(zones)}: name one that does, or take it out"
        )
    return f"{name} (deleted: 0)"


def _gone(name: str, owner: str, region: str) -> Notice:
    return Notice(
        RESERVATION_ENDED,
        f"reservation {name} of project {owner} in {region} was deleted: take it out of the parameters, or a process "
        "that has not seen it end will call it a mistake",
    )


def _instances(reservation: Reservation, account: GcpProject, entry: GcpEntry, answers: Answers, owner: str) -> int:
    """How many instances of the entry it reserves; whether they count is its status' to say."""
    label = _label(reservation, owner)
    if not reservation.status:
        raise SourceUnavailable(f"{label} was told without a status")
    if reservation.count is None:
        raise Misconfigured(
            f"{label} reserves no number of instances of one machine type: take it out, and write what it holds as a "
            "ManualCapacity"
        )
    if reservation.machine_type != entry.machine_type:
        raise Misconfigured(
            f"{label} is of machine type {reservation.machine_type or '(none)'}, the entry of {entry.machine_type}: "
            "make an entry of its own for it"
        )
    machine = answers[machine_question(account, entry)]
    wanted, told = accelerators_of(entry, machine), count_of(reservation.accelerators)
    # Those that are built in need not be told.
    if told != wanted and (told or not machine.accelerators):
        raise Misconfigured(
            f"{label} has {listed(reservation.accelerators)} with each instance, the entry {wanted or 'none'}: correct "
            "accelerators of the entry, or name another reservation"
        )
    if reservation.count < 0:
        raise InvalidCapacity(f"{label} reserves {reservation.count} instances, which can be no number of them")
    return reservation.count


def _state(reservation: Reservation, count: int) -> str:
    until = f", until {reservation.delete_at}" if reservation.delete_at else ""
    if reservation.status == READY:
        return f"{count}{until}"
    return f"{reservation.status}: 0 of {count}"


def _moment(reservation: Reservation, owner: str) -> datetime.datetime:
    try:
        return parse_time(reservation.delete_at)
    except ValueError as error:
        raise InvalidCapacity(f"{_label(reservation, owner)} will be deleted at {error}") from None


def _label(reservation: Reservation, owner: str) -> str:
    return f"reservation {reservation.name} in {reservation.zone} of project {owner}"


def _memory(name: str, owner: str, region: str) -> str:
    return f"{owner}/{region}/{name}"
