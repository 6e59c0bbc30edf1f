"""What the page about simulations says: its example settles as it stands there, its tables are those of the code."""

from __future__ import annotations

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
