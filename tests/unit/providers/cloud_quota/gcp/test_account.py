"""The SDK's clients, asked by the account: requests, retries, time, and what becomes of bad answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Call, CredentialsExpired, Question, Result
from providers.cloud_quota.gcp.account import GcpAccount
from providers.cloud_quota.gcp.questions import (
    FamilyQuestion,
    Machine,
    MachineQuestion,
    ProjectQuestion,
    QuotaRow,
    Quotas,
    RegionQuestion,
    ReservationsQuestion,
)
from tests.unit.providers.cloud_quota.gcp.accounts import FAMILIES, REGION, P, project
from tests.unit.providers.cloud_quota.gcp.served import (
    TOKEN,
    Opened,
    Reply,
    Server,
    Tokens,
    opened,
    refused,
    reply,
    serving,
)

COMPUTE = f"/compute/v1/projects/{P}"
REGION_PATH = f"{COMPUTE}/regions/{REGION}"
RESERVATIONS = f"{COMPUTE}/aggregated/reservations"
HERE = RegionQuestion(P, REGION)
WHOLE = {
    "name": REGION,
    "quotas": [{"metric": "NVIDIA_L4_GPUS", "limit": 16.0, "usage": 2.0}],
    "zones": [f"https://www.googleapis.com{COMPUTE}/zones/{REGION}-{letter}" for letter in "ba"],
}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.replies.clear()
    running.asked.clear()
    running.bodies.clear()
    running.answers(REGION_PATH, reply(WHOLE))
    return running


@pytest.fixture
def asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    with opened(server, monkeypatch, project()) as found:
        yield found


def one(calls: list[Call]) -> tuple[str, str, str, Result, int, int]:
    """The only call, but for how long it took."""
    (call,) = calls
    return (call.name, call.region, call.subject, call.result, call.requests, call.throttles)


def test_quotas_of_a_region_and_of_the_project(asked: Opened) -> None:
    assert asked.answer(HERE) == Quotas({"NVIDIA_L4_GPUS": 16.0})
    assert one(asked.calls) == ("compute.regions.get", REGION, "", Result.OK, 1, 0)
    asked.server.answers(COMPUTE, reply({"quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 9.22337203685e18}]}))
    assert asked.answer(ProjectQuestion(P)) == Quotas({"GPUS_ALL_REGIONS": 9.22337203685e18})
    assert asked.server.asked[-1][1]["authorization"] == f"Bearer {TOKEN}"
    assert asked.tokens.refreshed == 1


def test_a_quota_of_cloud_quotas(asked: Opened) -> None:
    path = f"/v1/projects/{P}/locations/global/services/{FAMILIES.service}/quotaInfos/{FAMILIES.quota_id}"
    row = {"dimensions": {"gpu_family": "NVIDIA_H100"}, "details": {"value": "8"}, "applicableLocations": [REGION]}
    asked.server.answers(path, reply({"quotaId": FAMILIES.quota_id, "dimensionsInfos": [row, {"details": {}}]}))
    assert asked.answer(FAMILIES) == (
        QuotaRow({"gpu_family": "NVIDIA_H100"}, (REGION,), 8),
        QuotaRow({}, (), 0),
    )
    subject = f"{FAMILIES.service}/{FAMILIES.quota_id}"
    assert one(asked.calls) == ("cloudquotas.quotas.get", "global", subject, Result.OK, 1, 0)


def test_a_machine_type_of_the_first_zone_that_has_it(asked: Opened) -> None:
    asked.server.answers(f"{COMPUTE}/zones/{REGION}-b/machineTypes/c3", reply({"guestCpus": 4, "memoryMb": 16384}))
    assert asked.answer(MachineQuestion(P, REGION, "c3")) == Machine(4, 16_384, ())
    assert [(call.name, call.subject, call.result) for call in asked.calls] == [
        ("compute.regions.get", "", Result.OK),
        ("compute.machineTypes.get", f"{REGION}-a/c3", Result.ABSENT),
        ("compute.machineTypes.get", f"{REGION}-b/c3", Result.OK),
    ]


def test_a_machine_type_that_no_zone_has_is_a_mistake_and_zones_are_asked_once(asked: Opened) -> None:
    asked.answer(HERE)
    with pytest.raises(Misconfigured, match=f"no zone of region {REGION} has machine type a9") as raised:
        asked.answer(MachineQuestion(P, REGION, "a9"))
    assert f"{REGION}-a, {REGION}-b" in str(raised.value)
    assert asked.server.paths.count(REGION_PATH) == 1


def test_reservations_are_read_page_by_page(asked: Opened) -> None:
    nothing = {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope on this page."}}
    specific = {"count": "4", "inUseCount": "1", "instanceProperties": {"machineType": "a3-highgpu-8g"}}
    first = {
        "items": {
            f"zones/{REGION}-a": {
                "reservations": [{"name": "big", "status": "READY", "specificReservation": specific}]
            },
            f"zones/{REGION}-b": nothing,
        },
        "nextPageToken": "two",
    }
    last = {
        "items": {f"zones/{REGION}-a": nothing},
        "unreachables": [f"zones/{REGION}-c"],
        "warning": nothing["warning"],
    }
    asked.server.answers(RESERVATIONS, reply(first), reply(last))
    found = asked.answer(ReservationsQuestion(P))
    assert [(each.name, each.zone, each.count) for each in found.reservations] == [("big", f"{REGION}-a", 4)]
    assert found.missing == (f"zones/{REGION}-c",)
    assert "pageToken=two" in asked.server.paths[1]
    assert one(asked.calls) == ("compute.reservations.list", "global", P, Result.PARTIAL, 2, 0)


@pytest.mark.parametrize(
    "warning", [{"code": "UNREACHABLE", "message": "zone is down"}, {"code": "A_CODE_OF_TOMORROW", "message": "-"}]
)
def test_a_warning_about_a_zone_makes_it_missing(asked: Opened, warning: dict[str, str]) -> None:
    asked.server.answers(RESERVATIONS, reply({"items": {f"zones/{REGION}-a": {"warning": warning}}}))
    assert asked.answer(ReservationsQuestion(P)).missing == (
        f"zones/{REGION}-a: {warning['code']} {warning['message']}",
    )


# --- answers that are not whole --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        reply({"name": REGION, "quotaStatusWarning": {"code": "QUOTA_INFO_UNAVAILABLE", "message": "not now"}}),
        reply({**WHOLE, "quotaStatusWarning": {"code": "QUOTA_INFO_UNAVAILABLE"}}),
        reply({"name": REGION}),
        Reply(body=b'{"quotas": [{"metric": "NVIDIA_L4_GPUS", "li'),
        Reply(body=b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>"),
        Reply(body=b"[]"),
        Reply(body=b"\xff\xfe"),
        Reply(403, b'{"error": "forbidden"}'),  # of a proxy
    ],
)
def test_half_an_answer_is_no_zero(asked: Opened, answer: Reply) -> None:
    asked.server.answers(REGION_PATH, answer)
    with pytest.raises(SourceUnavailable, match=r"compute\.regions\.get"):
        asked.answer(HERE)
    assert one(asked.calls) == ("compute.regions.get", REGION, "", Result.PARTIAL, 1, 0)


def test_an_answer_that_breaks_off_is_asked_again(asked: Opened) -> None:
    asked.server.answers(REGION_PATH, Reply(body=reply(WHOLE).body, is_cut=True), reply(WHOLE))
    assert asked.answer(HERE) == Quotas({"NVIDIA_L4_GPUS": 16.0})
    assert one(asked.calls)[3:] == (Result.OK, 2, 0)


# --- retries and time ------------------------------------------------------------------------------------------------

RATE = "Quota exceeded for quota metric 'Read requests'"
THROTTLES = [
    refused(429, RATE, "rateLimitExceeded"),
    refused(403, RATE, "rateLimitExceeded"),
    refused(403, RATE, "RATE_LIMIT_EXCEEDED", domain="googleapis.com"),
    refused(403, RATE, "quotaExceeded"),
    refused(403, RATE, "concurrentLimitExceeded"),
]


def test_throttles_are_waited_out_and_counted(asked: Opened) -> None:
    asked.server.answers(REGION_PATH, *THROTTLES, refused(503, "later"), reply(WHOLE))
    asked.answer(HERE)
    assert one(asked.calls) == ("compute.regions.get", REGION, "", Result.OK, 7, 5)


@pytest.mark.parametrize("throttle", THROTTLES)
def test_a_throttle_that_stays_is_told_as_one_in_time(asked: Opened, throttle: Reply) -> None:
    asked.server.answers(REGION_PATH, throttle)
    began = asked.time.now
    with pytest.raises(SourceUnavailable, match="too many requests"):
        asked.answer(HERE)
    (call,) = asked.calls
    assert call.result is Result.THROTTLED
    assert call.throttles == call.requests == len(asked.server.asked) > 2
    assert asked.time.now - began <= 25


def test_no_request_begins_after_the_deadline(asked: Opened) -> None:
    asked.server.answers(REGION_PATH, refused(503, "later"))
    began = asked.time.now
    with pytest.raises(SourceUnavailable, match="503: later"):
        asked.answer(HERE, seconds=3)
    assert asked.time.now - began <= 3
    before = len(asked.server.asked)
    with pytest.raises(SourceUnavailable, match="the time for this look is up"):
        asked.answer(HERE, seconds=0)
    assert len(asked.server.asked) == before
    assert len(asked.calls) == 1


def test_pages_without_end_are_read_until_the_deadline(asked: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def page(path: str) -> Reply:
        del path
        asked.time.sleep(10)
        return reply({"nextPageToken": str(len(asked.server.asked))})

    monkeypatch.setattr(asked.server, "next", page)
    with pytest.raises(SourceUnavailable, match="the time for this look is up"):
        asked.answer(ReservationsQuestion(P))
    assert len(asked.server.asked) == 5
    assert one(asked.calls)[3:] == (Result.FAILED, 5, 0)


@pytest.mark.parametrize(("tokens", "requests"), [(["one", "two", "one"], 3), (None, 200)])
def test_pages_without_end_are_no_answer(
    asked: Opened, monkeypatch: pytest.MonkeyPatch, tokens: list[str] | None, requests: int
) -> None:
    def page(path: str) -> Reply:
        del path
        number = len(asked.server.asked)
        return reply({"nextPageToken": str(number) if tokens is None else tokens[number - 1]})

    monkeypatch.setattr(asked.server, "next", page)
    with pytest.raises(SourceUnavailable, match="the pages of the answer have no end"):
        asked.answer(ReservationsQuestion(P))
    assert one(asked.calls)[3:] == (Result.PARTIAL, requests, 0)


def test_a_reservation_that_stands_on_two_pages_is_one(asked: Opened) -> None:
    def page(count: str, **more: str) -> Reply:
        found = {"name": "big", "status": "READY", "specificReservation": {"count": count}}
        return reply({"items": {f"zones/{REGION}-a": {"reservations": [found]}}, **more})

    asked.server.answers(RESERVATIONS, page("4", nextPageToken="two"), page("4"))
    assert [each.count for each in asked.answer(ReservationsQuestion(P)).reservations] == [4]
    asked.server.answers(RESERVATIONS, page("4", nextPageToken="two"), page("5"))
    with pytest.raises(SourceUnavailable, match="in two ways"):
        asked.answer(ReservationsQuestion(P))


def test_a_machine_type_waits_for_the_region_that_is_asked(asked: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer tells the zones: it is not asked twice."""
    is_asked, may_answer = threading.Event(), threading.Event()
    answered = asked.server.next

    def held(path: str) -> Reply:
        if path == REGION_PATH:
            is_asked.set()
            assert may_answer.wait(20)
        return answered(path)

    monkeypatch.setattr(asked.server, "next", held)
    asked.server.answers(f"{COMPUTE}/zones/{REGION}-a/machineTypes/c3", reply({"guestCpus": 4, "memoryMb": 16384}))
    with ThreadPoolExecutor(2) as executor:
        region = executor.submit(asked.answer, HERE)
        assert is_asked.wait(20)
        machine = executor.submit(asked.answer, MachineQuestion(P, REGION, "c3"))
        may_answer.set()
        assert region.result() == Quotas({"NVIDIA_L4_GPUS": 16.0})
        assert machine.result().vcpus == 4
    assert asked.server.paths.count(REGION_PATH) == 1


def test_a_region_without_zones_is_asked_again(asked: Opened) -> None:
    """So is one whose zones are known for a day."""
    c3 = MachineQuestion(P, REGION, "c3")
    asked.server.answers(f"{COMPUTE}/zones/{REGION}-b/machineTypes/c3", reply({"guestCpus": 4, "memoryMb": 16384}))
    asked.server.answers(REGION_PATH, reply({"quotas": WHOLE["quotas"]}), reply(WHOLE))
    asked.answer(HERE)
    asked.answer(c3)
    assert asked.server.paths.count(REGION_PATH) == 2
    asked.time.sleep(24 * 3600 - 1)
    asked.answer(c3)
    assert asked.server.paths.count(REGION_PATH) == 2
    asked.time.sleep(2)
    asked.server.answers(REGION_PATH, reply({"name": REGION}))
    with pytest.raises(SourceUnavailable, match="without its zones"):
        asked.answer(c3)


@pytest.mark.parametrize(
    ("path", "content", "question"),
    [
        (REGION_PATH, {**WHOLE, "name": "us-east1"}, HERE),
        (COMPUTE, {"name": "fleet-2", "quotas": WHOLE["quotas"]}, ProjectQuestion(P)),
        (
            f"{COMPUTE}/zones/{REGION}-a/machineTypes/c3",
            {"name": "c4", "guestCpus": 4, "memoryMb": 16384},
            MachineQuestion(P, REGION, "c3"),
        ),
        (
            f"/v1/projects/{P}/locations/global/services/{FAMILIES.service}/quotaInfos/{FAMILIES.quota_id}",
            {"quotaId": "ANOTHER", "dimensionsInfos": [{"details": {"value": "8"}}]},
            FAMILIES,
        ),
    ],
)
def test_an_answer_about_something_else_is_none(
    asked: Opened, path: str, content: dict[str, Any], question: Question[Any]
) -> None:
    asked.server.answers(path, reply(content))
    with pytest.raises(SourceUnavailable, match=r"the cloud answered about .* instead"):
        asked.answer(question)


@pytest.mark.parametrize("variable", ["DQO_GCP_COMPUTE_ENDPOINT", "DQO_GCP_CLOUD_QUOTAS_ENDPOINT"])
@pytest.mark.parametrize(
    "address", ["ht!tp://x y", "localhost:99999", "localhost:0", "file:///etc/passwd", "http://[::1", " ", "ftp://x"]
)
def test_an_address_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, address: str) -> None:
    monkeypatch.setattr("google.auth.default", lambda **_: (Tokens(), None))
    monkeypatch.setenv(variable, address)
    with pytest.raises(Misconfigured, match=f"the environment variable {variable} holds no address"):
        GcpAccount(project(), lambda _: None)


def test_who_is_not_reached_is_unavailable(asked: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DQO_GCP_COMPUTE_ENDPOINT", "http://127.0.0.1:9")
    nowhere = type(asked.account)(project(), asked.calls.append)
    try:
        with pytest.raises(SourceUnavailable, match=r"not reached: HTTPConnection\([^(]*Connection refused$"):
            nowhere.answer(HERE, asked.time.now + 5)
    finally:
        nowhere.close()
    assert asked.calls[0].result is Result.FAILED


# --- what is refused -------------------------------------------------------------------------------------------------

WHO = "kueue-dqo@fleet-1.iam.gserviceaccount.com"
PROXY = b"<!DOCTYPE html><html><head><title>Blocked</title></head></html>"
DISABLED: dict[str, Any] = {"metadata": {"service": "compute.googleapis.com", "consumer": "projects/42"}}


@pytest.mark.parametrize(
    ("answer", "result", "error", "said"),
    [
        (
            refused(403, "Required 'compute.regions.get' permission for 'projects/fleet-1'", "forbidden"),
            Result.DENIED,
            Misconfigured,
            f"compute.regions.get is denied to {WHO} for region us-central1 of project fleet-1",
        ),
        (
            refused(403, "has not been used", "SERVICE_DISABLED", **DISABLED),
            Result.DENIED,
            Misconfigured,
            "gcloud services enable compute.googleapis.com --project 42",
        ),
        (
            refused(403, "disabled", "accessNotConfigured"),
            Result.DENIED,
            Misconfigured,
            "not enabled in project fleet-1",
        ),
        (
            refused(403, "insufficient", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", domain="googleapis.com"),
            Result.DENIED,
            Misconfigured,
            "narrower scope",
        ),
        (refused(403, "x", "BILLING_DISABLED", metadata={}), Result.DENIED, Misconfigured, "link it to a billing"),
        (refused(403, "x", "CONSUMER_SUSPENDED", metadata={}), Result.DENIED, Misconfigured, "is suspended"),
        (refused(403, "x", "SECURITY_POLICY_VIOLATED", metadata={}), Result.DENIED, Misconfigured, "VPC Service Contr"),
        (Reply(403, PROXY), Result.FAILED, SourceUnavailable, "403, not by Google: a page of HTML, Blocked"),
        (Reply(404, PROXY), Result.FAILED, SourceUnavailable, "404, not by Google: a page of HTML, Blocked"),
        (refused(404, "was not found", "notFound"), Result.ABSENT, Misconfigured, "correct gcp.project"),
        (refused(400, "Invalid value for field", "invalid"), Result.FAILED, Misconfigured, "Invalid value for field"),
        (refused(501, "never", "notImplemented"), Result.FAILED, SourceUnavailable, "501: never"),
        (Reply(407, b"log in first"), Result.FAILED, SourceUnavailable, "407: log in first"),
        (
            Reply(501, b"<html><head><title>Error 501</title></head><body>" + b"x" * 9000 + b"</body></html>"),
            Result.FAILED,
            SourceUnavailable,
            "501: a page of HTML, Error 501",
        ),
    ],
)
def test_what_is_refused_is_told_with_the_way_out(
    asked: Opened, answer: Reply, result: Result, error: type[Exception], said: str
) -> None:
    asked.server.answers(REGION_PATH, answer)
    with pytest.raises(error) as raised:
        asked.answer(HERE)
    assert raised.type is error
    assert said in str(raised.value)
    assert len(str(raised.value)) < 600
    assert one(asked.calls)[3:] == (result, 1, 0)


def test_a_quota_that_does_not_exist_is_a_mistake(asked: Opened) -> None:
    with pytest.raises(Misconfigured, match=r"quota NO-SUCH of compute\.googleapis\.com .* correct quotaId"):
        asked.answer(FamilyQuestion(P, "compute.googleapis.com", "NO-SUCH"))


def test_tokens_are_cut_out_of_messages(asked: Opened) -> None:
    written = (
        f"Bearer abc.def and {TOKEN} and eyJhbGciOi.eyJpc3Mi.c2ln, GOCSPX-hush_1, refresh_token=quiet1&x, "
        '"client_secret": "quiet2", -----BEGIN PRIVATE KEY-----\\nquiet3'
    )
    asked.server.answers(REGION_PATH, refused(403, written))
    with pytest.raises(Misconfigured) as raised:
        asked.answer(HERE)
    for secret in ("abc.def", TOKEN, "eyJ", "hush", "quiet"):
        assert secret not in str(raised.value)


def test_a_token_that_is_not_accepted_is_renewed_and_then_the_account_is_to_be_opened_anew(asked: Opened) -> None:
    expired = refused(401, "Request had invalid authentication credentials.", "authError")
    asked.server.answers(REGION_PATH, expired, reply(WHOLE))
    assert asked.answer(HERE) == Quotas({"NVIDIA_L4_GPUS": 16.0})
    assert asked.tokens.refreshed == 2
    asked.server.answers(REGION_PATH, expired)
    with pytest.raises(CredentialsExpired, match=f"credentials of {WHO} are not accepted"):
        asked.answer(HERE)
    assert asked.calls[-1].result is Result.EXPIRED


def test_a_question_of_another_cloud_is_none(asked: Opened) -> None:
    with pytest.raises(TypeError, match="no question for Google Cloud"):
        asked.answer("what?")
