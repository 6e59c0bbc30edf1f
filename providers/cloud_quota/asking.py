"""Asking accounts of clouds, as the daemon does in its looks and `dqo provider cloud-quota --once` in its only one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import CloudAccount, CloudQuotaParametersSpec
from kueue_dqo.provider import Misconfigured, Request
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota.cloud import Call, Cloud, Ended
from providers.cloud_quota.clouds import cloud_of
from providers.cloud_quota.compute import Counted, observe
from providers.cloud_quota.heard import Heard
from providers.cloud_quota.identity import Identity
from providers.cloud_quota.takings import Takings
from providers.slips import parameters_name

LONGEST_LOOK: Final = 50.0
"""Seconds; those who ask a source give up after 60 by default."""
_LONGEST_USE: Final = 60.0
_THREADS: Final = 2
THREADS_PREFIX: Final = "cloud-"
"""What the names of all threads begin with that ask clouds."""

_Key = tuple[str, Hashable]


class Looked(NamedTuple):
    """What came of a look at an account."""

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

    `counted` is the whole road from a question to a capacity.
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


async def counted(
    request: Request[CloudQuotaParametersSpec], looks: Looks, takings: Takings, clock: Clock
) -> tuple[Counted, Heard]:
    """What the account of the parameters comes to at the end of a look, and what was heard at it.

    Raises:
        CapacityError: as `compute.observe`; Misconfigured where the parameters lead to no account or no questions.
    """
    try:
        cloud = cloud_of(request.parameters)
        looked = await looks.look(request.provider.metadata.name, cloud, request.parameters.account)
    except Misconfigured as error:
        raise Misconfigured(f"{parameters_name(request.provider)}: {error}") from error
    request = dataclasses.replace(request, now=clock.now())  # the look may have taken a while
    return observe(request, cloud, looked.heard, looked.ended, takings), looked.heard
