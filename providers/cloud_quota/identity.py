"""One account, asked in threads of its own: few calls, none twice at the same time, none without an end."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from random import Random
from typing import Any, Final, NamedTuple

from kueue_dqo.api.cloud import CloudAccount
from kueue_dqo.api.meta import time_text
from kueue_dqo.provider import CapacityError, SourceUnavailable
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Account, Call, Cloud, Lifetime, Question, Record
from providers.cloud_quota.connection import Connection
from providers.cloud_quota.connections import Connections
from providers.cloud_quota.heard import Heard, SomeAnswers
from providers.cloud_quota.throttles import Throttles

_DAY: Final = 86_400.0
_DAY_SPREAD: Final = 0.1
"""What is kept for a day is kept up to this part of it less, so that not all of it is asked anew at once."""
PATIENCE: Final = 15.0
"""Seconds after the end of a look in which a request that has begun ends by the time limits of its client."""


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
    what was asked is kept for whoever looks next. At most as many requests run as the executor has threads, those left
    out that hang long after their time: they are left to themselves, and what they were to answer is asked anew.
    """

    def __init__(  # noqa: PLR0913 - the parts of a process, by keyword
        self,
        cloud: Cloud,
        account: CloudAccount,
        *,
        executor: Callable[[], Executor],
        clock: Clock,
        random: Random,
        record: Record,
        keep: float,
    ) -> None:
        """`executor` makes one for each connection.

        `keep` is the number of seconds for which an answer with the lifetime of a look is used for further looks.
        """
        self._described: Final = cloud.described(account)
        self._connections = Connections(
            self._described,
            lambda: Connection(cloud, account, executor=executor(), record=self._called, clock=clock),
        )
        self._clock = clock
        self._random = random
        self._record = record
        self._keep = keep
        self._kept: dict[Question[Any], _Kept] = {}
        self._asked: dict[Question[Any], asyncio.Task[_Kept]] = {}
        """Questions that wait for a thread, or for their answers."""
        self._throttles = Throttles(random)
        self.ended: Final[set[str]] = set()
        """Names of what has ended, as seen here: clouds forget them after a while."""

    async def look(self, questions: Sequence[Question[Any]], *, seconds: float) -> Heard:
        """Answers to the questions; no request begins after so many seconds, and nothing is waited for any longer."""
        now = self._clock.monotonic()
        self._throttles.end_rests(now)
        self._kept = {question: kept for question, kept in self._kept.items() if now < kept.until}
        given = {question: self._kept[question] for question in questions if question in self._kept}
        failures: dict[Question[Any], CapacityError] = {}
        asked: dict[Question[Any], asyncio.Task[_Kept]] = {}
        for question in questions:
            if question not in given:
                try:
                    asked[question] = self._asked.get(question) or self._ask(question, seconds)
                except CapacityError as error:
                    failures[question] = error
        if asked:
            await asyncio.wait(asked.values(), timeout=seconds)
        for scope in {question.scope for question, task in asked.items() if task.done()}:
            self._throttles.answered(scope)
        for question, task in asked.items():
            try:
                given[question] = _outcome(question, task, seconds)
            except CapacityError as error:
                failures[question] = error
        return _heard(questions, given, failures)

    def close(self) -> None:
        """Ends everything, without waiting for requests that run."""
        for task in self._asked.values():
            task.cancel()
        self._connections.close()

    # --- one question ------------------------------------------------------------------------------------------------

    def _ask(self, question: Question[Any], seconds: float) -> asyncio.Task[_Kept]:
        """Raises SourceUnavailable where nothing may be asked."""
        if self._throttles.left(question.scope, self._clock.monotonic()):
            raise self._at_rest(question.scope)
        asking = self._answer(question, self._connections.serving(), seconds)
        # A task of its own, since whoever wants the answer now may be gone when it comes.
        task = asyncio.create_task(asking, name=f"ask {_shown(question)}")
        self._asked[question] = task
        task.add_done_callback(functools.partial(self._ended, question))
        return task

    def _ended(self, question: Question[Any], task: asyncio.Task[_Kept]) -> None:
        del self._asked[question]
        if not task.cancelled():
            task.exception()  # of no interest where nobody waits for it any more: it is asked anew

    async def _answer(self, question: Question[Any], connection: Connection, seconds: float) -> _Kept:
        work = functools.partial(self._work, question, time.monotonic() + seconds)
        try:
            async with asyncio.timeout(seconds + PATIENCE) as patience:
                answer = await connection.ask(work)
        except TimeoutError:
            if not patience.expired():
                raise
            self._leave(connection)
            raise _hangs(question) from None
        except asyncio.CancelledError:
            if not self._connections.has_left(connection):
                raise
            raise _hangs(question) from None
        except _Refused:
            self._throttles.begin_rests(self._clock.monotonic())
            raise self._at_rest(question.scope) from None
        except CapacityError:
            self._throttles.begin_rests(self._clock.monotonic())
            raise
        now = self._clock.monotonic()
        kept = _Kept(answer, now, now + self._lifetime(question))
        self._kept[question] = kept
        return kept

    def _leave(self, connection: Connection) -> None:
        """A call hangs in it. Whatever else waits for it is asked anew as well."""
        if self._connections.leave(connection):
            for task in self._asked.values():
                if task is not asyncio.current_task():
                    task.cancel()

    def _lifetime(self, question: Question[Any]) -> float:
        """Seconds."""
        if question.lifetime is Lifetime.DAY:
            return _DAY * self._random.uniform(1 - _DAY_SPREAD, 1)
        return self._keep

    def _work(self, question: Question[Any], deadline: float, account: Account) -> Any:
        """In a thread."""
        if self._throttles.refuses(question.scope):
            raise _Refused
        if time.monotonic() >= deadline:
            raise SourceUnavailable(f"{self._described}: no time was left for {_shown(question)}")
        with self._throttles.asking(question.scope):
            return account.answer(question, deadline)

    def _called(self, call: Call) -> None:
        """In any thread. What waits for a thread is not asked any more where the cloud counts it together with that."""
        self._throttles.called(call)
        self._record(call)

    def _at_rest(self, scope: str) -> SourceUnavailable:
        left = self._throttles.left(scope, self._clock.monotonic())
        until = self._clock.now() + datetime.timedelta(seconds=left)
        return SourceUnavailable(
            f"{self._described} refuses calls for their number ({self._throttles.told(scope)}): nothing more"
            f"{f' of {scope}' if scope else ''} is asked before {time_text(until)}"
        )


def _hangs(question: Question[Any]) -> SourceUnavailable:
    return SourceUnavailable(
        f"{_shown(question)} hangs long after its time: it is asked anew by another connection at the next look"
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
