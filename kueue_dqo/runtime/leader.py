"""Leader election by a Lease: of several replicas, one at a time may write.

No wall clock decides anything. A candidate takes the Lease over when it has not seen its record change for as long as
the record promises, measured on its own monotonic clock. The leader counts from the moment *before* it sent a renewal,
and stops being one `renew_deadline` later. As that is shorter than `lease_duration`, it has stopped before anybody else
may start, whatever the clocks show and however late an answer comes. Every write names the resourceVersion that it
replaces.
"""

from __future__ import annotations

import asyncio
import math
import random as chance
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import Answered, ApiError, Conflict, NotFound
from kueue_dqo.runtime.lease import Lease, LeaseRecord, changed_lease, decode_lease, new_lease, released, taken
from kueue_dqo.runtime.resources import CONTROLLER_LABEL, LEASES

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
_LEAST_PAUSE: Final = 0.8
"""Replicas wait between this part of the retry period and all of it, so that they do not ask in step."""
_TOO_LATE: Final = 0.05
"""With less than this part of the retry period left, no answer can come in time: the leader gives up."""


class LeaseClient(Protocol):
    """What of a client an election uses. Every method may raise ApiError."""

    async def get(self, path: str, /, *, timeout: float) -> bytes: ...  # noqa: ASYNC109 - sent to the server as well

    async def create(self, path: str, body: bytes, /, *, timeout: float) -> bytes: ...  # noqa: ASYNC109 - as above

    async def replace(self, path: str, body: bytes, /, *, timeout: float) -> bytes: ...  # noqa: ASYNC109 - as above


class LeaderMetrics:
    """The metrics of all elections of a process; the first two have the names of controller-runtime."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.is_leader = Gauge(
            "leader_election_master_status",
            "1 where this process leads, 0 where it stands by; name is the Lease's",
            ("name",),
            registry=registry,
        )
        self.slow_paths = Counter(
            "leader_election_slowpath_total",
            "Renewals that had to read the Lease anew because it was not as the last answer left it",
            ("name",),
            registry=registry,
        )
        self.failures = Counter(
            "kueue_dqo_leader_election_failures_total",
            "Requests about the Lease that failed, whatever the reason",
            ("name",),
            registry=registry,
        )


class _LostError(Exception):
    """Somebody else has the Lease, or nobody can say."""


class _MisusedError(Exception):
    """The Lease is there for another purpose."""


class LeaderElector:
    """One replica in the election by the Lease `namespace/name`.

    `identity` must be unique among processes, also over restarts: whoever finds its own identity in the Lease goes on
    without waiting. All durations are in seconds. Raises ValueError where they do not leave each other room.
    """

    def __init__(  # noqa: PLR0913 - the parameters of an election, all by keyword but the client
        self,
        client: LeaseClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        random: chance.Random,
        metrics: LeaderMetrics,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        labels: Mapping[str, str] = _NO_LABELS,
    ) -> None:
        if not identity:
            raise ValueError(f"Lease {namespace}/{name}: the identity is empty: give each process a name of its own")
        if not 0 < retry_period < renew_deadline < lease_duration:
            raise ValueError(
                f"Lease {namespace}/{name}: retry period {retry_period:g} s, renew deadline {renew_deadline:g} s and "
                f"lease duration {lease_duration:g} s must be above 0, each greater than the one before"
            )
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._random = random
        self._labels = labels
        self._lease_duration = lease_duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        self._lease: Lease | None = None
        """As it was last answered; None where it was never read or is not there."""
        self._seen: tuple[LeaseRecord, float] | None = None
        """The last record that somebody wrote, and the monotonic time at which it was first seen like that."""
        self._renewed_at: float | None = None
        """The monotonic time just before the last successful renewal was sent; None where this one does not lead."""
        self._waits_for: str | None = None
        """The holder that was last told as the reason to stand by."""
        self._may_hold = False
        """Whether a write that would take the Lease was sent and nothing since then says that it is not ours."""
        self._slow_paths = metrics.slow_paths.labels(name)
        self._failures = metrics.failures.labels(name)
        metrics.is_leader.labels(name).set_function(lambda: float(self.is_leader))

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads at this very moment, by the clock: right also after the loop has stalled."""
        return self._left() > 0

    def may_write(self) -> bool:
        """To be asked just before each write."""
        return self.is_leader

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stands by until it leads, then runs `lead`; when the Lease is lost, cancels it, waits for it, stands by.

        Ends when `lead` returns, or by cancellation: then `lead` is cancelled first, while the Lease is still renewed,
        and the Lease is released once `lead` has ended. An error out of `lead` is logged, and this replica stands
        back for one lease duration, so that another may try.
        """
        log = _log.bind(lease=f"{self._namespace}/{self._name}", identity=self._identity)
        try:
            while True:
                await self._acquire(log)
                self._waits_for = None
                log.info("leader election won")
                if await self._lead(lead, log):
                    return
        finally:
            self._renewed_at = None
            await self._release(log)

    async def _acquire(self, log: structlog.stdlib.BoundLogger) -> None:
        while True:
            pause = self._pause()
            try:
                async with asyncio.timeout(self._renew_deadline):
                    await self._try_to_acquire(log)
            except Exception as error:  # noqa: BLE001 - whatever went wrong, this replica goes on trying
                self._report(error, "lease not acquired", log)
                if isinstance(error, Answered) and error.retry_after is not None:
                    pause = max(pause, error.retry_after)
            if self.is_leader:
                return
            await asyncio.sleep(pause)

    async def _try_to_acquire(self, log: structlog.stdlib.BoundLogger) -> None:
        timeout = self._renew_deadline / 2
        await self._read(timeout)
        self._refuse_sign_of_life()
        holder = self._other_holder()
        if holder is not None:
            self._may_hold = False
            if holder != self._waits_for:  # said when it begins or becomes another, and not at every try
                log.info("standing by", holder=holder)
            self._waits_for = holder
            return
        self._renewed_at = await self._write(timeout)

    def _refuse_sign_of_life(self) -> None:
        """Raises _MisusedError. Who renews it as a sign of life would seem to lead, and nobody would."""
        labels = self._lease.whole["metadata"].get("labels") or {} if self._lease is not None else {}
        if CONTROLLER_LABEL in labels:
            label = f"{CONTROLLER_LABEL}={labels[CONTROLLER_LABEL]}"
            raise _MisusedError(
                f"Lease {self._namespace}/{self._name} is labelled {label}, so it is the sign of life of "
                "the CapacityProvider of that name, and no replica can be elected by it: choose another "
                "--lease-name, or rename that CapacityProvider and delete the Lease"
            )

    async def _lead(self, lead: Callable[[], Awaitable[None]], log: structlog.stdlib.BoundLogger) -> bool:
        """Runs `lead` while the Lease is renewed. Returns whether it ended by itself and well."""
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew_until_lost(log), name=f"renew {self._name}")
        ended_by_itself = False
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            ended_by_itself = leading.done()
        finally:
            # Renewals go on while `lead` drains after a cancellation: its last writes are still a leader's.
            try:
                await _cancel_and_wait(leading)
            finally:
                self._renewed_at = None
                error = asyncio.CancelledError() if leading.cancelled() else leading.exception()
                if error is not None and not leading.cancelled() and not ended_by_itself:
                    log.error("leading ended with an error", exc_info=error)
                await _cancel_and_wait(renewing)
        if not ended_by_itself:
            return False
        if error is None:
            return True
        log.error("leading failed, standing back", exc_info=error, stand_back_seconds=self._lease_duration)
        await self._release(log)
        await asyncio.sleep(self._lease_duration)
        return False

    async def _renew_until_lost(self, log: structlog.stdlib.BoundLogger) -> None:
        while True:
            await asyncio.sleep(min(self._pause(), max(self._left(), 0.0)))
            left = self._left()
            if left <= self._retry_period * _TOO_LATE:
                self._lose(f"no renewal succeeded for {self._renew_deadline:g} s", log)
                return
            try:
                # The limit holds whatever the client does. Half of what is left leaves room for another try.
                async with asyncio.timeout(left / 2):
                    await self._renew(timeout=left / 2)
            except _LostError as error:
                self._lose(str(error), log)
                return
            except Exception as error:  # noqa: BLE001 - whatever went wrong, the deadline decides
                self._report(error, "lease not renewed", log, seconds_left=round(self._left(), 3))

    async def _renew(self, *, timeout: float) -> None:  # noqa: ASYNC109 - passed on to the server
        try:
            renewed_at = await self._write(timeout)
        except (Conflict, NotFound):
            # Perhaps an earlier renewal of ours whose answer was lost, perhaps an edit by hand, perhaps a rival.
            self._slow_paths.inc()
            await self._read(timeout)
            if self._lease is not None and self._lease.holder != self._identity:
                self._may_hold = False
                raise _LostError(f"{self._lease.holder or 'nobody'} holds the Lease") from None
            renewed_at = await self._write(timeout)
        if not self.is_leader:
            raise _LostError(f"the answer to a renewal came after {self._renew_deadline:g} s")
        self._renewed_at = renewed_at

    async def _read(self, timeout: float) -> None:  # noqa: ASYNC109 - passed on to the server
        path = LEASES.path(self._name, namespace=self._namespace)
        try:
            self._lease = decode_lease(await self._client.get(path, timeout=timeout))
        except NotFound:
            self._lease = None
            return
        self._observe(self._lease)

    async def _write(self, timeout: float) -> float:  # noqa: ASYNC109 - passed on to the server
        """Takes or renews the Lease as it was last read. Returns the monotonic time just before."""
        record = taken(
            self._lease, identity=self._identity, seconds=math.ceil(self._lease_duration), now=self._clock.now()
        )
        self._may_hold = True
        sent_at = self._clock.monotonic()
        if self._lease is None:
            path = LEASES.path(namespace=self._namespace)
            body = new_lease(record, name=self._name, namespace=self._namespace, labels=self._labels)
            answer = await self._client.create(path, body, timeout=timeout)
        else:
            path = LEASES.path(self._name, namespace=self._namespace)
            body = changed_lease(self._lease, record, labels=self._labels)
            answer = await self._client.replace(path, body, timeout=timeout)
        self._lease = decode_lease(answer)
        self._observe(self._lease)
        return sent_at

    async def _release(self, log: structlog.stdlib.BoundLogger) -> None:
        """Gives the Lease back where it may be this replica's. It is read anew: a write may have landed unseen."""
        if not self._may_hold:
            return
        timeout = self._renew_deadline / 2
        try:
            async with asyncio.timeout(timeout):
                await self._read(timeout)
                if self._lease is not None and self._lease.holder == self._identity:
                    body = changed_lease(self._lease, released(self._lease, now=self._clock.now()), labels=self._labels)
                    path = LEASES.path(self._name, namespace=self._namespace)
                    await self._client.replace(path, body, timeout=timeout)
                    log.info("lease released")
        except Exception as error:  # noqa: BLE001 - it expires by itself then
            self._report(error, "lease not released", log, expires_in_seconds=self._lease_duration)
        else:
            self._may_hold = False

    def _lose(self, why: str, log: structlog.stdlib.BoundLogger) -> None:
        self._renewed_at = None
        log.error("leader election lost", why=why)

    def _observe(self, lease: Lease) -> None:
        if self._seen is None or self._seen[0] != lease.record:
            self._seen = (lease.record, self._clock.monotonic())

    def _other_holder(self) -> str | None:
        """Who leads by the last record that was seen, also where the Lease is gone since: it may not know that yet."""
        if self._seen is None:
            return None
        record, since = self._seen
        if record.holder_identity in (None, "", self._identity):
            return None
        # What the holder promised, not what this replica is set to: the two may be configured differently.
        ends = since + (record.lease_duration_seconds or self._lease_duration)
        return record.holder_identity if self._clock.monotonic() < ends else None

    def _left(self) -> float:
        """Seconds of leadership that are left without another renewal; 0 or less where this replica does not lead."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._renew_deadline - self._clock.monotonic()

    def _pause(self) -> float:
        return self._retry_period * self._random.uniform(_LEAST_PAUSE, 1.0)

    def _report(self, error: Exception, event: str, log: structlog.stdlib.BoundLogger, **details: float) -> None:
        self._failures.inc()
        if isinstance(error, (ApiError, TimeoutError)):
            log.warning(event, error=str(error) or "no answer in time", **details)
        elif isinstance(error, _MisusedError):
            log.error(event, error=str(error), **details)
        else:
            log.error(event, exc_info=error, **details)


async def _cancel_and_wait(task: asyncio.Future[None]) -> None:
    """Cancels the task and waits for its end, also where the caller is cancelled (once more) while it waits."""
    task.cancel()
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError
