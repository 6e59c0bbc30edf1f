"""Capacity blocks, which end at a time that is known from the start. Pure."""

from __future__ import annotations

import datetime

from kueue_dqo.api.cloud import AwsAccount, AwsCapacityBlocks, AwsEntry
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import time_text
from providers.cloud_quota.aws.decoding import needed
from providers.cloud_quota.aws.held import BLOCK, Part
from providers.cloud_quota.aws.holding import derive_held, judged
from providers.cloud_quota.aws.questions import BlockStatusQuestion, Reservation, Unavailable, region
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
    unavailable = answers[BlockStatusQuestion(region(account, entry))]
    early = wanted.stop_admitting_before
    return derive_held(account, entry, wanted, BLOCK, answers, ended, lambda each: judge(each, unavailable, early, now))


def judge(reservation: Reservation, unavailable: Unavailable, early: Duration, now: datetime.datetime) -> Part:
    """What one comes to: nothing from `early` before its end on, and before that all but what is broken.

    EC2 begins to terminate instances 30 minutes before the end; a job that is admitted then loses its work.

    Raises SourceUnavailable where an active one has no end, or where it is not said how many of it are broken.
    """
    part = judged(reservation, now)
    if not part.instances:
        return part
    end = needed(reservation.end, f"EndDate of {reservation.id}")
    until = end - datetime.timedelta(seconds=early.seconds)
    if now >= until:
        return Part(0, f"ends at {time_text(end)}, and stopAdmittingBefore is {early}")
    broken = 0
    if reservation.id in unavailable:
        broken = needed(unavailable[reservation.id], f"TotalUnavailableCapacity of {reservation.id}")
    why = f"has {broken} unavailable" if broken else ""
    return Part(max(part.instances - broken, 0), why, until)
