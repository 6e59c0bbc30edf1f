"""An account as it is open at present: opened in a thread when it is first asked, and anew when credentials expire."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from typing import Any, Final, TypeVar

import structlog

from kueue_dqo.api.cloud import CloudAccount
from kueue_dqo.provider import SourceUnavailable
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Account, Cloud, CredentialsExpired, Record
from providers.cloud_quota.clouds import not_installed

T = TypeVar("T")

_OPENING: Final = threading.Lock()
"""Of the process: SDKs are not made for clients that are created in several threads at a time."""
_LONGEST_OPENING: Final = 20.0
"""Seconds. Whoever takes longer has made its clients, and waits for an answer: nobody waits for that."""
HOLDS: Final = 10.0
"""Seconds for which an account that could not be opened is not opened again: questions of a look fail by one reason."""

_log = structlog.get_logger(__name__)


class Connection:
    """Of one account. All that blocks is done by the executor, which is the connection's own."""

    def __init__(
        self, cloud: Cloud, account: CloudAccount, *, executor: Executor, record: Record, clock: Clock
    ) -> None:
        self._cloud = cloud
        self._account = account
        self._executor = executor
        self._record = record
        self._clock = clock
        self._opened: Future[Account] | None = None
        self._failed: tuple[Future[Account], float] | None = None
        """What could not be opened, and when that was."""
        self._running: set[Future[Any]] = set()
        """What the executor has begun or will begin."""

    async def ask(self, work: Callable[[Account], T]) -> T:
        """What `work` returns or raises, which gets the account in a thread.

        Where it says that credentials have expired, it is called once more with the account opened anew.

        Raises:
            CapacityError: the account cannot be opened; those credentials have expired, too.
        """
        opened = self._open()
        try:
            return await self._call(opened, work)
        except CredentialsExpired as error:
            _log.info("credentials have expired, opening anew", cloud=self._described, error=str(error))
        self._leave(opened)
        opened = self._open()
        try:
            return await self._call(opened, work)
        except CredentialsExpired as error:
            self._leave(opened)
            raise SourceUnavailable(
                f"{self._described}: credentials that were just read have expired: {error}; look after what renews "
                "them, such as the token that is mounted into the pod, and the clock of the node"
            ) from error

    def close(self) -> None:
        """Ends connections, and the executor, without waiting for what runs."""
        if self._opened is not None:
            self._leave(self._opened)
        self._executor.shutdown(wait=False)

    @property
    def is_busy(self) -> bool:
        """Whether something runs in a thread of it."""
        return any(each.running() for each in tuple(self._running))

    async def _call(self, opened: Future[Account], work: Callable[[Account], T]) -> T:
        try:
            account = await asyncio.wrap_future(opened)
        except Exception:
            if self._failed is None or self._failed[0] is not opened:
                self._failed = opened, self._clock.monotonic()
            raise
        return await asyncio.wrap_future(self._submit(work, account))

    def _submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        future = self._executor.submit(work, *arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def _open(self) -> Future[Account]:
        """The account, which is opened where it is not, or could not be some time ago."""
        opened = self._opened
        if opened is None or opened.cancelled() or self._has_failed_before(opened):
            opened = self._opened = self._submit(self._open_account)
        return opened

    def _has_failed_before(self, opened: Future[Account]) -> bool:
        if self._failed is None or self._failed[0] is not opened:
            return False
        return self._clock.monotonic() >= self._failed[1] + HOLDS

    def _leave(self, opened: Future[Account]) -> None:
        """It is opened anew for the next question, unless another one has seen to that."""
        if self._opened is opened:
            self._opened = None
            self._submit(self._close_account, opened)

    def _open_account(self) -> Account:
        """In a thread."""
        is_alone = _OPENING.acquire(timeout=_LONGEST_OPENING)
        try:
            return self._cloud.open(self._account, self._record)
        except ImportError as error:
            raise not_installed(self._cloud.name, error) from error
        finally:
            if is_alone:
                _OPENING.release()

    def _close_account(self, opened: Future[Account]) -> None:
        """In a thread. Another one may be about to open it."""
        wait([opened])
        if opened.cancelled() or opened.exception() is not None:
            return  # it never was
        try:
            opened.result().close()
        except Exception as error:  # noqa: BLE001 - whatever an SDK does, nobody needs the account any more
            _log.info("account not closed", cloud=self._described, error=f"{type(error).__name__}: {error}")

    @property
    def _described(self) -> str:
        return self._cloud.described(self._account)
