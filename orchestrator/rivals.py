"""Rivals: other writers of the fields that are ours, and when to give way to them. Pure.

Two of them are told apart. Somebody who undoes single writes (a GitOps tool, an older Kueue that drops a field it does
not know) costs the orchestrator that one object. Kueue's own orchestrator costs it everything: it stands down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kueue_dqo.api.meta import ManagedFields, ObjectKey

KUEUE_MANAGER: Final = "kueue"
WINDOW: Final = 600.0
"""Seconds for which a revert is remembered, an object left alone after its last one, and a stand-down kept up."""


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
    """Counts how often one manager undid one object's quotas within ten minutes; at `limit` the object is left alone.

    That lasts until ten minutes after the last revert of this manager that was counted. So a fight with one manager
    costs at most `limit` writes in ten minutes.
    """

    def __init__(self, *, limit: int, way_out: str) -> None:
        """`limit` reverts end the writes; `way_out` is for whoever reads of it."""
        self._limit = limit
        self._way_out = way_out
        self._seen: dict[ObjectKey, dict[str, list[float]]] = {}
        """The times of reverts by object and manager. Old ones go when the object's next one comes, or it is gone."""
        self._stops: dict[ObjectKey, tuple[float, Stopped]] = {}
        """With the time at which each ends."""

    def note(self, key: ObjectKey, manager: str, now: float) -> Stopped | None:
        """Takes a revert in. Returns the stop where it is the one that begins it. `now` is in seconds."""
        recent: dict[str, list[float]] = {}
        for each, past in self._seen.get(key, {}).items():
            if left := [time for time in past if time > now - WINDOW]:
                recent[each] = left
        recent.setdefault(manager, []).append(now)
        self._seen[key] = recent
        times = len(recent[manager])
        if times < self._limit:
            return None
        stopped = Stopped(key, manager, times, self._way_out)
        before = self._stops.get(key)
        self._stops[key] = (now + WINDOW, stopped)
        return stopped if before is None or before[0] <= now else None

    def stopped(self, now: float) -> dict[ObjectKey, Stopped]:
        """The objects to be left alone at present."""
        self._stops = {key: stop for key, stop in self._stops.items() if stop[0] > now}
        return {key: stopped for key, (_, stopped) in self._stops.items()}

    def until(self, now: float) -> float | None:
        """When the next object may be tried again, in seconds; None where none is stopped."""
        return min((end for end, _ in self._stops.values() if end > now), default=None)

    def forget(self, key: ObjectKey) -> None:
        """The object is gone."""
        self._seen.pop(key, None)
        self._stops.pop(key, None)


def writer_of_spec(managed_fields: Iterable[ManagedFields], ours: str) -> str:
    """The manager that wrote `spec.resourceGroups` last, other than ours; `unknown` where nobody is named."""
    return _latest(entry for entry in managed_fields if entry.manager != ours and entry.owns("spec", "resourceGroups"))


def writer_of_effective_quotas(managed_fields: Iterable[ManagedFields], ours: str) -> str | None:
    """The manager whose numbers stand in `status.effectiveQuotas`; None for ours, `unknown` where nobody is named.

    Whoever changes the list owns it from then on. So where others own it, the numbers are not what we wrote last.
    """
    owners = [entry for entry in managed_fields if entry.owns("status", "effectiveQuotas", "resourceGroups")]
    others = [entry for entry in owners if entry.manager != ours]
    return _latest(others) if others or not owners else None


def writer_of_status(managed_fields: Iterable[ManagedFields], ours: str) -> str:
    """The manager that wrote the status last, other than ours; `unknown` where nobody is named."""
    owners = [entry for entry in managed_fields if entry.manager != ours and entry.subresource == "status"]
    return _latest(owners)


def _latest(entries: Iterable[ManagedFields]) -> str:
    latest = max(entries, key=lambda entry: entry.time or "", default=None)
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
