"""Codes that are documented to count other instances."""

from __future__ import annotations

import pytest

from kueue_dqo.api.cloud import AwsQuota, PurchaseOption
from providers.cloud_quota.aws.codes import KNOWN_CODES, mismatch
from tests.unit.providers.cloud_quota.aws.entries import entry


@pytest.mark.parametrize(
    ("code", "instance_type", "option", "text"),
    [
        ("L-417A185B", "p5.48xlarge", "OnDemand", ""),
        ("L-417A185B", "p6-b200.48xlarge", "OnDemand", ""),
        ("L-1216C47A", "im4gn.large", "OnDemand", ""),
        ("L-1216C47A", "t3.micro", "OnDemand", ""),
        ("L-DB2E81BA", "gr6.4xlarge", "OnDemand", ""),
        ("L-43DA4232", "u7i-12tb.224xlarge", "OnDemand", ""),
        ("L-43DA4232", "u-6tb1.metal", "OnDemand", ""),
        ("L-7212CCBC", "p4d.24xlarge", "Spot", ""),
        ("L-C4BD4855", "p5en.48xlarge", "Spot", ""),
        # Not documented, so nothing is known against it.
        ("L-7212CCBC", "p6-b200.48xlarge", "Spot", ""),
        ("L-00000000", "p5.48xlarge", "OnDemand", ""),
        ("L-1216C47A", "p5.48xlarge", "OnDemand", "name L-417A185B, or"),
        # T is no part of Trn, whatever the names look like.
        ("L-1216C47A", "trn1.32xlarge", "OnDemand", "name L-2C3B7624, or"),
        ("L-2C3B7624", "t3.micro", "OnDemand", "name L-1216C47A, or"),
        ("L-417A185B", "p5.48xlarge", "Spot", "name L-C4BD4855, or"),
        ("L-C4BD4855", "p5.48xlarge", "OnDemand", "name L-417A185B, or"),
        ("L-C4BD4855", "p4d.24xlarge", "Spot", "name L-7212CCBC, or"),
        ("L-417A185B", "q1.large", "OnDemand", "correct the code"),
    ],
)
def test_a_known_code_of_other_instances_is_warned_of(code: str, instance_type: str, option: str, text: str) -> None:
    quota = AwsQuota(code, purchase_option=PurchaseOption(option))
    notices = mismatch(entry(quota, instance_type=instance_type), quota)
    assert [notice.reason for notice in notices] == (["QuotaMismatch"] if text else [])
    assert all(text in notice.message and code in notice.message for notice in notices)


def test_codes_of_other_services_are_not_known() -> None:
    quota = AwsQuota("L-1216C47A", service="sagemaker")
    assert mismatch(entry(quota), quota) == ()


def test_every_code_is_one_of_service_quotas() -> None:
    assert all(len(code) == 10 and code.startswith("L-") for code in KNOWN_CODES)
    assert sum(known.purchase_option is PurchaseOption.SPOT for known in KNOWN_CODES.values()) == 9
