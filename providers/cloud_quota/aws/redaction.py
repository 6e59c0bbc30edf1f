"""What nobody may read in a message. Pure."""

from __future__ import annotations

import re
from typing import Final

_ACCESS_KEY: Final = re.compile(r"\b(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{12,}\b")
_ENCODED: Final = re.compile(r"\s*Encoded authorization failure message: \S+")
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/=_.-]{100,}")
_ANSWER: Final = re.compile(r"(?:b['\"])?[<{].*", re.DOTALL)
_USER_IN_URL: Final = re.compile(r"//[^/@\s]+@")
_LONGEST: Final = 600
_SHORTEST_SECRET: Final = 4
"""Characters. What is shorter stands in all sorts of words, and keeps nobody out."""


def public(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The text without access keys, encoded messages, tokens and the secrets, in one line that is not too long."""
    text = _ENCODED.sub("", text)
    text = _ACCESS_KEY.sub("(access key)", text)
    text = _TOKEN.sub("(token)", text)
    text = _USER_IN_URL.sub("//(user)@", text)
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "(secret)")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def without_answers(text: str) -> str:
    """The SDK's own words: where it cannot read an answer it shows all of it, and one with credentials holds keys."""
    return _ANSWER.sub("(answer not shown)", text)
