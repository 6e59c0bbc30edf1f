"""What a quota that counts vCPUs allows of an instance type. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kueue_dqo.api.cloud import AwsAccount, AwsEntry, AwsQuota
from providers.cloud_quota.arithmetic import is_unlimited, limit_of, whole_instances
from providers.cloud_quota.aws.codes import mismatch
from providers.cloud_quota.aws.questions import QuotaQuestion, QuotaValue, region, shape_question
from providers.cloud_quota.cloud import Answers, Derived, Limit
from providers.cloud_quota.shapes import amounts, unknown_accelerators


def derive_quota(account: AwsAccount, entry: AwsEntry, quota: AwsQuota, answers: Answers) -> Derived:
    """Whole instances: floor(vCPUs x share / vCPUs of one), at most maxInstances.

    Raises:
        InvalidCapacity: the quota is no limit and the entry sets none, or it is no number of vCPUs.
        Misconfigured: the region is not named.
    """
    where = region(account, entry)
    told = answers[QuotaQuestion(where, quota.service, quota.code)]
    shape = answers[shape_question(account, entry)]
    what = label_of(quota, where)
    limit = limit_of(told.value, what=what, max_instances=entry.max_instances)
    instances = whole_instances(limit, entry, shape.vcpus, what=what)
    return Derived(
        instances=instances,
        amounts=amounts(entry, shape, instances),
        text=f"{instances} {entry.instance_type} of {what} ({', '.join(_details(entry, told))})",
        limits=(Limit(quota.code, where, math.inf if limit is None else told.value),),
        notices=(*mismatch(entry, quota), *unknown_accelerators(entry, shape)),
    )


def label_of(quota: AwsQuota, where: str) -> str:
    """`quota L-417A185B in us-east-1`; of another service than EC2 with its name."""
    service = "" if quota.service == "ec2" else f"{quota.service}/"
    return f"quota {service}{quota.code} in {where}"


def _details(entry: AwsEntry, told: QuotaValue) -> Iterator[str]:
    """`384 vCPU`, `0.5 of 768 vCPU, default, at most 3`."""
    if is_unlimited(told.value):
        yield "no limit"
    else:
        value = str(int(told.value)) if float(told.value).is_integer() else str(told.value)
        yield f"{value} vCPU" if entry.share is None else f"{entry.share.written or entry.share} of {value} vCPU"
    if told.is_default:
        yield "default"
    if entry.max_instances is not None:
        yield f"at most {entry.max_instances}"
