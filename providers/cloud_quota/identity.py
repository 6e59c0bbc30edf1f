"""One account, asked in threads of its own: few calls, none twice at the same time, none without an end."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import functools
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from random import Random
from typing import Any, Final, NamedTuple

from kueue_dqo.api.cloud import CloudAccount
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.wording import some
from kueue_dqo.provider import CapacityError, SourceUnavailable
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Account, Call, Cloud, Lifetime, Question, Record, Result
from providers.cloud_quota.connection import Connection
from providers.cloud_quota.heard import Heard, SomeAnswers
from providers.cloud_quota.rest import Rest

_DAY: Final = 86_400.0
_DAY_SPREAD: Final = 0.1
"""What is kept for a day is kept up to this part of it less, so that not all of it is asked anew at once."""


class _Kept(NamedTuple):
    """An answer; times are of the event loop's clock."""

    answer: Any
    came: float
    until: float


class _Refused(Exception):
    """Not asked, since the cloud refuses calls for their number at present."""


class Identity:
    """Those in whose name a cloud is asked, with the answers that may be used again.

    Looks share everything: an answer that is kept, a question that is being asked. Who gives up waiting stops neither;
    what was asked is kept for whoever looks next. At most as many requests run as the executor has threads.
    """

    def __init__(  # noqa: PLR0913 - the parts of a process, by keyword
        self,
        cloud: Cloud,
        account: CloudAccount,
        *,
        executor: Executor,
        clock: Clock,
        random: Random,
        record: Record,
        keep: float,
    ) -> None:
        """`keep` is the number of seconds for which an answer with the lifetime of a look is used for further looks."""
        self._described: Final = cloud.described(account)
        self._connection = Connection(cloud, account, executor=executor, record=self._called)
        self._clock = clock
        self._random = random
        self._record = record
        self._keep = keep
        self._kept: dict[Question[Any], _Kept] = {}
        self._asked: dict[Question[Any], asyncio.Task[_Kept]] = {}
        """Questions that wait for a thread, or for their answers."""
        self._rest = Rest(random)
        self._throttled: list[Call] = []
        """Calls that were refused for their number, until the rest after them is over. Also written by threads."""
        self.ended: Final[set[str]] = set()
        """Names of what has ended, as seen here: clouds forget them after a while."""

    async def look(self, questions: Sequence[Question[Any]], *, seconds: float) -> Heard:
        """Answers to the questions; no request begins after so many seconds, and nothing is waited for any longer."""
        now = self._clock.monotonic()
        rest = self._rest.left(now)
        if not rest:
            self._throttled.clear()
        self._kept = {question: kept for question, kept in self._kept.items() if now < kept.until}
        given = {question: self._kept[question] for question in questions if question in self._kept}
        failures: dict[Question[Any], CapacityError] = {}
        asked: dict[Question[Any], asyncio.Task[_Kept]] = {}
        deadline = time.monotonic() + seconds
        for question in questions:
            if question in given:
                continue
            if question in self._asked:
                asked[question] = self._asked[question]
            elif rest:
                failures[question] = self._at_rest()
            else:
                asked[question] = self._ask(question, deadline)
        if asked:
            await asyncio.wait(asked.values(), timeout=seconds)
        for question, task in asked.items():
            try:
                given[question] = _outcome(question, task, seconds)
            except CapacityError as error:
                failures[question] = error
        if asked and not failures:
            self._rest.forget()
        return _heard(questions, given, failures)

    def close(self) -> None:
        """Ends everything, without waiting for requests that run."""
        for task in self._asked.values():
            task.cancel()
        self._connection.close()

    # --- one question ------------------------------------------------------------------------------------------------

    def _ask(self, question: Question[Any], deadline: float) -> asyncio.Task[_Kept]:
        # A task of its own, since whoever wants the answer now may be gone when it comes.
        task = asyncio.create_task(self._answer(question, deadline), name=f"ask {_shown(question)}")
        self._asked[question] = task
        task.add_done_callback(functools.partial(self._ended, question))
        return task

    def _ended(self, question: Question[Any], task: asyncio.Task[_Kept]) -> None:
        del self._asked[question]
        if not task.cancelled():
            task.exception()  # of no interest where nobody waits for it any more: it is asked anew

    async def _answer(self, question: Question[Any], deadline: float) -> _Kept:
        try:
            answer = await self._connection.ask(functools.partial(self._work, question, deadline))
        except _Refused:
            self._note_throttles()
            raise self._at_rest() from None
        except CapacityError:
            self._note_throttles()
            raise
        now = self._clock.monotonic()
        kept = _Kept(answer, now, now + self._lifetime(question))
        self._kept[question] = kept
        return kept

    def _lifetime(self, question: Question[Any]) -> float:
        """Seconds."""
        if question.lifetime is Lifetime.DAY:
            return _DAY * self._random.uniform(1 - _DAY_SPREAD, 1)
        return self._keep

    def _work(self, question: Question[Any], deadline: float, account: Account) -> Any:
        """In a thread."""
        if self._throttled:
            raise _Refused
        if time.monotonic() >= deadline:
            raise SourceUnavailable(f"{self._described}: no time was left for {_shown(question)}")
        return account.answer(question, deadline)

    # --- throttling --------------------------------------------------------------------------------------------------

    def _called(self, call: Call) -> None:
        """In any thread. Those that wait for a thread are not asked any more."""
        if call.result is Result.THROTTLED:
            self._throttled.append(call)
        self._record(call)

    def _note_throttles(self) -> None:
        if self._throttled:
            self._rest.begin(self._clock.monotonic())

    def _at_rest(self) -> SourceUnavailable:
        left = self._rest.left(self._clock.monotonic())
        until = self._clock.now() + datetime.timedelta(seconds=left)
        calls = some(sorted({f"{call.name} in {call.region}" for call in self._throttled}))
        return SourceUnavailable(
            f"{self._described} refuses calls for their number ({calls}): nothing more is asked before "
            f"{time_text(until)}"
        )


def _outcome(question: Question[Any], task: asyncio.Task[_Kept], seconds: float) -> _Kept:
    """Raises CapacityError where there is no answer, and whatever else the cloud's code has raised."""
    if not task.done():
        raise SourceUnavailable(f"{_shown(question)} was not answered within {seconds:g} s")
    if task.cancelled():
        raise SourceUnavailable(f"{_shown(question)} was given up, since the account is not looked after here any more")
    return task.result()


def _shown(question: Question[Any]) -> str:
    """`Quota(us-east-1, ec2, L-417A185B)`."""
    values = [getattr(question, each.name) for each in dataclasses.fields(question)]
    return f"{type(question).__name__.removesuffix('Question')}({', '.join(map(str, values))})"


def _heard(
    questions: Iterable[Question[Any]],
    given: dict[Question[Any], _Kept],
    failures: dict[Question[Any], CapacityError],
) -> Heard:
    came = [kept.came for question, kept in given.items() if question.lifetime is Lifetime.LOOK]
    return Heard(
        SomeAnswers({question: kept.answer for question, kept in given.items()}, frozenset(failures)),
        tuple(failures[question] for question in questions if question in failures),
        min(came, default=None),
    )
