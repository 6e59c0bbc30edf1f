"""`tests/cases/admission.jsonl`: recorded from the real Kueue 0.19, given to the model of admission."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.admission.comparison import differences
from tests.admission.modelled import modelled, write_steps

FILE = Path(__file__).parents[1] / "cases" / "admission.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]


def test_all_recorded_cases_are_here() -> None:
    """A lost file must not look like success."""
    assert len(CASES) == 31
    assert len({case["name"] for case in CASES}) == 31
    assert sum(len(case["expected"]) for case in CASES) == 111


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_recorded_case(case: dict[str, Any], tmp_path: Path) -> None:
    """After each step the model has settled at what the real Kueue settled at."""
    write_steps(tmp_path, [step["manifests"] for step in case["steps"]], case["configuration"])
    found = modelled(tmp_path)
    assert len(found) == len(case["expected"])
    unstable = case.get("unstable") or [{}] * len(found)
    lines = [
        f"after step {number}: {line}"
        for number, (expected, got, ignored) in enumerate(zip(case["expected"], found, unstable, strict=True), 1)
        for line in differences(expected, got.settled, ignored)
    ]
    assert lines == [], "\n".join(lines)
