"""Regions of Google Cloud: their quotas, and the zones that they have."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from google.cloud import compute_v1

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.gcp import errors, messages
from providers.cloud_quota.gcp import questions as q
from providers.cloud_quota.gcp.calling import Caller, Send

_ZONES_SECONDS: Final = 24 * 3600.0
"""How long the zones of a region are kept."""


class _Zones(NamedTuple):
    names: tuple[str, ...]
    until: float
    """How long they hold, by `time.monotonic()`."""


class Regions:
    """Asks regions, in several threads at a time. One answer tells both, so that zones are rarely asked for."""

    def __init__(self, client: compute_v1.RegionsClient, caller: Caller) -> None:
        self.client = client
        self._caller = caller
        self._zones: dict[q.RegionQuestion, _Zones] = {}
        self._asking: dict[q.RegionQuestion, threading.Lock] = {}
        """Held while a region is asked, for who waits for its zones."""

    def quotas(self, question: q.RegionQuestion, deadline: float) -> q.Quotas:
        """As `Account.answer`."""
        what = f"region {question.region} of project {question.project}"

        def ask(send: Send) -> q.Quotas:
            return messages.region_quotas(self._get_region(send, question), f"{q.REGIONS_GET}, {what}")

        with self._turn(question, deadline):
            return self._caller.call(_region_asked(question), deadline, ask)

    def zones(self, question: q.RegionQuestion, deadline: float) -> tuple[str, ...]:
        """Their names, at least one. Raises as `Account.answer`."""
        with self._turn(question, deadline):
            return self._asked_zones(question, deadline)

    def _get_region(self, send: Send, question: q.RegionQuestion) -> compute_v1.Region:
        request = compute_v1.GetRegionRequest(project=question.project, region=question.region)
        region = send(self.client.get, request)
        if not isinstance(region, compute_v1.Region):
            raise TypeError(f"a region is a {type(region).__name__}")
        messages.same_name(region.name, question.region, f"{q.REGIONS_GET}, {_region_asked(question).what}")
        zones = messages.zones_of(region)
        if zones:
            self._zones[question] = _Zones(zones, time.monotonic() + _ZONES_SECONDS)
        return region

    @contextmanager
    def _turn(self, question: q.RegionQuestion, deadline: float) -> Iterator[None]:
        """One asks a region at a time, so that its zones need not be asked for beside its quotas."""
        lock = self._asking.setdefault(question, threading.Lock())
        # Without it nothing goes wrong: the region is asked twice, or the call finds that its time is up.
        is_held = lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        try:
            yield
        finally:
            if is_held:
                lock.release()

    def _asked_zones(self, question: q.RegionQuestion, deadline: float) -> tuple[str, ...]:
        kept = self._zones.get(question)
        if kept is not None and time.monotonic() < kept.until:
            return kept.names
        asked = _region_asked(question)

        def ask(send: Send) -> tuple[str, ...]:
            zones = messages.zones_of(self._get_region(send, question))
            if not zones:
                raise SourceUnavailable(f"{q.REGIONS_GET}, {asked.what}: the cloud answered without its zones")
            return zones

        return self._caller.call(asked, deadline, ask)


def _region_asked(question: q.RegionQuestion) -> errors.Asked:
    return errors.Asked(
        permission=q.REGIONS_GET,
        what=f"region {question.region} of project {question.project}",
        project=question.project,
        absent="correct gcp.project, which is the project's id, or gcp.regions",
        region=question.region,
    )
