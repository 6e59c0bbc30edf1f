"""One call to Google Cloud: its token, its requests, its retries, all within their time; and its record."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from google.api_core.exceptions import RetryError
from google.api_core.retry import Retry

from kueue_dqo.provider import SourceUnavailable
from providers.cloud_quota.cloud import Call, Record, Result
from providers.cloud_quota.gcp import errors
from providers.cloud_quota.gcp.credentials import BoundedCredentials

REQUEST_SECONDS: Final = 10.0
"""How long a request may take to connect, and to go on with its answer. The SDK's own limit is 10 minutes."""
RETRY_SECONDS: Final = 25.0
"""How long a request is tried again."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 8.0

R = TypeVar("R")

Send = Callable[[Callable[..., Any], object], Any]
"""Sends a request by a method of a client, within what is left of the time: `send(client.get, request)`."""


class Caller:
    """Makes calls with one set of credentials, in several threads at a time."""

    def __init__(self, credentials: BoundedCredentials, record: Record) -> None:
        self._credentials = credentials
        self._record = record

    def call(
        self, asked: errors.Asked, deadline: float, ask: Callable[[Send], R], missing: Callable[[R], bool] | None = None
    ) -> R:
        """What `ask` makes of the answers to the requests that it sends.

        Args:
            asked: what it is, for its record and for messages.
            deadline: the time (`time.monotonic()`) after which no request begins.
            ask: sends one request, or one for each page.
            missing: whether what it made is not whole, for the record.

        Raises:
            CapacityError: as `Account.answer`.
            CredentialsExpired: the credentials are not accepted, those that were made anew included.
        """
        outcome = self._outcome(asked, deadline, ask, missing)
        if isinstance(outcome, errors.Failure):
            raise outcome.error
        return outcome

    def call_or_none(self, asked: errors.Asked, deadline: float, ask: Callable[[Send], R]) -> R | None:
        """As `call`; None where there is nothing of that name."""
        outcome = self._outcome(asked, deadline, ask, None)
        if not isinstance(outcome, errors.Failure):
            return outcome
        if outcome.result is Result.ABSENT:
            return None
        raise outcome.error

    def _outcome(
        self, asked: errors.Asked, deadline: float, ask: Callable[[Send], R], missing: Callable[[R], bool] | None
    ) -> R | errors.Failure:
        sending = _Sending(self._credentials, deadline)
        began = time.monotonic()
        result: Result | None = Result.FAILED
        try:
            answer = ask(sending.send)
            result = Result.PARTIAL if missing is not None and missing(answer) else Result.OK
        except _TimeUp:
            result = Result.FAILED if sending.requests else None
            late = SourceUnavailable(f"{asked.permission}, {asked.what}: the time for this look is up")
            return errors.Failure(Result.FAILED, late)
        except SourceUnavailable:
            # The answer came, and does not say what it should.
            result = Result.PARTIAL
            raise
        except errors.EXPECTED as error:
            failure = errors.failure(error, replace(asked, who=self._credentials.who))
            result = failure.result
            failure.error.__cause__ = error
            return failure
        else:
            return answer
        finally:
            if result is not None:
                self._record(
                    Call(
                        asked.permission,
                        asked.region,
                        asked.subject,
                        result,
                        time.monotonic() - began,
                        requests=sending.requests,
                        throttles=sending.throttles,
                    )
                )


class _TimeUp(Exception):
    """There is no time left for a further request."""


@dataclass(slots=True)
class _Sending:
    """The requests of one call."""

    credentials: BoundedCredentials
    deadline: float
    requests: int = 0
    throttles: int = 0

    def send(self, method: Callable[..., Any], request: object) -> Any:
        """The answer to a request. Raises those of errors.EXPECTED, and _TimeUp."""
        if self._left() <= 0:
            raise _TimeUp
        self.credentials.ready(self.deadline)
        left = self._left()
        if left <= 0:
            raise _TimeUp
        retry = Retry(
            predicate=errors.is_transient,
            initial=_FIRST_PAUSE,
            maximum=_LONGEST_PAUSE,
            multiplier=2.0,
            timeout=min(RETRY_SECONDS, left),
            on_error=self._count,
        )
        try:
            answer = method(request=request, retry=retry, timeout=REQUEST_SECONDS)
        except RetryError:
            raise  # each of its requests is counted
        except (AttributeError, TypeError, UnicodeError) as error:
            self.requests += 1
            raise errors.Unreadable(f"{type(error).__name__}: {error}") from error
        except Exception:
            self.requests += 1
            raise
        self.requests += 1
        return answer

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _count(self, error: Exception) -> None:
        self.requests += 1
        self.throttles += errors.is_throttle(error)
