"""Answers that are no success."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_dqo.runtime.answers import error_of, error_of_event
from kueue_dqo.runtime.errors import (
    Answered,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerFailed,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    is_transient,
)

PATH = "/api/v1/nodes"


def status(**fields: Any) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", **fields}).encode()


def error(code: int, body: bytes = b"", retry_after: str = "") -> Answered:
    return error_of(method="GET", path=PATH, code=code, body=body, retry_after=retry_after)


@pytest.mark.parametrize(
    ("code", "kind", "transient"),
    [
        (400, Answered, False),
        (401, Unauthorized, True),
        (403, Forbidden, False),
        (404, NotFound, False),
        (405, Answered, False),
        (409, Conflict, True),
        (410, Gone, True),
        (422, Invalid, False),
        (429, TooManyRequests, True),
        (500, ServerFailed, True),
        (503, ServerFailed, True),
        (504, ServerFailed, True),
        (302, Answered, False),
    ],
)
def test_each_code_has_its_error(code: int, kind: type[ApiError], transient: bool) -> None:
    raised = error(code, status(message="m", reason="r", code=code))
    assert type(raised) is kind
    assert is_transient(raised) is transient
    assert str(raised) == f"GET {PATH}: {code} r: m"


def test_no_answer_is_transient() -> None:
    assert is_transient(Unreachable("refused", method="GET", path=PATH, may_have_landed=False))
    assert not is_transient(ValueError("a fault of ours"))


@pytest.mark.parametrize(
    ("message", "is_missing"),
    [
        ('things "a" is forbidden: User "system:serviceaccount:n:s" cannot patch resource "things" in API group', True),
        ('admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups: Invalid value', False),
        ('clusterqueues.kueue.x-k8s.io "a" is forbidden: ValidatingAdmissionPolicy "p" denied request', False),
        ("", False),
    ],
)
def test_a_missing_right_is_told_from_a_refusal_by_admission(message: str, *, is_missing: bool) -> None:
    raised = error(403, status(message=message, reason="Forbidden", code=403))
    assert isinstance(raised, Forbidden)
    assert raised.is_missing_right is is_missing


def test_a_refusal_of_validation_names_its_causes() -> None:
    raised = error(
        422,
        status(
            message='Namespace "n" is invalid',
            reason="Invalid",
            details={
                "causes": [{"field": "spec.a", "message": "is wrong", "reason": "FieldValueInvalid"}, {"message": "x"}]
            },
        ),
    )
    assert raised.causes == ("spec.a: is wrong", "x")
    assert isinstance(raised, Invalid)
    assert not raised.is_failed_test


@pytest.mark.parametrize("details", [{}, {"causes": []}, {"causes": None}, None])
def test_a_patch_that_does_not_apply_is_a_failed_test(details: dict[str, Any] | None) -> None:
    raised = error(422, status(message="the server rejected our request", reason="Invalid", details=details))
    assert isinstance(raised, Invalid)
    assert raised.is_failed_test


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", {}, 7.0),
        ("", {"retryAfterSeconds": 3}, 3.0),
        ("7", {"retryAfterSeconds": 3}, 7.0),
        ("", {}, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", {}, None),
        ("-1", {}, None),
        ("٣", {}, None),
    ],
)
def test_the_server_says_for_how_long_it_wants_to_be_left_alone(
    header: str, details: dict[str, Any], seconds: float | None
) -> None:
    assert error(429, status(details=details), header).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the answer is empty"),
        (b" \n", "the answer is empty"),
        (b"404 page not found\n", "the answer is no Kubernetes Status: 404 page not found"),
        (b'{"kind":"Pod"}', 'the answer is no Kubernetes Status: {"kind":"Pod"}'),
        (b'{"error": 1}', 'the answer is no Kubernetes Status: {"error": 1}'),
        (b"\x1b[31m<html>\r\n\r\n\x00  sorry\xff", "the answer is no Kubernetes Status: [31m<html> sorry\ufffd"),
        (b"x" * 5000, "the answer is no Kubernetes Status: " + "x" * 200),
    ],
)
def test_an_answer_that_is_no_status_is_shown_in_part(body: bytes, message: str) -> None:
    raised = error(502, body)
    assert raised.message == message
    assert str(raised) == f"GET {PATH}: 502 Bad Gateway: {message}"


def test_a_code_that_http_does_not_know_is_an_error_too() -> None:
    assert str(error(599, b"")) == f"GET {PATH}: 599 (no code of HTTP): the answer is empty"


@pytest.mark.parametrize(
    ("fields", "kind", "code"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old"}, Gone, 410),
        ({"code": 410, "reason": "Gone"}, Gone, 410),
        ({"reason": "Expired"}, Gone, 410),
        ({"code": 429, "details": {"retryAfterSeconds": 2}}, TooManyRequests, 429),
        ({"message": "internal"}, ServerFailed, 500),
    ],
)
def test_an_event_can_be_an_error(fields: dict[str, Any], kind: type[ApiError], code: int) -> None:
    raised = error_of_event(path=PATH, status=status(**fields))
    assert (type(raised), raised.code, raised.method) == (kind, code, "WATCH")


def test_an_event_whose_error_is_no_status_is_an_error() -> None:
    assert type(error_of_event(path=PATH, status=b'"?"')) is ServerFailed


@pytest.mark.parametrize(
    ("header", "body", "wait"),
    [
        ("9" * 400, {}, 300.0),
        ("301", {}, 300.0),
        ("300", {}, 300.0),
        ("0", {}, 0.0),
        ("", {"retryAfterSeconds": 10**400}, 300.0),
        ("", {"retryAfterSeconds": -1000}, 0.0),
    ],
    ids=["endless", "too long", "longest", "none", "endless in the body", "negative"],
)
def test_no_server_is_left_alone_for_long_nor_asked_again_and_again(
    header: str, body: dict[str, Any], wait: float
) -> None:
    raw = json.dumps({"kind": "Status", "details": body}).encode()
    assert error_of(method="GET", path="/", code=503, body=raw, retry_after=header).retry_after == wait


def test_a_status_is_shown_in_part() -> None:
    """It stands in logs and conditions."""
    causes = [{"message": "y" * 10**6}] * 1000
    raw = json.dumps({"kind": "Status", "message": "x" * 10**6, "details": {"causes": causes}}).encode()
    error = error_of(method="GET", path="/", code=422, body=raw)
    assert len(error.message) < 10_000
    assert sum(map(len, error.causes)) < 10**6


def test_a_body_that_is_nested_without_end_is_no_status() -> None:
    error = error_of(method="GET", path="/", code=500, body=b'{"kind":' + b"[" * 200_000)
    assert "no Kubernetes Status" in str(error)
