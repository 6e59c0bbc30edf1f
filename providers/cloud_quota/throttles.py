"""What an account is not asked for a while, after the cloud has refused calls for their number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

from kueue_dqo.api.wording import some
from providers.cloud_quota.cloud import Call, Result
from providers.cloud_quota.rest import Rest

_ALL: Final = None
"""The scope of calls that belong to no question: those by which the account is opened, without which none is asked."""


class _Scope:
    """Of what the cloud counts together."""

    def __init__(self, random: Random) -> None:
        self.rest: Final = Rest(random)
        self.fresh: list[Call] = []
        """Calls that were refused, and no rest has begun after them. Written by threads."""
        self.calls: list[Call] = []
        """Those that the rest is about."""


class Throttles:
    """Of one account: a rest for each scope of questions. Times are in seconds of the caller's clock."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._here = threading.local()
        self._lock = threading.Lock()
        self._scopes: dict[str | None, _Scope] = {}

    # --- in any thread -----------------------------------------------------------------------------------------------

    @contextmanager
    def asking(self, scope: str) -> Iterator[None]:
        """Calls that this thread makes meanwhile are of that scope."""
        self._here.scope = scope
        try:
            yield
        finally:
            self._here.scope = _ALL

    def called(self, call: Call) -> None:
        """A call has ended in this thread."""
        if call.result is Result.THROTTLED:
            scope = self._of(getattr(self._here, "scope", _ALL))
            with self._lock:
                scope.fresh.append(call)

    def refuses(self, scope: str) -> bool:
        """Whether a call was refused after which nothing has been asked yet."""
        return any(each.fresh or each.calls for each in self._both(scope))

    # --- in the event loop -------------------------------------------------------------------------------------------

    def begin_rests(self, now: float) -> None:
        """Wherever calls were refused since it was last called."""
        for each in list(self._scopes.values()):
            with self._lock:
                each.calls += each.fresh  # first: what is in neither of them is asked
                fresh, each.fresh = each.fresh, []
            if fresh:
                each.rest.begin(now)

    def end_rests(self, now: float) -> None:
        """Those whose time is over."""
        for each in list(self._scopes.values()):
            if each.calls and not each.rest.left(now):
                each.calls.clear()

    def left(self, scope: str, now: float) -> float:
        """Seconds for which nothing of the scope may be asked; 0 where it may."""
        return max(each.rest.left(now) for each in self._both(scope))

    def told(self, scope: str) -> str:
        """The calls that were refused, for a person: `servicequotas:GetServiceQuota in us-east-1`."""
        calls = [call for each in self._both(scope) for call in each.calls]
        return some(sorted({f"{call.name} in {call.region}" for call in calls}))

    def answered(self, scope: str) -> None:
        """Something of the scope was asked, and has ended: where nothing was refused, the next rest is a short one."""
        for each in self._both(scope):
            if not each.fresh and not each.calls:
                each.rest.forget()

    # -----------------------------------------------------------------------------------------------------------------

    def _both(self, scope: str) -> tuple[_Scope, _Scope]:
        return self._of(_ALL), self._of(scope)

    def _of(self, scope: str | None) -> _Scope:
        with self._lock:
            return self._scopes.setdefault(scope, _Scope(self._random))
