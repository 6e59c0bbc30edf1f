"""Asking a source: with a time limit, never twice at the same time about one provider, and whatever it does."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any, Final

import structlog

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityError, Notice, Observation, Request, Source, SourceUnavailable
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError

_LAST_CHANCE: Final = 1.0
"""Seconds that a question which is given up has left to end. A source that takes longer is not asked meanwhile."""

_LONGEST_SHOWN: Final = 80

_log = structlog.get_logger(__name__)


class Outdated(Exception):
    """The question has changed while it was asked: its answer would be of no use."""


class Asker:
    """Asks one source, about several providers at the same time."""

    def __init__(self, source: Source[Any], *, limit: float, clock: Clock) -> None:
        """`limit` of a question is in seconds."""
        self._source = source
        self.limit: Final = limit
        self._clock = clock
        self._asked: dict[str, tuple[asyncio.Task[Observation], datetime.datetime]] = {}
        """Questions that have not ended, and since when they are asked; also those that were given up."""

    async def ask(self, request: Request[Any], outdated: asyncio.Event) -> Observation:
        """What the source observed.

        Raises:
            CapacityError: it said so; it failed in any other way, or took too long: SourceUnavailable.
            Outdated: the event was set first.
        """
        name = request.provider.metadata.name
        self._refuse_second(name)
        question = asyncio.create_task(self._source.observe(request), name=f"observe {name}")
        self._asked[name] = (question, self._clock.now())
        question.add_done_callback(lambda task: self._ended(name, task))
        change = asyncio.create_task(outdated.wait(), name=f"change of {name}")
        try:
            await asyncio.wait({question, change}, timeout=self.limit, return_when=asyncio.FIRST_COMPLETED)
            if not question.done():
                question.cancel()
                await asyncio.wait({question}, timeout=_LAST_CHANCE)
                if change.done():
                    raise Outdated
                raise SourceUnavailable(
                    f"no answer within {self.limit:g} s; the limit is --observe-timeout, and the log of the daemon "
                    "may say what it waits for"
                )
        finally:
            change.cancel()
            question.cancel()
        return self._answer(name, question)

    def forget(self, name: str) -> None:
        """Nobody asks about it any more."""
        try:
            self._source.forget(name)
        except Exception:  # noqa: BLE001 - whatever a source does, the others are served
            _log.exception("source failed to forget", provider=name)

    def _refuse_second(self, name: str) -> None:
        if name in self._asked:
            since = time_text(self._asked[name][1])
            raise SourceUnavailable(
                f"the source was asked at {since} and does not end that, although it was told to: "
                "restart the daemon if it stays so"
            )

    def _answer(self, name: str, question: asyncio.Task[Observation]) -> Observation:
        try:
            return _checked(question.result())
        except CapacityError:
            raise
        except ApiError as error:
            raise SourceUnavailable(str(error)) from error
        except (Exception, asyncio.CancelledError) as error:
            _log.error("source failed", provider=name, exc_info=error)
            raise SourceUnavailable(
                f"the source failed: {type(error).__name__}: {error}; the log of the daemon has its traceback"
            ) from error

    def _ended(self, name: str, task: asyncio.Task[Observation]) -> None:
        if self._asked[name][0] is task:
            del self._asked[name]
        if not task.cancelled():
            task.exception()  # that of a question which was given up is of no interest any more


def _checked(answer: object) -> Observation:
    """Third parties' sources may not have been checked for types. Raises TypeError, which says what is wrong where."""
    if not isinstance(answer, Observation):
        raise TypeError(f"{_shown(answer)} is no Observation")
    _check("the capacity of the Observation", answer.capacity, dqo.Capacity)
    for flavor in answer.capacity.flavors:
        _check("a flavor of the capacity", flavor, dqo.FlavorCapacity)
        _check("the name of a flavor", flavor.name, str)
        for resource, amount in flavor.resources.items():
            _check(f"a resource of flavor {flavor.name}", resource, str)
            _check(f"{resource} of flavor {flavor.name}", amount, Quantity)
    _check("the summary of the Observation", answer.summary, str)
    if answer.look_again is not None:
        _check("look_again of the Observation", answer.look_again, int | float)
    _check("notices of the Observation", answer.notices, tuple)
    for notice in answer.notices:
        _check("a notice of the Observation", notice, Notice)
        _check("the reason of a notice", notice.reason, str)
        _check("the message of a notice", notice.message, str)
    return answer


def _check(what: str, value: object, wanted: Any) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{what} is {_shown(value)}, and no {getattr(wanted, '__name__', wanted)}")


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'}"
