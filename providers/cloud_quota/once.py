"""One look at the accounts that manifests name, without a daemon: what would be published, and what it came from.

It asks, counts and settles as the daemon does. No guard holds anything back: guards compare with what is published, and
whoever asks without a cluster has nothing published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

import msgspec
import structlog

from kueue_dqo.api import dqo
from kueue_dqo.api.cloud import (
    CLOUD_QUOTA_CONTROLLER,
    CLOUD_QUOTA_PARAMETERS,
    CloudQuotaParameters,
    CloudQuotaParametersSpec,
)
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.meta import OUR_GROUP, ObjectMeta, time_text
from kueue_dqo.provider import CapacityError, Misconfigured, Peer, Request, SourceUnavailable, WithoutParameters
from kueue_dqo.runtime.clock import Clock
from providers.cloud_quota import asking
from providers.cloud_quota.asking import Looks
from providers.cloud_quota.cloud import Call
from providers.cloud_quota.clouds import cloud_of
from providers.cloud_quota.compute import Counted
from providers.cloud_quota.takings import Takings
from providers.parameters import HeldParameters, Kind, parameters_of
from providers.pipeline import Settled, message_of_status, settle
from providers.status import Held, Verdict, status_of

_KIND: Final = Kind(OUR_GROUP, CLOUD_QUOTA_PARAMETERS, CloudQuotaParametersSpec)
_KEEP: Final = 60.0
"""Seconds for which several CapacityProviders of one account share its answers, as a daemon lets them."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The objects that are there, by name."""

    providers: Mapping[str, dqo.CapacityProvider]
    """Of whatever controller."""
    parameters: Mapping[str, CloudQuotaParameters]
    flavors: Mapping[str, ResourceFlavor]


class Asked(NamedTuple):
    """What a look about one CapacityProvider came to."""

    provider: dqo.CapacityProvider
    """With the status that would be written."""
    account: str
    """Who was asked, for a person; empty where nobody was."""
    verdict: Verdict
    calls: tuple[Call, ...]
    """In the order in which they ended. None where the answers to another look were used again."""
    counted: Counted | None = None
    """None where nothing could be counted."""
    settled: Settled | None = None
    """None where nothing would be published."""

    @property
    def is_published(self) -> bool:
        """Whether the status would get a capacity."""
        return self.verdict.capacity is not None


def is_ours(provider: dqo.CapacityProvider) -> bool:
    """Whether a daemon would ask about it."""
    return provider.spec.controller_name == CLOUD_QUOTA_CONTROLLER and provider.metadata.deletion_timestamp is None


def made_up(given: Given) -> dict[str, dqo.CapacityProvider]:
    """A CapacityProvider with all flavors for each of the parameters that none names: called as they are."""
    named = {
        each.spec.parameters.name
        for each in given.providers.values()
        if is_ours(each) and each.spec.parameters is not None
    }
    return {
        name: dqo.CapacityProvider(
            ObjectMeta(name=name),
            dqo.CapacityProviderSpec(
                controller_name=CLOUD_QUOTA_CONTROLLER,
                orchestrated_flavors=tuple(dqo.FlavorRef(flavor.name) for flavor in each.spec.account.flavors),
                parameters=dqo.ParametersRef(OUR_GROUP, CLOUD_QUOTA_PARAMETERS, name),
            ),
        )
        for name, each in sorted(given.parameters.items())
        if name not in named
    }


class Once:
    """Asks about one CapacityProvider after the other. To be used in one event loop."""

    def __init__(self, given: Given, *, clock: Clock, random: Random) -> None:
        """Every CapacityProvider of `given` that is the controller's is a peer of the others."""
        self._given = given
        self._clock = clock
        self._calls: list[Call] = []
        self._takings = Takings()
        self._looks = Looks(clock=clock, random=random, record=self._called, keep=_KEEP)

    async def ask(self, provider: dqo.CapacityProvider) -> Asked:
        """Whatever is wrong is in the verdict.

        Of what only a look shows, such as reservations with a tag, others have taken what they were asked about before.
        """
        self._calls = []
        account, counted, settled = "", None, None
        try:
            parameters = self._parameters_of(provider)
            account = cloud_of(parameters).described(parameters.account)
            counted = await self._observe(provider, parameters)
            settled = settle(provider, parameters, counted.observation.capacity)
        except CapacityError as error:
            verdict = Verdict(error.reason, str(error))
        except Exception as error:  # noqa: BLE001 - as the daemon has it, whatever an SDK does
            _log.exception("source failed", provider=provider.metadata.name)
            why = f"the source failed: {type(error).__name__}: {error}; its traceback is on standard error"
            verdict = Verdict(SourceUnavailable.reason, why)
        else:
            message = message_of_status((), counted.observation.summary, settled.notes)
            verdict = Verdict(dqo.SYNCHRONIZED, message, settled.capacity)
        status = self._status(provider, verdict)
        provider = msgspec.structs.replace(provider, status=status)
        return Asked(provider, account, verdict, tuple(self._calls), counted, settled)

    def close(self) -> None:
        """Ends all connections."""
        self._looks.close()

    def _called(self, cloud: str, call: Call) -> None:
        """In any thread."""
        del cloud
        self._calls.append(call)

    async def _observe(self, provider: dqo.CapacityProvider, parameters: CloudQuotaParametersSpec) -> Counted:
        """Raises CapacityError."""
        request = Request(
            provider=provider,
            parameters=parameters,
            flavors=self._given.flavors,
            peers=tuple(self._peers(provider.metadata.name)),
            providers=self._given.providers,
            now=self._clock.now(),
        )
        found, _ = await asking.counted(request, self._looks, self._takings, self._clock)
        return found

    def _peers(self, name: str) -> Iterable[Peer[CloudQuotaParametersSpec]]:
        for other, provider in sorted(self._given.providers.items()):
            if other == name or provider.spec.controller_name != CLOUD_QUOTA_CONTROLLER:
                continue
            try:
                yield Peer(provider, self._parameters_of(provider))
            except Misconfigured:
                yield Peer(provider, None)  # it is told where that one is asked about

    def _parameters_of(self, provider: dqo.CapacityProvider) -> CloudQuotaParametersSpec:
        """Raises Misconfigured."""

        def find(name: str) -> HeldParameters | None:
            found = self._given.parameters.get(name)
            return HeldParameters(found.spec) if found is not None else None

        parameters = parameters_of(provider, _KIND, WithoutParameters.MISCONFIGURED, find)
        assert isinstance(parameters, CloudQuotaParametersSpec)  # noqa: S101 - of that kind there is no other
        return parameters

    def _status(self, provider: dqo.CapacityProvider, verdict: Verdict) -> dqo.CapacityProviderStatus:
        """As it would be written now. Without a generation, which files leave out, it is taken as the first one."""
        metadata = msgspec.structs.replace(provider.metadata, generation=provider.metadata.generation or 1)
        held = Held(msgspec.structs.replace(provider, metadata=metadata), resource_version="")
        return status_of(held, verdict, time_text(self._clock.now()))
