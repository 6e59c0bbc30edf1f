"""Requests that are sent until the API server takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

import structlog

from kueue_dqo.runtime.backoff import Backoff
from kueue_dqo.runtime.errors import Answered, ApiError, Forbidden, Invalid, NotFound, Unauthorized
from kueue_dqo.runtime.process import FIRST_RETRY, LONGEST_RETRY
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS

T = TypeVar("T")

_DEFINITION = f"{NODE_GPU_REPORTS.plural}.{NODE_GPU_REPORTS.group}"

_log = structlog.get_logger(__name__)


class Persistence:
    """One request after another, with waits that grow between failures and are not below what the server asks for.

    No failure is final: rights, policies and definitions may come later than the agent does.
    """

    def __init__(self, random: Random) -> None:
        self.failure = ""
        """What the last try ended in; empty after a success."""
        self.failures = 0
        """How many tries have failed since the last success."""
        self._backoff = Backoff(random, first=FIRST_RETRY, longest=LONGEST_RETRY)
        self._hurry = asyncio.Event()

    def hurry(self) -> None:
        """The process is about to end: the present wait, or the next one, is cut short."""
        self._hurry.set()

    async def retried(self, request: Callable[[], Awaitable[T]]) -> T:
        """What it returns, as soon as it does. A failure is told once, until there is another one."""
        while True:
            try:
                result = await request()
            except ApiError as error:
                self.failures += 1
                wait = self._backoff.next(at_least=error.retry_after if isinstance(error, Answered) else None)
                if str(error) != self.failure:
                    self.failure = str(error)
                    _log.warning(
                        "API server does not take the report, it is tried again",
                        error=self.failure,
                        retry_in_seconds=round(wait, 3),
                        **_more(error),
                    )
                await self._pause(wait)
            else:
                self._backoff.reset()
                self.failures = 0
                if self.failure:
                    self.failure = ""
                    _log.info("API server takes the report again")
                return result

    async def _pause(self, wait: float) -> None:
        try:
            async with asyncio.timeout(wait):
                await self._hurry.wait()
        except TimeoutError:
            return
        self._hurry.clear()
        self._backoff.reset()


def _more(error: ApiError) -> dict[str, Any]:
    """What the line of the log says besides."""
    more: dict[str, Any] = {}
    if isinstance(error, Answered) and error.causes:
        more["causes"] = list(error.causes)
    if way_out := _way_out(error):
        more["way_out"] = way_out
    return more


def _way_out(error: ApiError) -> str:
    if isinstance(error, Unauthorized):
        return (
            "the API server does not know the token, or not any more: see whether the agent's service account and this "
            "pod are still there, and whether the clocks of the node and of the API server agree; a new pod has a new "
            "token"
        )
    if isinstance(error, Invalid):
        return (
            f"the CustomResourceDefinition {_DEFINITION} is of another version than the agent, or an admission webhook "
            "refuses the report: apply the definition that belongs to the agent's image"
        )
    if isinstance(error, Forbidden) and error.is_missing_right:
        return f"apply the agent's RBAC: its service account needs create and patch on {_DEFINITION}"
    if isinstance(error, Forbidden):
        return (
            "an admission policy refuses it; each try asks anew which node the token is bound to: if it stays, delete "
            "the agent's pod, whose next token is up to date, and compare the words of the policy with the Node's uid"
        )
    if isinstance(error, NotFound):
        return f"install the CustomResourceDefinition {_DEFINITION}"
    return ""
