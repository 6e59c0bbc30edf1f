"""The Lease of a leader election as an object: what it says, and the next one to write. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kueue_dqo.runtime.resources import LEASES

OF_ELECTIONS: Final = "kueue-dqo-"
"""Leases whose names begin so are those by which the replicas of a daemon of this project elect their leader."""


class LeaseRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a Lease (coordination.k8s.io/v1), as far as elections use it."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A Lease as the API server answered it: its record, and the whole object, of which the rest is kept."""

    record: LeaseRecord
    whole: Mapping[str, Any]

    @property
    def holder(self) -> str:
        """The identity of who holds it, empty where nobody does."""
        return self.record.holder_identity or ""


def decode_lease(raw: bytes) -> Lease:
    """Raises msgspec.DecodeError or msgspec.ValidationError for what is no Lease."""
    whole = msgspec.json.decode(raw, type=dict[str, Any])
    return Lease(msgspec.convert(whole.get("spec") or {}, LeaseRecord), whole)


def new_lease(record: LeaseRecord, *, name: str, namespace: str, labels: Mapping[str, str]) -> bytes:
    """The body that creates the Lease."""
    return msgspec.json.encode(
        {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
            "spec": record,
        }
    )


def changed_lease(lease: Lease, record: LeaseRecord, *, labels: Mapping[str, str]) -> bytes:
    """The body that replaces the Lease, and only in the state in which it was read: its resourceVersion goes along."""
    metadata = dict(lease.whole["metadata"])
    metadata.pop("managedFields", None)
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    spec = {**(lease.whole.get("spec") or {}), **msgspec.to_builtins(record)}
    return msgspec.json.encode({**lease.whole, "metadata": metadata, "spec": spec})


def taken(lease: Lease | None, *, identity: str, seconds: int, now: datetime.datetime) -> LeaseRecord:
    """The record that takes the Lease or renews it; another holder's end counts as a transition."""
    time = micro_time(now)
    if lease is None:
        return LeaseRecord(identity, seconds, acquire_time=time, renew_time=time, lease_transitions=0)
    transitions = lease.record.lease_transitions or 0
    if lease.holder == identity:
        return LeaseRecord(identity, seconds, lease.record.acquire_time or time, time, transitions)
    return LeaseRecord(identity, seconds, time, time, transitions + 1)


def released(lease: Lease, *, now: datetime.datetime) -> LeaseRecord:
    """The record of a Lease that nobody holds: others need not wait for it to expire."""
    time = micro_time(now)
    return LeaseRecord("", 1, acquire_time=time, renew_time=time, lease_transitions=lease.record.lease_transitions or 0)


def micro_time(time: datetime.datetime) -> str:
    """A time as Kubernetes' MicroTime: RFC 3339 in UTC with six digits of a second."""
    return time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
