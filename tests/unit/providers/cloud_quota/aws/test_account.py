"""An account that is asked through boto3: pages, throttles, half answers, the end of the time."""

from __future__ import annotations

import datetime
import math
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from kueue_dqo.api.cloud import AwsAccount
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.aws.account import OpenAccount, open_account
from providers.cloud_quota.aws.questions import (
    BlockStatusQuestion,
    OwnAccountQuestion,
    QuotaQuestion,
    QuotaValue,
    Reservation,
    ReservationsQuestion,
    ShapeQuestion,
)
from providers.cloud_quota.cloud import Call, CredentialsExpired, Result
from providers.cloud_quota.shapes import NVIDIA, Shape
from tests.unit.providers.cloud_quota.aws.endpoint import (
    Answer,
    Endpoint,
    ec2,
    ec2_error,
    in_place_of_aws,
    json_error,
    quota,
    reservations,
    sts,
)
from tests.unit.providers.cloud_quota.aws.entries import OWN, P5, P_ON_DEMAND, REGION

PLAIN = AwsAccount(regions=(REGION,), flavors=())
P = QuotaQuestion(REGION, "ec2", P_ON_DEMAND)
LISTED = ReservationsQuestion(REGION)
DESCRIBE = "DescribeCapacityReservations"
TYPES = "DescribeInstanceTypes"
ABSENT = json_error("NoSuchResourceException")


class Shared(NamedTuple):
    """One account for all tests: to load the SDK takes longer than all of them."""

    endpoint: Endpoint
    account: OpenAccount
    calls: list[Call]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    calls: list[Call] = []
    with pytest.MonkeyPatch.context() as patch, in_place_of_aws(patch, tmp_path_factory.mktemp("aws")) as endpoint:
        account = open_account(PLAIN, calls.append)
        yield Shared(endpoint, account, calls)
        account.close()


@pytest.fixture
def endpoint(shared: Shared) -> Endpoint:
    shared.endpoint.asked.clear()
    return shared.endpoint


@pytest.fixture
def calls(shared: Shared) -> list[Call]:
    shared.calls.clear()
    return shared.calls


@pytest.fixture
def opened(shared: Shared) -> OpenAccount:
    return shared.account


def outcomes(calls: list[Call]) -> list[tuple[str, Result, int, int]]:
    return [(call.name, call.result, call.requests, call.throttles) for call in calls]


def test_an_applied_quota_is_told(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to("GetServiceQuota", quota(Value=384.0))
    assert opened.answer(P, math.inf) == QuotaValue(384, is_default=False)
    assert endpoint.asked[0].fields == {"ServiceCode": "ec2", "QuotaCode": P_ON_DEMAND}
    assert calls[0][:4] == ("servicequotas:GetServiceQuota", REGION, f"ec2/{P_ON_DEMAND}", Result.OK)


def test_the_default_of_one_that_was_never_raised_is_kept(
    opened: OpenAccount, endpoint: Endpoint, calls: list[Call]
) -> None:
    endpoint.answers_to("GetServiceQuota", ABSENT, ABSENT, quota(Value=8.0))
    endpoint.answers_to("GetAWSDefaultServiceQuota", quota(Value=5.0))
    told = [opened.answer(P, math.inf) for _ in range(3)]
    assert told == [QuotaValue(5, is_default=True), QuotaValue(5, is_default=True), QuotaValue(8, is_default=False)]
    assert endpoint.operations().count("GetAWSDefaultServiceQuota") == 1
    assert [call.result for call in calls] == [Result.ABSENT, Result.OK, Result.ABSENT, Result.OK]


def test_a_quota_that_nobody_knows_is_a_mistake(opened: OpenAccount, endpoint: Endpoint) -> None:
    endpoint.answers_to("GetServiceQuota", ABSENT)
    endpoint.answers_to("GetAWSDefaultServiceQuota", ABSENT)
    with pytest.raises(Misconfigured, match="no quota L-00000000 of service 'ec2' in us-east-1, neither applied nor"):
        opened.answer(QuotaQuestion(REGION, "ec2", "L-00000000"), math.inf)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("{}"),
        Answer(""),
        Answer('{"Quota": {"Value":'),
        quota(),
        quota(Value=5.0, ErrorReason={"ErrorCode": "DEPENDENCY_THROTTLING_ERROR", "ErrorMessage": "later"}),
        quota(Value=5.0)._replace(cut=20),
    ],
)
def test_half_a_quota_is_none(opened: OpenAccount, endpoint: Endpoint, calls: list[Call], answer: Answer) -> None:
    endpoint.answers_to("GetServiceQuota", answer)
    with pytest.raises(SourceUnavailable, match=f"GetServiceQuota of ec2/{P_ON_DEMAND} in {REGION}"):
        opened.answer(P, math.inf)
    assert [call.result for call in calls] == [Result.PARTIAL]


def test_throttles_that_the_sdk_gets_over_are_counted(
    opened: OpenAccount, endpoint: Endpoint, calls: list[Call]
) -> None:
    throttled = json_error("TooManyRequestsException", status=429)
    endpoint.answers_to("GetServiceQuota", throttled, throttled, quota(Value=1.0))
    assert opened.answer(P, math.inf).value == 1
    assert outcomes(calls) == [("servicequotas:GetServiceQuota", Result.OK, 3, 2)]


def test_a_throttle_that_goes_on_is_no_zero(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to(DESCRIBE, ec2_error("RequestLimitExceeded", status=503))
    with pytest.raises(SourceUnavailable, match=r"in us-east-1: RequestLimitExceeded \(so it is\): too many requests"):
        opened.answer(LISTED, math.inf)
    assert outcomes(calls) == [("ec2:DescribeCapacityReservations", Result.THROTTLED, 3, 3)]


def test_all_pages_are_one_call_and_each_reservation_stands_once(
    opened: OpenAccount, endpoint: Endpoint, calls: list[Call]
) -> None:
    endpoint.answers_to(DESCRIBE, reservations("cr-a", "cr-b", more="n1"), reservations("cr-b", "cr-c"))
    found = opened.answer(LISTED, math.inf)
    assert [each.id for each in found] == ["cr-a", "cr-b", "cr-c"]
    end = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
    expected = Reservation("cr-a", "active", "default", P5, OWN, 4, end=end, tags={"team": "ml"})
    assert found[0] == expected
    assert outcomes(calls) == [("ec2:DescribeCapacityReservations", Result.OK, 2, 0)]


def test_a_list_is_begun_anew_once_where_its_place_is_lost(opened: OpenAccount, endpoint: Endpoint) -> None:
    lost = ec2_error("InvalidNextToken")
    endpoint.answers_to(DESCRIBE, reservations("cr-old", more="n1"), lost, reservations("cr-a"))
    assert [each.id for each in opened.answer(LISTED, math.inf)] == ["cr-a"]
    endpoint.answers_to(DESCRIBE, reservations("cr-a", more="n1"), lost, reservations("cr-a", more="n1"), lost)
    with pytest.raises(SourceUnavailable, match="InvalidNextToken"):
        opened.answer(LISTED, math.inf)


def test_a_list_that_leads_to_itself_is_no_list(opened: OpenAccount, endpoint: Endpoint) -> None:
    endpoint.answers_to(DESCRIBE, reservations("cr-a", more="n1"))
    with pytest.raises(SourceUnavailable, match="not whole"):
        opened.answer(LISTED, math.inf)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (reservations("cr-a")._replace(body=reservations("cr-a").body[:200]), Result.PARTIAL),
        (reservations("cr-a")._replace(cut=200), Result.PARTIAL),
        (ec2(DESCRIBE, ""), Result.PARTIAL),
        (Answer("<html>busy</html>"), Result.PARTIAL),
        (Answer(""), Result.PARTIAL),
        (
            ec2(DESCRIBE, "<capacityReservationSet><item><state>active</state></item></capacityReservationSet>"),
            Result.PARTIAL,
        ),
        (Answer(reservations("cr-a").body.replace(">4<", ">four<")), Result.PARTIAL),
        (Answer("<html>busy</html>", 503), Result.FAILED),
    ],
)
def test_half_a_list_is_none(
    opened: OpenAccount, endpoint: Endpoint, calls: list[Call], answer: Answer, result: Result
) -> None:
    endpoint.answers_to(DESCRIBE, answer)
    with pytest.raises(SourceUnavailable, match="ec2:DescribeCapacityReservations in us-east-1"):
        opened.answer(LISTED, math.inf)
    assert [call.result for call in calls] == [result]


def test_a_list_without_reservations_is_whole(opened: OpenAccount, endpoint: Endpoint) -> None:
    endpoint.answers_to(DESCRIBE, reservations())
    assert opened.answer(LISTED, math.inf) == ()


def test_no_request_begins_after_the_deadline(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to(DESCRIBE, reservations("cr-a"))
    with pytest.raises(SourceUnavailable, match="the time for this look is over"):
        opened.answer(LISTED, time.monotonic())
    assert endpoint.asked == []
    assert outcomes(calls) == [("ec2:DescribeCapacityReservations", Result.FAILED, 0, 0)]


def test_what_is_throttled_until_the_deadline_is_not_asked_again(
    opened: OpenAccount, endpoint: Endpoint, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers_to(DESCRIBE, ec2_error("RequestLimitExceeded", status=503))
    begin, first, second, end = 0.0, 1.0, 50.0, 51.0
    times = iter((begin, first, second, end))
    monkeypatch.setattr("providers.cloud_quota.aws.calls.time", types.SimpleNamespace(monotonic=lambda: next(times)))
    with pytest.raises(SourceUnavailable, match="the time for this look is over"):
        opened.answer(LISTED, second)
    assert outcomes(calls) == [("ec2:DescribeCapacityReservations", Result.THROTTLED, 1, 1)]
    assert calls[0].seconds == end


def test_a_shape_is_that_of_the_type(opened: OpenAccount, endpoint: Endpoint) -> None:
    gpu = "<item><name>H100</name><manufacturer>NVIDIA</manufacturer><count>8</count></item>"
    gpus = f"<gpuInfo><gpus>{gpu}</gpus></gpuInfo>"
    sizes = (
        "<vCpuInfo><defaultVCpus>192</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>2097152</sizeInMiB></memoryInfo>"
    )
    row = f"<item><instanceType>{P5}</instanceType>{sizes}{gpus}</item>"
    endpoint.answers_to(TYPES, ec2(TYPES, f"<instanceTypeSet>{row}</instanceTypeSet>"))
    assert opened.answer(ShapeQuestion(REGION, P5), math.inf) == Shape(192, 2097152, {NVIDIA: 8})
    assert endpoint.asked[0].fields["InstanceType.1"] == P5


@pytest.mark.parametrize("answer", [ec2_error("InvalidInstanceType"), ec2(TYPES, "<instanceTypeSet/>")])
def test_a_type_that_is_not_there_is_a_mistake(opened: OpenAccount, endpoint: Endpoint, answer: Answer) -> None:
    endpoint.answers_to(TYPES, answer)
    with pytest.raises(Misconfigured, match=r"no instance type 'p9.huge' in us-east-1: correct instanceType"):
        opened.answer(ShapeQuestion(REGION, "p9.huge"), math.inf)


def test_what_is_broken_of_blocks_is_the_blocks_own_number(opened: OpenAccount, endpoint: Endpoint) -> None:
    """That of the same name of a reservation is what runs there."""
    used = (
        "<capacityReservationStatusSet><item><capacityReservationId>cr-a</capacityReservationId>"
        "<totalUnavailableCapacity>4</totalUnavailableCapacity></item></capacityReservationStatusSet>"
    )
    listed = "".join(
        f"<item><capacityBlockId>{name}</capacityBlockId>{broken}{used}</item>"
        for name, broken in {"cb-a": "<totalUnavailableCapacity>1</totalUnavailableCapacity>", "cb-b": ""}.items()
    )
    operation = "DescribeCapacityBlockStatus"
    endpoint.answers_to(operation, ec2(operation, f"<capacityBlockStatusSet>{listed}</capacityBlockStatusSet>"))
    assert opened.answer(BlockStatusQuestion(REGION), math.inf) == {"cb-a": 1, "cb-b": None}


def test_the_own_account_is_told(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to("GetCallerIdentity", sts("GetCallerIdentity", f"<Account>{OWN}</Account>"))
    assert opened.answer(OwnAccountQuestion(REGION), math.inf) == OWN
    assert calls[0].name == "sts:GetCallerIdentity"


def test_a_denied_call_names_its_permission(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to(DESCRIBE, ec2_error("UnauthorizedOperation", "You are not authorized", 403))
    with pytest.raises(Misconfigured, match=r"^ec2:DescribeCapacityReservations is denied in us-east-1: allow it"):
        opened.answer(LISTED, math.inf)
    assert [call.result for call in calls] == [Result.DENIED]


def test_expired_credentials_ask_for_a_new_account(opened: OpenAccount, endpoint: Endpoint, calls: list[Call]) -> None:
    endpoint.answers_to(DESCRIBE, ec2_error("RequestExpired"))
    with pytest.raises(CredentialsExpired, match="RequestExpired"):
        opened.answer(LISTED, math.inf)
    assert [call.result for call in calls] == [Result.EXPIRED]


def test_an_endpoint_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    account = open_account(PLAIN, lambda _: None)
    with pytest.raises(SourceUnavailable, match="Could not connect"):
        account.answer(P, math.inf)
    account.close()
    assert endpoint.asked == []


def test_threads_share_clients(endpoint: Endpoint) -> None:
    endpoint.answers_to(DESCRIBE, reservations("cr-a", more="n1"), *[reservations("cr-a")] * 8)
    calls: list[Call] = []
    account = open_account(PLAIN, calls.append)
    with ThreadPoolExecutor(4) as pool:
        clients = list(pool.map(lambda _: account.clients.ec2(REGION), range(8)))
        found = list(pool.map(lambda _: account.answer(LISTED, math.inf), range(4)))
    account.close()
    assert len(set(map(id, clients))) == 1
    assert len(found) == 4
    # Each call counts its own requests, whatever the others do.
    assert sorted(call.requests for call in calls) == [1, 1, 1, 2]


def test_an_account_whose_credentials_are_long_in_coming_holds_up_no_other(
    opened: OpenAccount, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers_to("GetServiceQuota", quota(Value=1.0))
    opened.answer(P, math.inf)
    begun, answered = threading.Event(), threading.Event()

    def finding(_: object) -> None:
        begun.set()
        answered.wait(10)

    monkeypatch.setattr("botocore.session.Session.get_credentials", finding)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(open_account, PLAIN, lambda _: None)
        assert begun.wait(10)
        asked = pool.submit(opened.answer, P, math.inf)
        try:
            assert asked.result(5) == QuotaValue(1, is_default=False)
        finally:
            answered.set()
        with pytest.raises(Misconfigured, match="no credentials"):
            slow.result()
