"""On-demand capacity reservations. Pure."""

from __future__ import annotations

import datetime

from kueue_dqo.api.cloud import AwsAccount, AwsCapacityReservations, AwsEntry
from kueue_dqo.api.meta import time_text
from providers.cloud_quota.aws.held import ON_DEMAND, UNTIL, Part
from providers.cloud_quota.aws.holding import derive_held, judged
from providers.cloud_quota.aws.questions import Reservation
from providers.cloud_quota.cloud import Answers, Derived, Ended


def derive_reservations(  # noqa: PLR0913, PLR0917 - as `Cloud.derive`
    account: AwsAccount,
    entry: AwsEntry,
    wanted: AwsCapacityReservations,
    answers: Answers,
    ended: Ended,
    now: datetime.datetime,
) -> Derived:
    """The instances of those that are active, whether used or not. Raises as `derive_held`."""
    return derive_held(account, entry, wanted, ON_DEMAND, answers, ended, now, lambda each: judge(each, now))


def judge(reservation: Reservation, now: datetime.datetime) -> Part:
    """What one comes to. One with an end counts until then: EC2 lets instances go on as on-demand ones."""
    part = judged(reservation, now)
    if not part.instances or reservation.end is None:
        return part
    if now >= reservation.end:
        return Part(0, f"ended at {time_text(reservation.end)}")
    why = f"{UNTIL} {time_text(reservation.end)}"
    return part._replace(why=f"{why} and {part.why}" if part.why else why, next=reservation.end)
