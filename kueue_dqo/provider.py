"""What a capacity source answers: a whole capacity and one line about it, or why there is none.

The reasons are those that the API defines for the condition CapacitySynchronized.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kueue_dqo.api import dqo


class Observation(NamedTuple):
    """What is there now: the whole capacity, never what is left of it, and a summary for a person."""

    capacity: dqo.Capacity
    summary: str


class CapacityError(Exception):
    """Nothing trustworthy can be published; the last capacity stays. The message names the object and the way out."""

    reason: ClassVar[str]


class SourceUnavailable(CapacityError):
    """The source cannot be reached or was not read whole. Never a capacity of zero."""

    reason = dqo.SOURCE_UNAVAILABLE


class InvalidCapacity(CapacityError):
    """The source gives impossible numbers."""

    reason = dqo.INVALID_CAPACITY


class Misconfigured(CapacityError):
    """Parameters or the mapping to flavors are wrong."""

    reason = dqo.MISCONFIGURED
