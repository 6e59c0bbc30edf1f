"""How many different Events one object may have for one reason: a token bucket for each, as in client-go. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

BURST: Final = 25
SECONDS_PER_TOKEN: Final = 300.0


class SpamFilter:
    """Token buckets by key: full with `burst` tokens at first, one more each `seconds_per_token` up to that again.

    At most `keys` of them are kept; the one that was asked about least recently is forgotten, and so full again.
    """

    def __init__(self, *, burst: int, seconds_per_token: float, keys: int) -> None:
        self._burst = burst
        self._seconds_per_token = seconds_per_token
        self._keys = keys
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """Tokens, and the monotonic time at which there were that many."""

    def allows(self, key: Hashable, now: float) -> bool:
        """Takes a token at the monotonic time `now`. Returns whether there was one."""
        tokens, since = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(tokens + (now - since) / self._seconds_per_token, float(self._burst))
        allowed = tokens >= 1
        self._buckets[key] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > self._keys:
            self._buckets.popitem(last=False)
        return allowed
