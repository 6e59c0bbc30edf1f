"""What the fake AWS answers, as the unmodified SDK sees it."""

from __future__ import annotations

import datetime
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from tests.clouds.aws import rows
from tests.clouds.aws.account import Aws
from tests.clouds.aws.sdk import P_QUOTA, QUOTA, RESERVATIONS, client_of, code_of

_ENDS: Final = datetime.datetime(2026, 12, 31, 11, 30, tzinfo=datetime.UTC)


def test_a_quota_is_read_where_it_was_raised_and_by_default(aws: Aws) -> None:
    client = client_of("service-quotas")
    aws.region().default(P_QUOTA, 0)
    with pytest.raises(client.exceptions.NoSuchResourceException):
        client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)
    default = client.get_aws_default_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)["Quota"]
    assert (default["QuotaCode"], default["Value"]) == (P_QUOTA, 0.0)
    aws.region().apply(P_QUOTA, 384)
    assert client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)["Quota"]["Value"] == 384.0
    with pytest.raises(client.exceptions.NoSuchResourceException):
        client.get_service_quota(ServiceCode="EC2", QuotaCode=P_QUOTA)
    assert aws.count(QUOTA) == 3


def test_a_quota_may_have_a_reason_and_no_value(aws: Aws) -> None:
    reason = {"ErrorCode": "DEPENDENCY_THROTTLING_ERROR", "ErrorMessage": "EC2 was throttled"}
    aws.region().apply(P_QUOTA, None, ErrorReason=reason)
    quota = client_of("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)["Quota"]
    assert "Value" not in quota
    assert quota["ErrorReason"] == reason


def test_reservations_and_blocks_come_in_pages(aws: Aws) -> None:
    """As the SDK decodes them, field by field."""
    aws.page_size = 2
    there = [
        rows.reservation("cr-1", rows.P5, 3, Tags=rows.tags(team="research")),
        rows.block("cr-2", rows.P5, 4, _ENDS),
        rows.reservation("cr-3", rows.P4D, 1, State="scheduled", StartDate=_ENDS),
    ]
    aws.region().reservations = there
    aws.region().block_statuses = [rows.block_status("cr-2", 4, 1)]
    client = client_of("ec2")
    pages = list(client.get_paginator("describe_capacity_reservations").paginate())
    assert [each for page in pages for each in page["CapacityReservations"]] == there
    assert [len(page["CapacityReservations"]) for page in pages] == [2, 1]
    assert client.describe_capacity_block_status()["CapacityBlockStatuses"] == aws.region().block_statuses
    assert aws.count(RESERVATIONS) == 2
    assert client_of("ec2", region="eu-west-1").describe_capacity_reservations()["CapacityReservations"] == []


def test_instance_types_are_those_of_a_small_catalogue(aws: Aws) -> None:
    client = client_of("ec2")
    (found,) = client.describe_instance_types(InstanceTypes=[rows.P5])["InstanceTypes"]
    assert found == rows.INSTANCE_TYPES[rows.P5]
    with pytest.raises(ClientError) as error:
        client.describe_instance_types(InstanceTypes=["p9.huge"])
    assert code_of(error) == (400, "InvalidInstanceType")
    assert aws.count("ec2:DescribeInstanceTypes") == 2


# --- what tests may set up -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"TotalInstances": 4}, "CapacityReservations[0] has no field TotalInstances"),
        ({"TotalInstanceCount": "4"}, "TotalInstanceCount is '4', and no integer"),
        ({"State": "activ"}, "State is 'activ', and no one of active, expired"),
        ({"EndDate": datetime.datetime(2026, 1, 31)}, "and no time with a zone"),  # noqa: DTZ001  # that is it
        ({"Tags": [{"key": "team", "Value": "x"}]}, "Tags[0] has no field key"),
    ],
    ids=["name", "type", "enumeration", "zone", "nested name"],
)
def test_what_aws_could_not_answer_is_a_mistake_of_the_test(aws: Aws, changes: dict[str, Any], told: str) -> None:
    """It fails where the server ends."""
    aws.region().reservations = [rows.reservation("cr-1", rows.P5, 1) | changes]
    with pytest.raises((ClientError, ResponseParserError)):
        client_of("ec2").describe_capacity_reservations()
    (mistake,) = aws.mistakes
    assert told in mistake
    aws.mistakes.clear()


def test_what_the_fake_does_not_know_is_a_mistake(aws: Aws) -> None:
    """An operation, a parameter."""
    for call, parameters in (
        ("describe_vpcs", {}),
        ("describe_capacity_reservations", {"CapacityReservationIds": ["cr-1"]}),
    ):
        with pytest.raises((ClientError, ResponseParserError)):
            getattr(client_of("ec2"), call)(**parameters)
    assert len(aws.mistakes) == 2
    aws.mistakes.clear()
