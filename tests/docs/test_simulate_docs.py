"""The pages about simulations and explanations: what they show is printed, their tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.podtemplates import ForeignJob
from kueue_dqo.api.queueing import Topology
from kueue_dqo.api.scheme import KNOWN_KINDS
from kueue_dqo.cli.main import run
from tests.docs.pages import blocks_of, first_cells_of, section_of

PAGE: Final = Path(__file__).parents[2] / "docs/simulate.md"
EXPLAIN: Final = PAGE.with_name("explain.md")


def test_the_example_settles_as_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Step by step."""
    section = section_of(PAGE, "Steps")
    for step, block in zip(("01", "02"), blocks_of("yaml", section), strict=True):
        (tmp_path / step).mkdir()
        (tmp_path / step / "queue.yaml").write_text(block)
    assert run(["simulate", "-f", str(tmp_path)]) == 0
    (shown,) = blocks_of("text", section)
    assert capsys.readouterr().out.strip() == shown.strip()


def test_every_kind_that_is_read_is_listed() -> None:
    """But those of quotas alone, which a plan reads."""
    cells = first_cells_of(section_of(PAGE, "What is read"))
    of_quotas = {(known.group, known.kind) for known in KNOWN_KINDS}
    wanted = [
        known.kind
        for key, known in ADMISSION_KINDS.items()
        if known.type not in (ForeignJob, Topology) and (key not in of_quotas or known not in KNOWN_KINDS)
    ]
    assert [kind for kind in wanted if kind not in cells] == []


def test_the_explanation_is_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the first step of the same example."""
    file = tmp_path / "queue.yaml"
    file.write_text(blocks_of("yaml", section_of(PAGE, "Steps"))[0])
    assert run(["explain", "workload", "lab/second", "-f", str(file)]) == 2
    (shown,) = blocks_of("text", EXPLAIN.read_text())
    assert capsys.readouterr().out.strip() == shown.strip()


def test_every_rung_has_its_row() -> None:
    """In the order of the way."""
    (shown,) = blocks_of("text", EXPLAIN.read_text())
    rungs = [line[4:26].strip() for line in shown.splitlines() if line.startswith(("  ✓", "  ✗", "  ·"))]
    cells = re.findall(r"^\| `([^`]+)`", EXPLAIN.read_text(), re.MULTILINE)
    assert cells == rungs
