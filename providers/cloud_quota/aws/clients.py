"""Clients of boto3, each made once. The only module that makes any, but for the SDK's own renewing of credentials."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import boto3

from kueue_dqo.api.cloud import AwsAccount
from providers.cloud_quota.aws.calls import Calls
from providers.cloud_quota.aws.credentials import session_of

if TYPE_CHECKING:
    from types_boto3_ec2.client import EC2Client
    from types_boto3_service_quotas.client import ServiceQuotasClient
    from types_boto3_sts.client import STSClient

_MAKING: Final = threading.RLock()
"""Of the process. Held while a session or a client is made, which is not safe in threads; what is made, is."""

_Service = Literal["ec2", "service-quotas", "sts"]


class Clients:
    """The clients of an account, by service and region. Safe in threads.

    Its methods raise Misconfigured where no credentials are found, SourceUnavailable where none come.
    """

    def __init__(self, account: AwsAccount, calls: Calls) -> None:
        self._account = account
        self._calls = calls
        self._session: boto3.Session | None = None
        self._made: dict[tuple[_Service, str], Any] = {}

    def begin(self) -> None:
        """Finds credentials."""
        with _MAKING:
            self._session_now()

    def ec2(self, region: str) -> EC2Client:
        return cast("EC2Client", self._client("ec2", region))

    def service_quotas(self, region: str) -> ServiceQuotasClient:
        return cast("ServiceQuotasClient", self._client("service-quotas", region))

    def sts(self, region: str) -> STSClient:
        return cast("STSClient", self._client("sts", region))

    def begin_anew(self) -> None:
        """Credentials are found anew when a client is next asked for."""
        with _MAKING:
            self._close()
            self._session = None

    def close(self) -> None:
        """Ends all connections."""
        with _MAKING:
            self._close()

    def _client(self, service: _Service, region: str) -> Any:
        made = self._made.get((service, region))
        if made is not None:
            return made  # without the lock: another account may hold it for long, while its credentials are found
        with _MAKING:
            client = self._made.get((service, region))
            if client is None:
                session: Any = self._session_now()  # the stubs have an overload for each name of a service
                about = self._calls.about("The client", region, service)
                client = self._calls.explain(about, lambda: session.client(service, region_name=region))
                self._made[service, region] = client
            return client

    def _session_now(self) -> boto3.Session:
        if self._session is None:
            self._session = session_of(self._account, self._calls)
        return self._session

    def _close(self) -> None:
        for client in self._made.values():
            client.close()
        self._made.clear()
