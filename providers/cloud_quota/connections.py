"""The connection by which an account is asked, and those that were left behind, since calls in them do not end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.connection import Connection

MOST_LEFT: Final = 3
"""Each keeps the threads of the calls that hang in it."""

_log = structlog.get_logger(__name__)


class Connections:
    """Of one account, at most one of which serves.

    Time limits of SDKs are between two bytes of an answer: one that trickles, from a cloud or from a proxy, has no end.
    A thread cannot be ended; it can only be left to itself.
    """

    def __init__(self, described: str, make: Callable[[], Connection]) -> None:
        """`described` is the account for a person."""
        self._described = described
        self._make = make
        self._serving: Connection | None = None
        self._left: list[Connection] = []

    def serving(self) -> Connection:
        """The one to ask by. Raises SourceUnavailable where as many hang as may be left behind."""
        if self._serving is None:
            self._left = [each for each in self._left if each.is_busy]
            if len(self._left) >= MOST_LEFT:
                raise SourceUnavailable(
                    f"{self._described}: calls hang in {len(self._left)} connections that were left behind, so nothing "
                    "more is asked: see to what is between daemon and cloud, such as a proxy, and restart the daemon"
                )
            self._serving = self._make()
        return self._serving

    def leave(self, connection: Connection) -> bool:
        """Another one is to serve. Returns whether it did so until now."""
        if self._serving is not connection:
            return False
        self._serving = None
        self._left.append(connection)
        connection.close()
        _log.warning("calls hang, the connection is left behind", account=self._described, left=len(self._left))
        return True

    def has_left(self, connection: Connection) -> bool:
        """Whether it was left behind."""
        return any(each is connection for each in self._left)

    def close(self) -> None:
        """Ends the one that serves; those that were left behind have been told."""
        if self._serving is not None:
            self._serving.close()
