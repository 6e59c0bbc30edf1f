"""What an account answered at one look, and what it did not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from kueue_dqo.provider import CapacityError
from providers.cloud_quota.cloud import Answers, Question

T = TypeVar("T")


class Unanswered(Exception):
    """The question was asked and has no answer: why, `Heard.failures` tells."""


class SomeAnswers(Answers):
    """Answers, of which some are missing for a reason that is known."""

    def __init__(self, given: Mapping[Question[Any], Any], unanswered: frozenset[Question[Any]] = frozenset()) -> None:
        super().__init__(given)
        self._unanswered = unanswered

    def __getitem__(self, question: Question[T]) -> T:
        """Raises Unanswered, beside what `Answers` raises."""
        if question in self._unanswered:
            raise Unanswered(question)
        return super().__getitem__(question)


class Heard(NamedTuple):
    """Of one look."""

    answers: Answers
    failures: tuple[CapacityError, ...] = ()
    """Why questions have no answer, in their order."""
    oldest: float | None = None
    """When the oldest of those answers came that hold for one look, by the event loop's clock; None: there is none."""
