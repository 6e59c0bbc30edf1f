"""From an HTTP answer that is no success to the error that stands for it. Pure."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import msgspec

from kueue_dqo.runtime.errors import (
    Answered,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerFailed,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)

_SHOWN: Final = 200
"""Characters of an answer that is no Kubernetes Status."""
_LONGEST: Final = 4096
"""Characters of a Status' message: it stands in logs and conditions."""
_MOST_CAUSES: Final = 100
_SERVER_ERRORS: Final = 500
_LONGEST_WAIT: Final = 300
"""Seconds. API servers ask for some; a proxy in front of one may ask for anything."""
_KINDS: Final[dict[int, type[Answered]]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
}


class _Cause(msgspec.Struct, frozen=True, gc=False):
    message: str = ""
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class _Details(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    causes: tuple[_Cause, ...] | None = None
    retry_after_seconds: int | None = None


class _Status(msgspec.Struct, frozen=True, gc=False):
    """metav1.Status. `code` is missing in some that travel as an event of a watch."""

    kind: str
    message: str = ""
    reason: str = ""
    details: _Details | None = None
    code: int = 0


_STATUS: Final = msgspec.json.Decoder(_Status)


def error_of(*, method: str, path: str, code: int, body: bytes, retry_after: str = "") -> Answered:
    """The error for an answer with that status code, body and `Retry-After` header."""
    wait = _seconds(retry_after)
    status = _status_of(body)
    if status is None:
        message = f"the answer is no Kubernetes Status: {_beginning(body)}" if body.strip() else "the answer is empty"
        return _kind(code)(method=method, path=path, code=code, message=message, retry_after=wait)
    details = status.details or _Details()
    if wait is None and details.retry_after_seconds:
        wait = _bounded(details.retry_after_seconds)
    return _kind(code)(
        method=method,
        path=path,
        code=code,
        reason=status.reason,
        message=status.message[:_LONGEST],
        causes=tuple(str(cause)[:_LONGEST] for cause in (details.causes or ())[:_MOST_CAUSES]),
        retry_after=wait,
    )


def error_of_event(*, path: str, status: bytes) -> Answered:
    """The error for the object of an ERROR event, by which a watch that was answered with 200 reports a failure."""
    decoded = _status_of(status)
    code = decoded.code if decoded else 0
    if decoded and not code and decoded.reason in {"Expired", "Gone"}:
        code = HTTPStatus.GONE
    return error_of(method="WATCH", path=path, code=code or HTTPStatus.INTERNAL_SERVER_ERROR, body=status)


def unintelligible(what: str, error: Exception | str, path: str) -> Unreachable:
    """A proxy's text in the middle of a stream, or a line that was cut short: as good as no answer."""
    return Unreachable(f"{what}: {error}", method="GET", path=path, may_have_landed=True)


def _status_of(body: bytes) -> _Status | None:
    try:
        status = _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def _kind(code: int) -> type[Answered]:
    return _KINDS.get(code, ServerFailed if code >= _SERVER_ERRORS else Answered)


def _seconds(header: str) -> float | None:
    """`Retry-After` in seconds. Its other form, a date, is not used by API servers, and clocks differ."""
    if not (header.isascii() and header.isdigit()):
        return None
    return _bounded(int(header)) if len(header) <= len(str(_LONGEST_WAIT)) else float(_LONGEST_WAIT)


def _bounded(seconds: int) -> float:
    """No server is left alone for longer than that, whatever it says; nor is any asked again and again."""
    return float(min(max(seconds, 0), _LONGEST_WAIT))


def _beginning(body: bytes) -> str:
    text = body[: 16 * _SHOWN].decode(errors="replace")
    printable = "".join(character if character.isprintable() else " " for character in text)
    return re.sub(r" +", " ", printable).strip()[:_SHOWN]
