"""What calls to Google Cloud can end in, in the words of the protocol."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.protobuf.json_format import ParseError  # type: ignore[import-untyped] # of the SDK

from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import CredentialsExpired, Result
from providers.cloud_quota.gcp.credentials import FILE, MALFORMED
from providers.cloud_quota.gcp.questions import GLOBAL
from providers.cloud_quota.gcp.told import (
    FORBIDDEN,
    NOT_FOUND,
    RATE_REASONS,
    TOO_MANY,
    Told,
    cause_of,
    clean,
    told_by,
    told_by_token_error,
)


class Unreadable(Exception):
    """The SDK stumbled over an answer, such as an error in another form than Google's."""


EXPECTED: Final = (api.GoogleAPIError, auth.GoogleAuthError, requests.RequestException, ParseError, Unreadable)
"""All that a call may raise. Time limits and TLS errors come as they are from the HTTP library."""

_BAD_REQUEST: Final = 400
_UNAUTHORIZED: Final = 401
_RETRIED: Final = frozenset({TOO_MANY, 500, 502, 503, 504})
_DISABLED_REASONS: Final = frozenset({"SERVICE_DISABLED", "accessNotConfigured"})
_REASONS_WITH_WAY_OUT: Final = {
    "BILLING_DISABLED": "billing is not enabled for the project: link it to a billing account",
    "CONSUMER_SUSPENDED": "the project is suspended: have it reinstated",
    "SECURITY_POLICY_VIOLATED": "a perimeter of VPC Service Controls forbids it: let this identity in",
}
_SCOPE_REASON: Final = "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
_TOKEN_PERMISSION: Final = "iam.serviceAccounts.getAccessToken"  # noqa: S105 -- the name of a permission

_BROKEN: Final = (
    (ParseError, Result.PARTIAL, "the answer is not whole, or no JSON"),
    (Unreadable, Result.PARTIAL, "the answer is none of Google's"),
    (requests.exceptions.ChunkedEncodingError, Result.PARTIAL, "the answer broke off"),
    (requests.exceptions.ContentDecodingError, Result.PARTIAL, "the answer broke off"),
    (requests.exceptions.Timeout, Result.FAILED, "no answer in time"),
)


NO_CREDENTIALS: Final = (auth.GoogleAuthError, OSError, *MALFORMED)
"""What the search for credentials may raise."""


class Failure(NamedTuple):
    """How a call failed, for the metrics and for who asked."""

    result: Result
    error: Exception
    """A CapacityError, or CredentialsExpired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, by whom."""

    permission: str
    """Such as `compute.regions.get`."""
    what: str
    """Such as `region us-central1 of project p`."""
    project: str
    absent: str
    """The way out where there is no such thing."""
    region: str = GLOBAL
    subject: str = ""
    """As of `Call`."""
    who: str | None = None


def is_throttle(error: Exception) -> bool:
    """Whether it was refused for the number of requests."""
    if not isinstance(error, api.GoogleAPICallError):
        return False
    return told_by(error).is_rate


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed in a moment: too many, an error of the server, a broken connection."""
    if isinstance(error, api.GoogleAPICallError):
        return error.code in _RETRIED or is_throttle(error)
    if isinstance(error, requests.exceptions.SSLError):
        return False
    return isinstance(error, requests.exceptions.ConnectionError | requests.exceptions.ChunkedEncodingError)


def failure(error: Exception, asked: Asked) -> Failure:
    """What one of EXPECTED means."""
    if isinstance(error, api.RetryError) and error.cause is not None:
        return failure(error.cause, asked)
    if isinstance(error, api.GoogleAPICallError):
        told = told_by(error)
        if told.is_of_a_proxy and told.code in {FORBIDDEN, NOT_FOUND}:
            problem = f"{told.code}, not by Google: {clean(told.message)}; look after the proxy, or the API's address"
            return _unavailable(Result.FAILED, asked, problem)
        return _refused(told, asked)
    if isinstance(error, auth.GoogleAuthError):
        return _no_token(error, asked)
    for kind, result, problem in _BROKEN:
        if isinstance(error, kind):
            return _unavailable(result, asked, f"{problem}: {cause_of(error)}")
    return _unavailable(Result.FAILED, asked, f"not reached: {cause_of(error)}")


def no_credentials(error: Exception) -> Misconfigured:
    """Why none were found. What the error says is left out: it may have the content of a file with a key."""
    problem = "none were found"
    if os.environ.get(FILE):
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        problem = f"the file that {FILE} names is none of credentials ({why})"
        if not Path(os.environ[FILE]).exists():
            problem = f"the file that {FILE} names does not exist"
    return Misconfigured(
        f"no credentials of Google Cloud: {problem}; bind the daemon's ServiceAccount by Workload Identity Federation, "
        f"or set {FILE} to a file with a configuration of credentials"
    )


# --- what was refused ------------------------------------------------------------------------------------------------


def _refused(told: Told, asked: Asked) -> Failure:
    message = clean(told.message)
    if told.is_rate:
        return _unavailable(Result.THROTTLED, asked, f"too many requests ({told.code}): {message}")
    if told.code == _UNAUTHORIZED:
        text = f"{asked.permission}, {asked.what}: the credentials of {_who(asked)} are not accepted: {message}"
        return Failure(Result.EXPIRED, CredentialsExpired(text))
    if told.code == FORBIDDEN:
        return Failure(Result.DENIED, Misconfigured(_denied(told, asked, message)))
    if told.code == NOT_FOUND:
        text = f"{asked.what} does not exist, or is not shown to {_who(asked)}: {asked.absent} ({message})"
        return Failure(Result.ABSENT, Misconfigured(text))
    if told.code == _BAD_REQUEST:
        text = f"{asked.permission}, {asked.what}: refused ({told.code}): {message}: {asked.absent}"
        return Failure(Result.FAILED, Misconfigured(text))
    return _unavailable(Result.FAILED, asked, f"{told.code}: {message}")


def _denied(told: Told, asked: Asked, message: str) -> str:
    if told.reasons & _DISABLED_REASONS:
        service = told.metadata.get("service", "of that call")
        # `projects/123` of whom the request is charged to, which need not be the project that it is about.
        consumer = told.metadata.get("consumer", f"projects/{asked.project}").removeprefix("projects/")
        return (
            f"{asked.permission}, {asked.what}: the API {service} is not enabled in project {consumer}: gcloud "
            f"services enable {service} --project {consumer}"
        )
    for reason, way_out in _REASONS_WITH_WAY_OUT.items():
        if reason in told.reasons:
            return f"{asked.permission}, {asked.what}: {way_out} ({message})"
    if _SCOPE_REASON in told.reasons:
        return (
            f"{asked.permission}, {asked.what}: the token of {_who(asked)} is of a narrower scope: give the nodes the "
            f"scope cloud-platform, or use Workload Identity Federation ({message})"
        )
    return (
        f"{asked.permission} is denied to {_who(asked)} for {asked.what}: grant a role with that permission ({message})"
    )


def _no_token(error: auth.GoogleAuthError, asked: Asked) -> Failure:
    """A token could not be had: none was found, refused, or not reached."""
    if isinstance(error, auth.DefaultCredentialsError):
        return Failure(Result.DENIED, no_credentials(error))
    told = told_by_token_error(error)
    text = clean(str(error.args[0]) if error.args else str(error))
    if told is None:
        if "invalid_grant" in str(error):
            expired = (
                f"{asked.permission}, {asked.what}: the credentials of {_who(asked)} are not valid any more: {text}"
            )
            return Failure(Result.EXPIRED, CredentialsExpired(expired))
        return _unavailable(Result.FAILED, asked, f"no token for {_who(asked)}: {text}")
    message = clean(told.message)
    if told.code == FORBIDDEN and not told.reasons & (_DISABLED_REASONS | RATE_REASONS):
        denied = (
            f"{_TOKEN_PERMISSION} for {_who(asked)} is denied: grant roles/iam.serviceAccountTokenCreator on that "
            "service account to who impersonates it, or roles/iam.workloadIdentityUser to the daemon's ServiceAccount "
            f"({message})"
        )
        return Failure(Result.DENIED, Misconfigured(denied))
    if told.code == NOT_FOUND:
        # Of the token, not of what was asked: that may be there.
        nobody = (
            f"no token for {_who(asked)}: there is no such service account; correct impersonateServiceAccount, or bind "
            f"the daemon's ServiceAccount to credentials by Workload Identity Federation ({message})"
        )
        return Failure(Result.DENIED, Misconfigured(nobody))
    token = f"a token for {_who(asked)}"
    return _refused(told, replace(asked, permission=_TOKEN_PERMISSION, what=token, absent="correct who is to ask"))


def _unavailable(result: Result, asked: Asked, problem: str) -> Failure:
    return Failure(result, SourceUnavailable(f"{asked.permission}, {asked.what}: {problem}"))


def _who(asked: Asked) -> str:
    return asked.who or "the credentials in use"
