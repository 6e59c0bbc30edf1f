"""Parameters of one account and answers to its questions, as tests write them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from kueue_dqo.api.cloud import AwsAccount, AwsCapacityBlocks, AwsCapacityReservations, AwsEntry, AwsFlavor, AwsQuota
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.quantity import Quantity
from providers.cloud_quota.aws.cloud import CLOUD
from providers.cloud_quota.aws.questions import (
    BlockStatusQuestion,
    OwnAccountQuestion,
    QuotaQuestion,
    QuotaValue,
    Reservation,
    ReservationsQuestion,
    ShapeQuestion,
)
from providers.cloud_quota.cloud import Answers, Derived, Question
from providers.cloud_quota.shapes import NVIDIA, Shape

REGION = "us-east-1"
P5 = "p5.48xlarge"
P5_SHAPE = Shape(192, 2097152, {NVIDIA: 8})
OWN = "111122223333"
OTHER = "444455556666"
P_ON_DEMAND = "L-417A185B"
NOW = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)


def minutes(number: float) -> datetime.datetime:
    """So long after NOW."""
    return NOW + datetime.timedelta(minutes=number)


def entry(source: AwsQuota | AwsCapacityReservations | AwsCapacityBlocks, **fields: Any) -> AwsEntry:
    if "share" in fields:
        fields["share"] = Quantity.of(fields["share"])
    fields.setdefault("instance_type", P5)
    match source:
        case AwsQuota():
            return AwsEntry(quota=source, **fields)
        case AwsCapacityReservations():
            return AwsEntry(capacity_reservations=source, **fields)
        case AwsCapacityBlocks():
            return AwsEntry(capacity_blocks=source, **fields)


def on_demand(*ids: str, **tags: str) -> AwsCapacityReservations:
    return AwsCapacityReservations(ids=ids, tags=tags)


def blocks(*ids: str, early: str = "1h", **tags: str) -> AwsCapacityBlocks:
    return AwsCapacityBlocks(ids=ids, tags=tags, stop_admitting_before=Duration.of(early))


def account(*entries: AwsEntry, regions: tuple[str, ...] = (REGION,), **fields: Any) -> AwsAccount:
    return AwsAccount(regions=regions, flavors=(AwsFlavor(name="h100", entries=entries),), **fields)


def reservation(name: str, total: int | None = 4, **fields: Any) -> Reservation:
    fields = {"state": "active", "kind": "default", "instance_type": P5, "owner": OWN} | fields
    return Reservation(name, total=total, **fields)


def block(name: str, total: int | None = 4, **fields: Any) -> Reservation:
    return reservation(
        name, total, **{"kind": "capacity-block", "end": minutes(600), "block_id": name.replace("cr-", "cb-")} | fields
    )


def derived(
    one: AwsEntry,
    *listed: Reservation,
    value: float = 0,
    is_default: bool = False,
    unavailable: Mapping[str, int | None] | None = None,
    ended: Iterable[str] = (),
    now: datetime.datetime = NOW,
    shape: Shape = P5_SHAPE,
    account_id: str | None = None,
    own: str = OWN,
) -> Derived:
    """What the entry comes to where AWS answers all that the account leads to, and nothing else."""
    given: dict[type[Question[Any]], Any] = {
        QuotaQuestion: QuotaValue(value, is_default),
        ReservationsQuestion: listed,
        BlockStatusQuestion: unavailable or {},
        ShapeQuestion: shape,
        OwnAccountQuestion: own,
    }
    ours = account(one, account_id=account_id)
    answers = Answers({question: given[type(question)] for question in CLOUD.questions(ours)})
    memory = ended if isinstance(ended, set) else set(ended)
    return CLOUD.derive(ours, one, answers, memory, now)


def shown(found: Derived) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in found.amounts.items()}


def reasons(found: Derived) -> list[str]:
    return [notice.reason for notice in found.notices]
