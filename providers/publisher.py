"""Keeps the status of each CapacityProvider of a controller what its source observes, as far as its guards let it.

Level-triggered: whatever changed, the whole question is asked anew, and written is only what differs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from kueue_dqo.api import dqo
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.controller import Result
from kueue_dqo.runtime.errors import ApiError
from kueue_dqo.runtime.events import EventRecorder
from kueue_dqo.runtime.process import LONGEST_RETRY
from kueue_dqo.runtime.workqueue import WorkQueue
from providers import changes, news
from providers.asking import Outdated
from providers.contests import rival_of
from providers.directory import Directory, Observer
from providers.looking import Look, Looker
from providers.pace import PAUSE, Pace
from providers.record import Record, record_of
from providers.status import Held, Verdict, is_written
from providers.status_writer import StatusWriter, Written
from providers.telling import tell

_SLACK: Final = 60.0
"""Seconds for which a look may wait for others before the provider counts as not looked after."""

_log = structlog.get_logger(__name__)


class Publisher(Observer):
    """One key of the queue for each CapacityProvider, which is its name."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        directory: Directory,
        *,
        looker: Looker,
        writer: StatusWriter,
        queue: WorkQueue[str],
        pace: Pace,
        events: EventRecorder,
        clock: Clock,
        time_to_look: float,
    ) -> None:
        """A look takes at most `time_to_look` seconds."""
        self._directory = directory
        self._looker = looker
        self._writer = writer
        self._queue = queue
        self._pace = pace
        self._events = events
        self._clock = clock
        self._time_to_look = time_to_look
        self.on_alive: Callable[[], None] = _nobody_to_tell
        """Called whenever a look has ended well, so that a new provider's sign of life need not wait."""
        self._records: dict[str, Record] = {}
        self._leads = False

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """From now on this process publishes; it begins with what the objects say."""
        self._leads = True
        self.look()

    def stop(self) -> None:
        """Another one may publish from now on, and what this one knows gets old."""
        self._leads = False
        for name in list(self._records):
            self._forget(name)

    def look(self) -> None:
        """Something changed, whatever it is: every provider is looked at anew."""
        if self._leads:
            for name in self._directory.mine():
                self._queue.add(name)

    @property
    def records(self) -> Mapping[str, Record]:
        """By name; none while another process publishes."""
        return self._records

    # --- signs of life -----------------------------------------------------------------------------------------------

    def served(self) -> Mapping[str, dqo.CapacityProvider]:
        """The CapacityProviders that this process serves."""
        return {name: self._directory.get(name).provider for name in self._directory.mine()}

    def is_alive(self, name: str) -> bool:
        """Whether the last look at the provider ended within its time."""
        record = self._records.get(name)
        return record is not None and record.alive_until is not None and self._clock.monotonic() < record.alive_until

    # --- changes -----------------------------------------------------------------------------------------------------

    def provider_changed(self, name: str, old: Held | None, new: Held | None) -> None:
        """Peers may be asked about each other, some sources read all providers; what we wrote ourselves is no news."""
        if not self._leads:
            return
        is_question = changes.question(old) != changes.question(new)
        record = self._records.get(name)
        if record is not None and is_question:
            record.outdated.set()
        shown = changes.acknowledgement(new)
        if record is not None and shown is not None:
            # Each that the watch shows: one annotation soon follows another where several falls are acknowledged.
            record.memory.acknowledge(shown)
        if record is not None or self._directory.find(name) is not None:
            if is_question or changes.acknowledgement(old) != changes.acknowledgement(new):
                self._queue.add(name)
            elif changes.published(old) != changes.published(new) and not _is_wanted(record, new):
                self._overwritten(name, record, new)
        is_peer = any(each is not None and self._directory.is_of_controller(each.provider) for each in (old, new))
        reads_it = self._directory.controller.reads_providers and changes.reading(old) != changes.reading(new)
        if reads_it or (is_peer and is_question):
            for other in self._directory.mine():
                if other != name:
                    self._queue.add(other)

    def _overwritten(self, name: str, record: Record | None, held: Held | None) -> None:
        """Somebody else has written the status. It is written anew; at once, unless that happens again and again."""
        wait = record.contest.overwritten(self._clock.monotonic()) if record is not None else 0.0
        self._queue.add_after(name, wait)
        if wait and held is not None:
            rival = rival_of(held.provider.metadata, self._writer.field_manager)
            tell(self._events, held.provider, news.of_contest(rival, self._directory.controller.name))

    def parameters_changed(self, name: str) -> None:
        """Those that refer to them are asked something else; the others may be asked about these."""
        for other, record in self._records.items():
            reference = self._directory.get(other).provider.spec.parameters if self._directory.find(other) else None
            if reference is not None and reference.name == name:
                record.outdated.set()
        self.look()

    def flavors_changed(self) -> None:
        """Sources read them all."""
        self.look()

    # --- one provider ------------------------------------------------------------------------------------------------

    async def reconcile(self, name: str) -> Result:
        """One look at the source, and the write where its answer differs."""
        held = self._directory.find(name)
        if held is None:
            self._forget(name)
            return Result()
        record = self._record(name, held)
        record.outdated = asyncio.Event()
        await self._answer_edit(name, held, record)
        now = self._clock.monotonic()
        if record.looked_at is not None and now < record.looked_at + PAUSE:
            return Result(record.looked_at + PAUSE - now)
        try:
            look = await self._looker.look(held, record)
        except Outdated:
            return Result()  # the change has added the key
        finally:
            record.looked_at = self._clock.monotonic()
        try:
            return await self._publish(held, record, look)
        except Exception:
            record.looked_at = None  # the queue knows how long to wait after a failure
            raise

    async def _publish(self, held: Held, record: Record, look: Look) -> Result:
        """Writes what a look has led to."""
        name = held.provider.metadata.name
        try:
            written = await self._writer.write(name, record, look.verdict)
        except ApiError as error:
            record.failures += 1
            wait = min(self._pace.after(record.failures), LONGEST_RETRY)
            _log.warning("status not written", provider=name, error=str(error), retry_in_seconds=round(wait, 3))
            return Result(wait)
        if written is Written.OUTDATED:
            return Result()  # as above
        return Result(self._ended(held, record, look, written))

    def _ended(self, held: Held, record: Record, look: Look, written: Written) -> float:
        """What follows from a look whose outcome was sent to the server. Returns the seconds until the next one."""
        is_good = look.verdict.reason == dqo.SYNCHRONIZED and written is Written.DONE
        record.failures = 0 if is_good else record.failures + 1
        if is_good:
            wait = self._pace.next(look.again)
        else:
            wait = max(min(self._pace.after(record.failures), look.again or math.inf), PAUSE)
        if written is Written.DONE:
            self._tell(held, record, look)
            record.alive_until = self._clock.monotonic() + wait + self._time_to_look + _SLACK
            self.on_alive()
        return wait

    async def _answer_edit(self, name: str, held: Held, record: Record) -> None:
        """A new spec is answered at once where the source may keep us waiting: it did not give an answer last time."""
        present = held.condition
        if present is None or present.reason != dqo.SOURCE_UNAVAILABLE:
            return
        if present.observed_generation != held.provider.metadata.generation:
            try:
                await self._writer.write(name, record, Verdict(present.reason, present.message))
            except ApiError as error:
                _log.warning("edit not answered yet", provider=name, error=str(error))

    def _tell(self, held: Held, record: Record, look: Look) -> None:
        for notice in (
            *news.of_holds(record.holds, look.holds, look.acknowledged),
            *news.of_notices(record.notices, look.notices),
        ):
            tell(self._events, held.provider, notice)
        record.holds, record.notices = look.holds, look.notices

    def _record(self, name: str, held: Held) -> Record:
        record = self._records.get(name)
        if record is None or record.uid != held.provider.metadata.uid:
            record = self._records[name] = record_of(held)
        return record

    def _forget(self, name: str) -> None:
        if self._records.pop(name, None) is not None:
            self._looker.forget(name)


def _is_wanted(record: Record | None, held: Held | None) -> bool:
    """Whether the status is what a write of ours makes of it."""
    if record is None or record.wanted is None or held is None:
        return False
    return is_written(held, record.wanted)


def _nobody_to_tell() -> None:
    """Nothing."""
