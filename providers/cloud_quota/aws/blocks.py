"""Capacity blocks, which end at a time that is known from the start. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from kueue_dqo.api.cloud import AwsAccount, AwsCapacityBlocks, AwsEntry
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import time_text
from kueue_dqo.provider import InvalidCapacity
from providers.cloud_quota.aws.decoding import needed
from providers.cloud_quota.aws.held import BLOCK, UNTIL, Part
from providers.cloud_quota.aws.holding import derive_held, judged
from providers.cloud_quota.aws.questions import (
    BlockStatusQuestion,
    Reservation,
    ReservationsQuestion,
    Unavailable,
    region,
)
from providers.cloud_quota.cloud import Answers, Derived, Ended


def derive_blocks(  # noqa: PLR0913, PLR0917 - as `Cloud.derive`
    account: AwsAccount,
    entry: AwsEntry,
    wanted: AwsCapacityBlocks,
    answers: Answers,
    ended: Ended,
    now: datetime.datetime,
) -> Derived:
    """The usable instances of those that are active and do not end soon. Raises as `derive_held`."""
    where = region(account, entry)
    broken = broken_of(answers[ReservationsQuestion(where)], answers[BlockStatusQuestion(where)])
    early = wanted.stop_admitting_before
    return derive_held(
        account, entry, wanted, BLOCK, answers, ended, now, lambda each: judge(each, broken.get(each.id, 0), early, now)
    )


def broken_of(reservations: Iterable[Reservation], unavailable: Unavailable) -> dict[str, int]:
    """How many instances of each reservation have failed: those of a block are taken off its reservations, once.

    Only the block's own number counts: that of each of its reservations is what jobs use.

    Raises:
        SourceUnavailable: it is not said how many there are.
        InvalidCapacity: it is a negative number.
    """
    left = dict(unavailable)
    found: dict[str, int] = {}
    for each in sorted(reservations, key=lambda each: each.id):
        if each.block_id is None or each.block_id not in left:
            continue
        failed = needed(left[each.block_id], f"TotalUnavailableCapacity of capacity block {each.block_id}")
        if failed < 0:
            raise InvalidCapacity(
                f"capacity block {each.block_id} has {failed} unavailable instances, which can be no number of them"
            )
        found[each.id] = min(failed, max(each.total or 0, 0))
        left[each.block_id] = failed - found[each.id]
    return found


def judge(reservation: Reservation, broken: int, early: Duration, now: datetime.datetime) -> Part:
    """What one comes to: nothing from `early` before its end on, and before that all but what is broken.

    EC2 begins to terminate instances 30 minutes before the end; a job that is admitted then loses its work.

    Raises SourceUnavailable where an active one has no end.
    """
    part = judged(reservation, now)
    if not part.instances:
        return part
    end = needed(reservation.end, f"EndDate of {reservation.id}")
    until = end - datetime.timedelta(seconds=early.seconds)
    if now >= until:
        return Part(0, f"ends at {time_text(end)}, and stopAdmittingBefore is {early}")
    why = f"{UNTIL} {time_text(end)}"
    return Part(max(part.instances - broken, 0), f"{why} has {broken} unavailable" if broken else why, until)
