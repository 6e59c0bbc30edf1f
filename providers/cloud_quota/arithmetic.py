"""From a limit to whole instances, in exact numbers: only what a cloud itself sends is a float. Pure."""

from __future__ import annotations

import math
from fractions import Fraction

from kueue_dqo.api.cloud import CloudEntry, share_of
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.cloud_quota.cloud import UNLIMITED


def is_unlimited(value: float) -> bool:
    """Whether the number stands for no limit at all: -1, or as large as the largest integer, or infinite."""
    return value == -1 or value >= UNLIMITED


def limit_of(value: float, *, what: str, max_instances: int | None) -> Fraction | None:
    """The limit that a cloud told, in the unit of its source; None where there is none and `max_instances` bounds it.

    A fraction counts as the decimal number that was sent.

    Args:
        value: as the cloud sends it.
        what: the limit for a person, such as `quota L-417A185B in us-east-1`.
        max_instances: of the entry.

    Raises:
        InvalidCapacity: no number, a negative one, or none is the limit and the entry sets none either.
    """
    if is_unlimited(value):
        if max_instances is None:
            raise InvalidCapacity(
                f"{what} is {value:g}, which is no limit: set maxInstances of the entry to the number of instances "
                "that there can be"
            )
        return None
    if math.isnan(value) or value < 0:
        raise InvalidCapacity(f"{what} is {value:g}, which can be no limit: have it corrected at the cloud")
    return Fraction(str(value))


def whole_instances(limit: Fraction | None, entry: CloudEntry, takes: int, *, what: str) -> int:
    """How many whole instances of the entry the limit allows: floor(limit x share / takes), at most maxInstances.

    Args:
        limit: in the unit of its source; None: only maxInstances bounds it.
        entry: whose share and maxInstances count.
        takes: what one instance takes of the limit, in the same unit: vCPUs, accelerators; 1 of a reservation.
        what: as of `limit_of`.

    Raises:
        Misconfigured: an instance takes nothing of the limit, which then says nothing about it.
        InvalidCapacity: neither the limit nor the entry bounds it.
    """
    if takes <= 0:
        raise Misconfigured(
            f"{what}: {entry.type_name} takes {takes} of it, so it says nothing about that type: name what counts it"
        )
    if limit is None:
        if entry.max_instances is None:
            raise InvalidCapacity(f"{what} has no limit: set maxInstances of the entry")
        return entry.max_instances
    instances = math.floor(limit * share_of(entry) / takes)
    return instances if entry.max_instances is None else min(instances, entry.max_instances)
