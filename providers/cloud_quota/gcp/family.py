"""Quotas of Cloud Quotas that are kept by region and GPU family. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kueue_dqo.api.cloud import GcpEntry, GcpGpuFamily, GcpProject, region_of
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota import arithmetic
from providers.cloud_quota.cloud import Answers, Limit
from providers.cloud_quota.gcp.machine import accelerators_of
from providers.cloud_quota.gcp.metric import Counted, near, shown_limit
from providers.cloud_quota.gcp.questions import GLOBAL, FamilyQuestion, QuotaRow, machine_question
from providers.cloud_quota.wording import details

REGION: Final = "region"
GPU_FAMILY: Final = "gpu_family"


def counted(account: GcpProject, entry: GcpEntry, family: GcpGpuFamily, answers: Answers) -> Counted:
    """How many instances of the entry the quota allows.

    Raises:
        Misconfigured: no limit is for that family in that region, or the machine type has no accelerators.
        SourceUnavailable: the limit has no value.
        InvalidCapacity: there is none, and the entry does not bound it either.
    """
    region = region_of(account, entry)
    what = f"quota {family.quota_id} of {family.name} in {region} of project {account.project}"
    takes = accelerators_of(entry, answers[machine_question(account, entry)])
    if not takes:
        raise Misconfigured(
            f"{what} counts GPUs, and machine type {entry.machine_type} has none built in: set accelerators of the "
            "entry to how many are attached to each instance, or name a quota that counts it"
        )
    rows = answers[FamilyQuestion(account.project, family.service, family.quota_id)]
    row = row_of(rows, region, family.name)
    if row is None:
        families = {each.dimensions[GPU_FAMILY] for each in rows if GPU_FAMILY in each.dimensions}
        here = "a region that has it" if family.name in families else "a GPU family of that region"
        raise Misconfigured(
            f"{what} does not exist: name {here}; the families of the quota are {near(family.name, families) or 'none'}"
        )
    if row.value is None:
        raise SourceUnavailable(f"{what} was told without a value")
    limit = arithmetic.limit_of(row.value, what=what, max_instances=entry.max_instances)
    instances = arithmetic.whole_instances(limit, entry, takes, what=what)
    # A row without the dimension holds for every family that has none of its own: the name may be a slip.
    of = [] if GPU_FAMILY in row.dimensions else ["the limit of every family without one of its own"]
    shown = ", ".join([shown_limit(row.value), *of, *details(entry)])
    text = f"quota {family.quota_id} of {family.name} in {region} ({shown})"
    value = float("inf") if arithmetic.is_unlimited(row.value) else float(row.value)
    return Counted(instances, text, (Limit(f"{family.quota_id}/{family.name}", region, value),), {})


def row_of(rows: Sequence[QuotaRow], region: str, family: str) -> QuotaRow | None:
    """The limit that holds: of those that fit the one with most dimensions, of equal ones the first.

    One fits where each of its dimensions is the region or the family that is asked, and where it holds in the region.
    One with a further dimension is about something narrower. The cloud sends the more specific ones first.
    """
    asked = {REGION: region, GPU_FAMILY: family}
    fitting = [
        row
        for row in rows
        if all(asked.get(name) == value for name, value in row.dimensions.items())
        and (not row.locations or region in row.locations or GLOBAL in row.locations)
    ]
    return max(fitting, key=lambda row: len(row.dimensions), default=None)
