"""Asking accounts of clouds, as the daemon does in its looks and `dqo provider cloud-quota --once` in its only one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import CloudAccount
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Call, Cloud, Ended
from providers.cloud_quota.heard import Heard
from providers.cloud_quota.identity import Identity

LONGEST_LOOK: Final = 50.0
"""Seconds; those who ask a source give up after 60 by default."""
_LONGEST_USE: Final = 60.0
_THREADS: Final = 2
THREADS_PREFIX: Final = "cloud-"
"""What the names of all threads begin with that ask clouds."""

_Key = tuple[str, Hashable]


class Looked(NamedTuple):
    """What a look at an account gives to `compute.observe`."""

    heard: Heard
    ended: Ended
    """What this process remembers of the account."""


def used_for(interval: float) -> float:
    """Seconds for which looks in between use the answers again, by those between two looks at which all is asked."""
    return min(_LONGEST_USE, interval / 2)


def threads(cloud: str) -> Executor:
    """Two threads for one account. Python's end waits for them: who ends where calls hang has to end by itself."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix=f"{THREADS_PREFIX}{cloud}")


class Looks:
    """Accounts, each of which several CapacityProviders may ask. To be used in one event loop.

    For one look outside a daemon: `Looks(clock=…, random=…, record=…, keep=0)`, `await look(name, cloud_of(spec),
    spec.account)`, `close()`, and `compute.observe` with what came of it.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        random: Random,
        record: Callable[[str, Call], None],
        keep: float,
        executor: Callable[[str], Executor] = threads,
    ) -> None:
        """`record` is told of each call and the name of its cloud, in whatever thread.

        `keep` is the number of seconds for which answers with the lifetime of a look are used for further looks.
        """
        self._clock = clock
        self._random = random
        self._record = record
        self._keep = keep
        self._executor = executor
        self._identities: dict[_Key, Identity] = {}
        self._users: dict[str, _Key] = {}
        """Whom each CapacityProvider asks."""

    async def look(
        self, provider: str, cloud: Cloud, account: CloudAccount, *, seconds: float = LONGEST_LOOK
    ) -> Looked:
        """What the account answers in the time. What it does not answer is told with the answers, and not raised.

        Raises:
            Misconfigured: the parameters lead to no questions.
        """
        questions = cloud.questions(account)
        key = (cloud.name, cloud.identity(account))
        self._users[provider] = key
        self._close_unused()
        identity = self._identities.get(key)
        if identity is None:
            identity = self._identities[key] = Identity(
                cloud,
                account,
                executor=partial(self._executor, cloud.name),
                clock=self._clock,
                random=self._random,
                record=partial(self._record, cloud.name),
                keep=self._keep,
            )
        return Looked(await identity.look(questions, seconds=seconds), identity.ended)

    def forget(self, provider: str) -> None:
        """It asks no more."""
        self._users.pop(provider, None)
        self._close_unused()

    def close(self) -> None:
        """Nobody asks any more."""
        self._users.clear()
        self._close_unused()

    def _close_unused(self) -> None:
        for key in self._identities.keys() - set(self._users.values()):
            self._identities.pop(key).close()
