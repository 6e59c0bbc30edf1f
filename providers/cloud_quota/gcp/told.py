"""What an answer of Google Cloud with an error says, as far as the SDK hands it over, and fit for a message."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from google.api_core import exceptions as api
from google.auth import exceptions as auth

FORBIDDEN: Final = 403
TOO_MANY: Final = 429
NOT_FOUND: Final = 404
RATE_REASONS: Final = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "quotaExceeded",
        "dailyLimitExceeded",
        "concurrentLimitExceeded",
    }
)
"""Compute Engine refuses too many requests with 403 and one of these (its page on rate quotas)."""

_LONGEST: Final = 300
_HTML: Final = re.compile(r"<(?:!doctype|html)", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"-----BEGIN[\s\S]*|GOCSPX-[\w-]+|ya29\.[\w.~+/-]+|eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|AIza[\w-]{20,}|1//[\w-]{20,}"
    r"|(?<=[Bb]earer )\S+|(?:access_token|refresh_token|client_secret|private_key|assertion)"
    r"(?:=[^&\s\"']+|[\"']:\s*[\"'][^\"']*[\"']?)",
    re.ASCII,
)
_METADATA_STATUS: Final = re.compile(r"Status: (\d{3})")


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer with an error says."""

    code: int
    message: str
    reasons: frozenset[str] = frozenset()
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def is_rate(self) -> bool:
        """Whether it was refused for the number of requests."""
        return self.code == TOO_MANY or (self.code == FORBIDDEN and bool(self.reasons & RATE_REASONS))

    @property
    def is_of_a_proxy(self) -> bool:
        """Whether it is a page for a person, which no API of Google sends: something stands in between."""
        return _HTML.search(self.message) is not None


def clean(text: str) -> str:
    """The text of an SDK in one line, without tokens, without pages of HTML, and not too long."""
    if _HTML.search(text):
        title = re.search(r"<title>\s*(.*?)\s*</title>", text, re.IGNORECASE | re.DOTALL)
        text = "a page of HTML" + ("" if title is None else f", {title[1]}")
    text = " ".join(_SECRET.sub("(cut)", text).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def cause_of(error: BaseException) -> str:
    """What an error of the HTTP library comes from, which wraps others: `Connection reset by peer`."""
    inner = getattr(error, "reason", None)
    if not isinstance(inner, BaseException):
        inner = next((each for each in reversed(error.args) if isinstance(each, BaseException)), None)
    if inner is not None:
        return cause_of(inner)
    return clean((error.strerror if isinstance(error, OSError) else None) or str(error))


def told_by(error: api.GoogleAPICallError) -> Told:
    """What the answer to a call says."""
    reasons = {each["reason"] for each in error.errors if isinstance(each, dict) and "reason" in each}
    if error.reason:
        reasons.add(error.reason)
    # The SDK writes the method and the address before what was told.
    message = re.sub(r"\A[A-Z]+ \S+: ", "", str(error.message))
    return Told(int(error.code or 0), message, frozenset(reasons), dict(error.metadata or {}))


def told_by_token_error(error: auth.GoogleAuthError) -> Told | None:
    """What the answer to a request for a token says, as far as the SDK hands it over."""
    status = _METADATA_STATUS.search(str(error))
    if status is not None:
        return Told(int(status[1]), str(error.args[0]) if error.args else "")
    for argument in error.args:
        try:
            body: Any = json.loads(argument) if isinstance(argument, str | bytes) else argument
            answer = body["error"]
            details = [each for each in answer.get("details", ()) if "reason" in each]
            reasons = frozenset(each["reason"] for each in (*details, *answer.get("errors", ())) if "reason" in each)
            metadata = next((dict(each["metadata"]) for each in details if "metadata" in each), {})
            return Told(int(answer["code"]), str(answer.get("message", "")), reasons, metadata)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # not that argument
    return None
