"""The reference of Events has every reason that the code gives one, and no other."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from kueue_dqo.api import dqo
from orchestrator.statuses import WRITE_REJECTED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/events.md").read_text()
RECORDERS = {"events", "_events", "recorder"}
OF_CONDITIONS = {
    **dict.fromkeys((dqo.SYNCHRONIZED, dqo.COMPUTED, dqo.QUOTAS_DISTRIBUTED), "Normal"),
    **dict.fromkeys(
        (dqo.SOURCE_UNAVAILABLE, dqo.INVALID_CAPACITY, dqo.MISCONFIGURED, dqo.PROVIDER_NOT_READY), "Warning"
    ),
    **dict.fromkeys((dqo.AGGREGATION_FAILED, dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED), "Warning"),
    **dict.fromkeys((dqo.CONFLICTING_ORCHESTRATOR, dqo.EFFECTIVE_QUOTAS_CONFLICT, WRITE_REJECTED), "Warning"),
}
"""A condition that changes is an Event with its reason."""
REASON_OF_A_CONDITION = "after.reason"
"""How `providers/news.py` passes it on: the one reason that is no constant."""


def _event_of(call: ast.Call) -> tuple[ast.expr, str] | None:
    """What stands for the reason where this call makes an Event, and the type that it can have."""
    function = call.func
    if isinstance(function, ast.Name) and function.id == "Notice":
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        given = dict(zip(("reason", "message", "is_warning"), call.args, strict=False)) | named
        return given["reason"], _type(given.get("is_warning"))
    if isinstance(function, ast.Attribute) and function.attr in {"normal", "warning"} and len(call.args) > 1:
        owner = function.value
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return (call.args[1], function.attr.capitalize()) if name in RECORDERS else None
    return None


def _type(is_warning: ast.expr | None) -> str:
    if is_warning is None:
        return "Warning"
    if isinstance(is_warning, ast.Constant):
        return "Warning" if is_warning.value else "Normal"
    return "Normal, Warning"


def _constant(reason: ast.expr, module: str) -> str | None:
    """The text of a reason that is written there, or the constant of that name; None for anything else."""
    if isinstance(reason, ast.Constant):
        return str(reason.value)
    if isinstance(reason, ast.Attribute) and reason.attr.isupper() and isinstance(reason.value, ast.Name):
        return str(getattr(getattr(importlib.import_module(module), reason.value.id), reason.attr))
    if isinstance(reason, ast.Name) and reason.id.isupper():
        return str(getattr(importlib.import_module(module), reason.id))
    return None


@functools.cache
def _given() -> tuple[Mapping[str, set[str]], list[str]]:
    """The types of each reason that the code gives an Event; the reasons that cannot be known, with their places."""
    types: defaultdict[str, set[str]] = defaultdict(set)
    unknown: list[str] = []
    for file in (each for package in ("orchestrator", "providers") for each in sorted((ROOT / package).rglob("*.py"))):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(file.read_text())):
            event = _event_of(node) if isinstance(node, ast.Call) else None
            if event is None:
                continue
            reason = _constant(event[0], module)
            if reason is not None:
                types[reason].update(event[1].split(", "))
            elif ast.unparse(event[0]) != REASON_OF_A_CONDITION:
                unknown.append(f"{file.relative_to(ROOT)}:{event[0].lineno}: {ast.unparse(event[0])}")
    return types, unknown


def test_every_reason_is_a_constant() -> None:
    """Else the page could lack it, and nobody would know."""
    assert _given()[1] == []


def test_every_reason_is_told_with_its_type_and_no_other() -> None:
    """Each in the first columns of one row."""
    told = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \|", PAGE, re.MULTILINE)
    wanted = {reason: ", ".join(sorted(types)) for reason, types in _given()[0].items()} | OF_CONDITIONS
    assert sorted(told) == sorted(wanted.items())


def test_every_reason_has_its_next_step() -> None:
    """In the last column, by type and object."""
    rows = re.findall(r"^\| `\w+` \| (.*) \|$", PAGE, re.MULTILINE)
    for row in rows:
        kind, about, when, then = (cell.strip() for cell in row.split(" | "))
        assert kind in {"Normal", "Warning", "Normal, Warning"}, row
        assert about
        assert when
        assert then, row
