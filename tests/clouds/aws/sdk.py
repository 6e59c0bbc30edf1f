"""Unmodified clients of the SDK, for tests of the fake AWS."""

from __future__ import annotations

from typing import Any, Final

import boto3
import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

P_QUOTA: Final = "L-417A185B"
RESERVATIONS: Final = "ec2:DescribeCapacityReservations"
QUOTA: Final = "servicequotas:GetServiceQuota"
ONCE: Final = Config(retries={"mode": "standard", "total_max_attempts": 1})
HASTY: Final = ONCE.merge(Config(read_timeout=0.3))
PATIENT: Final = Config(retries={"mode": "standard", "total_max_attempts": 3})
_LOADER: Final = botocore.loaders.Loader()
"""Reads the model of each service once."""


def client_of(service: str, config: Config = ONCE, region: str = "us-east-1", **options: Any) -> Any:
    """A client with the credentials that the SDK's chain finds."""
    session = botocore.session.Session()
    session.register_component("data_loader", _LOADER)
    return boto3.Session(botocore_session=session).client(service, region_name=region, config=config, **options)  # type: ignore[call-overload]  # by any name


def code_of(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str]:
    """The HTTP status and the code of an error."""
    response = error.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]
