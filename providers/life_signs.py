"""Signs of life: a Lease for each CapacityProvider, by which a dead controller is told from a living one.

A controller that crashed leaves its condition True for ever. The leader renews the Leases, and only those of providers
that are really looked after.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from random import Random
from typing import Any, Final, Protocol

import msgspec
import structlog

from kueue_dqo.api import dqo
from kueue_dqo.provider import Notice
from kueue_dqo.runtime.clock import Clock
from kueue_dqo.runtime.errors import ApiError, Conflict, NotFound
from kueue_dqo.runtime.events import EventRecorder
from kueue_dqo.runtime.leader import LeaseClient
from kueue_dqo.runtime.lease import OF_ELECTIONS, Lease, LeaseRecord, decode_lease, taken
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, CONTROLLER_LABEL, LEASES
from providers.telling import tell

LEASE_SECONDS: Final = 60
"""After that the orchestrator takes the provider for dead."""
INTERVAL: Final = 15.0
"""Seconds between two renewals of one Lease, of which a random part of up to a fifth is taken off."""
_LEAST_PAUSE: Final = 0.8
_LONGEST_LABEL: Final = 63

_log = structlog.get_logger(__name__)


class Patients(Protocol):
    """Whose signs of life are given."""

    def served(self) -> Mapping[str, dqo.CapacityProvider]:
        """The CapacityProviders that this process serves."""
        ...

    def is_alive(self, name: str) -> bool:
        """Whether the provider was looked after within its time."""
        ...


class LifeSigns:
    """Renews each Lease about every 15 s, whatever becomes of the others."""

    def __init__(  # noqa: PLR0913 - the parts of a daemon, by keyword
        self,
        client: LeaseClient,
        patients: Patients,
        *,
        namespace: str,
        identity: str,
        controller_name: str,
        timeout: float,
        events: EventRecorder,
        clock: Clock,
        random: Random,
    ) -> None:
        """`timeout` of a request is in seconds. A Lease is in `namespace` and has its provider's name."""
        self._client = client
        self._patients = patients
        self._namespace = namespace
        self._identity = identity
        self._label = label_of(controller_name)
        self._timeout = timeout
        self._events = events
        self._clock = clock
        self._random = random
        self._due: dict[str, float] = {}
        """By UID: a provider that is created anew need not wait for what its predecessor's Lease had left."""
        self._leases: dict[str, Lease] = {}
        """As they were last answered."""
        self._foreign: set[str] = set()
        """Names of Leases that were found to be somebody else's."""
        self._news = asyncio.Event()

    def wake(self) -> None:
        """There may be a provider that has no Lease yet."""
        self._news.set()

    async def run(self) -> None:
        """Renews until it is cancelled. To be run by the leader alone."""
        self._due.clear()
        self._leases.clear()
        while True:
            self._news.clear()
            await self.look()
            now = self._clock.monotonic()
            due = min(self._due.values(), default=now + INTERVAL)
            try:
                async with asyncio.timeout(min(max(due - now, 0.0), INTERVAL)):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def look(self) -> None:
        """Renews those that are due."""
        now = self._clock.monotonic()
        served = self._patients.served()
        gone = self._leases.keys() - served.keys()
        alive = {
            provider.metadata.uid: provider
            for name, provider in sorted(served.items())
            if self._patients.is_alive(name)
        }
        self._due = {uid: due for uid, due in self._due.items() if uid in alive}
        self._foreign &= served.keys()
        for provider in served.values():
            if is_of_election(provider.metadata.name):
                self._tell_foreign(provider)
        due = [
            provider
            for uid, provider in alive.items()
            if self._due.get(uid, now) <= now and not is_of_election(provider.metadata.name)
        ]
        for provider in due:
            self._due[provider.metadata.uid] = now + INTERVAL * self._random.uniform(_LEAST_PAUSE, 1.0)
        await asyncio.gather(*map(self._renew, due), *map(self._let_go, gone))

    async def _renew(self, provider: dqo.CapacityProvider) -> None:
        name = provider.metadata.name
        try:
            try:
                await self._write(provider)
            except (Conflict, NotFound):
                # Edited or deleted by somebody, or an earlier write of ours whose answer was lost.
                self._leases.pop(name, None)
                await self._write(provider)
        except ApiError as error:
            self._leases.pop(name, None)
            _log.warning("sign of life not given", provider=name, error=str(error))
        except Exception:  # noqa: BLE001 - who only gives signs must not end a leader
            self._leases.pop(name, None)
            _log.exception("sign of life failed", provider=name)

    async def _write(self, provider: dqo.CapacityProvider) -> None:
        name = provider.metadata.name
        path = LEASES.path(name, namespace=self._namespace)
        lease = self._leases.get(name)
        if lease is None:
            try:
                lease = decode_lease(await self._client.get(path, timeout=self._timeout))
            except NotFound:
                lease = None
        if lease is not None and not self._is_ours(lease):
            self._tell_foreign(provider)
            return
        self._foreign.discard(name)
        record = taken(lease, identity=self._identity, seconds=LEASE_SECONDS, now=self._clock.now())
        body = self._body(lease, record, provider)
        if lease is None:
            answer = await self._client.create(LEASES.path(namespace=self._namespace), body, timeout=self._timeout)
        else:
            answer = await self._client.replace(path, body, timeout=self._timeout)
        self._leases[name] = decode_lease(answer)

    async def _let_go(self, name: str) -> None:
        """The provider is not served any more: a Lease that nobody holds says nothing. With its owner it goes away."""
        body = self._body(self._leases.pop(name), LeaseRecord(), None)
        try:
            await self._client.replace(LEASES.path(name, namespace=self._namespace), body, timeout=self._timeout)
        except (Conflict, NotFound):
            return  # it has gone with its provider, or another process has taken it
        except ApiError as error:
            _log.warning("Lease not given back", provider=name, error=str(error))

    def _is_ours(self, lease: Lease) -> bool:
        labels = lease.whole["metadata"].get("labels") or {}
        return bool(labels.get(CONTROLLER_LABEL) == self._label)

    def _tell_foreign(self, provider: dqo.CapacityProvider) -> None:
        name = provider.metadata.name
        if name in self._foreign:
            return
        self._foreign.add(name)
        if is_of_election(name):
            why = (
                f"Leases whose names begin with {OF_ELECTIONS} are those by which daemons elect their leaders, so "
                "none is kept for this provider as a sign of life"
            )
            way_out = "rename the provider"
        else:
            why = (
                f"Lease {self._namespace}/{name} is not labelled {CONTROLLER_LABEL}={self._label}, so it is somebody "
                "else's and left alone"
            )
            way_out = "delete it if it is a leftover, else rename the provider"
        message = f"{why}: nobody will notice when this provider is not looked after any more; {way_out}"
        _log.warning("Lease of another", provider=name, message=message)
        tell(self._events, provider, Notice("LeaseOfAnother", message))

    def _body(self, lease: Lease | None, record: LeaseRecord, owner: dqo.CapacityProvider | None) -> bytes:
        """The Lease with that record, as it was read otherwise: its resourceVersion goes along."""
        whole: dict[str, Any] = dict(lease.whole) if lease is not None else _nothing(self._namespace)
        metadata = dict(whole["metadata"])
        metadata.pop("managedFields", None)
        metadata["labels"] = {**(metadata.get("labels") or {}), CONTROLLER_LABEL: self._label}
        if owner is not None:
            metadata |= {"name": owner.metadata.name, "ownerReferences": [_reference(owner)]}
        spec = {**(whole.get("spec") or {}), **msgspec.to_builtins(record)}
        return msgspec.json.encode({**whole, "metadata": metadata, "spec": spec})


def is_of_election(name: str) -> bool:
    """Whether a Lease of that name is an election's, there or not: who takes it keeps a daemon from ever leading."""
    return name.startswith(OF_ELECTIONS)


def label_of(controller_name: str) -> str:
    """The controllerName as the value of a label, which has neither slashes nor more than 63 characters."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", controller_name.replace("/", "."))
    return text[:_LONGEST_LABEL].strip("._-")


def _nothing(namespace: str) -> dict[str, Any]:
    return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": {"namespace": namespace}}


def _reference(provider: dqo.CapacityProvider) -> dict[str, str]:
    """So that the Lease goes with its provider."""
    return {
        "apiVersion": CAPACITY_PROVIDERS.api_version,
        "kind": CAPACITY_PROVIDERS.kind,
        "name": provider.metadata.name,
        "uid": provider.metadata.uid,
    }
