"""Reservations of Compute Engine: what they hold, whether it is in use or not. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

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
from providers.cloud_quota.gcp.wording import (
    COUNTING,
    DELETING,
    gone_text,
    is_over,
    memories,
    name_text,
    state_text,
    zone_region,
)
from providers.cloud_quota.wording import RESERVATION_ENDED, details


@dataclass(frozen=True, slots=True)
class Held:
    """What the reservations of an entry come to."""

    instances: int
    text: str
    """`reservations (share 0.5) big in us-central1-a (2 of 4), old in us-central1-b (DELETING: 0 of 4)`."""
    next: datetime.datetime | None
    limits: tuple[Limit, ...]
    found: tuple[str, ...]
    """Each of them, for a person and as a key: `reservation big in us-central1-a of project p`."""
    notices: tuple[Notice, ...]


def held(  # noqa: PLR0913, PLR0917 - what `Cloud.derive` is given, and the entry's source
    account: GcpProject,
    entry: GcpEntry,
    named: GcpReservations,
    answers: Answers,
    ended: Ended,
    now: datetime.datetime,
) -> Held:
    """What the named reservations hold: all of their instances, and never what is left of them.

    In each zone a name may be another reservation: all of them count. One that is being made or deleted, or whose time
    is over, counts nothing; one whose size is being changed counts what it says.

    Raises:
        Misconfigured: one does not exist, reserves something else than instances of the entry, or is shared with other
            projects and the entry does not say which share it takes.
        SourceUnavailable: of one of the zones nothing is known, or one was told without what has to be known of it.
        InvalidCapacity: one says nonsense.
    """
    owner, region = owner_of(account, entry), region_of(account, entry)
    answer = answers[ReservationsQuestion(owner)]
    foreign = None if owner == account.project else owner
    _check_whole(answer, named, owner, region)
    texts: list[str] = []
    found: list[Reservation] = []
    notices: list[Notice] = []
    for name in named.names:
        here = [each for each in answer.reservations if each.name == name and _is_asked(each.zone, named, region)]
        here.sort(key=lambda each: each.zone)
        found += here
        if not here:
            texts += _gone(name, named, owner, region, foreign, ended, now)
            notices.append(_gone_notice(name, owner, region))
    instances, limits, moments = 0, [], []
    for each in found:
        count = _instances(each, account, entry, answers, owner)
        end = _moment(each, owner)
        counting = count if each.status in COUNTING and (end is None or end > now) else 0
        part = arithmetic.whole_instances(Fraction(counting), entry, 1, what=_label(each, owner))
        instances += part
        limits.append(Limit(f"{owner}/{each.zone}/{each.name}", region, float(counting)))
        texts.append(f"{name_text(each.name, each.zone, foreign)} ({state_text(each, count, part)})")
        if end is not None or each.status == DELETING:
            # Its end is known beforehand: once it is gone, that is no slip of the pen.
            for memory in memories(each.name, each.zone, foreign, "" if each.status == DELETING else each.delete_at):
                ended.add(memory)
        if end is not None and end > now:
            moments.append(end)
    if entry.max_instances is not None:
        instances = min(instances, entry.max_instances)
    kind = "reservation" if len(texts) == 1 else "reservations"
    limited = f" ({', '.join(details(entry))})" if details(entry) else ""
    return Held(
        instances,
        f"{kind}{limited} {', '.join(texts)}",
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


def _gone(  # noqa: PLR0913, PLR0917 - what tells one reservation from others
    name: str,
    named: GcpReservations,
    owner: str,
    region: str,
    foreign: str | None,
    ended: Ended,
    now: datetime.datetime,
) -> Iterator[str]:
    """The texts of a reservation that is nowhere, where it was known to end. Raises Misconfigured where it was not."""
    places = named.zones or (region,)
    gone = [text for place in places if is_over(text := name_text(name, place, foreign), ended, now)]
    if not gone:
        raise Misconfigured(
            f"reservation {name} of project {owner} does not exist in {some(places)}: name one that does, or take it "
            "out"
        )
    yield from map(gone_text, gone)


def _gone_notice(name: str, owner: str, region: str) -> Notice:
    return Notice(
        RESERVATION_ENDED,
        f"reservation {name} of project {owner} in {region} was deleted: take it out of the parameters, or it will be "
        "called a mistake by a process that knows nothing of its end",
    )


def _instances(reservation: Reservation, account: GcpProject, entry: GcpEntry, answers: Answers, owner: str) -> int:
    """How many instances of the entry it reserves; whether they count is its status' to say."""
    label = _label(reservation, owner)
    if not reservation.status:
        raise SourceUnavailable(f"{label} was told without a status")
    if not reservation.is_specific:
        raise Misconfigured(
            f"{label} reserves no number of instances of one machine type: take it out, and write what it holds as a "
            "ManualCapacity"
        )
    if reservation.count is None:
        raise SourceUnavailable(f"{label} was told without the number of its instances")
    if reservation.accelerators is None:
        raise SourceUnavailable(f"{label} was told without the number of its accelerators")
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
    if owner == account.project and reservation.is_shared and entry.share is None:
        raise Misconfigured(
            f"{label} is shared with other projects ({reservation.share_type}), which use it too: set share of its "
            "entry to the part that jobs of this cluster may take, such as 0.5, or 1 for all of it"
        )
    return reservation.count


def _moment(reservation: Reservation, owner: str) -> datetime.datetime | None:
    """When it will be deleted by itself."""
    if not reservation.delete_at:
        return None
    try:
        return parse_time(reservation.delete_at)
    except ValueError as error:
        raise InvalidCapacity(f"{_label(reservation, owner)} will be deleted at {error}") from None


def _label(reservation: Reservation, owner: str) -> str:
    return f"reservation {reservation.name} in {reservation.zone} of project {owner}"
