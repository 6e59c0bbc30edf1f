"""What capacity reservations and capacity blocks have in common: which are meant, and their sum. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from kueue_dqo.api.cloud import AwsAccount, AwsEntry, share_of
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.wording import counted
from kueue_dqo.provider import InvalidCapacity, Misconfigured, Notice
from providers.cloud_quota.arithmetic import whole_instances
from providers.cloud_quota.aws.decoding import needed
from providers.cloud_quota.aws.held import (
    BLOCK,
    GONE,
    ON_DEMAND,
    OVER,
    Kind,
    Part,
    Wanted,
    ended_text,
    is_over,
    label_of,
    memory,
    none_text,
    part_text,
    summary_text,
)
from providers.cloud_quota.aws.questions import Reservation, ReservationsQuestion, own_account, region, shape_question
from providers.cloud_quota.cloud import Answers, Derived, Ended, Limit
from providers.cloud_quota.shapes import amounts, unknown_accelerators
from providers.cloud_quota.wording import RESERVATION_ENDED

NO_RESERVATIONS: Final = "NoReservations"
"""The reason of the Event about tags that no reservation has."""

_MOST_LIMITS: Final = 100
"""Reservations of one entry that metrics tell apart: tags may find thousands."""
_ACTIVE: Final = "active"
_UNLAUNCHABLE: Final = "unlaunchable"

Judge = Callable[[Reservation], Part]


def derive_held(  # noqa: PLR0913, PLR0917 - all of them are what `Cloud.derive` is given
    account: AwsAccount,
    entry: AwsEntry,
    wanted: Wanted,
    kind: Kind,
    answers: Answers,
    ended: Ended,
    now: datetime.datetime,
    judge: Judge,
) -> Derived:
    """Whole instances of all reservations that are meant: of each one floor(instances x share).

    Args:
        account: of the entry.
        entry: whose share and maxInstances count.
        wanted: the entry's source.
        kind: what the source is about.
        answers: to the questions of the account.
        ended: what is remembered of reservations that ended; those that are over are added, and those with an end.
        now: UTC.
        judge: what a reservation of that kind comes to.

    Raises:
        Misconfigured: an id is unknown, of another kind or instance type, or of another account without a share.
        SourceUnavailable: the answer leaves out what has to be known of a reservation.
    """
    where = region(account, entry)
    shape = answers[shape_question(account, entry)]
    meant, gone = _meant(entry, wanted, kind, answers[ReservationsQuestion(where)], ended, where, now)
    if entry.share is None:
        _check_owners(kind, meant, answers[own_account(account)])
    named = frozenset(wanted.ids)
    over = [each.id for each in meant if each.id in named and each.state in OVER]
    for name in over:
        ended.add(name)
    for each in meant:
        # Its end is known beforehand: once EC2 has forgotten it, that is no slip of the pen.
        if each.id in named and each.end is not None:
            ended.add(memory(each.id, each.end))
    parts = {each.id: judge(each) for each in meant}
    shares = {name: _instances_of(entry, kind, name, part) for name, part in parts.items()}
    instances = sum(shares.values())
    if entry.max_instances is not None:
        instances = min(instances, entry.max_instances)
    none_found = not meant and not gone
    texts = [part_text(each, parts[each.id], shares[each.id]) for each in meant] + [
        f"{name} {GONE}: 0" for name in gone
    ]
    notices = [Notice(RESERVATION_ENDED, ended_text(kind, name, where)) for name in [*over, *gone]]
    if none_found:
        notices.append(Notice(NO_RESERVATIONS, none_text(entry, wanted, kind, where)))
    return Derived(
        instances=instances,
        amounts=amounts(entry, shape, instances),
        text=summary_text(entry, wanted, kind, where, instances, texts),
        next=min((part.next for part in parts.values() if part.next is not None), default=None),
        limits=tuple(Limit(each.id, where, parts[each.id].instances) for each in meant[:_MOST_LIMITS]),
        taken={label_of(kind, each.id): share_of(entry) for each in meant if each.state not in OVER},
        notices=(*notices, *unknown_accelerators(entry, shape)),
    )


def judged(reservation: Reservation, now: datetime.datetime) -> Part:
    """What the state alone says: only an active one counts, with all of its instances, those in use included.

    Raises SourceUnavailable where an active one has no number of instances, InvalidCapacity for a negative one.
    """
    state = reservation.state
    if state in OVER:
        return Part(0, f"is {state}")
    if state != _ACTIVE:
        if reservation.start is None:
            return Part(0, f"is {state}")
        is_ahead = reservation.start > now
        begin = f"is {state} and starts at {time_text(reservation.start)}"
        return Part(0, begin, reservation.start if is_ahead else None)
    if reservation.launch_status == _UNLAUNCHABLE:
        return Part(0, "takes no instance now (unlaunchable)")
    total = needed(reservation.total, f"TotalInstanceCount of {reservation.id}")
    if total < 0:
        raise InvalidCapacity(f"{reservation.id} has {total} instances, which can be no number of them")
    return Part(total, "is interruptible" if reservation.is_interruptible else "")


# --- which are meant -----------------------------------------------------------------------------------------------


def _meant(  # noqa: PLR0913, PLR0917 - the parts of one entry
    entry: AwsEntry,
    wanted: Wanted,
    kind: Kind,
    listed: tuple[Reservation, ...],
    ended: Ended,
    where: str,
    now: datetime.datetime,
) -> tuple[list[Reservation], list[str]]:
    """The reservations in the order of the ids, then those found by tags by id; and the ids of those long over."""
    by_id = {each.id: each for each in listed}
    meant: dict[str, Reservation] = {}
    gone: list[str] = []
    problems: list[str] = []
    for name in dict.fromkeys(wanted.ids):
        found = by_id.get(name)
        if found is not None:
            problem = _why_another(entry, kind, found)
            meant[name] = found
            problems += [problem] if problem else []
        elif is_over(name, ended, now):
            gone.append(name)
        else:
            problems.append(
                f"{label_of(kind, name)} is not among the {counted(len(by_id), 'reservation')} that the account sees "
                f"in {where}: correct the id or the region, or take it out if it has ended"
            )
    if problems:
        raise Misconfigured("; ".join(problems))
    if wanted.tags:
        for name, found in sorted(by_id.items()):
            if wanted.tags.items() <= found.tags.items() and not _why_another(entry, kind, found):
                meant.setdefault(name, found)
    return list(meant.values()), gone


def _why_another(entry: AwsEntry, kind: Kind, found: Reservation) -> str:
    """Why the reservation is none of the entry's kind and type; empty where it is one."""
    if found.kind != kind.type:
        other = {each.type: each for each in (ON_DEMAND, BLOCK)}.get(found.kind or "")
        way_out = f"name it in {other.field}" if other else f"take it out of {kind.field}"
        return f"{found.id} in {kind.field} is no {kind.label} but of type {found.kind}: {way_out}"
    instance_type = needed(found.instance_type, f"InstanceType of {found.id}")
    if instance_type != entry.instance_type:
        return (
            f"{label_of(kind, found.id)} holds {instance_type}, and the entry is of {entry.instance_type}: correct "
            "instanceType, or give it an entry of its own"
        )
    return ""


def _check_owners(kind: Kind, meant: list[Reservation], own: str) -> None:
    """What another account shares is divided by nobody: the entry has to say how much of it is its own."""
    foreign = [
        f"{label_of(kind, each.id)} belongs to account {each.owner} and is shared with {own}: set share of its entry "
        "to the part that jobs of this cluster may take, such as 0.5, or 1 for all of it"
        for each in meant
        if each.state not in OVER and needed(each.owner, f"OwnerId of {each.id}") != own
    ]
    if foreign:
        raise Misconfigured("; ".join(foreign))


def _instances_of(entry: AwsEntry, kind: Kind, name: str, part: Part) -> int:
    return whole_instances(Fraction(part.instances), entry, 1, what=label_of(kind, name))
