"""What a failed call means to a person, and what no person may read."""

from __future__ import annotations

from typing import Any

import botocore.exceptions as sdk
import pytest
from botocore.parsers import ResponseParserError

from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.cloud_quota.aws.decoding import HalfAnswer
from providers.cloud_quota.aws.errors import (
    SDK_ERRORS,
    THROTTLES,
    About,
    CredentialsRefused,
    DeadlinePassed,
    failure_of,
    is_stale_token,
)
from providers.cloud_quota.aws.redaction import public
from providers.cloud_quota.cloud import CredentialsExpired, Result

ABOUT = About("ec2:DescribeCapacityReservations", "us-east-1", "")
USER = "arn:aws:sts::111122223333:assumed-role/quota/kueue-dqo"


def refused(code: str, message: str = "so it is", status: int = 400, operation: str = "Any") -> sdk.ClientError:
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return sdk.ClientError(answer, operation)


@pytest.mark.parametrize(
    ("code", "status", "result", "kind"),
    [
        ("RequestLimitExceeded", 503, Result.THROTTLED, SourceUnavailable),
        ("Client.RequestLimitExceeded", 503, Result.THROTTLED, SourceUnavailable),
        ("TooManyRequestsException", 429, Result.THROTTLED, SourceUnavailable),
        ("Whatever", 429, Result.THROTTLED, SourceUnavailable),
        ("ExpiredToken", 400, Result.EXPIRED, CredentialsExpired),
        ("RequestExpired", 400, Result.EXPIRED, CredentialsExpired),
        ("ExpiredTokenException", 403, Result.EXPIRED, CredentialsExpired),
        ("UnauthorizedOperation", 403, Result.DENIED, Misconfigured),
        ("AccessDeniedException", 400, Result.DENIED, Misconfigured),
        ("InvalidClientTokenId", 403, Result.DENIED, CredentialsRefused),
        ("AuthFailure", 401, Result.DENIED, CredentialsRefused),
        ("NoSuchResourceException", 400, Result.ABSENT, Misconfigured),
        ("InvalidInstanceType", 400, Result.ABSENT, Misconfigured),
        ("IllegalArgumentException", 400, Result.FAILED, Misconfigured),
        ("InternalError", 500, Result.FAILED, SourceUnavailable),
        ("503", 503, Result.FAILED, SourceUnavailable),
        ("ValidationError", 500, Result.FAILED, SourceUnavailable),
        ("SomethingNew", 400, Result.FAILED, SourceUnavailable),
        ("", 400, Result.FAILED, SourceUnavailable),
    ],
)
def test_codes_of_aws(code: str, status: int, result: Result, kind: type[Exception]) -> None:
    failure = failure_of(refused(code, status=status), ABOUT)
    assert failure.result is result
    assert isinstance(failure.error, kind)
    assert ABOUT.permission in str(failure.error)
    assert not isinstance(failure.error, InvalidCapacity)


@pytest.mark.parametrize(
    ("error", "result", "kind"),
    [
        (sdk.NoCredentialsError(), Result.DENIED, CredentialsRefused),
        (sdk.PartialCredentialsError(provider="env", cred_var="secret"), Result.DENIED, CredentialsRefused),
        (FileNotFoundError("/var/run/token"), Result.DENIED, CredentialsRefused),
        (sdk.CredentialRetrievalError(provider="container-role", error_msg="503"), Result.FAILED, SourceUnavailable),
        (sdk.ConnectTimeoutError(endpoint_url="u"), Result.FAILED, SourceUnavailable),
        (sdk.ReadTimeoutError(endpoint_url="u"), Result.FAILED, SourceUnavailable),
        (sdk.EndpointConnectionError(endpoint_url="u"), Result.FAILED, SourceUnavailable),
        (sdk.SSLError(endpoint_url="u", error=OSError("e")), Result.FAILED, SourceUnavailable),
        (sdk.ConnectionClosedError(endpoint_url="u"), Result.PARTIAL, SourceUnavailable),
        (ResponseParserError("no XML"), Result.PARTIAL, SourceUnavailable),
        (ValueError("invalid literal for int(): 'x'"), Result.PARTIAL, SourceUnavailable),
        (HalfAnswer("no Quota.Value"), Result.PARTIAL, SourceUnavailable),
        (sdk.ParamValidationError(report="too short"), Result.FAILED, Misconfigured),
        (sdk.ProfileNotFound(profile="p"), Result.FAILED, Misconfigured),
        (sdk.InvalidRegionError(region_name="eu west"), Result.FAILED, Misconfigured),
        (DeadlinePassed("over"), Result.FAILED, SourceUnavailable),
        (RuntimeError("the refreshed credentials are still expired"), Result.EXPIRED, CredentialsExpired),
        (sdk.DataNotFoundError(data_path="ec2"), Result.FAILED, SourceUnavailable),
    ],
)
def test_exceptions_of_the_sdk(error: Exception, result: Result, kind: type[Exception]) -> None:
    assert isinstance(error, SDK_ERRORS)
    failure = failure_of(error, ABOUT)
    assert failure.result is result
    assert isinstance(failure.error, kind)
    assert ABOUT.permission in str(failure.error)


@pytest.mark.parametrize("code", sorted(THROTTLES))
def test_a_throttle_is_never_a_mistake_of_the_user(code: str) -> None:
    assert failure_of(refused(code), ABOUT).result is Result.THROTTLED


def test_what_is_denied_is_named_with_whom_it_was_denied() -> None:
    message = (
        f"You are not authorized to perform this operation. User: {USER} is not authorized to perform: ec2:Describe"
        f"CapacityReservations. Encoded authorization failure message: {'aB3_-' * 80}"
    )
    text = str(failure_of(refused("UnauthorizedOperation", message, 403), ABOUT).error)
    assert text.startswith(f"ec2:DescribeCapacityReservations is denied to {USER} in us-east-1: allow it in a policy")
    assert "aB3_-" not in text


def test_a_role_that_may_not_be_assumed_is_what_is_denied() -> None:
    text = str(failure_of(refused("AccessDenied", "no", 403, operation="AssumeRole"), ABOUT).error)
    assert text.startswith("sts:AssumeRole is denied in us-east-1: allow it in the identity's policy and in the trust")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The Access Key Id AKIAIOSFODNN7EXAMPLE is unknown", "The Access Key Id (access key) is unknown"),
        ("ASIAY34FZKBOKMUTVV7A", "(access key)"),
        (f"token {'FwoGZXIvYXdzE/' * 12}== refused", "token (token) refused"),
        ("externalId sesame is wrong", "externalId (secret) is wrong"),
        ("several\n lines\t", "several lines"),
        (f"User: {USER} may not", f"User: {USER} may not"),
        ("x " * 400, "x " * 300 + "…"),
    ],
)
def test_nothing_secret_is_shown(text: str, shown: str) -> None:
    assert public(text, ("sesame",)) == shown


@pytest.mark.parametrize("code", ["InvalidPaginationToken", "InvalidNextToken", "InvalidPaginationTokenException"])
def test_a_place_in_a_list_that_is_lost_is_known(code: str) -> None:
    assert is_stale_token(refused(code))
    assert not is_stale_token(refused("RequestLimitExceeded"))
    assert is_stale_token(sdk.PaginationError(message="the same token twice"))
    assert not is_stale_token(ValueError())


def test_every_failure_but_expired_credentials_is_one_of_a_capacity() -> None:
    for code in ("AuthFailure", "NoSuchResourceException", "Throttling", "AccessDenied", "new"):
        assert isinstance(failure_of(refused(code), ABOUT).error, CapacityError)


@pytest.mark.parametrize(
    "error",
    [TypeError("'SECRET'"), AttributeError("SECRET"), KeyError("SECRET"), OverflowError("SECRET"), RecursionError()],
)
def test_an_answer_of_an_odd_form_is_half_an_answer(error: Exception) -> None:
    """And names its call, as every failure does."""
    failure = failure_of(error, ABOUT)
    assert (failure.result, type(failure.error)) == (Result.PARTIAL, HalfAnswer)
    assert str(failure.error).startswith(f"{ABOUT}: an answer of an odd form ({type(error).__name__})")
    assert "SECRET" not in str(failure.error)


def test_only_credentials_that_came_expired_are_expired() -> None:
    expired = RuntimeError("Credentials were refreshed, but the refreshed credentials are still expired.")
    assert failure_of(expired, ABOUT).result is Result.EXPIRED
    assert failure_of(RuntimeError("year 99999 is out of range"), ABOUT).result is Result.PARTIAL


def test_what_a_program_wrote_is_not_shown() -> None:
    error = sdk.CredentialRetrievalError(provider="custom-process", error_msg="TOPSECRET")
    failure = failure_of(error, ABOUT)
    assert "credential_process" in str(failure.error)
    assert "TOPSECRET" not in str(failure.error)


def test_a_region_that_is_not_enabled_is_no_matter_of_policies() -> None:
    failure = failure_of(refused("OptInRequired", status=403), ABOUT)
    assert (failure.result, type(failure.error)) == (Result.DENIED, Misconfigured)
    assert "enable the region or the service" in str(failure.error)


def test_a_code_without_an_end_is_cut_and_urls_name_nobody() -> None:
    assert len(str(failure_of(refused("x" * 500_000), ABOUT).error)) < 300
    assert public("see http://user:passw0rd@host:1/ and so on") == "see http://(user)@host:1/ and so on"
    assert public("arn:aws:iam::1:user/a", ("us",)) == "arn:aws:iam::1:user/a"
