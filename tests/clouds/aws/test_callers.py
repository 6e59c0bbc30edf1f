"""Who asks the fake AWS, as the unmodified SDK finds it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.clouds.aws.account import Aws
from tests.clouds.aws.sdk import P_QUOTA, client_of, code_of


def test_a_role_is_assumed_and_its_session_ends(aws: Aws) -> None:
    """With its external id alone; all that is secret is known."""
    arn = aws.credentials.role("kueue-dqo", "444455556666", external_id="between-us")
    sts = client_of("sts")
    with pytest.raises(ClientError) as denied:
        sts.assume_role(RoleArn=arn, RoleSessionName="test", ExternalId="guessed")
    assert code_of(denied) == (403, "AccessDenied")
    got = sts.assume_role(RoleArn=arn, RoleSessionName="test", ExternalId="between-us")["Credentials"]
    assert {"between-us", got["AccessKeyId"], got["SecretAccessKey"], got["SessionToken"]} <= aws.credentials.secrets()
    session = {
        "aws_access_key_id": got["AccessKeyId"],
        "aws_secret_access_key": got["SecretAccessKey"],
        "aws_session_token": got["SessionToken"],
    }
    assert client_of("sts", **session).get_caller_identity()["Account"] == "444455556666"
    assert sts.get_caller_identity()["Account"] == "111122223333"
    aws.credentials.expire()
    for service, call, code in (
        ("ec2", "describe_capacity_reservations", (400, "RequestExpired")),
        ("sts", "get_caller_identity", (403, "ExpiredToken")),
    ):
        with pytest.raises(ClientError) as expired:
            getattr(client_of(service, **session), call)()
        assert code_of(expired) == code
    with pytest.raises(ClientError) as expired:
        client_of("service-quotas", **session).get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)
    assert code_of(expired) == (400, "ExpiredTokenException")
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
        client_of("sts").get_caller_identity()
    assert code_of(expired) == (400, "ExpiredTokenException")
    file.write_text(aws.credentials.web_token())
    found = client_of("sts").get_caller_identity()
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
    client = client_of(service, aws_access_key_id="AKIAUNKNOWN", aws_secret_access_key="none")  # noqa: S106  # no secret
    with pytest.raises(ClientError) as error:
        getattr(client, call)(**parameters)
    assert code_of(error) == code
