"""The reference of Events has every reason that the code gives one, and no other."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from kueue_dqo.api import dqo
from orchestrator.statuses import WRITE_REJECTED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/events.md").read_text()
RECORDERS = {"events", "_events", "recorder"}
OF_CONDITIONS = {
    *(dqo.SYNCHRONIZED, dqo.SOURCE_UNAVAILABLE, dqo.INVALID_CAPACITY, dqo.MISCONFIGURED, dqo.COMPUTED),
    *(dqo.PROVIDER_NOT_READY, dqo.AGGREGATION_FAILED, dqo.QUOTAS_DISTRIBUTED, dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED),
    *(dqo.CONFLICTING_ORCHESTRATOR, dqo.EFFECTIVE_QUOTAS_CONFLICT, WRITE_REJECTED),
}
"""A condition that changes is an Event with its reason."""


def _reason_of(call: ast.Call) -> ast.expr | None:
    """What stands for the reason where this call makes an Event."""
    function = call.func
    if isinstance(function, ast.Name) and function.id == "Notice" and call.args:
        return call.args[0]
    if isinstance(function, ast.Attribute) and function.attr in {"normal", "warning"} and len(call.args) > 1:
        owner = function.value
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return call.args[1] if name in RECORDERS else None
    return None


def _given() -> Iterator[str]:
    for package in ("orchestrator", "providers"):
        for file in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(file.read_text())):
                found = _reason_of(node) if isinstance(node, ast.Call) else None
                if isinstance(found, ast.Constant) and isinstance(found.value, str):
                    yield found.value
                elif isinstance(found, ast.Attribute) and found.attr.isupper() and isinstance(found.value, ast.Name):
                    yield str(getattr(getattr(importlib.import_module(module), found.value.id), found.attr))
                elif isinstance(found, ast.Name) and found.id.isupper():
                    yield str(getattr(importlib.import_module(module), found.id))


def test_every_reason_is_told_and_no_other() -> None:
    """Each in the first column of one row."""
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(told) == sorted({*_given(), *OF_CONDITIONS})


def test_every_reason_has_its_next_step() -> None:
    """In the last column, by type and object."""
    rows = re.findall(r"^\| `\w+` \| (.*) \|$", PAGE, re.MULTILINE)
    for row in rows:
        kind, about, when, then = (cell.strip() for cell in row.split(" | "))
        assert kind in {"Normal", "Warning", "Normal, Warning"}, row
        assert about
        assert when
        assert then, row
