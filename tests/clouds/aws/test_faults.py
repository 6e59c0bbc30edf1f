"""What goes wrong with the fake AWS, as the unmodified SDK sees it: what tests of the provider rely on."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from tests.clouds.aws import faults, rows
from tests.clouds.aws.account import Aws
from tests.clouds.aws.sdk import HASTY, ONCE, P_QUOTA, PATIENT, QUOTA, RESERVATIONS, client_of, code_of
from tests.clouds.aws.server import Server


def test_throttles_are_absorbed_by_retries(aws: Aws) -> None:
    """Two of them; each service has an error of its own. On the second page alone as well."""
    aws.page_size = 1
    aws.region().reservations = [rows.reservation(f"cr-{number}", rows.P5, 1) for number in range(2)]
    fault = aws.add(faults.Throttle(RESERVATIONS, skip=1, times=2))
    pages = list(client_of("ec2", PATIENT).get_paginator("describe_capacity_reservations").paginate())
    assert (len(pages), fault.hits, aws.count(RESERVATIONS)) == (2, 2, 4)
    aws.add(faults.Throttle(region="eu-west-1"))
    client = client_of("service-quotas", region="eu-west-1")
    with pytest.raises(client.exceptions.TooManyRequestsException) as error:
        client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)
    assert code_of(error) == (429, "TooManyRequestsException")
    assert client_of("ec2").describe_capacity_reservations()["CapacityReservations"]
    with pytest.raises(ClientError) as error:
        client_of("ec2", region="eu-west-1").describe_capacity_reservations()
    assert code_of(error) == (503, "RequestLimitExceeded")


def test_a_denied_call_names_the_permission(aws: Aws) -> None:
    aws.add(faults.Deny(RESERVATIONS))
    aws.add(faults.Deny(QUOTA))
    with pytest.raises(ClientError) as error:
        client_of("ec2").describe_capacity_reservations()
    assert code_of(error) == (403, "UnauthorizedOperation")
    assert f"arn:aws:iam::111122223333:user/admin is not authorized to perform: {RESERVATIONS}" in str(error.value)
    client = client_of("service-quotas")
    with pytest.raises(client.exceptions.AccessDeniedException, match=QUOTA):
        client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        (faults.Refuse, ClientError),
        (faults.Page, (ClientError, ResponseParserError)),
        (faults.CutOff, ResponseParserError),
        (faults.HalfAnswer, ResponseParserError),
        (faults.Reset, ConnectionClosedError),
        (faults.Slow, ReadTimeoutError),
    ],
)
@pytest.mark.parametrize("service", ["ec2", "service-quotas"])
def test_what_goes_wrong_on_the_way_is_no_answer(aws: Aws, service: str, kind: Any, raised: Any) -> None:
    """Once healed, there is one. Of half an answer in JSON the SDK makes an empty one, without an error."""
    aws.region().apply(P_QUOTA, 384)
    aws.region().reservations = [rows.reservation("cr-1", rows.P5, 1)]
    fault = aws.add(kind())
    config = HASTY if kind is faults.Slow else ONCE
    if service != "ec2" and kind in {faults.CutOff, faults.HalfAnswer}:
        assert _ask(service, config) is None
    else:
        with pytest.raises(raised):
            _ask(service, config)
    assert fault.hits == 1
    aws.heal()
    assert _ask(service, ONCE)


def _ask(service: str, config: Config) -> Any:
    client = client_of(service, config)
    if service == "ec2":
        return client.describe_capacity_reservations().get("CapacityReservations")
    return client.get_service_quota(ServiceCode="ec2", QuotaCode=P_QUOTA).get("Quota")


def test_nobody_listens_for_a_while(server: Server) -> None:
    client = client_of("sts")
    server.hang_up()
    with pytest.raises(EndpointConnectionError):
        client.get_caller_identity()
    server.listen()
    assert client.get_caller_identity()["Account"] == "111122223333"
