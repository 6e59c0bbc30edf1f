"""Credentials: the SDK's own chain, an assumed role, and nothing of them in what is told."""

from __future__ import annotations

import datetime
import json
import logging
import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.api.cloud import AwsAccount, AwsRole
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.aws.account import open_account
from providers.cloud_quota.aws.calls import Calls
from providers.cloud_quota.aws.cloud import CLOUD
from providers.cloud_quota.aws.credentials import session_of
from providers.cloud_quota.aws.questions import QuotaQuestion
from providers.cloud_quota.cloud import Call, CredentialsExpired, Result
from tests.unit.providers.cloud_quota.aws.endpoint import Answer, Endpoint, assumed, json_error, quota, sts, sts_error
from tests.unit.providers.cloud_quota.aws.entries import REGION

ARN = "arn:aws:iam::444455556666:role/quota"
ROLE = AwsAccount(regions=(REGION,), flavors=(), assume_role=AwsRole(ARN, external_id="sesame"))
PLAIN = AwsAccount(regions=(REGION,), flavors=())
P = QuotaQuestion(REGION, "ec2", "L-417A185B")
OWN_KEY = "AKIAOWNKEY1234567890"


def within(minutes: float) -> str:
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)).isoformat()


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")


def test_a_role_is_assumed_with_what_the_chain_finds(endpoint: Endpoint) -> None:
    endpoint.answers_to("AssumeRole", assumed("AssumeRole", "ASIAONE", within(60)))
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0))
    calls: list[Call] = []
    account = CLOUD.open(ROLE, calls.append)
    assert endpoint.asked == []
    assert [account.answer(P, math.inf).value for _ in range(2)] == [1, 1]
    account.close()
    assume, *asked = endpoint.asked
    named = {name: assume.fields[name] for name in ("RoleArn", "RoleSessionName", "ExternalId")}
    assert named == {"RoleArn": ARN, "RoleSessionName": "kueue-dqo", "ExternalId": "sesame"}
    assert [each.access_key for each in (assume, *asked)] == [OWN_KEY, "ASIAONE", "ASIAONE"]
    assert {each.headers["X-Amz-Security-Token"] for each in asked} == {"t-ASIAONE"}
    named_calls = [(call.name, call.subject, call.result, call.requests) for call in calls]
    own = ("servicequotas:GetServiceQuota", "ec2/L-417A185B", Result.OK, 1)
    assert named_calls == [("sts:AssumeRole", ARN, Result.OK, 1), own, own]


def test_credentials_of_a_role_are_renewed_before_they_expire(endpoint: Endpoint) -> None:
    soon, late = assumed("AssumeRole", "ASIAONE", within(5)), assumed("AssumeRole", "ASIATWO", within(60))
    endpoint.answers_to("AssumeRole", soon, late)
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0))
    account = open_account(ROLE, lambda _: None)
    for _ in range(3):
        account.answer(P, math.inf)
    account.close()
    keys = [each.access_key for each in endpoint.asked if each.operation == "GetServiceQuota"]
    assert keys == ["ASIAONE", "ASIATWO", "ASIATWO"]


@pytest.mark.parametrize(
    ("code", "status", "kind", "text"),
    [
        (
            "AccessDenied",
            403,
            Misconfigured,
            "^sts:AssumeRole is denied to arn:aws:sts::1:assumed-role/a/b in us-east-1",
        ),
        ("ExpiredToken", 400, CredentialsExpired, "sts:AssumeRole of arn:aws:iam::444455556666:role/quota"),
        ("Throttling", 400, SourceUnavailable, "sts:AssumeRole of .* too many requests"),
        ("ValidationError", 400, Misconfigured, "sts:AssumeRole of .*ValidationError"),
    ],
)
def test_a_role_that_cannot_be_assumed_says_so(
    endpoint: Endpoint,
    caplog: pytest.LogCaptureFixture,
    code: str,
    status: int,
    kind: type[Exception],
    text: str,
) -> None:
    message = f"User: arn:aws:sts::1:assumed-role/a/b with {OWN_KEY} and sesame may not"
    endpoint.answers_to("AssumeRole", sts_error(code, message, status))
    calls: list[Call] = []
    account = open_account(ROLE, calls.append)
    with caplog.at_level(logging.INFO), pytest.raises(kind, match=text) as raised:
        account.answer(P, math.inf)
    account.close()
    assert endpoint.operations()[0] == "AssumeRole"
    assert "GetServiceQuota" not in endpoint.operations()
    assert [call.name for call in calls] == ["sts:AssumeRole", "servicequotas:GetServiceQuota"]
    assert not any(record.name.startswith("botocore") for record in caplog.records)
    for secret in (OWN_KEY, "sesame", "own-secret"):
        assert secret not in f"{raised.value} {calls} {caplog.text}"


def test_credentials_that_have_expired_when_they_come_are_none(endpoint: Endpoint) -> None:
    endpoint.answers_to("AssumeRole", assumed("AssumeRole", "ASIAONE", within(-5)))
    account = open_account(ROLE, lambda _: None)
    with pytest.raises(CredentialsExpired, match="still expired"):
        account.answer(P, math.inf)
    account.close()


def test_half_an_answer_of_sts_is_none(endpoint: Endpoint) -> None:
    endpoint.answers_to("AssumeRole", sts("AssumeRole", ""))
    account = open_account(ROLE, lambda _: None)
    with pytest.raises(SourceUnavailable, match="no Credentials of AssumeRole"):
        account.answer(P, math.inf)
    account.close()


@pytest.mark.parametrize("length", [150, 300, 420])
def test_keys_in_an_answer_that_was_cut_are_not_told(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture, length: int
) -> None:
    whole = assumed("AssumeRole", "ASIAONE", within(60)).body.replace(">s<", ">ugh-KEWF-2cZVI2SUhEg<")
    endpoint.answers_to("AssumeRole", Answer(whole[:length]))
    account = open_account(ROLE, lambda _: None)
    with caplog.at_level(logging.INFO), pytest.raises(SourceUnavailable, match="the answer was not whole") as raised:
        account.answer(P, math.inf)
    account.close()
    for secret in ("ugh-", "ASIAONE", "t-ASIA"):
        assert secret not in f"{raised.value} {caplog.text}"


def test_keys_of_a_pod_in_an_answer_that_was_cut_are_not_told(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys(monkeypatch)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/v1/credentials")
    monkeypatch.setattr("botocore.utils.time", types.SimpleNamespace(sleep=lambda _: None))
    endpoint.answers_to("GET /v1/credentials", Answer('{"AccessKeyId": "short", "SecretAccessKey": "ugh-KEWF'))
    with pytest.raises(SourceUnavailable, match="Unable to parse JSON") as raised:
        open_account(PLAIN, lambda _: None)
    assert "ugh-" not in str(raised.value)


def test_no_credentials_are_a_mistake_of_the_installation(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    without_keys(monkeypatch)
    for account in (PLAIN, ROLE):
        with pytest.raises(Misconfigured, match="no credentials for AWS are found: give the daemon an identity"):
            CLOUD.open(account, lambda _: None)
    assert endpoint.asked == []


def test_an_image_without_the_sdk_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "providers.cloud_quota.aws.account", None)
    with pytest.raises(Misconfigured, match=r"install kueue-dqo\[aws\]"):
        CLOUD.open(PLAIN, lambda _: None)


def test_a_profile_that_is_not_there_is_named(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(Misconfigured, match="nobody"):
        CLOUD.open(PLAIN, lambda _: None)
    assert endpoint.asked == []


def test_a_web_identity_is_exchanged_for_credentials(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_keys(monkeypatch)
    token = tmp_path / "token"
    token.write_text("token-of-the-pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", ARN)
    operation = "AssumeRoleWithWebIdentity"
    endpoint.answers_to(operation, assumed(operation, "ASIAWEB", within(60)))
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0))
    account = open_account(PLAIN, lambda _: None)
    account.answer(P, math.inf)
    account.close()
    assert endpoint.asked[0].fields["WebIdentityToken"] == "token-of-the-pod"
    assert endpoint.asked[1].access_key == "ASIAWEB"


def test_a_web_identity_that_is_not_trusted_is_denied(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_keys(monkeypatch)
    token = tmp_path / "token"
    token.write_text("token-of-the-pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", ARN)
    endpoint.answers_to("AssumeRoleWithWebIdentity", sts_error("AccessDenied", "no"))
    account = open_account(PLAIN, lambda _: None)
    with pytest.raises(Misconfigured, match=r"^sts:AssumeRoleWithWebIdentity is denied in us-east-1"):
        account.answer(P, math.inf)
    account.close()


def test_no_request_takes_long_or_is_made_often_those_for_credentials_included(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_keys(monkeypatch)
    token = tmp_path / "token"
    token.write_text("token-of-the-pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", ARN)
    endpoint.answers_to("AssumeRoleWithWebIdentity", sts_error("Throttling", "slower", 400))
    calls: list[Call] = []
    account = open_account(PLAIN, calls.append)
    config: Any = account.clients.service_quotas(REGION).meta.config  # its options are no attributes to the stubs
    with pytest.raises(SourceUnavailable, match="too many requests"):
        account.answer(P, math.inf)
    account.close()
    assert (config.connect_timeout, config.read_timeout) == (5, 10)
    assert endpoint.operations() == ["AssumeRoleWithWebIdentity"] * 3
    assert [(call.result, call.requests, call.throttles) for call in calls] == [(Result.THROTTLED, 3, 3)]


def test_sts_is_asked_in_the_region(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_STS_REGIONAL_ENDPOINTS", "legacy")
    account = open_account(PLAIN, lambda _: None)
    assert account.clients.sts(REGION).meta.endpoint_url == f"https://sts.{REGION}.amazonaws.com"
    account.close()
    assert endpoint.asked == []


def test_a_pod_identity_is_asked_for_with_the_token_of_the_pod(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_keys(monkeypatch)
    token = tmp_path / "token"
    token.write_text("token-of-the-pod")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
    keys = {"AccessKeyId": "ASIAPOD", "SecretAccessKey": "s", "Token": "t", "Expiration": within(60)}
    endpoint.answers_to("GET /v1/credentials", Answer(json.dumps(keys)))
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0))
    account = open_account(PLAIN, lambda _: None)
    account.answer(P, math.inf)
    account.close()
    assert endpoint.asked[0].headers["Authorization"] == "token-of-the-pod"
    assert endpoint.asked[1].access_key == "ASIAPOD"


def test_keys_that_are_replaced_are_found_once_the_old_ones_are_refused(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_keys(monkeypatch)
    keys = "[default]\naws_access_key_id = {}\naws_secret_access_key = s\n"
    file = tmp_path / "credentials"
    file.write_text(keys.format("AKIAOLD"))
    refused = json_error("UnrecognizedClientException", "The security token is invalid")
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0), refused, quota(Value=2.0))
    account = open_account(PLAIN, lambda _: None)
    assert account.answer(P, math.inf).value == 1
    file.write_text(keys.format("AKIANEW"))
    with pytest.raises(Misconfigured, match=r"The security token is invalid.*: correct the daemon's credentials"):
        account.answer(P, math.inf)
    assert account.answer(P, math.inf).value == 2
    account.close()
    assert [each.access_key for each in endpoint.asked] == ["AKIAOLD", "AKIAOLD", "AKIANEW"]


def test_all_accounts_of_a_process_share_the_models_of_the_sdk(endpoint: Endpoint) -> None:
    """One of EC2 takes more than 20 MiB."""
    del endpoint
    sessions: list[Any] = [session_of(PLAIN, Calls(lambda _: None)) for _ in range(2)]
    loaders = [each._session.get_component("data_loader") for each in sessions]  # noqa: SLF001
    assert loaders[0] is loaders[1]
