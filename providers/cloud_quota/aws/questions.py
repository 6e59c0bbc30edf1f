"""What AWS is asked, and what an answer to it holds. Pure.

A question names a region, since every service that is asked is a regional one.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kueue_dqo.api.cloud import AwsAccount, AwsEntry, region_of
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.cloud import Answers, Lifetime, Question
from providers.cloud_quota.shapes import Shape

# --- answers -------------------------------------------------------------------------------------------------------


class QuotaValue(NamedTuple):
    """What Service Quotas says of a quota."""

    value: float
    is_default: bool
    """Whether it was never raised for the account, so that the value is every account's."""


class Reservation(NamedTuple):
    """A capacity reservation. None stands for what the answer left out, which is no zero."""

    id: str
    state: str
    kind: str | None = None
    """`default` for one on demand, `capacity-block`."""
    instance_type: str | None = None
    owner: str | None = None
    total: int | None = None
    """Instances, those in use included."""
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    launch_status: str | None = None
    """`unlaunchable` where an active one takes no instance. UltraServers alone have it."""
    tags: Mapping[str, str] = {}
    block_id: str | None = None
    """Of the capacity block that it is a part of."""
    is_interruptible: bool = False
    """Whether EC2 may take the instances back."""


Unavailable = Mapping[str, int | None]
"""How many instances of capacity blocks have failed, by the id of the block; None: not told."""


# --- questions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuotaQuestion(Question[QuotaValue]):
    """The applied value of a quota, or the default where none was applied."""

    region: str
    service: str
    code: str

    @property
    def scope(self) -> str:
        return f"servicequotas in {self.region}"


@dataclass(frozen=True, slots=True)
class ReservationsQuestion(Question[tuple[Reservation, ...]]):
    """All capacity reservations that the account has or that are shared with it, capacity blocks among them."""

    region: str

    @property
    def scope(self) -> str:
        return _ec2(self.region)


@dataclass(frozen=True, slots=True)
class BlockStatusQuestion(Question[Unavailable]):
    """What cannot be used of the account's capacity blocks."""

    region: str

    @property
    def scope(self) -> str:
        return _ec2(self.region)


class _Lasting:
    """A question whose answer hardly ever changes."""

    __slots__ = ()

    @property
    def lifetime(self) -> Lifetime:
        return Lifetime.DAY


@dataclass(frozen=True, slots=True)
class ShapeQuestion(_Lasting, Question[Shape]):
    """What an instance type has."""

    region: str
    instance_type: str

    @property
    def scope(self) -> str:
        return _ec2(self.region)


@dataclass(frozen=True, slots=True)
class OwnAccountQuestion(_Lasting, Question[str]):
    """The id of the account that the credentials belong to."""

    region: str

    @property
    def scope(self) -> str:
        return f"sts in {self.region}"


def _ec2(region: str) -> str:
    return f"ec2 in {region}"


def questions_of(account: AwsAccount) -> list[Question[Any]]:
    """All that has to be known, each once, in the order of the entries. Raises Misconfigured for a region not named."""
    found: dict[Question[Any], None] = {}
    for flavor in account.flavors:
        for entry in flavor.entries:
            for question in _questions_of(account, entry):
                found.setdefault(question)
    return list(found)


def own_account(account: AwsAccount) -> OwnAccountQuestion:
    """One call for all regions: an account is the same in each."""
    return OwnAccountQuestion(account.regions[0])


def check_account(account: AwsAccount, answers: Answers) -> None:
    """Raises Misconfigured where the credentials are of another account than the one that is meant."""
    if account.account_id is None:
        return
    found = answers[own_account(account)]
    if found != account.account_id:
        raise Misconfigured(
            f"the credentials are of account {found}, and accountId is {account.account_id}: correct accountId, or the "
            "identity of the daemon"
        )


def shape_question(account: AwsAccount, entry: AwsEntry) -> ShapeQuestion:
    """Raises Misconfigured for a region that is not named."""
    return ShapeQuestion(region(account, entry), entry.instance_type)


def region(account: AwsAccount, entry: AwsEntry) -> str:
    """The region of the entry. Raises Misconfigured where it has to be named and is not."""
    try:
        return region_of(account, entry)
    except ValueError as error:
        raise Misconfigured(f"region of an entry of {entry.instance_type}: {error}") from error


def _questions_of(account: AwsAccount, entry: AwsEntry) -> list[Question[Any]]:
    where = region(account, entry)
    asked: list[Question[Any]] = []
    if entry.quota is not None:
        asked.append(QuotaQuestion(where, entry.quota.service, entry.quota.code))
    is_held = entry.capacity_reservations is not None or entry.capacity_blocks is not None
    if is_held:
        asked.append(ReservationsQuestion(where))
    if account.account_id is not None or (is_held and entry.share is None):
        asked.append(own_account(account))
    if entry.capacity_blocks is not None:
        asked.append(BlockStatusQuestion(where))
    return [*asked, shape_question(account, entry)]
