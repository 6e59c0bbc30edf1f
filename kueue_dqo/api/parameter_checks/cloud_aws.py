"""What only AWS has: the role, quotas by code, capacity reservations and capacity blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.cloud import AwsAccount, AwsCapacityBlocks, AwsCapacityReservations, AwsEntry
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.parameter_checks.cloud_forms import (
    ACCOUNT_ID,
    EXTERNAL_ID,
    INSTANCE_TYPE,
    LONGEST_TAG_KEY,
    LONGEST_TAG_VALUE,
    QUOTA_CODE,
    RESERVATION_ID,
    ROLE_ARN,
    SERVICE_CODE,
    texts,
)
from kueue_dqo.api.problems import FieldProblem, shown

MAX_IDS: Final = 64
MAX_TAGS: Final = 50
"""As many as a resource of EC2 can have."""
LEAST_STOP: Final = Duration(30 * 60)
"""So long before the end of a block EC2 begins to terminate its instances."""


def aws_account_problems(field: str, account: AwsAccount) -> Iterator[FieldProblem]:
    """Every problem of what the account has beside its regions and flavors."""
    if account.account_id is not None:
        yield from ACCOUNT_ID.problems(f"{field}.accountId", account.account_id)
    role = account.assume_role
    if role is None:
        return
    yield from ROLE_ARN.problems(f"{field}.assumeRole.arn", role.arn)
    of_role = role.arn.split(":")[4:5]
    if ROLE_ARN.fits(role.arn) and account.account_id is not None and of_role != [account.account_id]:
        yield FieldProblem(
            f"{field}.accountId",
            f"{shown(account.account_id)} is not the account of assumeRole.arn, {of_role[0]}: correct one of them, or "
            "leave accountId out",
        )
    if role.external_id is not None and not EXTERNAL_ID.fits(role.external_id):
        # Some treat it as a secret, so it is not shown.
        yield FieldProblem(
            f"{field}.assumeRole.externalId", f"{len(role.external_id)} characters are no {EXTERNAL_ID.wanted}"
        )


def aws_entry_problems(field: str, entry: AwsEntry) -> Iterator[FieldProblem]:
    """Every problem of what entries of AWS alone have."""
    yield from INSTANCE_TYPE.problems(f"{field}.instanceType", entry.instance_type)
    if entry.quota is not None:
        yield from QUOTA_CODE.problems(f"{field}.quota.code", entry.quota.code)
        yield from SERVICE_CODE.problems(f"{field}.quota.service", entry.quota.service)
    if entry.capacity_reservations is not None:
        yield from _by_ids_or_tags(f"{field}.capacityReservations", entry.capacity_reservations)
    blocks = entry.capacity_blocks
    if blocks is not None:
        yield from _by_ids_or_tags(f"{field}.capacityBlocks", blocks)
        if blocks.stop_admitting_before < LEAST_STOP:
            yield FieldProblem(
                f"{field}.capacityBlocks.stopAdmittingBefore",
                f"{blocks.stop_admitting_before} is too short: EC2 begins to terminate instances {LEAST_STOP} before "
                f"the end of a block; write {LEAST_STOP} or more",
            )


def _by_ids_or_tags(field: str, chosen: AwsCapacityReservations | AwsCapacityBlocks) -> Iterator[FieldProblem]:
    if bool(chosen.ids) == bool(chosen.tags):
        has = "both" if chosen.ids else "neither"
        yield FieldProblem(field, f"has {has} of ids and tags: give one of them")
    yield from texts(f"{field}.ids", chosen.ids, RESERVATION_ID, fewest=0, most=MAX_IDS)
    tags = f"{field}.tags"
    if len(chosen.tags) > MAX_TAGS:
        yield FieldProblem(tags, f"{len(chosen.tags)} entries; at most {MAX_TAGS} are allowed")
    for key, value in chosen.tags.items():
        if not 1 <= len(key) <= LONGEST_TAG_KEY:
            yield FieldProblem(tags, f"{shown(key)} is no key of a tag: it has 1 to {LONGEST_TAG_KEY} characters")
        if len(value) > LONGEST_TAG_VALUE:
            yield FieldProblem(
                f"{tags}[{key}]", f"{shown(value)} is no value of a tag: at most {LONGEST_TAG_VALUE} characters"
            )
