"""The fake AWS as the unmodified SDK sees it: what tests of the provider rely on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import boto3
import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from tests.clouds.aws import faults, rows
from tests.clouds.aws.account import Aws
from tests.clouds.aws.server import Server, running

P_QUOTA: Final = "L-417A185B"
RESERVATIONS: Final = "ec2:DescribeCapacityReservations"
QUOTA: Final = "servicequotas:GetServiceQuota"
_ENDS: Final = datetime.datetime(2026, 12, 31, 11, 30, tzinfo=datetime.UTC)
_ONCE: Final = Config(retries={"mode": "standard", "total_max_attempts": 1}, read_timeout=0.3)
_LOADER: Final = botocore.loaders.Loader()
"""It has read the models of services."""
_PATIENT: Final = Config(retries={"mode": "standard", "total_max_attempts": 3})


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def server(_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The SDK is led to it, with the key of a user."""
    for name, value in _server.environment(tmp_path, _server.aws.credentials.user()).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    yield _server
    _server.aws.clear()


@pytest.fixture
def aws(server: Server) -> Aws:
    """What it answers."""
    return server.aws


def _client(service: str, config: Config = _ONCE, region: str = "us-east-1", **options: Any) -> Any:
    session = botocore.session.Session()
    session.register_component("data_loader", _LOADER)
    return boto3.Session(botocore_session=session).client(service, region_name=region, config=config, **options)  # type: ignore[call-overload]  # by any name


def _code(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str]:
    response = error.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


# --- what there is -------------------------------------------------------------------------------------------------


def test_a_quota_is_read_where_it_was_raised_and_by_default(aws: Aws) -> None:
    client = _client("service-quotas")
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
    quota = _client("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)["Quota"]
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
    client = _client("ec2")
    pages = list(client.get_paginator("describe_capacity_reservations").paginate())
    assert [each for page in pages for each in page["CapacityReservations"]] == there
    assert [len(page["CapacityReservations"]) for page in pages] == [2, 1]
    assert client.describe_capacity_block_status()["CapacityBlockStatuses"] == aws.region().block_statuses
    assert aws.count(RESERVATIONS) == 2
    assert _client("ec2", region="eu-west-1").describe_capacity_reservations()["CapacityReservations"] == []


def test_instance_types_are_those_of_a_small_catalogue(aws: Aws) -> None:
    client = _client("ec2")
    (found,) = client.describe_instance_types(InstanceTypes=[rows.P5])["InstanceTypes"]
    assert found == rows.INSTANCE_TYPES[rows.P5]
    with pytest.raises(ClientError) as error:
        client.describe_instance_types(InstanceTypes=["p9.huge"])
    assert _code(error) == (400, "InvalidInstanceType")
    assert aws.count("ec2:DescribeInstanceTypes") == 2


# --- who asks ------------------------------------------------------------------------------------------------------


def test_a_role_is_assumed_and_its_session_ends(aws: Aws) -> None:
    """With its external id alone; all that is secret is known."""
    arn = aws.credentials.role("kueue-dqo", "444455556666", external_id="between-us")
    sts = _client("sts")
    with pytest.raises(ClientError) as denied:
        sts.assume_role(RoleArn=arn, RoleSessionName="test", ExternalId="guessed")
    assert _code(denied) == (403, "AccessDenied")
    got = sts.assume_role(RoleArn=arn, RoleSessionName="test", ExternalId="between-us")["Credentials"]
    assert {"between-us", got["AccessKeyId"], got["SecretAccessKey"], got["SessionToken"]} <= aws.credentials.secrets()
    session = {
        "aws_access_key_id": got["AccessKeyId"],
        "aws_secret_access_key": got["SecretAccessKey"],
        "aws_session_token": got["SessionToken"],
    }
    assert _client("sts", **session).get_caller_identity()["Account"] == "444455556666"
    assert sts.get_caller_identity()["Account"] == "111122223333"
    aws.credentials.expire()
    for service, call, code in (
        ("ec2", "describe_capacity_reservations", (400, "RequestExpired")),
        ("sts", "get_caller_identity", (403, "ExpiredToken")),
    ):
        with pytest.raises(ClientError) as expired:
            getattr(_client(service, **session), call)()
        assert _code(expired) == code
    with pytest.raises(ClientError) as expired:
        _client("service-quotas", **session).get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)
    assert _code(expired) == (400, "ExpiredTokenException")
    assert sts.get_caller_identity()["Account"] == "111122223333"


def test_a_web_identity_is_found_by_the_chain(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a pod with a role of its own: a file with a token, and the role's name."""
    file = tmp_path / "token"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
    monkeypatch.setenv("AWS_ROLE_ARN", aws.credentials.role("pod"))
    file.write_text("not one of theirs")
    with pytest.raises(ClientError) as expired:
        _client("sts").get_caller_identity()
    assert _code(expired) == (400, "ExpiredTokenException")
    file.write_text(aws.credentials.web_token())
    found = _client("sts").get_caller_identity()
    assert found["Arn"].startswith("arn:aws:sts::111122223333:assumed-role/pod/")


@pytest.mark.parametrize(
    ("service", "call", "parameters", "code"),
    [
        ("ec2", "describe_capacity_reservations", {}, (401, "AuthFailure")),
        ("sts", "get_caller_identity", {}, (403, "InvalidClientTokenId")),
        (
            "service-quotas",
            "get_service_quota",
            {"ServiceCode": "ec2", "QuotaCode": P_QUOTA},
            (400, "UnrecognizedClientException"),
        ),
    ],
)
@pytest.mark.usefixtures("aws")
def test_a_key_that_nobody_knows_is_refused(service: str, call: str, parameters: Any, code: tuple[int, str]) -> None:
    client = _client(service, aws_access_key_id="AKIAUNKNOWN", aws_secret_access_key="none")  # noqa: S106  # no secret
    with pytest.raises(ClientError) as error:
        getattr(client, call)(**parameters)
    assert _code(error) == code


# --- what goes wrong -----------------------------------------------------------------------------------------------


def test_throttles_are_absorbed_by_retries(aws: Aws) -> None:
    """Two of them; each service has an error of its own. On the second page alone as well."""
    aws.page_size = 1
    aws.region().reservations = [rows.reservation(f"cr-{number}", rows.P5, 1) for number in range(2)]
    fault = aws.add(faults.Throttle(RESERVATIONS, skip=1, times=2))
    pages = list(_client("ec2", _PATIENT).get_paginator("describe_capacity_reservations").paginate())
    assert (len(pages), fault.hits, aws.count(RESERVATIONS)) == (2, 2, 4)
    aws.add(faults.Throttle(region="eu-west-1"))
    client = _client("service-quotas", region="eu-west-1")
    with pytest.raises(client.exceptions.TooManyRequestsException) as error:
        client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)
    assert _code(error) == (429, "TooManyRequestsException")
    assert _client("ec2").describe_capacity_reservations()["CapacityReservations"]
    with pytest.raises(ClientError) as error:
        _client("ec2", region="eu-west-1").describe_capacity_reservations()
    assert _code(error) == (503, "RequestLimitExceeded")


def test_a_denied_call_names_the_permission(aws: Aws) -> None:
    aws.add(faults.Deny(RESERVATIONS))
    aws.add(faults.Deny(QUOTA))
    with pytest.raises(ClientError) as error:
        _client("ec2").describe_capacity_reservations()
    assert _code(error) == (403, "UnauthorizedOperation")
    assert f"arn:aws:iam::111122223333:user/admin is not authorized to perform: {RESERVATIONS}" in str(error.value)
    client = _client("service-quotas")
    with pytest.raises(client.exceptions.AccessDeniedException, match=QUOTA):
        client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        (faults.Refuse, ClientError),
        (faults.Page, (ClientError, ResponseParserError)),
        (faults.CutOff, ResponseParserError),
        (faults.HalfAnswer, ResponseParserError),
        (faults.Reset, ConnectionClosedError),
        (faults.Slow, ReadTimeoutError),
    ],
)
@pytest.mark.parametrize("service", ["ec2", "service-quotas"])
def test_what_goes_wrong_on_the_way_is_no_answer(aws: Aws, service: str, kind: Any, raised: Any) -> None:
    """Once healed, there is one. Of half an answer in JSON the SDK makes an empty one, without an error."""
    aws.region().apply(P_QUOTA, 384)
    aws.region().reservations = [rows.reservation("cr-1", rows.P5, 1)]
    client = _client(service)

    def ask() -> Any:
        if service == "ec2":
            return client.describe_capacity_reservations().get("CapacityReservations")
        return client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA).get("Quota")

    fault = aws.add(kind())
    if service != "ec2" and kind in {faults.CutOff, faults.HalfAnswer}:
        assert ask() is None
    else:
        with pytest.raises(raised):
            ask()
    assert fault.hits == 1
    aws.heal()
    assert ask()


def test_nobody_listens_for_a_while(server: Server) -> None:
    client = _client("sts")
    server.hang_up()
    with pytest.raises(EndpointConnectionError):
        client.get_caller_identity()
    server.listen()
    assert client.get_caller_identity()["Account"] == "111122223333"


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
        _client("ec2").describe_capacity_reservations()
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
            getattr(_client("ec2"), call)(**parameters)
    assert len(aws.mistakes) == 2
    aws.mistakes.clear()
