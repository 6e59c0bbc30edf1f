"""AWS as a cloud of the provider. Pure, but for `open`."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kueue_dqo.api.cloud import AwsAccount, AwsEntry, CloudAccount, CloudEntry
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.aws.blocks import derive_blocks
from providers.cloud_quota.aws.held import remembered
from providers.cloud_quota.aws.questions import check_account, questions_of
from providers.cloud_quota.aws.quota import derive_quota
from providers.cloud_quota.aws.reservations import derive_reservations
from providers.cloud_quota.cloud import Account, Answers, Cloud, Derived, Ended, Question, Record
from providers.cloud_quota.clouds import not_installed


@dataclass(frozen=True, slots=True)
class Identity:
    """In whose name calls are made: the role, or what the SDK's own chain finds where there is none."""

    role: str | None
    external_id: str | None = field(repr=False)
    region: str
    """Where STS is asked, unless the SDK is told otherwise."""


class Aws:
    """AWS; its parameters are `AwsAccount` and `AwsEntry`."""

    name = "aws"

    def identity(self, account: CloudAccount) -> Hashable:
        ours = _account(account)
        role, region = ours.assume_role, ours.regions[0]
        return Identity(None, None, region) if role is None else Identity(role.arn, role.external_id, region)

    def described(self, account: CloudAccount) -> str:
        ours = _account(account)
        if ours.assume_role is not None:
            return f"AWS, role {ours.assume_role.arn}"
        return "AWS" if ours.account_id is None else f"AWS, account {ours.account_id}"

    def questions(self, account: CloudAccount) -> Sequence[Question[Any]]:
        return questions_of(_account(account))

    def derive(
        self, account: CloudAccount, entry: CloudEntry, answers: Answers, ended: Ended, now: datetime.datetime
    ) -> Derived:
        ours, one = _account(account), _entry(entry)
        check_account(ours, answers)
        if one.quota is not None:
            return derive_quota(ours, one, one.quota, answers)
        if one.capacity_reservations is not None:
            return derive_reservations(ours, one, one.capacity_reservations, answers, ended, now)
        if one.capacity_blocks is not None:
            return derive_blocks(ours, one, one.capacity_blocks, answers, ended, now)
        raise Misconfigured(f"an entry of {one.instance_type} has no source: give it one of {', '.join(_SOURCES)}")

    def remembered(self, message: str) -> Iterable[str]:
        return remembered(message)

    def open(self, account: CloudAccount, record: Record) -> Account:
        try:
            from providers.cloud_quota.aws.account import open_account  # noqa: PLC0415 - the SDK is an extra
        except ImportError as error:
            raise not_installed(self.name, error) from error
        return open_account(_account(account), record)


CLOUD: Final[Cloud] = Aws()

_SOURCES: Final = ("quota", "capacityReservations", "capacityBlocks")


def _account(account: CloudAccount) -> AwsAccount:
    if not isinstance(account, AwsAccount):
        raise TypeError(f"{type(account).__name__} is no account of AWS")
    return account


def _entry(entry: CloudEntry) -> AwsEntry:
    if not isinstance(entry, AwsEntry):
        raise TypeError(f"{type(entry).__name__} is no entry of AWS")
    return entry
