"""An account of AWS that is asked through boto3."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast

from kueue_dqo.api.cloud import AwsAccount
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.aws import decoding
from providers.cloud_quota.aws.calls import Calls
from providers.cloud_quota.aws.clients import Clients
from providers.cloud_quota.aws.errors import SDK_ERRORS, Absent, CredentialsRefused, is_stale_token
from providers.cloud_quota.aws.questions import (
    BlockStatusQuestion,
    OwnAccountQuestion,
    QuotaQuestion,
    QuotaValue,
    Reservation,
    ReservationsQuestion,
    ShapeQuestion,
    Unavailable,
)
from providers.cloud_quota.cloud import Question, Record
from providers.cloud_quota.shapes import Shape

T = TypeVar("T")

_DAY: Final = 24 * 3600.0
_JITTER: Final = 0.1
_MOST_PAGES: Final = 200
"""Of one list: of reservations, a page has hundreds."""


def open_account(account: AwsAccount, record: Record) -> OpenAccount:
    """The account with credentials. Raises Misconfigured where none are found, SourceUnavailable where none come."""
    opened = OpenAccount(account, record)
    opened.clients.begin()
    return opened


class OpenAccount:
    """As `Account`."""

    def __init__(self, account: AwsAccount, record: Record) -> None:
        role = account.assume_role
        self._calls = Calls(record, (role.external_id,) if role is not None and role.external_id else ())
        self.clients = Clients(account, self._calls)
        self._defaults: dict[QuotaQuestion, tuple[float, float]] = {}
        """Default values with the time until which they are taken for true: they hardly ever change."""

    def answer(self, question: Question[T], deadline: float) -> T:
        try:
            return cast("T", self._answer(question, deadline))
        except CredentialsRefused:
            # Others may stand in their place by the next look, such as those of a file.
            self.clients.begin_anew()
            raise

    def close(self) -> None:
        self.clients.close()

    def _answer(self, question: Question[Any], deadline: float) -> object:
        match question:
            case QuotaQuestion():
                return self._quota(question, deadline)
            case ReservationsQuestion():
                return self._reservations(question, deadline)
            case BlockStatusQuestion():
                return self._block_status(question, deadline)
            case ShapeQuestion():
                return self._shape(question, deadline)
            case OwnAccountQuestion():
                return self._own_account(question, deadline)
        raise TypeError(f"{question!r} is no question to AWS")

    # --- Service Quotas ------------------------------------------------------------------------------------------

    def _quota(self, question: QuotaQuestion, deadline: float) -> QuotaValue:
        """Service Quotas has no applied value of what was never raised for the account."""
        client = self.clients.service_quotas(question.region)
        subject = f"{question.service}/{question.code}"
        named = {"ServiceCode": question.service, "QuotaCode": question.code}

        def applied() -> QuotaValue:
            return decoding.quota_value(client.get_service_quota(**named).get("Quota"), question.code, is_default=False)

        def default() -> QuotaValue:
            return decoding.quota_value(
                client.get_aws_default_service_quota(**named).get("Quota"), question.code, is_default=True
            )

        about = self._calls.about("servicequotas:GetServiceQuota", question.region, subject)
        try:
            return self._calls.run(about, applied, deadline)
        except Absent:
            kept = self._defaults.get(question)
        if kept is not None and kept[1] > time.monotonic():
            return QuotaValue(kept[0], is_default=True)
        about = self._calls.about("servicequotas:GetAWSDefaultServiceQuota", question.region, subject)
        try:
            told = self._calls.run(about, default, deadline)
        except Absent as error:
            raise Misconfigured(
                f"Service Quotas knows no quota {question.code} of service {question.service!r} in {question.region}, "
                "neither applied nor by default: correct code, service (it is case-sensitive) or region"
            ) from error
        self._defaults[question] = (told.value, _until_tomorrow())
        return told

    # --- EC2 -----------------------------------------------------------------------------------------------------

    def _reservations(self, question: ReservationsQuestion, deadline: float) -> tuple[Reservation, ...]:
        pages = self.clients.ec2(question.region).get_paginator("describe_capacity_reservations")

        def read() -> Iterator[Reservation]:
            for page in _some(pages.paginate()):
                for row in decoding.needed(page.get("CapacityReservations"), "CapacityReservations"):
                    yield decoding.reservation(row)

        about = self._calls.about("ec2:DescribeCapacityReservations", question.region)
        found = self._calls.run(about, lambda: _whole(read), deadline)
        # A reservation that was made meanwhile may push another one on to the next page, where it stands again.
        # Of two rows of one, the active one is the newer: a state that ends it comes after that, at the next look.
        return tuple({each.id: each for each in sorted(found, key=lambda each: each.state == "active")}.values())

    def _block_status(self, question: BlockStatusQuestion, deadline: float) -> Unavailable:
        pages = self.clients.ec2(question.region).get_paginator("describe_capacity_block_status")

        def read() -> Iterator[tuple[str, int | None]]:
            for page in _some(pages.paginate()):
                blocks = decoding.needed(page.get("CapacityBlockStatuses"), "CapacityBlockStatuses")
                yield from decoding.unavailable_of(blocks)

        about = self._calls.about("ec2:DescribeCapacityBlockStatus", question.region)
        found: Mapping[str, int | None] = dict(self._calls.run(about, lambda: _whole(read), deadline))
        return found

    def _shape(self, question: ShapeQuestion, deadline: float) -> Shape:
        client = self.clients.ec2(question.region)
        name: Any = question.instance_type  # the stubs list those that there were when they were made

        def read() -> Shape | None:
            told = client.describe_instance_types(InstanceTypes=[name])
            rows = decoding.needed(told.get("InstanceTypes"), "InstanceTypes")
            row = next((row for row in rows if row.get("InstanceType") == name), None)
            return None if row is None else decoding.shape_of(row)

        about = self._calls.about("ec2:DescribeInstanceTypes", question.region, question.instance_type)
        try:
            shape = self._calls.run(about, read, deadline)
        except Absent:
            shape = None
        if shape is None:
            raise Misconfigured(
                f"EC2 has no instance type {question.instance_type!r} in {question.region}: correct instanceType or "
                "region"
            )
        return shape

    # --- STS -----------------------------------------------------------------------------------------------------

    def _own_account(self, question: OwnAccountQuestion, deadline: float) -> str:
        client = self.clients.sts(question.region)
        about = self._calls.about("sts:GetCallerIdentity", question.region)

        def read() -> str:
            return decoding.needed(client.get_caller_identity().get("Account"), "Account")

        return self._calls.run(about, read, deadline)


def _some(pages: Iterable[T]) -> Iterator[T]:
    """The pages, of which there is an end. Raises HalfAnswer."""
    for number, page in enumerate(pages):
        if number == _MOST_PAGES:
            raise decoding.HalfAnswer(f"the list has more than {_MOST_PAGES} pages: it is asked again at the next look")
        yield page


def _whole(read: Callable[[], Iterable[T]]) -> list[T]:
    """A list of several pages, begun anew once where the place in it is not known any more."""
    try:
        return list(read())
    except SDK_ERRORS as error:
        if not is_stale_token(error):
            raise
    return list(read())


def _until_tomorrow() -> float:
    """About a day from now, of `time.monotonic()`: not all quotas expire at once."""
    return time.monotonic() + _DAY * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - nothing secret
