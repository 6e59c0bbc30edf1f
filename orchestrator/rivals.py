"""Rivals: other writers of the fields that are ours, and when to give way to them. Pure.

Two of them are told apart. Somebody who undoes single writes (a GitOps tool, an older Kueue that drops a field it does
not know) costs the orchestrator that one object. Kueue's own orchestrator costs it everything: it stands down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kueue_dqo.api.meta import ManagedFields, ObjectKey

KUEUE_MANAGER: Final = "kueue"
WINDOW: Final = 600.0
"""Seconds for which a revert is remembered, and for which a stand-down lasts before it is looked at again."""


class Stopped(NamedTuple):
    """An object that is left alone for a while: who undid its quotas, how often, and what helps."""

    key: ObjectKey
    manager: str
    times: int
    way_out: str

    def __str__(self) -> str:
        """For messages."""
        return f"{self.key} ({self.manager} has undone our quotas {self.times} times in ten minutes: {self.way_out})"


class Reverts:
    """Counts how often each object's quotas were undone within ten minutes; at `limit` the object is left alone.

    When the reverts have grown old, it is tried again: so a fight costs at most `limit` writes in ten minutes.
    """

    def __init__(self, *, limit: int, way_out: str) -> None:
        """`limit` reverts end the writes; `way_out` is for whoever reads of it."""
        self._limit = limit
        self._way_out = way_out
        self._seen: dict[ObjectKey, deque[tuple[float, str]]] = {}

    def note(self, key: ObjectKey, manager: str, now: float) -> Stopped | None:
        """Takes a revert in. Returns the stop where it is the one that reaches the limit. `now` is in seconds."""
        seen = self._recent(key, now)
        seen.append((now, manager))
        return Stopped(key, manager, len(seen), self._way_out) if len(seen) == self._limit else None

    def stopped(self, now: float) -> dict[ObjectKey, Stopped]:
        """The objects to be left alone at present."""
        found = {}
        for key in list(self._seen):
            seen = self._recent(key, now)
            if len(seen) >= self._limit:
                found[key] = Stopped(key, seen[-1][1], len(seen), self._way_out)
            elif not seen:
                del self._seen[key]
        return found

    def until(self, now: float) -> float | None:
        """When the next object may be tried again, in seconds; None where none is stopped."""
        ends = [self._seen[key][-self._limit][0] + WINDOW for key in self.stopped(now)]
        return min(ends, default=None)

    def forget(self, key: ObjectKey) -> None:
        """The object is gone."""
        self._seen.pop(key, None)

    def _recent(self, key: ObjectKey, now: float) -> deque[tuple[float, str]]:
        seen = self._seen.setdefault(key, deque())
        while seen and seen[0][0] <= now - WINDOW:
            seen.popleft()
        return seen


def writer_of_spec(managed_fields: Iterable[ManagedFields], ours: str) -> str:
    """The manager that wrote `spec.resourceGroups` last, other than ours; `unknown` where nobody is named."""
    owners = [
        entry
        for entry in managed_fields
        if entry.manager != ours and "f:resourceGroups" in ((entry.fields_v1 or {}).get("f:spec") or {})
    ]
    latest = max(owners, key=lambda entry: entry.time or "", default=None)
    return latest.manager if latest is not None else "unknown"


def writer_of_status(managed_fields: Iterable[ManagedFields], ours: str) -> str:
    """The manager that wrote the status last, other than ours; `unknown` where nobody is named."""
    owners = [entry for entry in managed_fields if entry.manager != ours and entry.subresource == "status"]
    latest = max(owners, key=lambda entry: entry.time or "", default=None)
    return latest.manager if latest is not None else "unknown"


class StandDown:
    """Whether Kueue's own orchestrator is at work, which is seen by the fields that it writes.

    What stands in the orchestrators until `start` is history; whatever Kueue's manager writes afterwards is not. No
    clocks are compared: the API server's and ours may differ.
    """

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self._started = False
        self.since: float | None = None
        """Seconds; None while this one is in charge."""
        self.seen_on = ""
        """The orchestrator on which Kueue's manager was seen last."""

    def start(self) -> None:
        """All orchestrators that are there have been observed."""
        self._started = True

    def observe(self, name: str, managed_fields: Iterable[ManagedFields], now: float) -> bool:
        """Takes an orchestrator as it is now. Returns whether Kueue's manager has written it since it was last seen."""
        traces = frozenset(
            entry.time or ""
            for entry in managed_fields
            if entry.manager == KUEUE_MANAGER and entry.subresource == "status"
        )
        known = self._known.get(name, frozenset())
        self._known[name] = traces
        if not self._started or traces <= known:
            return False
        self.since, self.seen_on = now, name
        return True

    def forget(self, name: str) -> None:
        """The orchestrator is gone."""
        self._known.pop(name, None)

    def is_down(self, now: float) -> bool:
        """Whether to write nothing. Ten minutes after Kueue's last write, this one takes over again."""
        if self.since is not None and now >= self.since + WINDOW:
            self.since = None
        return self.since is not None
