"""What the clouds tell people in the same words. Pure."""

from __future__ import annotations

import datetime
from typing import Final

from kueue_dqo.api.cloud import CloudEntry
from kueue_dqo.api.meta import parse_time
from providers.cloud_quota.cloud import Ended

RESERVATION_ENDED: Final = "ReservationEnded"
"""The reason of the Event about a reservation that is named in the parameters and is, or will be, over for good."""


def details(entry: CloudEntry) -> list[str]:
    """What makes less of what there is: `share 0.5`, `at most 3`."""
    found = [] if entry.share is None else [f"share {entry.share.written or entry.share}"]
    return found if entry.max_instances is None else [*found, f"at most {entry.max_instances}"]


def is_over(
    name: str, until: str, ended: Ended, now: datetime.datetime, *, early: datetime.timedelta = datetime.timedelta(0)
) -> bool:
    """Whether a reservation was seen to end, or to have an end that has come.

    Args:
        name: by which it is remembered.
        until: what stands between that and its end (RFC 3339), where one is remembered with it.
        ended: what is remembered.
        now: UTC.
        early: how long before its end it may be gone.
    """
    if name in ended:
        return True
    beginning = f"{name}{until}"
    ends = [each.removeprefix(beginning) for each in ended if each.startswith(beginning)]
    return any(parse_time(each) - early <= now for each in ends)
