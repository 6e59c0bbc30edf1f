"""Who asks Google Cloud: application default credentials, or a service account in whose name they act.

Nothing of a key or a token leaves this module.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import google.auth
import google.auth.credentials
from google.auth import exceptions, impersonated_credentials
from google.auth.transport import Request, Response
from google.auth.transport import requests as transport

from kueue_dqo.provider import Misconfigured

IAM_CREDENTIALS_ENDPOINT: Final = "DQO_GCP_IAM_CREDENTIALS_ENDPOINT"
"""The environment variable with the address of the IAM Service Account Credentials API, such as a private endpoint."""

COMPUTE_SCOPE: Final = "https://www.googleapis.com/auth/compute.readonly"
"""Enough for all that is asked of Compute Engine."""
CLOUD_PLATFORM_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
"""Cloud Quotas takes no other; what may be done is limited by the roles of the identity."""

FILE: Final = "GOOGLE_APPLICATION_CREDENTIALS"
"""The environment variable of the SDK with the file of credentials."""

TOKEN_SECONDS: Final = 15.0
"""How long one refresh of a token may take, with all that the SDK tries for it."""
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the SDK raises beside its own errors where a file or an answer has another form than it expects."""
_PROJECT_PATH: Final = "/project/project-id"
_ENDPOINT: Final = re.compile(r"(https?://)?([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[\w./-]*)?", re.ASCII)
_REQUEST_SECONDS: Final = 5.0
"""How long one request of a refresh may take, where the SDK sets no shorter time."""


class TooLate(exceptions.RefreshError):
    """There was no time left for a request. Not a TransportError, after which the SDK would try again."""


class BoundedCredentials(google.auth.credentials.Credentials):
    """Credentials whose refresh takes no longer than it may, and happens in one thread at a time.

    The SDK's own would ask a metadata server that does not answer for a minute and more.
    """

    def __init__(self, found: google.auth.credentials.Credentials, who: str | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # of the SDK
        self._found = found
        self._who = who
        self._request = transport.Request()
        self._lock = threading.Lock()

    @property
    def who(self) -> str | None:
        """The e-mail address of the identity, as far as it is known."""
        told = self._who or getattr(self._found, "service_account_email", None)
        return told if isinstance(told, str) and told != "default" else None

    def ready(self, deadline: float) -> None:
        """Has a valid token afterwards.

        Raises:
            google.auth.exceptions.GoogleAuthError: none can be had, or not until then (`time.monotonic()`).
        """
        if self.valid:
            return
        with self._lock:
            if not self.valid:
                self._refresh(self._request, min(deadline, time.monotonic() + TOKEN_SECONDS))

    def refresh(self, request: Any) -> None:
        """As the SDK asks for it, such as after a 401."""
        with self._lock:
            self._refresh(request, time.monotonic() + TOKEN_SECONDS)

    def apply(self, headers: Mapping[str, str], token: str | None = None) -> None:
        """With the header of the project that is charged, where the credentials name one."""
        self._found.apply(headers, token or self.token)  # type: ignore[no-untyped-call] # of the SDK

    def _refresh(self, request: Any, until: float) -> None:
        try:
            self._found.refresh(_Until(request, until))  # type: ignore[no-untyped-call] # of the SDK
        except exceptions.GoogleAuthError:
            raise
        except MALFORMED as error:
            # Without its cause, which may have a part of a token.
            problem = f"the answer is no token ({type(error).__name__})"
            raise exceptions.RefreshError(problem, retryable=True) from None  # type: ignore[no-untyped-call] # of the SDK
        self.token = self._found.token
        self.expiry = self._found.expiry


class _Until(Request):
    """Sends requests of the SDK's search for credentials and of a refresh, none after that time."""

    def __init__(self, send: Any, until: float) -> None:
        self._send = send
        self._until = until

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: Any = None,
        headers: Any = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Any:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TooLate("no token within the time for it", retryable=True)  # type: ignore[no-untyped-call] # of the SDK
        if url.endswith(_PROJECT_PATH):
            return _Nothing()  # the SDK wants to know the project of the node, which nobody asks for
        timeout = min(timeout or _REQUEST_SECONDS, _REQUEST_SECONDS, left)
        return self._send(url, method=method, body=body, headers=headers, timeout=timeout, **options)


class _Nothing(Response):
    """The answer that there is no such thing."""

    status = 404
    headers: Mapping[str, str] = {}
    data = b""


def found(impersonate: str | None, scopes: Sequence[Sequence[str]]) -> tuple[BoundedCredentials, ...]:
    """Application default credentials, or those of the service account to impersonate: one for each set of scopes.

    Raises:
        google.auth.exceptions.GoogleAuthError: there are none, or they cannot be read; of these TooLate: the metadata
            server did not say in time whether it has some.
        OSError: the file with them cannot be read.
        Exception: one of MALFORMED, where the file is none of credentials.
    """
    request = _Until(transport.Request(), time.monotonic() + TOKEN_SECONDS)
    source, _ = google.auth.default(request=request)
    if impersonate is None:
        return tuple(
            BoundedCredentials(google.auth.credentials.with_scopes_if_required(source, list(each)), None)  # type: ignore[no-untyped-call] # of the SDK
            for each in scopes
        )
    return tuple(
        BoundedCredentials(
            impersonated_credentials.Credentials(  # type: ignore[no-untyped-call] # of the SDK
                source_credentials=source,
                target_principal=impersonate,
                target_scopes=list(each),
                iam_endpoint_override=_iam_endpoint(impersonate),
            ),
            impersonate,
        )
        for each in scopes
    )


def _iam_endpoint(service_account: str) -> str | None:
    """Where tokens of that account are made; None: where the SDK knows."""
    endpoint = endpoint_of(IAM_CREDENTIALS_ENDPOINT)
    if endpoint is None:
        return None
    return f"{endpoint}/v1/projects/-/serviceAccounts/{service_account}:generateAccessToken"


def endpoint_of(variable: str) -> str | None:
    """The address of an API that the environment names, None for the SDK's own. Raises Misconfigured for no address."""
    endpoint = os.environ.get(variable)
    if not endpoint:
        return None
    found = _ENDPOINT.fullmatch(endpoint)
    if found is None or int((found[3] or ":443")[1:]) not in range(1, 65536):
        raise Misconfigured(
            f"the environment variable {variable} holds no address of an API: write one such as "
            "https://compute.example.internal, or unset it"
        )
    return endpoint.rstrip("/")
