"""Whose credentials are used, how long a token may take, and what becomes of those that cannot be had."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.auth import exceptions
from google.auth.compute_engine import _metadata

from kueue_dqo.provider import CapacityError, Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import CredentialsExpired, Result
from providers.cloud_quota.gcp import credentials
from providers.cloud_quota.gcp.account import GcpAccount
from providers.cloud_quota.gcp.credentials import BoundedCredentials
from providers.cloud_quota.gcp.questions import MachineQuestion, RegionQuestion
from tests.unit.providers.cloud_quota.gcp.accounts import FAMILIES, REGION, P, project
from tests.unit.providers.cloud_quota.gcp.served import (
    Opened,
    Reply,
    Server,
    Tokens,
    Virtual,
    opened,
    refused,
    reply,
    serving,
)

READER = "reader@fleet-1.iam.gserviceaccount.com"
TOKENS = f"/v1/projects/-/serviceAccounts/{READER}:generateAccessToken"
REGION_PATH = f"/compute/v1/projects/{P}/regions/{REGION}"
HERE = RegionQuestion(P, REGION)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """In the name of READER."""
    with serving() as server, opened(server, monkeypatch, project(impersonate_service_account=READER)) as found:
        server.answers(TOKENS, reply({"accessToken": "ya29.of-reader", "expireTime": "2999-01-01T00:00:00Z"}))
        server.answers(REGION_PATH, reply({"quotas": [{"metric": "CPUS", "limit": 1.0}]}))
        yield found


def test_a_service_account_is_impersonated_with_the_scope_that_each_api_takes(asked: Opened) -> None:
    asked.answer(HERE)
    assert asked.server.asked[-1][1]["authorization"] == "Bearer ya29.of-reader"
    with pytest.raises(Misconfigured, match=f"not shown to {READER}"):
        asked.answer(FAMILIES)
    scopes = [json.loads(body)["scope"] for body in asked.server.bodies if body]
    assert scopes == [
        ["https://www.googleapis.com/auth/compute.readonly"],
        ["https://www.googleapis.com/auth/cloud-platform"],
    ]


Error = Callable[..., exceptions.GoogleAuthError]
REFRESH: Error = exceptions.RefreshError
TRANSPORT: Error = exceptions.TransportError
NONE_FOUND: Error = exceptions.DefaultCredentialsError
METADATA = "Failed to retrieve http://metadata/token from the Google Compute Engine metadata service. Status: {}"


@pytest.mark.parametrize(
    ("answer", "result", "error", "said"),
    [
        (
            refused(403, "Permission 'iam.serviceAccounts.getAccessToken' denied", "IAM_PERMISSION_DENIED"),
            Result.DENIED,
            Misconfigured,
            f"iam.serviceAccounts.getAccessToken for {READER} is denied: grant roles/iam.serviceAccountTokenCreator",
        ),
        (
            refused(
                403,
                "not used",
                "SERVICE_DISABLED",
                metadata={"service": "iamcredentials.googleapis.com", "consumer": "projects/42"},
            ),
            Result.DENIED,
            Misconfigured,
            "gcloud services enable iamcredentials.googleapis.com --project 42",
        ),
        (refused(404, "no such account"), Result.DENIED, Misconfigured, "correct impersonateServiceAccount"),
        (refused(400, "delegates are wrong"), Result.FAILED, Misconfigured, "delegates are wrong"),
        (refused(429, "too many"), Result.THROTTLED, SourceUnavailable, "too many"),
        (refused(503, "later"), Result.FAILED, SourceUnavailable, "503: later"),
        (Reply(502, b"<html><title>Bad Gateway</title></html>"), Result.FAILED, SourceUnavailable, "no token"),
        (reply([1]), Result.FAILED, SourceUnavailable, f"no token for {READER}: the answer is no token (TypeError)"),
        (reply(None), Result.FAILED, SourceUnavailable, "the answer is no token (TypeError)"),
        (reply({"accessToken": "x"}), Result.FAILED, SourceUnavailable, "no token"),
        (Reply(200, b"\xff"), Result.FAILED, SourceUnavailable, "the answer is no token (UnicodeDecodeError)"),
    ],
)
def test_why_there_is_no_token_for_a_service_account_is_told(
    asked: Opened, answer: Reply, result: Result, error: type[CapacityError], said: str
) -> None:
    asked.server.answers(TOKENS, answer)
    with pytest.raises(error) as raised:
        asked.answer(HERE)
    assert raised.type is error
    assert said in str(raised.value)
    assert [call.result for call in asked.calls] == [result]
    assert REGION_PATH not in asked.server.paths


def test_a_token_that_cannot_be_had_is_no_absent_machine_type(asked: Opened) -> None:
    over = {"accessToken": "ya29.of-reader", "expireTime": "2000-01-01T00:00:00Z"}
    # The account has one made, and the SDK another one, since that is over already.
    asked.server.answers(TOKENS, reply(over), reply(over), refused(404, "no such account"))
    zone = {"zones": [f"zones/{REGION}-a"], "quotas": [{"metric": "CPUS", "limit": 1.0}]}
    asked.server.answers(REGION_PATH, reply(zone))
    asked.answer(HERE)
    with pytest.raises(Misconfigured, match=f"no token for {READER}: there is no such service account"):
        asked.answer(MachineQuestion(P, REGION, "c3-standard-4"))


@pytest.mark.parametrize(
    ("failure", "error", "said"),
    [
        (REFRESH(METADATA.format("403 Response: no")), Misconfigured, "workloadIdentityUser"),
        (REFRESH(METADATA.format("503 Response: no"), {"a": 1}), SourceUnavailable, "503: Failed to retrieve .* no$"),
        (TRANSPORT("no route"), SourceUnavailable, "no route"),
        (KeyError("access_token"), SourceUnavailable, r"the answer is no token \(KeyError\)"),
        (OverflowError("too large"), SourceUnavailable, r"the answer is no token \(OverflowError\)"),
        (
            REFRESH("invalid_grant: Token has been revoked.", {}),
            CredentialsExpired,
            "not valid any more",
        ),
        (NONE_FOUND("none found"), Misconfigured, "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_why_there_is_no_token_of_ones_own_is_told(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, error: type[Exception], said: str
) -> None:
    with opened(Server("http://127.0.0.1:9"), monkeypatch, project()) as found:
        found.tokens.failure = failure
        with pytest.raises(error, match=said) as raised:
            found.answer(HERE)
    assert raised.type is error


def test_without_credentials_the_account_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def default(**_: Any) -> Any:
        raise NONE_FOUND("none were found")

    monkeypatch.setattr("google.auth.default", default)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(
        Misconfigured, match=r"no credentials of Google Cloud: none were found; bind .*Workload Identity"
    ):
        GcpAccount(project(), lambda _: None)


SECRET = "hush-hush"  # noqa: S105 -- of nobody
KEY: dict[str, Any] = {
    "type": "service_account",
    "client_email": "a@b",
    "private_key": SECRET,
    "token_uri": "https://x",
}


@pytest.mark.parametrize(
    "content",
    [
        b"[1]",
        b"null",
        b'"x"',
        b"{",
        json.dumps({"type": SECRET}).encode(),
        json.dumps(KEY).encode(),
        json.dumps(KEY).encode() + b"\xff",
        json.dumps({"type": "authorized_user", "client_secret": SECRET}).encode(),
    ],
)
def test_nothing_of_a_file_that_holds_no_credentials_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "key.json"
    file.write_bytes(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(Misconfigured, match="the file that GOOGLE_APPLICATION_CREDENTIALS names is none of") as raised:
        GcpAccount(project(), lambda _: None)
    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_a_file_of_credentials_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")
    with pytest.raises(Misconfigured, match="the file that GOOGLE_APPLICATION_CREDENTIALS names does not exist"):
        GcpAccount(project(), lambda _: None)


# --- time ------------------------------------------------------------------------------------------------------------


class Stubborn(Tokens):
    """As the SDK's credentials of a metadata server that does not answer: each request ends by its time limit."""

    def __init__(self, time: Virtual) -> None:
        super().__init__()
        self.time = time
        self.limits: list[float] = []
        self.urls: list[str] = []

    def refresh(self, request: Callable[..., Any]) -> None:
        while True:
            try:
                request("http://metadata/token", timeout=3)
            except exceptions.TransportError:
                self.time.sleep(1)

    def sent(self, url: str, **options: Any) -> Any:
        self.urls.append(url)
        self.limits.append(options["timeout"])
        self.time.sleep(options["timeout"])
        raise TRANSPORT("no answer")


@pytest.mark.parametrize(("deadline", "longest"), [(100.0, 15.0), (5.0, 5.0)])
def test_a_token_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch, deadline: float, longest: float) -> None:
    time = Virtual()
    monkeypatch.setattr(credentials, "time", time)
    stubborn = Stubborn(time)
    bounded = BoundedCredentials(stubborn, None)
    monkeypatch.setattr(bounded, "_request", stubborn.sent)
    began = time.now
    with pytest.raises(exceptions.RefreshError):
        bounded.ready(began + deadline)
    assert time.now - began <= longest + 1  # the pause after the last request
    assert max(stubborn.limits) == 3
    again = time.now
    with pytest.raises(exceptions.RefreshError):
        bounded.refresh(stubborn.sent)
    assert time.now - again <= 16


def test_the_search_for_credentials_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metadata server that does not answer says nothing of whether there are some."""
    time = Virtual()
    monkeypatch.setattr(credentials, "time", time)
    stubborn = Stubborn(time)
    monkeypatch.setattr("google.auth.transport.requests.Request", lambda: stubborn.sent)
    monkeypatch.setattr("google.auth.default", stubborn.refresh)
    began = time.now
    with pytest.raises(SourceUnavailable, match="credentials of Google Cloud: no token within the time"):
        GcpAccount(project(), lambda _: None)
    assert time.now - began <= 16


def test_the_project_of_the_node_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn = Stubborn(Virtual())
    monkeypatch.setattr("google.auth.transport.requests.Request", lambda: stubborn.sent)

    def default(request: Any) -> Any:
        with pytest.raises(exceptions.TransportError, match="Status: 404"):
            _metadata.get_project_id(request)  # type: ignore[no-untyped-call] # of the SDK
        return Tokens(), None

    monkeypatch.setattr("google.auth.default", default)
    credentials.found(None, [["scope"]])
    assert stubborn.urls == []


def test_a_valid_token_is_not_renewed() -> None:
    tokens = Tokens()
    bounded = BoundedCredentials(tokens, None)
    bounded.ready(float("inf"))
    bounded.ready(float("inf"))
    assert tokens.refreshed == 1


@pytest.mark.parametrize(
    ("named", "email", "who"), [(None, READER, READER), (None, "default", None), (READER, "other@x", READER)]
)
def test_the_identity_is_told_as_far_as_it_is_known(named: str | None, email: str, who: str | None) -> None:
    assert BoundedCredentials(Tokens(email), named).who == who
