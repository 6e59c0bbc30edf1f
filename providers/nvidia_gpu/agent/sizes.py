"""How many bytes a value is as the API server's JSON, and texts that fit. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

DRIVER_VERSION_ROOM: Final = 32
"""Bytes. Cut before anything is compared, so that a report is recognized by it."""
MESSAGE_ROOM: Final = 160
"""Bytes of the message of a problem."""
_CUT: Final = "…"
_GO_ESCAPES: Final = str.maketrans(dict.fromkeys("<>&\u2028\u2029", "\\u0000"))
"""What Go's encoder writes as six characters, and Python's as it is."""


def encoded_size(value: Any) -> int:
    """Bytes of the value as Go's encoding/json writes it, without spaces."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.translate(_GO_ESCAPES).encode())


def cut(text: str, room: int) -> str:
    """The text, ending in `…` where it would need more than so many bytes between the quotes of a JSON string."""
    if _size(text) <= room:
        return text
    kept, used = 0, _size(_CUT)
    for character in text:
        used += _size(character)
        if used > room:
            break
        kept += 1
    return text[:kept] + _CUT


def cleaned(text: str) -> str:
    """The text in one line, without characters that cannot be shown."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _size(text: str) -> int:
    return encoded_size(text) - len('""')
