"""Credentials of an account: the SDK's own chain, and a role that is assumed with what it finds.

Nothing is kept but in the SDK's own objects, which renew what expires by themselves.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Final

import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.credentials import CredentialProvider, CredentialResolver, Credentials, DeferredRefreshableCredentials

from kueue_dqo.api.cloud import AwsAccount, AwsRole
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.aws.calls import Calls
from providers.cloud_quota.aws.decoding import needed
from providers.cloud_quota.aws.errors import About, CredentialsRefused

_CONFIG: Final = Config(
    connect_timeout=5,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 3},
    user_agent_extra="kueue-dqo",
)
"""Of every client, those that renew credentials included: no request lasts longer than 15 seconds or is made more than
three times."""

_LOADER: Final = botocore.loaders.create_loader()
"""Of all sessions of the process: a model of EC2 takes more than 20 MiB, and is only read."""

_REFUSAL_HOLDS: Final = 10.0
"""Seconds for which nobody asks again whether a role may be assumed."""

_SESSION_NAME: Final = "kueue-dqo"
"""What CloudTrail shows of a role that was assumed."""


def session_of(account: AwsAccount, calls: Calls) -> boto3.Session:
    """A session whose clients act for the account.

    Credentials are found by one session and used by another: the first one makes clients of its own whenever it renews
    them, in whatever thread, and two clients of one session must not be made at the same time.

    Raises:
        Misconfigured: none are found, or what is set for the SDK is wrong.
        SourceUnavailable: where they should come from does not answer.
    """
    # Of what fails, people are told by us: the SDK's own lines and tracebacks say the same once more.
    logging.getLogger("botocore").setLevel(logging.WARNING)
    logging.getLogger("botocore.credentials").setLevel(logging.ERROR)
    about = calls.about("Finding credentials", account.regions[0])
    return calls.explain(about, lambda: _session_of(account, calls))


def _session_of(account: AwsAccount, calls: Calls) -> boto3.Session:
    finding = _session(calls)
    # Where the daemon runs, if that is told: there STS is sure to be reached.
    region = finding.get_config_variable("region") or account.regions[0]
    finding.set_config_variable("region", region)
    found = finding.get_credentials()
    if found is None:
        raise CredentialsRefused(
            "no credentials for AWS are found: give the daemon an identity (IRSA, Pod Identity, an instance profile), "
            "or a profile of the SDK"
        )
    if account.assume_role is not None:
        about = calls.about("sts:AssumeRole", region, account.assume_role.arn)
        found = _assumed(account.assume_role, finding.create_client("sts"), about, calls)
    acting = _session(calls)
    acting.register_component("credential_provider", CredentialResolver([_Given(found)]))
    return boto3.Session(botocore_session=acting)


def _session(calls: Calls) -> botocore.session.Session:
    session = botocore.session.Session()
    session.register_component("data_loader", _LOADER)
    session.set_default_client_config(_CONFIG)
    # Earlier versions of the SDK ask us-east-1 for every region.
    session.set_config_variable("sts_regional_endpoints", "regional")
    calls.watch(session)
    return session


class _Given(CredentialProvider):
    """Credentials that were found already."""

    METHOD = "kueue-dqo"

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> Credentials:
        return self._credentials


def _assumed(role: AwsRole, sts: Any, about: About, calls: Calls) -> Credentials:
    """Credentials of the role, fetched when they are first used and renewed by the SDK before they expire."""
    arguments = {"RoleArn": role.arn, "RoleSessionName": _SESSION_NAME}
    if role.external_id is not None:
        arguments["ExternalId"] = role.external_id

    def assume() -> dict[str, str]:
        told = needed(sts.assume_role(**arguments).get("Credentials"), "Credentials of AssumeRole")
        return {
            "access_key": needed(told.get("AccessKeyId"), "AccessKeyId"),
            "secret_key": needed(told.get("SecretAccessKey"), "SecretAccessKey"),
            "token": needed(told.get("SessionToken"), "SessionToken"),
            "expiry_time": needed(told.get("Expiration"), "Expiration").isoformat(),
        }

    refused: list[tuple[float, Misconfigured]] = []

    def fetch() -> dict[str, str]:
        # The SDK has them fetched with each call until they are there: a refusal holds for the calls of one look.
        if refused and time.monotonic() < refused[0][0]:
            raise refused[0][1]
        refused.clear()
        try:
            return calls.run(about, assume)
        except Misconfigured as error:
            refused.append((time.monotonic() + _REFUSAL_HOLDS, error))
            raise

    return DeferredRefreshableCredentials(fetch, method="assume-role")
