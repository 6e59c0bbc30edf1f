"""How a manifest says that something comes back: an RRULE of RFC 5545, section 3.3.10, within limits.

`FREQ` comes first, since so it is written everywhere. It is an hour or longer, and there is no `BYSECOND`: whatever
comes back every few seconds is no capacity. Nor is there a `BYWEEKNO`, which the RFC leaves open to several readings.
`UNTIL` is in UTC, as the RFC wants it where the first time is in a zone. `COUNT` is at most 1000, since what is counted
is counted from its beginning each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kueue_dqo.api.problems import FieldProblem, repeated, shown

LONGEST_RECURRENCE: Final = 512
FREQUENCIES: Final = ("HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_DAY: Final = "(MO|TU|WE|TH|FR|SA|SU)"
_LISTS: Final = {
    "BYMONTH": "(0?[1-9]|1[0-2])",
    "BYMONTHDAY": "[+-]?(0?[1-9]|[12][0-9]|3[01])",
    "BYYEARDAY": "[+-]?[1-9][0-9]{0,2}",
    "BYDAY": f"([+-]?[1-9][0-9]?)?{_DAY}",
    "BYHOUR": "([01]?[0-9]|2[0-3])",
    "BYMINUTE": "[0-5]?[0-9]",
    "BYSETPOS": "[+-]?[1-9][0-9]{0,2}",
}
RECURRENCE_PARTS: Final[Mapping[str, str]] = {
    "INTERVAL": "[1-9][0-9]{0,3}",
    "COUNT": "([1-9][0-9]{0,2}|1000)",
    "UNTIL": "[0-9]{8}T[0-9]{6}Z",
    "WKST": _DAY,
} | {name: f"{value}(,{value})*" for name, value in _LISTS.items()}
"""What may follow the frequency, with the form of its value."""
_HINTS: Final = {
    "COUNT": ": 1 to 1000 are allowed, and a rule that goes on for longer ends by UNTIL",
    "UNTIL": ": write a time in UTC, such as 20270101T000000Z",
}


def problems_of_recurrence(field: str, text: str) -> Iterator[FieldProblem]:
    """Of a text that stands in the field. That it ever comes back is not looked at: that takes its first time."""
    if len(text) > LONGEST_RECURRENCE:
        yield FieldProblem(field, f"{len(text)} characters; at most {LONGEST_RECURRENCE} are allowed")
        return
    frequency, *parts = text.split(";")
    if frequency not in {f"FREQ={each}" for each in FREQUENCIES}:
        yield FieldProblem(field, f"{shown(frequency)} comes first; FREQ={'|'.join(FREQUENCIES)} is wanted there")
    names = [part.partition("=")[0] for part in parts]
    for name, part in zip(names, parts, strict=True):
        if name not in RECURRENCE_PARTS:
            yield FieldProblem(field, f"{shown(part)} is no part that is taken: {', '.join(RECURRENCE_PARTS)} are")
        elif not re.fullmatch(f"{name}={RECURRENCE_PARTS[name]}", part):
            yield FieldProblem(field, f"{shown(part)} is no {name} that is taken{_HINTS.get(name, ' (RFC 5545)')}")
    for name in repeated(names):
        yield FieldProblem(field, f"{name} is given more than once: keep one of them")
    if {"COUNT", "UNTIL"} <= set(names):
        yield FieldProblem(field, "COUNT and UNTIL are both given: keep one of them")
