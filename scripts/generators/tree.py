"""The checkout that files are generated in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


class GenerateError(Exception):
    """Nothing can be generated; the message says why."""


def present(path: str) -> str | None:
    """The file as it is, None where there is none. The path is one below the root."""
    file = ROOT / path
    return file.read_bytes().decode() if file.exists() else None
