"""What is wrong with a field of an object, and the checks that objects of several kinds share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api.quantity import Quantity

_SHOWN: Final = 320
"""Characters: a name of any sort is shown whole."""
LONGEST_QUANTITY: Final = 32
"""Characters in parameters. The API server limits what its checks may cost, and long texts are dear."""


class FieldProblem(NamedTuple):
    """What is wrong with a field of an object. `field` is a path such as `spec.resourceGroups[0].flavors[1].name`."""

    field: str
    problem: str

    def __str__(self) -> str:
        """`field: problem`."""
        return f"{self.field}: {self.problem}"


class Form(NamedTuple):
    """How a text of some sort is written."""

    pattern: re.Pattern[str]
    """Of the whole text."""
    longest: int
    """Characters."""
    wanted: str
    """What it is called, with an example or the characters that it takes."""

    def fits(self, text: str) -> bool:
        """Whether the text is one."""
        return len(text) <= self.longest and self.pattern.fullmatch(text) is not None

    def problems(self, field: str, text: str) -> Iterator[FieldProblem]:
        """One, unless the text is one."""
        if not self.fits(text):
            yield FieldProblem(field, f"{shown(text)} is no {self.wanted}")


_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
"""The pattern of a DNS subdomain, of whatever length."""
DNS_LABEL: Final = Form(re.compile(_LABEL), 63, "DNS label: at most 63 lower-case letters, digits and '-'")
OBJECT_NAME: Final = Form(
    re.compile(SUBDOMAIN), 253, "object name: at most 253 lower-case letters, digits, '-' and '.'"
)
API_GROUP: Final = Form(re.compile(SUBDOMAIN), 253, "API group, such as kueue-dqo.dev")
_QUALIFIED: Final = re.compile(rf"({SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
RESOURCE_NAME: Final = Form(_QUALIFIED, 317, "name of a resource, such as cpu or nvidia.com/gpu")
LABEL_KEY: Final = Form(_QUALIFIED, 317, "key of a label, such as topology.kubernetes.io/zone")
LABEL_VALUE: Final = Form(
    re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"),
    63,
    "value of a label: at most 63 letters, digits, '-', '_' and '.'",
)
CONDITION_TYPE: Final = Form(_QUALIFIED, 317, "type of a condition, such as MemoryPressure")
CONDITION_STATUSES: Final = ("True", "False", "Unknown")


def shown(text: str) -> str:
    """The text in quotes, as far as a message has room for it."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} characters)"


def list_map(field: str, keys: Sequence[str], fewest: int, most: int, *, key: str = "name") -> Iterator[FieldProblem]:
    """Of a list whose entries are told apart by a key."""
    if len(keys) < fewest:
        yield FieldProblem(field, f"is empty; {fewest} to {most} entries are allowed")
    yield from unique(field, keys, most)
    for index, text in enumerate(keys):
        if not text:
            yield FieldProblem(f"{field}[{index}].{key}", "is empty")


def unique(field: str, keys: Sequence[str], most: int) -> Iterator[FieldProblem]:
    """Of a list in which nothing stands twice."""
    if len(keys) > most:
        yield FieldProblem(field, f"{len(keys)} entries; at most {most} are allowed")
    for text in repeated(keys):
        yield FieldProblem(field, f"{text!r} is listed more than once")


def repeated(keys: Iterable[str]) -> list[str]:
    """What stands there more than once, each named once."""
    seen: set[str] = set()
    found: dict[str, None] = {}
    for text in keys:
        if text in seen:
            found[text] = None
        seen.add(text)
    return list(found)


def not_negative(field: str, quantity: Quantity | None) -> Iterator[FieldProblem]:
    """Of a quantity that may be absent."""
    if quantity is not None and quantity.nanos < 0:
        yield FieldProblem(field, f"{quantity} is negative; 0 or more is allowed")


def amount(field: str, quantity: Quantity) -> Iterator[FieldProblem]:
    """Of a quantity in parameters, by what stood in the manifest."""
    written = quantity.written
    if isinstance(written, float) and not written.is_integer():
        yield FieldProblem(field, f'{written!r} has to be quoted ("{written!r}") before an API server takes it')
    if isinstance(written, str) and len(written) > LONGEST_QUANTITY:
        yield FieldProblem(
            field, f"{shown(written)} has {len(written)} characters; at most {LONGEST_QUANTITY} are allowed"
        )
    yield from not_negative(field, quantity)
