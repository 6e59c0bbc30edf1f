"""Text out of objects that others write, before it is held or shown: a worker may be anybody's. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Final

from kueue_dqo.api.problems import OBJECT_NAME, FieldProblem, Form
from kueue_dqo.api.scheme import ObjectInvalid

LONGEST_WHY: Final = 300
"""Characters of what is said about one object that cannot be used."""
NO_REASON: Final = "Inactive"
"""Stands for the reason of a condition that is none: empty, too long, or not one word."""
_REASON: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)


def one_line(text: str) -> str:
    """Without control characters, and cut where it is too long."""
    cut = text[:LONGEST_WHY] + ("…" if len(text) > LONGEST_WHY else "")
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in cut)


def one_word(reason: str) -> str:
    """The reason of a condition."""
    return sys.intern(reason) if _REASON.fullmatch(reason) else NO_REASON


def optional_name(field: str, name: str) -> str:
    """The name of an object in that field, or nothing. Raises ObjectInvalid for what is no name."""
    if name:
        refuse_misnamed(field, OBJECT_NAME, [name])
    return sys.intern(name)


def refuse_misnamed(field: str, form: Form, names: Iterable[str]) -> None:
    """Names come to stand in messages. Raises ObjectInvalid where one is not of that form."""
    refuse(problem for name in names for problem in form.problems(field, name))


def refuse(problems: Iterable[FieldProblem]) -> None:
    """Raises ObjectInvalid where there are any."""
    found = tuple(problems)
    if found:
        raise ObjectInvalid(found)
