"""Others who write over a status again and again. Pure."""

from __future__ import annotations

from collections import deque
from typing import Final

from kueue_dqo.api.meta import ObjectMeta

AT_ONCE: Final = 3
"""Overwritten statuses within the time below that are written anew at once: an admin's edit is no contest."""
_WITHIN: Final = 600.0
_LONGEST: Final = 60.0


class Contest:
    """How often a status was written over lately, and so how soon it is written anew: two writers must not race."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    @property
    def count(self) -> int:
        """Times within the last ten minutes."""
        return len(self._times)

    def overwritten(self, now: float) -> float:
        """It was, at that monotonic time. Returns the seconds to wait: 0 for a while, then doubling up to a minute."""
        self._times.append(now)
        while self._times[0] < now - _WITHIN:
            self._times.popleft()
        over = self.count - AT_ONCE
        return 0.0 if over <= 0 else min(2.0 ** min(over - 1, 16), _LONGEST)


def rival_of(meta: ObjectMeta, field_manager: str) -> str:
    """The field manager who wrote the status last, other than this one; empty where nobody says so."""
    writers = [each for each in meta.managed_fields if each.subresource == "status" and each.manager != field_manager]
    return max(writers, key=lambda each: each.time or "").manager if writers else ""
