"""What a failed call to AWS means: how it ended, and what a person is told. Nothing secret passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.aws.decoding import HalfAnswer
from providers.cloud_quota.aws.redaction import public, without_answers
from providers.cloud_quota.cloud import CredentialsExpired, Result

THROTTLES: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Those that botocore's standard retries take for throttles too, of the services that are asked."""
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = 500
_LONGEST_CODE: Final = 80
_PROGRAM: Final = "custom-process"
"""What botocore calls a program that is asked for credentials. What it writes is nobody's business."""
_REFRESHED: Final = "refreshed credentials are still expired"
"""Of botocore's RuntimeError about new credentials."""
_IDENTITY: Final = re.compile(r"\barn:[\w-]+:(?:iam|sts)::\d*:\S+")
"""Whom AWS says that it denied something."""

_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
STALE_TOKENS: Final = frozenset(
    {"InvalidNextToken", "InvalidPaginationToken", "InvalidPaginationTokenException", "InvalidToken.NextToken"}
)
"""The place in a list is not known any more; the list is begun anew."""


class DeadlinePassed(Exception):
    """No request may begin any more."""


class Absent(Misconfigured):
    """AWS knows no such thing."""


class CredentialsRefused(Misconfigured):
    """AWS does not take the credentials for valid ones, or there are none; others may be found in their place later."""


class About(NamedTuple):
    """What a call is about, for messages."""

    permission: str
    """That it needs, such as `ec2:DescribeCapacityReservations`."""
    region: str
    subject: str = ""
    secrets: tuple[str, ...] = ()
    """Texts that no message may hold."""

    def __str__(self) -> str:
        """`servicequotas:GetServiceQuota of ec2/L-417A185B in us-east-1`."""
        return f"{self.permission}{f' of {self.subject}' if self.subject else ''} in {self.region}"


class Failure(NamedTuple):
    """How a call ended, and the exception that says so."""

    result: Result
    error: Exception


class _Meaning(NamedTuple):
    result: Result
    kind: type[Exception]
    way_out: str = ""


_EXPIRED: Final = _Meaning(Result.EXPIRED, CredentialsExpired)
_REFUSED: Final = _Meaning(
    Result.DENIED, CredentialsRefused, ": correct the daemon's credentials, or enable the region for the account"
)
_MISSING: Final = _Meaning(
    Result.DENIED, CredentialsRefused, ": give the daemon an identity (IRSA, Pod Identity, a profile of the SDK)"
)
_WRONG: Final = _Meaning(Result.FAILED, Misconfigured)
_CUT_SHORT: Final = _Meaning(Result.PARTIAL, HalfAnswer, ": the answer was not whole, it is asked again")
_UNKNOWN: Final = _Meaning(Result.FAILED, SourceUnavailable)

_BY_CODE: Final[Mapping[str, _Meaning]] = {
    "AuthFailure": _REFUSED,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "IllegalArgumentException": _WRONG,
    "IncompleteSignature": _REFUSED,
    "InvalidAccessKeyId": _REFUSED,
    "InvalidAction": _WRONG,
    "InvalidClientTokenId": _REFUSED,
    "InvalidIdentityToken": _REFUSED,
    "InvalidInstanceType": _Meaning(Result.ABSENT, Absent),
    "InvalidParameterValue": _WRONG,
    "InvalidSignatureException": _REFUSED,
    "MissingAuthenticationToken": _REFUSED,
    "NoSuchResourceException": _Meaning(Result.ABSENT, Absent),
    "OptInRequired": _Meaning(Result.DENIED, Misconfigured, ": enable the region or the service for the account"),
    "RequestExpired": _EXPIRED,
    "SignatureDoesNotMatch": _REFUSED,
    "UnrecognizedClientException": _REFUSED,
    "UnsupportedOperation": _WRONG,
    "ValidationError": _WRONG,
    "ValidationException": _WRONG,
}
"""What the codes of AWS mean, but for throttles and for what is denied."""

ODD_ANSWERS: Final = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)
"""What comes up in code that meets an answer of a form that no answer of AWS has."""

_BY_TYPE: Final[Sequence[tuple[tuple[type[Exception], ...], _Meaning]]] = (
    ((HalfAnswer,), _Meaning(Result.PARTIAL, HalfAnswer)),
    ((DeadlinePassed,), _Meaning(Result.FAILED, SourceUnavailable, ": it is asked again at the next look")),
    ((sdk.NoAuthTokenError, sdk.NoCredentialsError, sdk.PartialCredentialsError, sdk.SSOError), _MISSING),
    (
        (
            sdk.BaseEndpointResolverError,
            sdk.ConfigNotFound,
            sdk.ConfigParseError,
            sdk.EndpointProviderError,
            sdk.InvalidConfigError,
            sdk.InvalidEndpointConfigurationError,
            sdk.InvalidRegionError,
            sdk.ParamValidationError,
            sdk.ProfileNotFound,
            sdk.UnknownRegionError,
        ),
        _WRONG,
    ),
    # Files of the SDK, such as the token of a web identity.
    ((FileNotFoundError, PermissionError), _MISSING),
    # What the SDK makes of an odd answer.
    (ODD_ANSWERS, _CUT_SHORT),
    # New credentials that have expired already.
    ((RuntimeError,), _EXPIRED),
    (
        (
            ResponseParserError,
            sdk.ConnectionClosedError,
            sdk.IncompleteReadError,
            sdk.PaginationError,
            sdk.ResponseStreamingError,
        ),
        _CUT_SHORT,
    ),
    ((sdk.BotoCoreError, OSError), _UNKNOWN),
    # A number or a time that is none.
    ((ValueError,), _CUT_SHORT),
)
"""What exceptions of the SDK mean, the first that fits."""

SDK_ERRORS: Final[tuple[type[Exception], ...]] = (sdk.ClientError, *(kind for kinds, _ in _BY_TYPE for kind in kinds))
"""What `failure_of` explains."""


def failure_of(error: Exception, about: About) -> Failure:
    """What an exception of the SDK means.

    Args:
        error: one of SDK_ERRORS.
        about: the call in which it came up.
    """
    if isinstance(error, sdk.ClientError):
        return _refusal(error, about)
    meaning = next((meaning for kinds, meaning in _BY_TYPE if isinstance(error, kinds)), _UNKNOWN)
    if isinstance(error, RuntimeError) and meaning is _EXPIRED and _REFRESHED not in str(error):
        meaning = _CUT_SHORT
    words = without_answers(str(error)) or type(error).__name__
    if isinstance(error, ODD_ANSWERS):
        words = f"an answer of an odd form ({type(error).__name__})"
    elif isinstance(error, sdk.CredentialRetrievalError) and error.kwargs.get("provider") == _PROGRAM:
        words = "no credentials come from the program of credential_process (what it wrote is not shown)"
    text = f"{about}: {public(words, about.secrets)}{meaning.way_out}"
    return Failure(meaning.result, meaning.kind(text))


def is_throttle(parsed: Mapping[str, object] | None) -> bool:
    """Whether an answer, as botocore parses it, refuses the request for the number of requests."""
    code, status = _code_of(parsed or {})
    return code in THROTTLES or status == _TOO_MANY_REQUESTS


def is_stale_token(error: Exception) -> bool:
    """Whether the next page of a list could not be had because its token is not valid."""
    if isinstance(error, sdk.ClientError):
        return _code_of(error.response)[0] in STALE_TOKENS
    return isinstance(error, sdk.PaginationError)


# --- what AWS answers ----------------------------------------------------------------------------------------------


def _refusal(error: sdk.ClientError, about: About) -> Failure:
    code, status = _code_of(error.response)
    code = public(code)[:_LONGEST_CODE]
    own_words = public(str(_part(error.response, "Error").get("Message", "")), about.secrets)
    why = f"{code} ({own_words})"
    told = f"{about}: {why}"
    if is_throttle(error.response):
        return Failure(Result.THROTTLED, SourceUnavailable(f"{told}: too many requests, it is asked again later"))
    if code in _DENIED:
        permission = _permission_of(error.operation_name, about)
        user = _IDENTITY.search(own_words)
        whom = f" to {user.group()}" if user else ""
        text = f"{permission} is denied{whom} in {about.region}: {_way_out(permission)}; {why}"
        return Failure(Result.DENIED, Misconfigured(text))
    meaning = _BY_CODE.get(code, _UNKNOWN) if status < _SERVER_ERRORS else _UNKNOWN
    return Failure(meaning.result, meaning.kind(f"{told}{meaning.way_out}"))


def _permission_of(operation: str, about: About) -> str:
    """What is denied may be the role that a call needs and not the call itself."""
    return f"sts:{operation}" if operation.startswith("AssumeRole") else about.permission


def _way_out(permission: str) -> str:
    if permission.startswith("sts:AssumeRole"):
        return "allow it in the identity's policy and in the trust policy of the role"
    return "allow it in a policy of the identity that the daemon runs as"


def _code_of(parsed: Mapping[str, object]) -> tuple[str, int]:
    """The error code without the side that AWS says is to blame, and the HTTP status."""
    code = str(_part(parsed, "Error").get("Code", ""))
    status = _part(parsed, "ResponseMetadata").get("HTTPStatusCode", 0)
    return code.removeprefix("Client.").removeprefix("Server."), status if isinstance(status, int) else 0


def _part(parsed: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = parsed.get(key)
    return part if isinstance(part, Mapping) else {}
